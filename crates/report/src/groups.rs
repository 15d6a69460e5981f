//! Cases put together by law and format, and what tools call a finding.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::{CaseChange, CaseRecord, Change, Finding, FindingKind, Summary, Verdict};

use crate::finding_name::finding_name;
use crate::snapshot::{ChangeGroup, change_groups};
use crate::text::{count, first_line, visible, visible_line};

/// The cases of one law in one format.
#[derive(Debug, Default)]
pub(crate) struct CaseGroup<'a> {
    pub(crate) law: &'a str,
    pub(crate) dtype: &'a str,
    pub(crate) counts: BTreeMap<Verdict, usize>,
    /// The first case that failed or broke.
    pub(crate) wrong: Option<&'a CaseRecord>,
    /// The first case that failed or broke and does not count: it is known, or the snapshot has it.
    pub(crate) settled: Option<&'a CaseRecord>,
    /// The first case that the target declined, or that was not run.
    pub(crate) declined: Option<&'a CaseRecord>,
}

impl CaseGroup<'_> {
    pub(crate) fn total(&self) -> usize {
        self.counts.values().sum()
    }

    pub(crate) fn count(&self, is: impl Fn(Verdict) -> bool) -> usize {
        self.counts.iter().filter(|(verdict, _)| is(**verdict)).map(|(_, n)| n).sum()
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.count(Verdict::is_checked) > 0
    }
}

/// Groups in the order in which their first cases come.
pub(crate) fn case_groups(summary: &Summary) -> Vec<CaseGroup<'_>> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut groups: Vec<CaseGroup<'_>> = Vec::new();
    let snapshot = summary.snapshot.as_ref();
    let regressed: BTreeSet<&str> = snapshot
        .iter()
        .flat_map(|snapshot| &snapshot.changes)
        .filter(|one| one.change.is_regression() || one.change == Change::New)
        .map(|one| one.case.as_str())
        .collect();
    let is_settled = |record: &CaseRecord| {
        record.known || (snapshot.is_some() && !regressed.contains(record.id.as_str()))
    };
    for record in &summary.records {
        let at = *places.entry((&record.law, &record.dtype)).or_insert_with(|| {
            groups.push(CaseGroup {
                law: &record.law,
                dtype: &record.dtype,
                ..CaseGroup::default()
            });
            groups.len() - 1
        });
        let group = &mut groups[at];
        *group.counts.entry(record.verdict).or_default() += 1;
        if record.verdict.fails() && is_settled(record) {
            group.settled.get_or_insert(record);
        } else if record.verdict.fails() {
            group.wrong.get_or_insert(record);
        } else if !record.verdict.is_checked() {
            group.declined.get_or_insert(record);
        }
    }
    groups
}

/// What is worse than in a snapshot though no finding tells of it, by groups: errors that are
/// larger, bits that changed, cases that are declined now.
pub(crate) fn bare_regressions(summary: &Summary) -> Vec<ChangeGroup<'_>> {
    let has_finding = |one: &&CaseChange| {
        one.found
            .as_ref()
            .is_some_and(|found| found.finding.is_some() || found.verdict.is_finding())
    };
    let is_bare = |group: &ChangeGroup<'_>| {
        group.change.is_regression() && !group.cases.iter().any(has_finding)
    };
    summary.snapshot.iter().flat_map(change_groups).filter(is_bare).collect()
}

/// The group in a line, its rule, and what tells it from others:
/// `snapshot: larger error: value float32 (3 cases: value 3)`.
pub(crate) fn regression_line(
    summary: &Summary,
    group: &ChangeGroup<'_>,
) -> (String, String, String) {
    let (name, n) = (group.change.name(), group.cases.len());
    let noun = if n == 1 { "case" } else { "cases" };
    let text = format!("snapshot: {name}: {} ({n} {noun}: {})", group.title, group.laws());
    let rule = format!("snapshot/{}", name.replace(' ', "-"));
    let fingerprint = fingerprint_of(&[&summary.run.target, &rule, &group.title]);
    (visible(&text).into_owned(), rule, fingerprint)
}

/// What a case came to, in a line.
pub(crate) fn case_line(record: &CaseRecord) -> String {
    let told = record
        .evidence
        .as_ref()
        .map_or_else(String::new, |evidence| format!(": {}", first_line(&evidence.to_string())));
    format!("{} {} ({}){told}", record.verdict, record.id, record.call)
}

/// That the run did not come to its end, and how much it left out, in a line.
pub(crate) fn unfinished(summary: &Summary) -> Option<String> {
    let why = summary.stopped.as_ref()?;
    let n = summary.count(Verdict::Skipped);
    let noun = if n == 1 { "case was" } else { "cases were" };
    Some(format!(
        "the run is incomplete: stopped early: {}; {} {noun} not run",
        visible_line(&why.to_string()),
        count(n)
    ))
}

/// What tools know the finding by: its code, else its kind, else its law.
pub(crate) fn rule(finding: &Finding) -> String {
    let rule = match (finding.cause.faults().first(), finding.kind) {
        (Some(fault), _) => fault.code.clone(),
        (None, FindingKind::Convention) => "undeclared-convention".to_owned(),
        (None, FindingKind::Precision) => "undeclared-precision".to_owned(),
        (None, FindingKind::Verdict) => format!("law/{}", finding.law),
    };
    visible(&rule).into_owned()
}

/// Sixteen hexadecimal digits that stay the same as long as target, law, case and name do.
pub(crate) fn fingerprint(summary: &Summary, finding: &Finding) -> String {
    let name = finding_name(finding);
    fingerprint_of(&[&summary.run.target, &finding.law, &finding.witness.case, &name])
}

/// Sixteen hexadecimal digits of some texts.
pub(crate) fn fingerprint_of(parts: &[&str]) -> String {
    // FNV-1a of the parts, each ended by a byte that no text has.
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
