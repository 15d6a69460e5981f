//! `lib:FILE`: a function of a shared library, called in a worker.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qkvet_spec::{Dtype, Meaning, SpecError, Threads, Unexpected};

use super::prototype::Prototype;
use super::script::CalledLibrary;
use super::worker::NativeWorker;
use crate::adapters::adapter::{Adapter, Peer};
use crate::adapters::called::Called;
use crate::adapters::kind::{Kind, file_identity};
use crate::adapters::open::OpenTarget;
use crate::adapters::python::Layout;
use crate::adapters::settings::{CallSetting, StoredCall};
use crate::process::{Launch, Limits, ProcessTarget, Program, StartError};

pub(in super::super) const KIND: Kind = Kind {
    prefix: "lib:",
    name: "a shared library",
    takes: &[CallSetting::Layout, CallSetting::Call],
    identity: file_identity,
    make: |named, settings| {
        if named.rest.is_empty() {
            let expected = "the file of a library, as in lib:./libattn.so";
            return Err(Unexpected::at(named.target(), expected).into());
        }
        let binary = std::env::current_exe().map_err(|error| {
            Unexpected::at(named.target(), "the path of the qkvet binary").error(error)
        })?;
        let mut config = LibraryConfig::new(named.rest, named.base, binary);
        config.layout = settings.layout_of_four(named.place_of(CallSetting::Layout))?;
        if let Some(prototype) = &settings.call {
            config.declare(prototype, named.dtypes)?;
        }
        Ok(Box::new(config))
    },
};

/// How often a worker is started again: as often as a program.
const MAX_RESTARTS: u32 = 200;

/// The command of the binary that is a worker.
pub const WORKER_COMMAND: &str = "native-worker";

/// A shared library and how its function is called.
#[derive(Clone, Debug)]
pub struct LibraryConfig {
    /// The file as the user wrote it.
    pub library: String,
    /// Folder that it is relative to, and that the worker runs in.
    pub folder: PathBuf,
    /// The binary that answers [`WORKER_COMMAND`].
    pub binary: PathBuf,
    /// The prototype of its function; none: it is `qkvet_attention_v1`.
    pub prototype: Option<String>,
    /// Order of the axes of query, key, value and output.
    pub layout: Layout,
}

impl LibraryConfig {
    /// A library by its file, nothing declared.
    pub fn new(library: &str, folder: &Path, binary: PathBuf) -> Self {
        Self {
            library: library.to_owned(),
            folder: folder.to_owned(),
            binary,
            prototype: None,
            layout: Layout::default(),
        }
    }

    /// Declares the prototype of the function. If `dtypes` is one format of sixteen bits, it is
    /// what `uint16_t` stands for.
    ///
    /// # Errors
    /// What is wrong with the prototype, in its place.
    pub fn declare(&mut self, prototype: &str, dtypes: &[Dtype]) -> Result<(), SpecError> {
        let text = Prototype::with_format(prototype, dtypes);
        Prototype::parse(&text)?;
        self.prototype = Some(text);
        Ok(())
    }

    /// Starts a worker and greets it.
    ///
    /// # Errors
    /// [`StartError`] if the library or the function cannot be loaded.
    pub fn start(&self, limits: &Limits) -> Result<ProcessTarget, StartError> {
        ProcessTarget::start(self.launch(limits))
    }

    /// How a script calls it.
    pub(crate) fn called(&self, limits: &Limits) -> Called {
        Called::Library(CalledLibrary {
            library: self.folder.join(&self.library),
            prototype: self.prototype.clone(),
            layout: self.layout,
            limit_s: limits.timeout.as_secs_f64(),
        })
    }

    pub(crate) fn launch(&self, limits: &Limits) -> Launch {
        let worker = NativeWorker {
            library: self.folder.join(&self.library),
            prototype: self.prototype.clone(),
            layout: self.layout,
        };
        Launch {
            name: format!("lib:{}", self.library),
            whose: Program::Library,
            program: self.binary.clone(),
            arguments: std::iter::once(WORKER_COMMAND.into())
                .chain(worker.to_arguments())
                .collect(),
            folder: Some(self.folder.clone()),
            python: None,
            limits: limits.clone(),
            max_restarts: MAX_RESTARTS,
            threads: Threads::One,
        }
    }
}

impl Adapter for LibraryConfig {
    fn open(&self, _: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        let fit = self.prototype.as_ref().and_then(|text| Prototype::parse(text).ok());
        let fit = fit.and_then(|prototype| prototype.fit().if_any());
        let open = OpenTarget::of_program(self.start(limits)?, self.called(limits));
        Ok(OpenTarget { fit, ..open })
    }

    fn max_restarts(&self) -> Option<u32> {
        Some(MAX_RESTARTS)
    }

    fn stored_call(&self) -> StoredCall {
        let (layout, prototype) = (self.layout, self.prototype.clone());
        StoredCall { layout: Some(layout), prototype, ..StoredCall::default() }
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.folder.join(&self.library)]
    }

    fn peer(&self, limits: &Limits) -> Peer {
        Peer::Wire(Ok(self.launch(limits)))
    }
}

impl NativeWorker {
    /// The words of a command line that [`from_arguments`](Self::from_arguments) reads.
    fn to_arguments(&self) -> Vec<OsString> {
        vec![
            self.library.clone().into(),
            self.layout.name().into(),
            self.prototype.clone().unwrap_or_default().into(),
        ]
    }

    /// The worker that a command line asks for; `None` if it is not one of ours.
    pub fn from_arguments(words: &[OsString]) -> Option<Self> {
        let [library, layout, prototype] = words else { return None };
        Some(Self {
            library: library.into(),
            prototype: prototype.to_str().filter(|text| !text.is_empty()).map(str::to_owned),
            layout: if layout == "bnhd" { Layout::Bnhd } else { Layout::Bhnd },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_told_what_it_is_to_do() {
        for layout in [Layout::Bhnd, Layout::Bnhd] {
            for prototype in [None, Some("void f()".to_owned())] {
                let worker = NativeWorker { library: "/a b/x.so".into(), prototype, layout };
                assert_eq!(NativeWorker::from_arguments(&worker.to_arguments()), Some(worker));
            }
        }
        assert_eq!(NativeWorker::from_arguments(&["x".into()]), None);
    }
}
