//! Commands of GitHub workflows: annotations that need no token. A step shows ten errors and ten
//! warnings, the rest is dropped without a word, so that the last one counts what is left.

use std::collections::BTreeSet;
use std::fmt::Write;

use indexmap::IndexMap;
use qkvet_spec::{Dialect, Finding, Summary, Verdict};

use crate::finding_name::finding_name;
use crate::known::{failing_findings, open_findings, stale_lines};
use crate::snapshot::{ChangeGroup, change_groups};
use crate::text::{count, cut, no_command, visible};
use crate::words;
use crate::words::{english_warnings, word};

/// Annotations of one kind in a step.
const MAX: usize = 10;
/// Longest message.
const MAX_LEN: usize = 2000;

/// One command a line: an error for each finding, warnings for what is undecided and what happened.
pub fn github(summary: &Summary) -> String {
    let mut out = String::new();
    let place = summary.run.source.as_ref().map_or_else(String::new, |source| {
        format!("file={},line={},", property(&source.path), source.line)
    });
    let mut command = |kind: &str, title: &str, message: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "::{kind} {place}title={}::{}",
            property(&cut(title, 200)),
            data(&cut(message, MAX_LEN))
        );
    };
    let (groups, stale, open) =
        (regressions(summary), stale_lines(summary), open_findings(summary));
    let n_errors = groups.len() + stale.len() + failing_findings(summary);
    let regressed = groups.iter().map(|group| regression(summary, group));
    let stale = stale.into_iter().map(|text| ("stale known deviation".to_owned(), text));
    let (fails, unguarded): (Vec<usize>, Vec<usize>) =
        open.into_iter().partition(|at| summary.findings[*at].verdict.fails());
    let findings = fails.into_iter().map(|at| told(&summary.findings[at]));
    for (title, message) in limited(regressed.chain(stale).chain(findings), n_errors, "finding") {
        command("error", &title, &message);
    }
    let unguarded = unguarded.into_iter().map(|at| told(&summary.findings[at]));
    let warnings: Vec<(String, String)> = unguarded.chain(warnings(summary)).collect();
    let n_warnings = warnings.len();
    for (title, message) in limited(warnings.into_iter(), n_warnings, "warning") {
        command("warning", &title, &message);
    }
    out
}

/// At most as many as are shown; of more the last one says how many. What is not shown is not made.
fn limited(
    all: impl Iterator<Item = (String, String)>,
    n_all: usize,
    noun: &str,
) -> Vec<(String, String)> {
    if n_all <= MAX {
        return all.collect();
    }
    let text = format!("and {} more {noun}s", count(n_all - (MAX - 1)));
    let last = (text.clone(), format!("{text}: the JSON report has them all"));
    all.take(MAX - 1).chain([last]).collect()
}

/// What is worse than in the snapshot: groups that differ in what their cases were before, and not
/// in what they show now, are one.
fn regressions(summary: &Summary) -> Vec<Vec<ChangeGroup<'_>>> {
    let mut all: IndexMap<(&str, BTreeSet<&str>), Vec<ChangeGroup<'_>>> = IndexMap::new();
    let groups = summary.snapshot.iter().flat_map(change_groups);
    for group in groups.filter(|group| group.change.is_regression()) {
        all.entry((group.change.name(), names(&group))).or_default().push(group);
    }
    all.into_values().collect()
}

/// The findings that the cases of a group show now.
fn names<'a>(group: &ChangeGroup<'a>) -> BTreeSet<&'a str> {
    group.cases.iter().filter_map(|one| one.found.as_ref()?.finding.as_deref()).collect()
}

fn regression(summary: &Summary, groups: &[ChangeGroup<'_>]) -> (String, String) {
    let [group, others @ ..] = groups else { return (String::new(), String::new()) };
    let laws = |group: &ChangeGroup<'_>| {
        let n = group.cases.len();
        format!("{} {}: {}", count(n), if n == 1 { "case" } else { "cases" }, group.laws())
    };
    let names = names(group);
    let found =
        summary.findings.iter().filter(|finding| names.contains(finding_name(finding).as_str()));
    let causes = found.take(MAX).map(|finding| {
        let told = words::told(finding, Dialect::CommandLine);
        let title = &told.title;
        told.row("cause")
            .map_or_else(|| format!("\n{title}"), |cause| format!("\n{title}: {cause}"))
    });
    let causes: String = causes.collect();
    let also: String =
        others.iter().map(|other| format!("\nalso {}, {}", other.title, laws(other))).collect();
    let cases = groups.iter().flat_map(|group| &group.cases).take(5);
    let cases: String = cases.map(|one| format!("\n{}", ChangeGroup::line(one))).collect();
    let more = if others.is_empty() {
        String::new()
    } else {
        format!(", and {} more", count(others.len()))
    };
    (
        format!("snapshot: {}: {}{more}", group.change.name(), group.title),
        format!("{}{causes}{also}{cases}", laws(group)),
    )
}

fn told(finding: &Finding) -> (String, String) {
    let told = words::told(finding, Dialect::CommandLine);
    let mut lines = vec![
        format!("{} of {} cases; law {}", count(finding.cases), count(finding.of), finding.law),
        format!("witness {}: {}", finding.witness.call, finding.witness.inputs.join("  ")),
        format!("at {}: expected {}, got {}", told.at, told.expected, told.got),
    ];
    let more = ["cause", "hint"].into_iter().filter_map(|label| Some((label, told.row(label)?)));
    lines.extend(more.map(|(label, text)| format!("{label} {text}")));
    lines.push(format!("replay {}", finding.replay_anywhere.as_ref().unwrap_or(&finding.replay)));
    (format!("{} {}", word(finding), told.title), lines.join("\n"))
}

fn warnings(summary: &Summary) -> impl Iterator<Item = (String, String)> {
    let undecided = [
        (Verdict::Suspect, "cases are farther out than roundings of mean zero would be"),
        (Verdict::Inconclusive, "cases are undecided: their contract allows any weights there"),
    ];
    let undecided = undecided.into_iter().filter_map(move |(verdict, text)| {
        let n = summary.count(verdict);
        (n > 0).then(|| (verdict.word().to_owned(), format!("{} {text}", count(n))))
    });
    let stopped = summary.stopped.iter().map(|why| ("stopped early".to_owned(), why.to_string()));
    undecided
        .chain(stopped)
        .chain(english_warnings(summary).map(|text| ("warning".to_owned(), text)))
}

/// The text of a command; the mark is the one of [`crate::no_command`].
fn data(text: &str) -> String {
    no_command(&visible(text)).replace('%', "%25").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
