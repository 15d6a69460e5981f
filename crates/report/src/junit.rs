//! JUnit's XML: a test case for each law and format, and one for each finding.
//!
//! Only elements and attributes of the schema that Jenkins publishes are used (`junit-10.xsd`): it knows neither properties of a
//! test case nor `disabled`, and calls what others call `error` by another name. What broke is a failure whose type says so.

use std::fmt::Write;

use qkvet_spec::{Finding, Summary, Verdict};

use crate::groups::{CaseGroup, case_groups, case_line, rule, word};
use crate::text::{escaped, first_line, plain};

/// The report as JUnit's XML.
pub fn junit(summary: &Summary) -> String {
    let groups = case_groups(summary);
    let failing = groups.iter().filter(|group| group.wrong.is_some()).count();
    let skipped = groups.iter().filter(|group| is_skipped(group)).count();
    let n_findings = summary.findings.len();
    let run = &summary.run;
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut line = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    line(format!(
        "<testsuites name=\"qkvet\" tests=\"{}\" failures=\"{}\" errors=\"0\">",
        groups.len() + n_findings,
        failing + n_findings
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
    properties.extend(run.contracts.iter().map(|(dtype, contract)| ("contract", format!("{dtype} {contract}"))));
    properties.extend(run.conventions.iter().map(|declared| ("declared", declared.clone())));
    properties.extend(run.environment.iter().map(|text| ("environment", text.clone())));
    line(self::properties(&properties));
    groups.iter().for_each(|group| line(law(summary, group)));
    line("  </testsuite>".to_owned());
    summary.findings.iter().for_each(|finding| line(self::finding(summary, finding)));
    line("</testsuites>".to_owned());
    out
}

fn is_skipped(group: &CaseGroup<'_>) -> bool {
    !group.is_checked() && group.declined.is_some()
}

fn properties(all: &[(&str, String)]) -> String {
    let one = |(name, value): &(&str, String)| {
        format!("      <property name=\"{}\" value=\"{}\"/>\n", escaped(name), escaped(value))
    };
    format!("    <properties>\n{}    </properties>", all.iter().map(one).collect::<String>())
}

fn law(summary: &Summary, group: &CaseGroup<'_>) -> String {
    let name = format!("{} {}", group.law, group.dtype);
    let open = format!("    <testcase name=\"{}\" classname=\"{}\"", escaped(&name), escaped(&summary.run.target));
    let (total, wrong) = (group.total(), group.count(Verdict::is_finding));
    let told = summary.findings.iter().filter(|finding| finding.laws.contains_key(group.law));
    let findings: Vec<String> = told.map(|finding| format!("finding: {}", finding.title)).collect();
    match (group.wrong, group.declined) {
        (Some(record), _) => {
            let message = format!("{wrong} of {total} cases: {}", first_line(&case_line(record)));
            format!(
                "{open}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>",
                record.verdict,
                escaped(&message),
                escaped(&[vec![case_line(record)], findings].concat().join("\n")),
            )
        }
        (None, Some(record)) if is_skipped(group) => {
            let reason = record.evidence.as_ref().map_or("not run", |evidence| first_line(&evidence.got));
            let message = format!("{} {reason}", record.verdict);
            format!("{open}>\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(&message))
        }
        _ => format!("{open}/>"),
    }
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
    about.extend(finding.replay_anywhere.iter().map(|command| ("replay-anywhere", command.clone())));
    format!(
        "  <testsuite name=\"{}\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n{}\n    <testcase name=\"{}\" classname=\"{}\">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n  </testsuite>",
        escaped(&format!("finding {}", rule(finding))),
        properties(&about),
        escaped(&finding.title),
        escaped(&summary.run.target),
        word(finding),
        escaped(&finding.title),
        escaped(&plain(&crate::finding(finding))),
    )
}
