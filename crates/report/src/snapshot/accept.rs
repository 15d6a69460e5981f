//! Taking over what a run found, and nothing that it has not seen.

use qkvet_spec::{CaseChange, Change, Snapshot, SnapshotEntry, SnapshotOutcome, Summary};

use super::parts::{is_same, parts};

/// What was taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// Entries that are new.
    pub added: usize,
    /// Entries that are different.
    pub replaced: usize,
    /// Entries that are gone.
    pub removed: usize,
}

/// Takes the changes over for which `is_accepted` holds. Recorded cases that the run has not stay,
/// unless it had all cases and `prune` is set.
pub fn accept(
    snapshot: &mut Snapshot,
    summary: &Summary,
    outcome: &SnapshotOutcome,
    prune: bool,
    is_accepted: &dyn Fn(&CaseChange) -> bool,
) -> AcceptedChanges {
    let mut written = AcceptedChanges::default();
    for found in parts(summary, &outcome.device) {
        let of_part = |one: &&CaseChange| {
            one.dtype == found.dtype && (one.change != Change::Missing || prune) && is_accepted(one)
        };
        let accepted: Vec<&CaseChange> = outcome.changes.iter().filter(of_part).collect();
        if accepted.is_empty() {
            continue;
        }
        let at =
            snapshot.parts.iter().position(|part| is_same(part, &found)).unwrap_or_else(|| {
                snapshot.parts.push(qkvet_spec::SnapshotPart {
                    cases: indexmap::IndexMap::new(),
                    ..found.clone()
                });
                snapshot.parts.len() - 1
            });
        let part = &mut snapshot.parts[at];
        part.qkvet.clone_from(&found.qkvet);
        for one in accepted {
            let entries = part.cases.entry(one.law.clone()).or_default();
            match &one.found {
                None => written.removed += usize::from(entries.shift_remove(&one.case).is_some()),
                Some(entry) => {
                    let kept = with_bits(entry, one.recorded.as_ref());
                    let before = entries.insert(one.case.clone(), kept);
                    written.added += usize::from(before.is_none());
                    written.replaced += usize::from(before.is_some());
                }
            }
        }
        part.cases.retain(|_, entries| !entries.is_empty());
        part.findings.extend(found.findings.clone());
        let used: std::collections::BTreeSet<&str> = part
            .cases
            .values()
            .flat_map(|entries| entries.values())
            .filter_map(|entry| entry.finding.as_deref())
            .flat_map(|name| name.split('+'))
            .collect();
        part.findings.retain(|code, _| used.contains(code.as_str()));
    }
    written
}

/// A run that did not look at bits says nothing of them.
fn with_bits(found: &SnapshotEntry, recorded: Option<&SnapshotEntry>) -> SnapshotEntry {
    let same = |recorded: &&SnapshotEntry| {
        found.digest.is_none() && recorded.verdict == found.verdict && recorded.band == found.band
    };
    let digest = found
        .digest
        .clone()
        .or_else(|| recorded.filter(same).and_then(|recorded| recorded.digest.clone()));
    SnapshotEntry { digest, ..found.clone() }
}
