//! How a script calls a program: it speaks the wire to it, with the standard library alone.

use std::path::Path;

use qkvet_spec::Call;

use super::literal::{Style, float, mask, string, tensor};
use super::{Caller, Ground};
use crate::process::ExecConfig;

const EXEC: &str = include_str!("exec.py");

/// A program.
pub(crate) struct ExecCaller<'a> {
    /// What was started.
    pub(crate) config: &'a ExecConfig,
    /// Where the script lies.
    pub(crate) ground: Ground<'a>,
}

impl Caller for ExecCaller<'_> {
    fn needs(&self) -> String {
        "the program".to_owned()
    }

    fn is_inside(&self) -> bool {
        false
    }

    fn constants(&self) -> String {
        let ExecConfig { program, arguments, folder, .. } = self.config;
        // A bare name is looked up in the path.
        let is_bare = program.parent() == Some(Path::new(""));
        let program = if is_bare { string(&program.to_string_lossy()) } else { self.ground.path(program) };
        let arguments: Vec<String> = arguments.iter().map(|word| string(word)).collect();
        format!("PROGRAM = {program}\nARGUMENTS = [{}]\nFOLDER = {}\n", arguments.join(", "), self.ground.path(folder))
    }

    fn options(&self, call: &Call, style: Style) -> Vec<(String, String)> {
        let given = [
            ("scale", call.scale.map(float)),
            ("causal", call.causal.then(|| "True".to_owned())),
            ("mask", call.mask.as_ref().map(|x| mask(x, style))),
            ("bias", call.bias.as_ref().map(|x| tensor(x, style))),
        ];
        given.into_iter().filter_map(|(option, literal)| Some((option.to_owned(), literal?))).collect()
    }

    fn ask(&self) -> String {
        EXEC.to_owned()
    }
}
