//! What is different between a snapshot and a run.
//!
//! When is an error larger? The error of one case is the sum of a few roundings: another machine,
//! another order of summation, and it may well be four times what it was, though nothing is worse.
//! So two things have to hold before a band counts as a regression. It is up by more than one step,
//! which is to say that the error more than doubled; and it is above the band of every case that
//! was recorded for the same law in the same format with the same verdict: no input gave an error
//! as large before. `docs/snapshots.md` has the numbers behind the rule.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use qkvet_spec::{
    Band, CaseChange, Change, Chosen, PartCount, Snapshot, SnapshotEntry, SnapshotOutcome,
    SnapshotPart, Summary, Verdict,
};

use super::parts::{device_of, is_same, n_cases, part_count, parts};
use crate::finding_name::{finding_name, is_name_of};

/// Steps of a band that rounding explains.
const NOISE: i32 = 1;

/// Compares a run with a snapshot: bits too, if `exact`; `device` names the machine's device where
/// the target does not.
pub fn compare(
    snapshot: &Snapshot,
    summary: &Summary,
    file: &str,
    device: Option<&str>,
    exact: bool,
) -> SnapshotOutcome {
    let device = device_of(summary, device);
    let found = parts(summary, &device);
    let is_whole = summary.was_finished()
        && !summary.run.is_part()
        && !summary.run.chosen.contains(&Chosen::Laws);
    let mut outcome = SnapshotOutcome {
        file: file.to_owned(),
        device,
        exact,
        compared: 0,
        left_out: 0,
        not_asked: Vec::new(),
        not_recorded: Vec::new(),
        recorded_findings: Vec::new(),
        changes: Vec::new(),
    };
    let known: BTreeSet<&str> = summary
        .records
        .iter()
        .filter(|record| record.known)
        .map(|record| record.id.as_str())
        .collect();
    for part in &found {
        let recorded = snapshot.parts.iter().find(|recorded| is_same(recorded, part));
        Part { recorded, found: part, exact, is_whole, known: &known }.compare(&mut outcome);
    }
    let others_of = |parts: &[SnapshotPart], others: &[SnapshotPart]| -> Vec<PartCount> {
        let is_other = |part: &&SnapshotPart| {
            n_cases(part) > 0 && !others.iter().any(|other| is_same(other, part))
        };
        parts
            .iter()
            .filter(is_other)
            .map(|part| part_count(part, summary, &outcome.device))
            .collect()
    };
    // Which parts a run has is a matter of its flags, its device and what the target declares: it
    // is told, and is no change.
    (outcome.not_asked, outcome.not_recorded) =
        (others_of(&snapshot.parts, &found), others_of(&found, &snapshot.parts));
    outcome.changes.sort_by_key(|one| one.change);
    outcome.recorded_findings = recorded_findings(snapshot, summary, &found, &outcome);
    outcome
}

/// Findings all of whose cases have the same finding in the snapshot, and no worse verdict or
/// larger error than there.
fn recorded_findings(
    snapshot: &Snapshot,
    summary: &Summary,
    found: &[SnapshotPart],
    outcome: &SnapshotOutcome,
) -> Vec<usize> {
    let mut recorded: BTreeMap<(&str, &str), &SnapshotEntry> = BTreeMap::new();
    for part in snapshot.parts.iter().filter(|part| found.iter().any(|found| is_same(found, part)))
    {
        for (id, entry) in part.cases.values().flatten() {
            recorded.insert((&part.dtype, id), entry);
        }
    }
    let regressed: BTreeSet<&str> = outcome
        .changes
        .iter()
        .filter(|one| one.change.is_regression())
        .map(|one| one.case.as_str())
        .collect();
    let names: Vec<String> = summary.findings.iter().map(finding_name).collect();
    // Whether all cases of a finding are recorded; none: it has no case.
    let mut all_recorded: Vec<Option<bool>> = vec![None; names.len()];
    for record in &summary.records {
        let Some(number) = record.finding.filter(|number| *number < names.len()) else { continue };
        let entry = recorded.get(&(record.dtype.as_str(), record.id.as_str()));
        let is_recorded = entry.is_some_and(|entry| {
            entry.finding.as_ref().is_some_and(|one| is_name_of(one, &names[number]))
        }) && !regressed.contains(record.id.as_str());
        all_recorded[number] = Some(all_recorded[number].unwrap_or(true) && is_recorded);
    }
    (0..names.len()).filter(|number| all_recorded[*number] == Some(true)).collect()
}

/// A part of the run beside the recorded one.
struct Part<'a> {
    recorded: Option<&'a SnapshotPart>,
    found: &'a SnapshotPart,
    exact: bool,
    /// Whether the run has all its cases.
    is_whole: bool,
    /// Cases that are known deviations.
    known: &'a BTreeSet<&'a str>,
}

impl Part<'_> {
    fn compare(&self, outcome: &mut SnapshotOutcome) {
        let nothing = IndexMap::new();
        let recorded = self.recorded.map_or(&nothing, |part| &part.cases);
        for (law, entries) in &self.found.cases {
            let before = recorded.get(law);
            let highest = (before.map(highest).unwrap_or_default(), highest(entries));
            for (id, entry) in entries {
                let before = before.and_then(|before| before.get(id));
                outcome.compared += usize::from(before.is_some());
                // What nobody has looked at yet may be right, or it is one more finding.
                let is_wrong = entry.verdict.is_finding() || entry.finding.is_some();
                let new = if is_wrong { Change::NewFinding } else { Change::New };
                let change =
                    before.map_or(Some(new), |before| self.change(before, entry, &highest));
                if let Some(change) = change {
                    let is_known = self.known.contains(id.as_str()) && change.is_regression();
                    let change = if is_known { Change::Known } else { change };
                    outcome.changes.push(self.changed(change, (law, id), before, Some(entry)));
                }
            }
        }
        for (law, entries) in recorded {
            let now = self.found.cases.get(law);
            let gone =
                entries.iter().filter(|(id, _)| now.is_none_or(|now| !now.contains_key(*id)));
            for (id, entry) in gone {
                if self.is_whole {
                    outcome.changes.push(self.changed(
                        Change::Missing,
                        (law, id),
                        Some(entry),
                        None,
                    ));
                } else {
                    outcome.left_out += 1;
                }
            }
        }
    }

    fn changed(
        &self,
        change: Change,
        (law, case): (&String, &String),
        recorded: Option<&SnapshotEntry>,
        found: Option<&SnapshotEntry>,
    ) -> CaseChange {
        let dtype = self.found.dtype.clone();
        CaseChange {
            change,
            law: law.clone(),
            dtype,
            case: case.clone(),
            recorded: recorded.cloned(),
            found: found.cloned(),
        }
    }

    /// How a case changed, if it did.
    fn change(
        &self,
        before: &SnapshotEntry,
        now: &SnapshotEntry,
        (highest_before, highest_now): &(BTreeMap<Verdict, i32>, BTreeMap<Verdict, i32>),
    ) -> Option<Change> {
        let by_verdict = match rank(now.verdict).cmp(&rank(before.verdict)) {
            std::cmp::Ordering::Greater => Some(Change::Worse),
            std::cmp::Ordering::Less => Some(Change::Better),
            std::cmp::Ordering::Equal => None,
        };
        if by_verdict.is_some() {
            return by_verdict;
        }
        if before.verdict != now.verdict {
            return Some(Change::NewFinding);
        }
        let has_other_name = match (&before.finding, &now.finding) {
            (Some(before), Some(now)) => !is_name_of(before, now),
            (before, now) => before != now,
        };
        let is_broken = matches!(now.verdict, Verdict::Error | Verdict::Crash | Verdict::Timeout);
        match (&before.finding, &now.finding) {
            // With fewer cases to look at another cause may be named for the same wrong results.
            // How a target broke is seen in each case by itself.
            (Some(_), Some(_)) if has_other_name && (self.is_whole || is_broken) => {
                return Some(Change::NewFinding);
            }
            (None, Some(_)) if !before.verdict.is_finding() => return Some(Change::NewFinding),
            (Some(_), None) if !before.verdict.is_finding() => return Some(Change::Better),
            _ => {}
        }
        let is_up = |from: Option<Band>, to: Option<Band>, highest: &BTreeMap<Verdict, i32>| match (
            from, to,
        ) {
            (Some(from), Some(to)) => {
                to.power() > from.power() + NOISE
                    && highest.get(&now.verdict).is_none_or(|highest| to.power() > *highest)
            }
            // A failure without a number (NaN, infinity, another form) is farther out than any
            // number.
            (Some(_), None) => now.verdict == Verdict::Fail,
            _ => false,
        };
        let has_other_bits = self.exact && before.digest.is_some() && before.digest != now.digest;
        let may_add_bits = self.exact && before.digest.is_none() && now.digest.is_some();
        if is_up(before.band, now.band, highest_before) {
            Some(Change::LargerError)
        } else if has_other_bits {
            Some(Change::OtherBits)
        } else if is_up(now.band, before.band, highest_now) {
            Some(Change::SmallerError)
        } else {
            (before.band != now.band || has_other_name || may_add_bits).then_some(Change::Drift)
        }
    }
}

/// The highest band of each verdict.
fn highest(entries: &IndexMap<String, SnapshotEntry>) -> BTreeMap<Verdict, i32> {
    let mut highest = BTreeMap::new();
    for entry in entries.values() {
        if let Some(band) = entry.band {
            let best = highest.entry(entry.verdict).or_insert(i32::MIN);
            *best = band.power().max(*best);
        }
    }
    highest
}

/// How bad a verdict is. What declines answers less than what is undecided, and more than what is
/// wrong.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Inconclusive => 1,
        Verdict::Suspect => 2,
        Verdict::Unguarded => 3,
        Verdict::Unsupported => 4,
        Verdict::Refused => 5,
        Verdict::Skipped => 6,
        Verdict::Fail | Verdict::Nondet | Verdict::Error | Verdict::Crash | Verdict::Timeout => 7,
    }
}
