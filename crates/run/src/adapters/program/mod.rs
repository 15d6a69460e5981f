//! `exec:CMD`: any program that speaks qkvet-wire/1.

mod script;

use std::path::{Path, PathBuf};

use qkvet_spec::{Meaning, Threads, Unexpected};

use super::adapter::{Adapter, Peer};
use super::called::Called;
use super::kind::Kind;
use super::open::OpenTarget;
use crate::process::{Launch, Limits, ProcessTarget, Program, StartError};

pub(crate) use script::{CalledExec, ExecCaller};

pub(super) const KIND: Kind = Kind {
    prefix: "exec:",
    name: "a program",
    takes: &[],
    identity: |command, base| {
        ExecConfig::new(command, base)
            .map_or_else(|_| command.to_owned(), |config| format!("{:?}", config.place()))
    },
    make: |named, _| Ok(Box::new(ExecConfig::new(named.rest, named.base)?)),
};

/// How often a program is started again: cheap, compared with the worker that imports a library.
const MAX_RESTARTS: u32 = 200;

/// A program with its arguments.
///
/// # Example
/// ```
/// use qkvet_run::adapters::ExecConfig;
/// let config = ExecConfig::new("./attention --name 'my kernel'", "/base".as_ref())?;
/// assert_eq!(config.program, std::path::Path::new("/base/./attention"));
/// assert_eq!(config.arguments, ["--name", "my kernel"]);
/// # Ok::<(), qkvet_spec::Unexpected>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExecConfig {
    /// As the user wrote it.
    pub command: String,
    /// The program: a path, or a name to be looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Folder that it runs in.
    pub folder: PathBuf,
}

impl ExecConfig {
    /// Splits a command into words by the rules of a POSIX shell, without expansion. A program with
    /// a `/` in it is relative to `folder`, in which it runs.
    ///
    /// # Errors
    /// No word, or a quote that is not closed.
    pub fn new(command: &str, folder: &Path) -> Result<Self, Unexpected> {
        let wrong = || {
            let place = format!("target `exec:{command}`");
            Unexpected::at(place, "a program and its arguments, quotes closed")
                .hint("no shell reads it: `exec:./attention --fast`")
        };
        let mut words = shell_words::split(command).map_err(|_| wrong())?.into_iter();
        let program = words.next().filter(|program| !program.is_empty()).ok_or_else(wrong)?;
        let program = if program.contains('/') { folder.join(program) } else { program.into() };
        let (command, folder) = (command.to_owned(), folder.to_owned());
        Ok(Self { command, program, arguments: words.collect(), folder })
    }

    /// Starts the program and greets it.
    ///
    /// # Errors
    /// [`StartError`] if it does not run, declines, takes too long or does not speak the protocol.
    pub fn start(&self, limits: &Limits) -> Result<ProcessTarget, StartError> {
        ProcessTarget::start(self.launch(limits))
    }

    /// How a script calls it.
    pub(crate) fn called(&self, limits: &Limits) -> Called {
        let Self { program, arguments, folder, .. } = self.clone();
        let limit_s = limits.timeout.as_secs_f64();
        Called::Exec(CalledExec { program, arguments, folder, limit_s })
    }

    /// Program and arguments, however the path is written.
    fn place(&self) -> (PathBuf, &[String]) {
        let program = self.program.canonicalize().unwrap_or_else(|_| self.program.clone());
        (program, &self.arguments)
    }

    pub(crate) fn launch(&self, limits: &Limits) -> Launch {
        Launch {
            name: format!("exec:{}", self.command),
            whose: Program::User,
            program: self.program.clone(),
            arguments: self.arguments.iter().map(Into::into).collect(),
            folder: Some(self.folder.clone()),
            python: None,
            limits: limits.clone(),
            max_restarts: MAX_RESTARTS,
            threads: Threads::One,
        }
    }
}

impl Adapter for ExecConfig {
    fn open(&self, _: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        Ok(OpenTarget::of_program(self.start(limits)?, self.called(limits)))
    }

    fn max_restarts(&self) -> Option<u32> {
        Some(MAX_RESTARTS)
    }

    /// The program and the files among its arguments, but for programs of the system: those found
    /// in `PATH`, or by an absolute path outside of the folder that they run in.
    fn files(&self) -> Vec<PathBuf> {
        let arguments = self.arguments.iter().map(PathBuf::from);
        let words = std::iter::once(self.program.clone()).chain(arguments);
        let is_own = |path: &PathBuf| path.starts_with(&self.folder) && path.is_file();
        words.map(|word| self.folder.join(word)).filter(is_own).collect()
    }

    fn peer(&self, limits: &Limits) -> Peer {
        Peer::Wire(Ok(self.launch(limits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: Option<(&str, &[&str])>) {
        let config = ExecConfig::new(command, Path::new("/base")).ok();
        let got =
            config.as_ref().map(|config| (config.program.as_path(), config.arguments.clone()));
        let expected = expected.map(|(program, words)| {
            (Path::new(program), words.iter().map(|w| (*w).to_owned()).collect())
        });
        assert_eq!(got, expected, "{command}");
    }

    #[test]
    fn commands() {
        check("python3 -u x.py", Some(("python3", &["-u", "x.py"])));
        check("./a 'b c' \"d\\\"e\" ''", Some(("/base/./a", &["b c", "d\"e", ""])));
        check("/bin/a $HOME *", Some(("/bin/a", &["$HOME", "*"])));
        check("bin/a", Some(("/base/bin/a", &[])));
        for wrong in ["", "  ", "a 'b", "''"] {
            check(wrong, None);
        }
    }
}
