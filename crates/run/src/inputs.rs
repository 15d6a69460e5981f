//! Calls of a user's own: files of arrays, read as cases of the laws that say something of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use qkvet_gen::frozen::{OwnCase, call_from_npz, call_from_safetensors};
use qkvet_spec::{Call, CheckedLaw, Dtype, Unexpected};

use crate::frozen::{FileFormat, Unreadable, file_names, read};

/// Of calls with more scores some rows are looked at, and laws about a single result alone.
const MAX_SCORES: usize = 1 << 22;
/// So many rows.
const ROWS: usize = 64;

/// Calls as they were read.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// What a report calls them: the file or folder.
    pub name: String,
    calls: Vec<(String, Call)>,
}

impl Inputs {
    /// Reads a file, or each file of a folder: `.npz` and `.safetensors`.
    ///
    /// # Errors
    /// A file that is no call, a folder without one.
    pub fn read(path: &Path) -> Result<Self, Unexpected> {
        let files: Vec<PathBuf> = match path.is_dir() {
            true => file_names(path)?.into_iter().map(|name| path.join(name)).collect(),
            false => vec![path.to_owned()],
        };
        let mut calls = Vec::new();
        for file in files {
            let call: fn(&[u8]) -> _ = match FileFormat::of(&file) {
                Some(FileFormat::Npz) => call_from_npz,
                Some(FileFormat::Safetensors) => call_from_safetensors,
                _ if path.is_dir() => continue,
                _ => {
                    let expected = "a file .npz or .safetensors, or a folder of them";
                    return Err(Unexpected::at_path("inputs", file, expected)
                        .got("another name")
                        .hint("`numpy.savez` writes one, `qkvet.capture` in Python a folder"));
                }
            };
            let made = read(&file).map_err(Unreadable::File).and_then(|bytes| Ok(call(&bytes)?));
            let call = made.map_err(|error| Unexpected::within_path("inputs", &file, error))?;
            calls.push((file.display().to_string(), call));
        }
        if calls.is_empty() {
            return Err(Unexpected::at_path("inputs", path, "files .npz or .safetensors")
                .got("none")
                .hint("`qkvet.capture` in Python writes them"));
        }
        Ok(Self { name: path.display().to_string(), calls })
    }

    /// Their formats, in the order in which they come.
    pub fn dtypes(&self) -> Vec<Dtype> {
        let mut found = Vec::new();
        for (_, call) in &self.calls {
            if !found.contains(&call.dtype()) {
                found.push(call.dtype());
            }
        }
        found
    }

    /// How many query rows of a call are looked at, where no number is given: all, unless one of
    /// the calls is large.
    pub fn rows(&self) -> Option<usize> {
        self.calls.iter().any(|(_, call)| is_large(call)).then_some(ROWS)
    }

    /// Each call once under each of these laws that says something of it. Of large calls, and of all
    /// where `rows` is given, those laws are asked that say what a single call returns.
    ///
    /// # Errors
    /// A call of which no law says anything, with what the first one lacks.
    pub fn cases(
        &self,
        laws: &[&CheckedLaw],
        rows: Option<usize>,
        seed: u64,
    ) -> Result<Vec<OwnCase>, Unexpected> {
        let (mut cases, mut known) = (Vec::new(), BTreeSet::new());
        for (file, call) in &self.calls {
            let rows = rows.or_else(|| is_large(call).then_some(ROWS));
            let (mut is_said, mut wrong) = (false, None);
            for law in laws.iter().filter(|law| law.law.misfit.is_none()) {
                if rows.is_some() && !law.says_a_result() {
                    continue;
                }
                match OwnCase::of(call, file, law, rows, seed) {
                    // Two files may hold the same call.
                    Ok(case) => {
                        is_said = true;
                        if known.insert(case.id.clone()) {
                            cases.push(case);
                        }
                    }
                    Err(error) => drop(wrong.get_or_insert(error)),
                }
            }
            if let (false, Some(error)) = (is_said, wrong) {
                return Err(Unexpected::within_path("inputs", file, error));
            }
        }
        Ok(cases)
    }
}

fn is_large(call: &Call) -> bool {
    let d = call.dims();
    let scores = [d.b, d.h_q, d.n_q, d.n_k].into_iter().fold(1, usize::saturating_mul);
    scores > MAX_SCORES
}
