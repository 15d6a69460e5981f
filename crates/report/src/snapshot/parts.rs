//! The parts of a snapshot that a run makes.

use indexmap::IndexMap;
use qkvet_spec::{
    Band, CaseRecord, PartCount, SnapshotEntry, SnapshotPart, Summary, Verdict, suite_id,
};

use super::PLAIN_DEVICE;
use crate::finding_name::finding_name;
use crate::words::lower_first;

/// One part for each format of the run, in order of name; what was not run is in none.
pub(super) fn parts(summary: &Summary, device: &str) -> Vec<SnapshotPart> {
    let names: Vec<String> = summary.findings.iter().map(finding_name).collect();
    let mut parts: Vec<SnapshotPart> = Vec::new();
    for record in summary.records.iter().filter(|record| record.verdict != Verdict::Skipped) {
        let at = parts.iter().position(|part| part.dtype == record.dtype).unwrap_or_else(|| {
            parts.push(empty(summary, device, &record.dtype));
            parts.len() - 1
        });
        let part = &mut parts[at];
        if let Some(finding) = record.finding.and_then(|finding| summary.findings.get(finding)) {
            for fault in finding.cause.faults() {
                let title = || lower_first(&fault.title);
                part.findings.entry(fault.code.clone()).or_insert_with(title);
            }
        }
        part.cases
            .entry(record.law.clone())
            .or_default()
            .insert(record.id.clone(), entry(record, &names));
    }
    parts.sort_by(|x, y| x.dtype.cmp(&y.dtype));
    parts
}

fn empty(summary: &Summary, device: &str, dtype: &str) -> SnapshotPart {
    let run = &summary.run;
    let mut conventions = run.conventions.clone();
    conventions.sort();
    SnapshotPart {
        device: device.to_owned(),
        suite: run.suite_name(),
        seed: run.seed,
        dtype: dtype.to_owned(),
        contract: run.contracts.get(dtype).cloned().unwrap_or_default(),
        conventions,
        qkvet: run
            .tool
            .split_once(' ')
            .map_or(run.tool.as_str(), |(_, version)| version)
            .to_owned(),
        findings: IndexMap::new(),
        total: None,
        cases: IndexMap::new(),
    }
}

fn entry(record: &CaseRecord, names: &[String]) -> SnapshotEntry {
    SnapshotEntry {
        verdict: record.verdict,
        band: record.margin.and_then(Band::of),
        finding: record.finding.and_then(|finding| names.get(finding).cloned()),
        digest: record.digest.clone(),
    }
}

/// Whether two parts hold cases that were run in the same way.
pub(super) fn is_same(x: &SnapshotPart, y: &SnapshotPart) -> bool {
    x.suite == y.suite && is_alike(x, y)
}

/// The same, of whatever suites.
fn is_alike(x: &SnapshotPart, y: &SnapshotPart) -> bool {
    fn key(part: &SnapshotPart) -> (&str, u64, &str, &str, &[String]) {
        let SnapshotPart { device, seed, dtype, contract, conventions, .. } = part;
        (device, *seed, dtype, contract, conventions)
    }
    key(x) == key(y)
}

/// Whether the second has cases of another version of the first one's suite, run in the same way.
pub(super) fn is_other_version(x: &SnapshotPart, y: &SnapshotPart) -> bool {
    x.suite != y.suite && suite_id(&x.suite) == suite_id(&y.suite) && is_alike(x, y)
}

/// How many cases it has.
pub(super) fn n_cases(part: &SnapshotPart) -> usize {
    part.cases.values().map(IndexMap::len).sum()
}

/// Format and contract of a part, after what else tells it from a run.
pub(super) fn part_count(part: &SnapshotPart, summary: &Summary, run_device: &str) -> PartCount {
    let SnapshotPart { device, suite, seed, dtype, contract, conventions, .. } = part;
    let run = &summary.run;
    let mut words = Vec::new();
    if device != run_device {
        words.push(format!("device {device}"));
    }
    if *suite != run.suite_name() {
        words.push(format!("suite {suite}"));
    }
    if *seed != run.seed {
        words.push(format!("seed {seed}"));
    }
    words.push(format!("{dtype} under {contract}"));
    let mut declared = run.conventions.clone();
    declared.sort();
    if *conventions != declared {
        let named = if conventions.is_empty() { "none".to_owned() } else { conventions.join(" ") };
        words.push(format!("conventions {named}"));
    }
    PartCount { part: words.join(" "), cases: n_cases(part) }
}

/// The name of the run's device: the one that is given, else what the target says.
pub(super) fn device_of(summary: &Summary, given: Option<&str>) -> String {
    let said = || summary.run.device.as_ref().map(|device| device.display().to_string());
    given.map(str::to_owned).or_else(said).unwrap_or_else(|| PLAIN_DEVICE.to_owned())
}
