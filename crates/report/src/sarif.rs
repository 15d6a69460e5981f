//! SARIF 2.1.0: a rule for each law and each code that was found, a result for each finding.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::{Redirects, Summary, Verdict};
use serde_json::{Value, json};

use crate::groups::{bare_regressions, fingerprint, regression_line, rule};
use crate::known::{open_findings, settled};
use crate::snapshot::ChangeGroup;
use crate::text::{count, plain, visible, visible_json};
use crate::words::{english_warnings, lower_first, word};

/// Results beyond this are only counted: GitHub shows as many, and refuses a file with five times
/// as many.
const MAX: usize = 5000;

/// One SARIF log with one run.
///
/// # Errors
/// None in practice.
pub fn sarif(summary: &Summary) -> Result<String, serde_json::Error> {
    let run = &summary.run;
    let tool = visible(&run.tool);
    let (name, version) = tool.split_once(' ').unwrap_or((&tool, "0"));
    let shown = shown(summary);
    let rules = rules(summary, &shown);
    let places: BTreeMap<&str, usize> =
        rules.iter().enumerate().map(|(at, (id, _))| (id.as_str(), at)).collect();
    let settled = settled(summary);
    let results =
        shown.iter().map(|at| result(summary, *at, &places, settled.get(at).map(String::as_str)));
    let regressions = bare_regressions(summary);
    let results: Vec<Value> = results
        .chain(regressions.iter().map(|group| regression(summary, group, &places)))
        .take(MAX)
        .collect();
    let stopped = summary.stopped.as_ref().map(ToString::to_string);
    let more = summary.findings.len() - shown.len();
    let more = (more > 0)
        .then(|| format!("and {} more findings: the JSON report has them all", count(more)));
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": name,
                "version": version,
                "rules": rules.iter().map(|(id, text)| described(id, text)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "automationDetails": { "id": format!("qkvet/{}/", percent(&run.suite)) },
            "invocations": [{
                "executionSuccessful": summary.stopped.is_none(),
                "toolExecutionNotifications": english_warnings(summary).chain(stopped).chain(more).map(|text| json!({
                    "level": "warning", "message": { "text": visible(&text) },
                })).collect::<Vec<_>>(),
            }],
            "properties": { "target": visible(&run.target), "seed": run.seed, "counts": summary.counts },
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).map(|text| visible_json(text) + "\n")
}

/// Numbers of the findings that have a result: all, or of more than there is room for those that
/// fail first.
fn shown(summary: &Summary) -> Vec<usize> {
    let all = 0..summary.findings.len();
    if all.len() <= MAX {
        return all.collect();
    }
    let mut shown: BTreeSet<usize> = open_findings(summary).into_iter().take(MAX).collect();
    let room = MAX - shown.len();
    let others: Vec<usize> = all.filter(|at| !shown.contains(at)).take(room).collect();
    shown.extend(others);
    shown.into_iter().collect()
}

/// Laws that the run asked, then what was found beside them.
fn rules(summary: &Summary, shown: &[usize]) -> Vec<(String, String)> {
    let titles: BTreeMap<&str, &str> = summary
        .findings
        .iter()
        .map(|finding| (finding.law.as_str(), finding.law_title.as_str()))
        .collect();
    let title = |law: &str| {
        titles.get(law).map_or_else(|| law.replace('-', " "), |title| (*title).to_owned())
    };
    let mut rules: Vec<(String, String)> = summary
        .coverage
        .laws
        .keys()
        .map(|law| (visible(&format!("law/{law}")).into_owned(), title(law)))
        .collect();
    let mut known: BTreeSet<String> = rules.iter().map(|(id, _)| id.clone()).collect();
    for finding in shown.iter().map(|at| &summary.findings[*at]) {
        let id = rule(finding);
        if !known.insert(id.clone()) {
            continue;
        }
        let text = match finding.cause.faults().first() {
            Some(fault) => lower_first(&fault.title),
            None if id.starts_with("law/") => finding.law_title.clone(),
            None => {
                "The target follows a convention other than the standard and does not declare it"
                    .to_owned()
            }
        };
        rules.push((id, text));
    }
    for group in bare_regressions(summary) {
        let (_, id, _) = regression_line(summary, &group);
        if known.insert(id.clone()) {
            rules.push((id, format!("The snapshot has something better: {}", group.change.name())));
        }
    }
    rules
}

/// A rule, and the ids that it had before.
fn described(id: &str, text: &str) -> Value {
    let mut rule = json!({
        "id": id,
        "shortDescription": { "text": visible(text) },
        "helpUri": format!("https://github.com/qkvet/qkvet/blob/main/docs/{}", help(id)),
    });
    let (kind, name) = id.split_once('/').map_or(("", id), |(_, name)| ("law/", name));
    let before = Redirects::embedded().to(name).map(|old| format!("{kind}{old}"));
    let before: Vec<String> = before.collect();
    if !before.is_empty() {
        rule["deprecatedIds"] = json!(before);
    }
    rule
}

fn help(id: &str) -> &'static str {
    match id.split_once('/') {
        Some(("law", _)) => "laws.md",
        Some(("snapshot", _)) => "snapshots.md",
        _ => "reports.md",
    }
}

fn result(
    summary: &Summary,
    at: usize,
    places: &BTreeMap<&str, usize>,
    settled: Option<&str>,
) -> Value {
    let finding = &summary.findings[at];
    let id = rule(finding);
    let mut result = json!({
        "ruleId": id,
        "ruleIndex": places.get(id.as_str()).copied(),
        "kind": "fail",
        "level": if matches!(finding.verdict, Verdict::Nondet | Verdict::Unguarded) { "warning" } else { "error" },
        "message": { "text": plain(&crate::finding(finding)) },
        "locations": [location(summary)],
        "partialFingerprints": { "qkvetFinding/v2": fingerprint(summary, finding) },
        "occurrenceCount": finding.cases.max(1),
        "properties": {
            "verdict": word(finding),
            "law": visible(&finding.law),
            "case": visible(&finding.witness.case),
            "replay": visible(&finding.replay),
            "replayAnywhere": finding.replay_anywhere.as_ref().map(|command| visible(command)),
        },
    });
    if let Some(why) = settled {
        result["suppressions"] = json!([{ "kind": "external", "justification": visible(why) }]);
    }
    result
}

/// What is worse than in a snapshot without a finding.
fn regression(summary: &Summary, group: &ChangeGroup<'_>, places: &BTreeMap<&str, usize>) -> Value {
    let (text, id, fingerprint) = regression_line(summary, group);
    json!({
        "ruleId": id,
        "ruleIndex": places.get(id.as_str()).copied(),
        "kind": "fail",
        "level": "error",
        "message": { "text": text },
        "locations": [location(summary)],
        "partialFingerprints": { "qkvetFinding/v2": fingerprint },
        "occurrenceCount": group.cases.len().max(1),
    })
}

/// Where the target is.
fn location(summary: &Summary) -> Value {
    let target = &summary.run.target;
    let mut location = json!({ "logicalLocations": [{ "fullyQualifiedName": visible(target), "kind": "function" }] });
    if let Some(source) = &summary.run.source {
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": percent(&source.path) },
            "region": { "startLine": source.line },
        });
    }
    location
}

/// A path as a relative reference: everything but letters, digits, `/` and a few marks as bytes in
/// hexadecimal.
fn percent(path: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(one).collect()
}
