//! The files that a run is configured by, and whether they are still what they were in the end.

use std::collections::BTreeMap;

use qkvet_run::config::Home;
use qkvet_spec::{Unexpected, Warning};

use super::setup;
use crate::args::CheckArgs;

/// Digits of a hash that are shown, behind `sha256:`.
const SHOWN: usize = 7 + 12;
/// Files that one line names.
const MAX_NAMED: usize = 4;

/// Files of configuration, of laws and conventions, and of known deviations.
#[derive(Default)]
pub(super) struct Configuration<'a> {
    /// By path, with `sha256:` and the hash of each.
    pub(super) hashes: BTreeMap<String, String>,
    args: Option<&'a CheckArgs>,
}

impl<'a> Configuration<'a> {
    pub(super) fn of(args: &'a CheckArgs, home: &Home) -> Self {
        Self { hashes: home.hashes(args.report.known.as_deref()), args: Some(args) }
    }

    /// Says it in one line.
    pub(super) fn tell(&self) {
        let of = |(path, hash): (&String, &String)| format!("{path} {}", shown(Some(hash)));
        let mut all: Vec<String> = self.hashes.iter().take(MAX_NAMED).map(of).collect();
        let more = self.hashes.len() - all.len();
        if more > 0 {
            all.push(format!("{more} more"));
        }
        if !all.is_empty() {
            tell!("configuration: {}", all.join(", "));
        }
    }

    /// A file that changed, came or went since: a target could excuse itself from the next run.
    pub(super) fn change(&self) -> Option<Warning> {
        let args = self.args?;
        let error = match setup::home(&args.target, args.on.process.config.as_deref()) {
            Ok(home) => self.difference(&Self::of(args, &home).hashes)?,
            Err(error) => {
                Unexpected::at("configuration", "what it was when the run began").error(error)
            }
        };
        Some(Warning::ConfigurationChanged { error: Box::new(error) })
    }

    fn difference(&self, after: &BTreeMap<String, String>) -> Option<Unexpected> {
        let mut paths = self.hashes.keys().chain(after.keys());
        let path = paths.find(|path| self.hashes.get(*path) != after.get(*path))?;
        let before = shown(self.hashes.get(path));
        let wrong = Unexpected::at(path, format!("what it was when the run began, {before}"));
        Some(
            wrong
                .got(shown(after.get(path)))
                .hint("look at the file before the next run: the target may have written it"),
        )
    }
}

fn shown(hash: Option<&String>) -> &str {
    hash.map_or("no file", |hash| hash.get(..SHOWN).unwrap_or(hash))
}
