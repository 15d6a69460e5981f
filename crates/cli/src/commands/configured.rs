//! The files that a run is configured by, and whether they are still what they were in the end.

use std::collections::BTreeMap;

use qkvet_report::English;
use qkvet_run::config::Home;
use qkvet_spec::{Summary, Unexpected, Warning, Words};

use super::setup;
use crate::args::CheckArgs;

/// Digits of a hash that are shown, behind `sha256:`.
const SHOWN: usize = 7 + 12;
/// Files that one line names.
const MAX_NAMED: usize = 4;

/// Files of configuration, of laws and conventions, and of known deviations.
pub(super) struct Configuration<'a> {
    /// By path, with `sha256:` and the hash of each.
    pub(super) hashes: BTreeMap<String, String>,
    args: &'a CheckArgs,
}

impl<'a> Configuration<'a> {
    pub(super) fn of(args: &'a CheckArgs, home: &Home) -> Self {
        Self { hashes: home.hashes(args.report.known.as_deref()), args }
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

    /// Says in a report that a file changed, came or went since: a target could excuse itself from
    /// the next run.
    pub(super) fn look_again(&self, summary: &mut Summary) {
        let Some(error) = self.change() else { return };
        let change = Warning::ConfigurationChanged { error: Box::new(error) };
        tell!("error: {}", English.warning(&change));
        summary.warnings.push(change);
        summary.other_configuration = true;
    }

    fn change(&self) -> Option<Unexpected> {
        let args = self.args;
        match setup::home(&args.target, args.on.process.config.as_deref()) {
            Ok(home) => self.difference(&Self::of(args, &home).hashes),
            Err(error) => {
                let expected = "what it was when the run began";
                Some(Unexpected::at("configuration", expected).error(error))
            }
        }
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
