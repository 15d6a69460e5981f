//! The files that a run is configured by, and whether they are still what they were in the end.

use std::collections::BTreeMap;

use qkvet_run::config::Home;
use qkvet_spec::Unexpected;

use super::setup;
use crate::args::CheckArgs;

/// Digits of a hash that are shown, behind `sha256:`.
const SHOWN: usize = 7 + 12;

/// Files of configuration and of known deviations.
pub(super) struct Configuration {
    /// By path, with `sha256:` and the hash of each.
    pub(super) hashes: BTreeMap<String, String>,
}

impl Configuration {
    pub(super) fn of(args: &CheckArgs, home: &Home) -> Self {
        Self { hashes: home.hashes(args.report.known.as_deref()) }
    }

    /// Says it in one line.
    pub(super) fn tell(&self) {
        let of = |(path, hash): (&String, &String)| format!("{path} {}", shown(Some(hash)));
        let all: Vec<String> = self.hashes.iter().map(of).collect();
        if !all.is_empty() {
            tell!("configuration: {}", all.join(", "));
        }
    }

    /// Refuses a run in which a file changed, came or went: a target could excuse itself from the
    /// next one.
    pub(super) fn is_kept(&self, args: &CheckArgs) -> Result<(), Unexpected> {
        let home = setup::home(&args.target, args.on.process.config.as_deref())?;
        let after = Self::of(args, &home).hashes;
        let mut paths = self.hashes.keys().chain(after.keys());
        let Some(path) = paths.find(|path| self.hashes.get(*path) != after.get(*path)) else {
            return Ok(());
        };
        let before = shown(self.hashes.get(path));
        Err(Unexpected::at(path, format!("what it was when the run began, {before}"))
            .got(shown(after.get(path)))
            .hint("look at the file before the next run: the target may have written it"))
    }
}

fn shown(hash: Option<&String>) -> &str {
    hash.map_or("no file", |hash| hash.get(..SHOWN).unwrap_or(hash))
}
