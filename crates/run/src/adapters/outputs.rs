//! Outputs that were computed elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use qkvet_gen::case_id;
use qkvet_gen::frozen::{StoredOutput, case_of};
use qkvet_spec::{Call, Meaning, Output, Response, Target, Unexpected};

use super::adapter::Adapter;
use super::open::OpenTarget;
use crate::frozen::{FileFormat, file_names};
use crate::process::{Limits, StartError};

/// Outputs that were computed elsewhere, as a target: a call is answered by the file that is named
/// by its case.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    files: BTreeMap<String, PathBuf>,
    /// Set when a case has no file.
    missing: Arc<AtomicBool>,
}

impl OutputFolder {
    /// Lists the files; each is read when its case is asked for.
    ///
    /// # Errors
    /// A folder that cannot be read or holds no outputs; two files for one case.
    pub fn open(folder: &Path) -> Result<Self, Unexpected> {
        let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
        for name in file_names(folder)? {
            let path = folder.join(&name);
            if FileFormat::of(&path).is_none() {
                continue;
            }
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            if let Some(other) = files.insert(id, path.clone()) {
                return Err(Unexpected::at_path("output", path, "one file a case")
                    .got(format!("{} too", other.display())));
            }
        }
        if files.is_empty() {
            let expected = "files c-….json, .npz or .safetensors with an array `output`";
            return Err(Unexpected::at_path("outputs", folder, expected).got("none"));
        }
        Ok(Self { files, missing: Arc::default() })
    }

    /// A copy for one worker, and what is set when one of its cases has no output.
    pub(crate) fn for_worker(&self) -> (Self, Arc<AtomicBool>) {
        let missing = Arc::new(AtomicBool::new(false));
        (Self { missing: Arc::clone(&missing), ..self.clone() }, missing)
    }

    /// Ids of the cases that have an output.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl Target for OutputFolder {
    fn call(&mut self, call: &Call) -> Response {
        let id = case_id(&case_of(call));
        let file = self.files.get(&id).and_then(|path| Some((path, FileFormat::of(path)?)));
        let Some((path, format)) = file else {
            // Nobody declined it: what is not there decides nothing.
            self.missing.store(true, Ordering::Relaxed);
            return Response::NotAsked("no output file".into());
        };
        match format.output(path) {
            Ok(StoredOutput { id: Some(other), .. }) if other != id => {
                let extension = format.extension();
                let expected = "expected the output of this case";
                Response::Error(format!("{id}.{extension}: {expected}, got that of {other}").into())
            }
            Ok(StoredOutput { output, .. }) => Response::Output(Box::new(Output::of(output))),
            Err(message) => {
                Response::Error(format!("{id}.{}: {message}", format.extension()).into())
            }
        }
    }
}

impl Adapter for OutputFolder {
    fn open(&self, _: &Meaning, _: &Limits) -> Result<OpenTarget, StartError> {
        let (outputs, missing) = self.for_worker();
        Ok(OpenTarget { unanswered: Some(missing), ..OpenTarget::live(outputs, Vec::new()) })
    }

    fn is_called(&self) -> bool {
        false
    }
}
