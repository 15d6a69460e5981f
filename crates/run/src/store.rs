//! `.qkvet/`: the case that is running and the cases of findings. The folder ignores itself in git.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use qkvet_gen::{CasePlan, GenError, build, case_id, from_json, to_json};
use qkvet_spec::{
    Case, Cause, CheckedLaw, Contract, Convention, Dtype, Law, Unexpected, Verdict, Words,
    parse_json,
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::adapters::StoredCall;
use crate::atomic_write::atomic_write;
use crate::config::{RunConfig, below_current, names};

/// No stored case is longer: a longer file is refused before it is read.
const MAX_BYTES: u64 = 1 << 30;

/// A stored case and how it was judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// Target as the user wrote it.
    pub target: String,
    /// The `qkvet.yaml` that declares it, relative to the folder of the run where it lies below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    /// The finding that the case shows; absent for a case that shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<StoredFinding>,
    /// Conventions, `field=value`.
    pub conventions: Vec<String>,
    /// Contract id.
    pub contract: String,
    /// How a Python target is called.
    #[serde(default)]
    pub call: StoredCall,
    /// The law, which may be the user's own.
    pub law: Law,
    /// The case, as the generator writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    case: Option<Box<RawValue>>,
    /// In its place, for a case that was about to run: what it is drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drawn: Option<Drawn>,
}

/// What a case is drawn from, and the id that it has then.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    id: String,
    plan: CasePlan,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFinding {
    /// Its verdict.
    pub verdict: Verdict,
    /// What was wrong; absent in files of older versions, which have a title in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    #[serde(default, rename = "title", skip_serializing)]
    old_title: Option<String>,
    /// How many calls of the case were answered, or were to be, when it was found.
    #[serde(default)]
    pub calls: usize,
    /// Whether the case was right when it was asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

impl StoredFinding {
    pub(crate) fn new(verdict: Verdict, cause: Cause, calls: usize, once: bool) -> Self {
        Self { verdict, cause: Some(cause), old_title: None, calls, once }
    }

    /// What was wrong, in one line.
    pub fn title(&self, words: &dyn Words) -> String {
        let old = || self.old_title.clone().unwrap_or_default();
        self.cause.as_ref().map_or_else(old, |cause| words.title(cause).to_string())
    }

    /// Whether the case shows it at times alone, so that a right answer says little.
    pub fn is_fleeting(&self) -> bool {
        self.once || self.verdict == Verdict::Nondet
    }
}

impl Stored {
    /// The case itself. `law` is the law of the file, `path` its place.
    ///
    /// # Errors
    /// A case that does not fit its own description, and one that another version of qkvet drew
    /// otherwise.
    pub fn case(&self, law: &CheckedLaw, path: &str) -> Result<Case, Unexpected> {
        let wrong = |error: GenError| Unexpected::within_path("case", path, error);
        let Some(Drawn { id, plan }) = &self.drawn else {
            let text = self.case.as_ref().map_or("null", |case| case.get());
            return from_json(text).map_err(wrong);
        };
        let case = build(law, plan).map_err(wrong)?;
        let found = case_id(&case);
        if found != *id {
            return Err(Unexpected::at_path("case", path, format!("case {id}"))
                .got(format!("case {found}"))
                .hint("another version of qkvet drew it"));
        }
        Ok(case)
    }
}

/// The folder.
pub(crate) struct Store {
    folder: PathBuf,
    /// Whether it is there. Without a place to write to the verdicts are the same; only replay is
    /// lost.
    is_open: bool,
    target: String,
    config: Option<PathBuf>,
    declared: Vec<String>,
    call: StoredCall,
    contracts: Vec<(Dtype, String)>,
    /// Cases that were kept with what they show.
    shown: Mutex<BTreeSet<String>>,
    /// The first case that could not be written.
    lost: Mutex<Option<Unexpected>>,
    /// The files of the cases that workers began, by worker.
    working: Mutex<BTreeMap<usize, RunningFile>>,
}

/// A file that holds one text after the other: what ends this process does not cut a text short.
struct RunningFile {
    file: File,
    length: usize,
}

impl RunningFile {
    /// A new file in the place of what was there. The others are written over it: a file of its own
    /// for each case takes longer than some calls.
    fn create(path: &Path, text: &str) -> Result<Self, Unexpected> {
        write(path, text)?;
        let options = OFlags::NOFOLLOW.bits().cast_signed();
        let file = File::options().write(true).custom_flags(options).open(path);
        let file = file.map_err(|error| not_written(path, error))?;
        Ok(Self { file, length: text.len() })
    }

    /// Writes over the text before, the rest of which becomes white space.
    fn replace(&mut self, path: &Path, text: String) -> Result<(), Unexpected> {
        let text = format!("{text:0$}", self.length);
        self.length = text.len();
        self.file.write_all_at(text.as_bytes(), 0).map_err(|error| not_written(path, error))
    }
}

/// A run that ends in whatever orderly way leaves no case behind as if it were running; one that is
/// killed does.
impl Drop for Store {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for number in self.working.get_mut().unwrap_or_else(PoisonError::into_inner).keys() {
            // It may be gone, or there may be no place to write to.
            let _ = std::fs::remove_file(running_file(&self.folder, *number));
        }
    }
}

/// The case that worker `number` is about to run.
fn running_file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("running-{number}.json"))
}

impl Store {
    pub(crate) fn open(folder: &Path, config: &RunConfig<'_>) -> Self {
        let contract =
            |(dtype, contract): (&Dtype, &&Contract)| (*dtype, contract.contract.clone());
        let mut store = Self {
            folder: folder.to_owned(),
            is_open: false,
            target: config.target.name.clone(),
            config: config.target.config.as_deref().map(below_current),
            declared: names(&config.conventions),
            call: config.target.adapter.stored_call(),
            contracts: config.contracts.iter().map(contract).collect(),
            shown: Mutex::default(),
            lost: Mutex::default(),
            working: Mutex::default(),
        };
        let cases = folder.join("cases");
        let made = std::fs::create_dir_all(&cases).map_err(|error| {
            Unexpected::at_path("case", cases, "a folder to write to").error(error)
        });
        store.is_open = store.noted(made.and_then(|()| write(&folder.join(".gitignore"), "*\n")));
        store
    }

    /// The folder that it lies in, absolute.
    pub(crate) fn root(&self) -> Option<PathBuf> {
        std::path::absolute(&self.folder).ok()?.parent().map(Path::to_owned)
    }

    /// Why cases were lost, if any was.
    pub(crate) fn lost(&self) -> Option<Unexpected> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it was written; the first failure is remembered. No verdict depends on it.
    fn noted(&self, result: Result<(), Unexpected>) -> bool {
        let Err(error) = result else { return true };
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        false
    }

    /// Remembers the case that worker `number` is about to run: what it is drawn from, if it is,
    /// for a case has many numbers and a run many cases.
    pub(crate) fn running(
        &self,
        number: usize,
        id: &str,
        plan: Option<&CasePlan>,
        case: &Case,
        law: &CheckedLaw,
    ) {
        if !self.is_open {
            return;
        }
        let path = running_file(&self.folder, number);
        let drawn = plan.map(|plan| Drawn { id: id.to_owned(), plan: plan.clone() });
        let stored = Stored { drawn, ..self.stored(case.dtype, law, &self.declared, None) };
        let case = stored.drawn.is_none().then_some(case);
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        let written = text(&path, &stored, case).and_then(|text| match working.entry(number) {
            Entry::Occupied(mut file) => file.get_mut().replace(&path, text),
            Entry::Vacant(entry) => RunningFile::create(&path, &text).map(|file| {
                entry.insert(file);
            }),
        });
        self.noted(written);
    }

    /// Keeps a case for `qkvet replay`, with the conventions it was judged under and what it shows.
    /// Whether it is there. A case that shows a finding is not replaced by itself without one.
    pub(crate) fn keep(
        &self,
        id: &str,
        case: &Case,
        law: &CheckedLaw,
        conventions: &[&Convention],
        finding: Option<StoredFinding>,
    ) -> bool {
        if !self.is_open {
            return false;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if finding.is_none() && shown.contains(id) {
            return true;
        }
        let path = self.folder.join("cases").join(format!("{id}.json"));
        if finding.is_some() {
            shown.insert(id.to_owned());
        }
        let stored = self.stored(case.dtype, law, &names(conventions), finding);
        let text = text(&path, &stored, Some(case));
        self.noted(text.and_then(|text| write(&path, &text)))
    }

    /// Keeps the script that shows a finding without qkvet, and gives its path.
    pub(crate) fn keep_script(&self, id: &str, text: &str) -> Option<String> {
        let path = self.folder.join("cases").join(format!("{id}.py"));
        (self.is_open && self.noted(write(&path, text))).then(|| path.display().to_string())
    }

    /// What is stored of a case besides its numbers.
    fn stored(
        &self,
        dtype: Dtype,
        law: &CheckedLaw,
        conventions: &[String],
        finding: Option<StoredFinding>,
    ) -> Stored {
        let contract = self.contracts.iter().find(|(known, _)| *known == dtype);
        Stored {
            target: self.target.clone(),
            config: self.config.clone(),
            finding,
            conventions: conventions.to_vec(),
            contract: contract.map(|(_, id)| id.clone()).unwrap_or_default(),
            call: self.call.clone(),
            law: law.law.clone(),
            case: None,
            drawn: None,
        }
    }
}

/// The file of a case. Its numbers come last, as the generator writes them, and are not read again.
fn text(path: &Path, stored: &Stored, case: Option<&Case>) -> Result<String, Unexpected> {
    let mut text = serde_json::to_string(stored)
        .map_err(|error| Unexpected::within_path("case", path, error))?;
    if let Some(case) = case {
        text.pop();
        text.push_str(",\"case\":");
        text.push_str(&to_json(case));
        text.push('}');
    }
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<(), Unexpected> {
    atomic_write(path, text.as_bytes()).map_err(|error| not_written(path, error))
}

fn not_written(path: &Path, error: io::Error) -> Unexpected {
    Unexpected::at_path("case", path, "to be written").error(error)
}

/// Reads a stored case: an id under `folder`, or a file.
///
/// # Errors
/// A file that is missing, unreadable or not a stored case.
pub fn read_case(folder: &Path, name: &str) -> Result<Stored, Unexpected> {
    let by_id = folder.join("cases").join(format!("{name}.json"));
    let path = if by_id.is_file() { by_id } else { PathBuf::from(name) };
    let wrong = Unexpected::at_path("case", &path, "a stored case");
    let hint = "ids are those that `qkvet check` printed in this folder";
    if std::fs::metadata(&path).is_ok_and(|about| !about.is_file() || about.len() > MAX_BYTES) {
        return Err(wrong.got(format!("no file of at most {MAX_BYTES} bytes")).hint(hint));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => parse_json(&text).map_err(|error| wrong.error(error)),
        Err(error) => Err(wrong.error(error).hint(hint)),
    }
}
