//! The manifest of a suite's frozen cases: what there is, under which version, with which hashes.

use qkvet_spec::{Dtype, Suite};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::assemble::check_format;
use super::group::{FrozenGroup, read_group, strip_snapshot_header, write_group};
use super::names::{check_hash, check_id, check_word};
use super::plans::SEED;
use super::{FROZEN_FORMAT, FrozenCase};
use crate::GenError;
use crate::json::{lay_out, parse};
use crate::validate::check_version;

/// What is frozen of a suite.
///
/// `version` is a semantic version of the answers. Its first part moves when a case or an answer is
/// changed or taken away: never, unless an answer was wrong. The second moves when cases,
/// contracts, conventions or hunted faults are added, the third when only the layout of the text
/// changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this document's form.
    pub format: u32,
    /// Id of the suite.
    pub suite: String,
    /// Version of the frozen answers.
    pub version: String,
    /// Seed of the cases.
    pub seed: u64,
    /// Cases kept as text, by group.
    pub groups: Vec<GroupEntry>,
    /// Cases of which only the hash is kept here.
    pub larger: Vec<LargerEntry>,
}

/// One group of cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupEntry {
    /// Name of the group.
    pub group: String,
    /// File beside the manifest.
    pub file: String,
    /// SHA-256 of the JSON document: of the file without the lines of its snapshot header.
    pub sha256: String,
    /// Ids of its cases, in order.
    pub cases: Vec<String>,
}

/// One case that is a file of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LargerEntry {
    /// Case id.
    pub id: String,
    /// Format of its tensors.
    pub dtype: Dtype,
    /// Name of the file.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Size of the file.
    pub bytes: u64,
}

impl LargerEntry {
    /// The entry of a case whose file holds `bytes`, as
    /// [`case_to_safetensors`](super::case_to_safetensors) makes them.
    pub fn new(frozen: &FrozenCase, bytes: &[u8]) -> Self {
        Self {
            id: frozen.id.clone(),
            dtype: frozen.case.dtype,
            file: format!("{}.safetensors", frozen.id),
            sha256: content_hash(bytes),
            bytes: bytes.len() as u64,
        }
    }

    /// Whether `bytes` are this file's.
    ///
    /// # Errors
    /// Another size or hash.
    pub fn check(&self, bytes: &[u8]) -> Result<(), GenError> {
        check_content(&self.file, &self.sha256, bytes)
    }
}

impl Manifest {
    /// The manifest of a suite's groups and larger cases.
    ///
    /// # Errors
    /// A case that is no call of attention.
    pub fn new(
        suite: &Suite,
        groups: &[FrozenGroup],
        larger: Vec<LargerEntry>,
    ) -> Result<Self, GenError> {
        let entry = |group: &FrozenGroup| {
            Ok(GroupEntry {
                group: group.group.clone(),
                file: format!("{}.snap", group.group),
                sha256: content_hash(write_group(group)?.as_bytes()),
                cases: group.cases.iter().map(|case| case.id.clone()).collect(),
            })
        };
        Ok(Self {
            format: FROZEN_FORMAT,
            suite: suite.suite.clone(),
            version: suite
                .frozen
                .as_ref()
                .map_or_else(String::new, |frozen| frozen.version.clone()),
            seed: SEED,
            groups: groups.iter().map(entry).collect::<Result<_, GenError>>()?,
            larger,
        })
    }

    /// Reads the file of one of the groups and checks that it is the one that the manifest speaks
    /// of.
    ///
    /// # Errors
    /// A group that is not listed here, another hash, and everything that [`read_group`] refuses.
    pub fn read_group(&self, file: &str, text: &str) -> Result<FrozenGroup, GenError> {
        let entry = self.groups.iter().find(|entry| entry.file == file).ok_or_else(|| {
            GenError::new("group", "manifest", "a file that is listed", format!("`{file:.64}`"))
        })?;
        check_content(file, &entry.sha256, strip_snapshot_header(text)?.as_bytes())?;
        let group = read_group(text)?;
        let same = group.cases.iter().map(|case| &case.id).eq(&entry.cases)
            && (&group.suite, &group.version, &group.group)
                == (&self.suite, &self.version, &entry.group);
        if same {
            return Ok(group);
        }
        let got = format!("{} cases of {} {}", group.cases.len(), group.suite, group.version);
        Err(GenError::new("group", file, "suite, version and cases of the manifest", got))
    }
}

fn check_content(file: &str, sha256: &str, content: &[u8]) -> Result<(), GenError> {
    let got = content_hash(content);
    if got == sha256 {
        return Ok(());
    }
    Err(GenError::new("sha256", format!("file {file:.80}"), sha256, got))
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn content_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The manifest as a JSON document.
pub fn write_manifest(manifest: &Manifest) -> String {
    lay_out(manifest)
}

/// Reads a manifest, with or without the header of a snapshot.
///
/// # Errors
/// Anything but what [`write_manifest`] writes, with its place; names that are no plain file names,
/// ids that come twice.
pub fn read_manifest(text: &str) -> Result<Manifest, GenError> {
    let manifest: Manifest = parse(strip_snapshot_header(text)?, "a manifest of frozen cases")?;
    check_format(manifest.format)?;
    check_word(&manifest.suite, "`suite`")?;
    check_version(&manifest.version, "`version`")?;
    for entry in &manifest.groups {
        let place = format!("group {:.64}", entry.group);
        check_word(&entry.group, "`group`")?;
        check_hash(&entry.sha256, &place)?;
        check_file(&entry.file, &entry.group, "snap", &place)?;
        entry.cases.iter().try_for_each(|id| check_id(id, &place))?;
    }
    for entry in &manifest.larger {
        check_id(&entry.id, "`larger`")?;
        check_hash(&entry.sha256, &entry.id)?;
        check_file(&entry.file, &entry.id, "safetensors", &entry.id)?;
    }
    let groups = manifest.groups.iter().flat_map(|entry| &entry.cases);
    let mut names: Vec<&String> =
        groups.chain(manifest.larger.iter().map(|entry| &entry.id)).collect();
    names.extend(manifest.groups.iter().map(|entry| &entry.file));
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(GenError::new("name", "manifest", "each once", format!("{} twice", pair[0])))
        }
        None => Ok(manifest),
    }
}

/// The file of an entry is called after it: no folders, nothing to guess.
fn check_file(file: &str, name: &str, extension: &str, place: &str) -> Result<(), GenError> {
    let expected = format!("{name}.{extension}");
    if file == expected {
        Ok(())
    } else {
        Err(GenError::new("file", place, format!("`{expected}`"), format!("`{file:.80}`")))
    }
}
