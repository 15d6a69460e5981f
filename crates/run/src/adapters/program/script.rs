//! How a script calls a program: it speaks the wire to it, with the standard library alone.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::repro::literal::{list, string};
use crate::repro::{Caller, Ground};

const EXEC: &str = include_str!("script.py");

/// A program that speaks the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledExec {
    /// A path, or a name to be looked up.
    pub(in crate::adapters) program: PathBuf,
    pub(in crate::adapters) arguments: Vec<String>,
    /// Folder that it runs in.
    pub(in crate::adapters) folder: PathBuf,
    pub(in crate::adapters) limit_s: f64,
}

/// A program.
pub(crate) struct ExecCaller<'a> {
    pub(in crate::adapters) called: &'a CalledExec,
    /// Where the script lies.
    pub(in crate::adapters) ground: Ground<'a>,
}

impl Caller for ExecCaller<'_> {
    fn needs(&self) -> String {
        "the program".to_owned()
    }

    fn is_inside(&self) -> bool {
        false
    }

    fn constants(&self) -> String {
        let CalledExec { program, arguments, folder, .. } = self.called;
        // A bare name is looked up in the path.
        let is_bare = program.parent() == Some(Path::new(""));
        let program =
            if is_bare { string(&program.to_string_lossy()) } else { self.ground.path(program) };
        format!(
            "PROGRAM = {program}\nARGUMENTS = {}\nFOLDER = {}\n",
            list(arguments),
            self.ground.path(folder)
        )
    }

    fn ask(&self) -> Vec<&'static str> {
        vec![EXEC]
    }
}
