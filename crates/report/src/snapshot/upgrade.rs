//! From one version of a suite to another: which parts go, and what they showed.

use std::collections::BTreeSet;

use qkvet_spec::{Snapshot, SnapshotPart, Summary, suite_id};

use super::parts::{is_other_version, n_cases, parts};

/// What became of the parts of another version of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upgrade {
    /// Names of the suites whose parts went.
    pub gone: BTreeSet<String>,
    /// How many cases went with them.
    pub removed: usize,
    /// Names of the suites with parts that stay: the run does not show what they show.
    pub kept: BTreeSet<String>,
    /// What the parts that stay show and the run does not: names of findings, empty for wrong
    /// results without one.
    pub unseen: BTreeSet<String>,
}

/// The version of this suite (`core@2`) that the snapshot has cases of, if it has none of the
/// version itself.
pub fn other_version<'a>(snapshot: &'a Snapshot, suite: &str) -> Option<&'a str> {
    let mut names = snapshot.parts.iter().map(|part| part.suite.as_str());
    let is_there = names.clone().any(|name| name == suite);
    names.find(|name| !is_there && suite_id(name) == suite_id(suite))
}

/// Removes the parts whose cases are those of another version of the run's suite, run in the same
/// way. A part stays where it shows what the run does not, unless `prune` is set: nothing that was
/// wrong is forgotten.
pub fn upgrade(snapshot: &mut Snapshot, summary: &Summary, device: &str, prune: bool) -> Upgrade {
    let found = parts(summary, device);
    let mut done = Upgrade::default();
    snapshot.parts.retain(|part| {
        let Some(now) = found.iter().find(|now| is_other_version(now, part)) else { return true };
        let mut unseen = shown(part);
        let of_now = shown(now);
        unseen.retain(|name| !prune && !of_now.contains(name));
        if unseen.is_empty() {
            done.gone.insert(part.suite.clone());
            done.removed += n_cases(part);
            return false;
        }
        done.kept.insert(part.suite.clone());
        done.unseen.extend(unseen);
        true
    });
    done
}

/// Names of the findings of a part, one by one; empty for a wrong case of none.
fn shown(part: &SnapshotPart) -> BTreeSet<String> {
    let wrong = part.cases.values().flat_map(|entries| entries.values());
    let wrong = wrong.filter(|entry| entry.verdict.is_finding() || entry.finding.is_some());
    wrong
        .flat_map(|entry| entry.finding.as_deref().unwrap_or_default().split('+'))
        .map(str::to_owned)
        .collect()
}
