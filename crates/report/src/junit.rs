//! JUnit's XML: a test case for each law and format, and one for each finding.
//!
//! Only elements and attributes of the schema that Jenkins publishes are used (`junit-10.xsd`): it
//! knows neither properties of a test case nor `disabled`, and calls what others call `error` by
//! another name. What broke is a failure whose type says so, and that a run was stopped is one too:
//! what it did not come to would look like what held.

use std::collections::BTreeMap;
use std::fmt::Write;

use qkvet_spec::{Finding, Summary, Verdict};

use crate::groups::{CaseGroup, case_groups, case_line, rule, unfinished};
use crate::known::{open_findings, settled, stale_lines};
use crate::snapshot::{ChangeGroup, change_groups};
use crate::text::{count, escaped, first_line, no_command_markup, plain};
use crate::words::title;
use crate::words::word;

/// Findings beyond this, and groups of regressions beyond this, are only counted: a CI loads the
/// whole file.
const MAX: usize = 1000;
/// Findings named at a law that fails.
const MAX_NAMED: usize = 20;

/// The report as JUnit's XML.
pub fn junit(summary: &Summary) -> String {
    let groups = case_groups(summary);
    let failing = groups.iter().filter(|group| group.wrong.is_some()).count();
    let skipped = groups.iter().filter(|group| is_skipped(group)).count();
    let open = open_findings(summary);
    let (stale, regressions) = (stale_lines(summary), regressions(summary));
    // What is counted is a test of its own.
    let n_shown = |n: usize| if n > MAX { MAX + 1 } else { n };
    let unfinished = unfinished(summary);
    let n_others = n_shown(open.len())
        + stale.len()
        + n_shown(regressions.len())
        + usize::from(unfinished.is_some());
    let run = &summary.run;
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut line = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    line(format!(
        "<testsuites name=\"qkvet\" tests=\"{}\" failures=\"{}\" errors=\"0\">",
        groups.len() + n_others,
        failing + n_others
    ));
    line(format!(
        "  <testsuite name=\"laws\" tests=\"{}\" failures=\"{failing}\" errors=\"0\" skipped=\"{skipped}\">",
        groups.len()
    ));
    let mut properties = vec![
        ("tool", run.tool.clone()),
        ("target", run.target.clone()),
        ("suite", run.suite.clone()),
        ("seed", run.seed.to_string()),
    ];
    properties.extend(
        run.contracts.iter().map(|(dtype, contract)| ("contract", format!("{dtype} {contract}"))),
    );
    properties.extend(run.conventions.iter().map(|declared| ("declared", declared.clone())));
    properties
        .extend(run.environment.iter().map(|text| ("environment", text.display().to_string())));
    line(self::properties(&properties));
    let told = FailureText::of(summary);
    groups.iter().for_each(|group| line(law(summary, group, &told)));
    line("  </testsuite>".to_owned());
    unfinished.iter().for_each(|text| line(other(summary, "run", "INCOMPLETE", text)));
    open.iter().take(MAX).for_each(|at| line(self::finding(summary, &summary.findings[*at])));
    if open.len() > MAX {
        let text =
            format!("and {} more findings: the JSON report has them all", count(open.len() - MAX));
        line(other(summary, "further findings", "FINDINGS", &text));
    }
    stale.iter().for_each(|text| line(other(summary, "stale known deviation", "STALE", text)));
    regressions
        .iter()
        .take(MAX)
        .for_each(|text| line(other(summary, "snapshot", "SNAPSHOT", text)));
    if regressions.len() > MAX {
        let more = count(regressions.len() - MAX);
        let text =
            format!("and {more} more groups of regressions: `qkvet snapshot diff` has them all");
        line(other(summary, "snapshot", "SNAPSHOT", &text));
    }
    line("</testsuites>".to_owned());
    no_command_markup(&out).into_owned()
}

fn is_skipped(group: &CaseGroup<'_>) -> bool {
    group.wrong.is_none()
        && (group.settled.is_some() || (!group.is_checked() && group.declined.is_some()))
}

fn properties(all: &[(&str, String)]) -> String {
    let one = |(name, value): &(&str, String)| {
        format!("      <property name=\"{}\" value=\"{}\"/>\n", escaped(name), escaped(value))
    };
    format!("    <properties>\n{}    </properties>", all.iter().map(one).collect::<String>())
}

/// What is said of findings at the laws that they break.
struct FailureText<'a> {
    /// Their numbers.
    by_law: BTreeMap<&'a str, Vec<usize>>,
    settled: BTreeMap<usize, String>,
}

impl<'a> FailureText<'a> {
    fn of(summary: &'a Summary) -> Self {
        let mut by_law: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, finding) in summary.findings.iter().enumerate() {
            finding.laws.keys().for_each(|law| by_law.entry(law).or_default().push(number));
        }
        Self { by_law, settled: settled(summary) }
    }

    /// A line a finding that breaks the law; of many the first.
    fn lines(&self, summary: &Summary, law: &str) -> Vec<String> {
        let numbers = self.by_law.get(law).map_or(&[][..], Vec::as_slice);
        let line = |number: &usize| format!("finding: {}", title(&summary.findings[*number]));
        let mut lines: Vec<String> = numbers.iter().take(MAX_NAMED).map(line).collect();
        if numbers.len() > MAX_NAMED {
            lines.push(format!("and {} more findings", count(numbers.len() - MAX_NAMED)));
        }
        lines
    }
}

fn law(summary: &Summary, group: &CaseGroup<'_>, told: &FailureText<'_>) -> String {
    let name = format!("{} {}", group.law, group.dtype);
    let open = format!(
        "    <testcase name=\"{}\" classname=\"{}\"",
        escaped(&name),
        escaped(&summary.run.target)
    );
    let (total, wrong) = (group.total(), group.count(Verdict::fails));
    match (group.wrong, group.declined) {
        (Some(record), _) => {
            let message = format!("{wrong} of {total} cases: {}", first_line(&case_line(record)));
            format!(
                "{open}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>",
                record.verdict,
                escaped(&message),
                escaped(
                    &[vec![case_line(record)], told.lines(summary, group.law)].concat().join("\n")
                ),
            )
        }
        (None, Some(record)) if is_skipped(group) && group.settled.is_none() => {
            let reason = record.evidence.as_ref().map(|evidence| evidence.format_got().to_string());
            let reason = first_line(reason.as_deref().unwrap_or("not run"));
            let message = format!("{} {reason}", record.verdict);
            format!("{open}>\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(&message))
        }
        _ if group.settled.is_some() => {
            let message = group.settled.map_or_else(String::new, |record| {
                let why = record.finding.and_then(|finding| told.settled.get(&finding).cloned());
                why.unwrap_or_else(|| {
                    if record.known { "known" } else { "recorded in the snapshot" }.to_owned()
                })
            });
            format!("{open}>\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(&message))
        }
        _ => format!("{open}/>"),
    }
}

/// Regressions of a snapshot, a line a group.
fn regressions(summary: &Summary) -> Vec<String> {
    let groups = summary.snapshot.iter().flat_map(change_groups);
    let told = |group: ChangeGroup<'_>| {
        format!(
            "{}: {} ({} cases: {})",
            group.change.name(),
            group.title,
            group.cases.len(),
            group.laws()
        )
    };
    groups.filter(|group| group.change.is_regression()).map(told).collect()
}

/// What fails and is no finding.
fn other(summary: &Summary, suite: &str, kind: &str, text: &str) -> String {
    format!(
        "  <testsuite name=\"{suite}\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n    <testcase name=\"{}\" classname=\"{}\">\n      <failure type=\"{kind}\" message=\"{}\"/>\n    </testcase>\n  </testsuite>",
        escaped(first_line(text)),
        escaped(&summary.run.target),
        escaped(first_line(text)),
    )
}

/// A suite of its own, so that what tools ask for has a place.
fn finding(summary: &Summary, finding: &Finding) -> String {
    let mut about = vec![
        ("rule", rule(finding)),
        ("law", finding.law.clone()),
        ("case", finding.witness.case.clone()),
        ("contract", finding.contract.clone()),
        ("replay", finding.replay.clone()),
    ];
    about
        .extend(finding.replay_anywhere.iter().map(|command| ("replay-anywhere", command.clone())));
    format!(
        "  <testsuite name=\"{}\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n{}\n    <testcase name=\"{}\" classname=\"{}\">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n  </testsuite>",
        escaped(&format!("finding {}", rule(finding))),
        properties(&about),
        escaped(&title(finding)),
        escaped(&summary.run.target),
        word(finding),
        escaped(&title(finding)),
        escaped(&plain(&crate::finding(finding))),
    )
}
