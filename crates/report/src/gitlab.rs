//! The code quality report of GitLab.

use qkvet_spec::{FindingKind, Summary, Verdict};
use serde_json::{Value, json};

use crate::groups::{
    bare_regressions, fingerprint, fingerprint_of, regression_line, rule, unfinished,
};
use crate::known::open_findings;
use crate::snapshot::ChangeGroup;
use crate::text::{count, visible, visible_json};
use crate::words::title;

/// The file that findings of targets without a known place are shown at: the one that names
/// targets.
const ELSEWHERE: &str = "qkvet.yaml";

/// Findings beyond this are only counted.
const MAX: usize = 1000;

/// A JSON array, an entry for each finding, for what is worse than in a snapshot without one, and
/// for a run that was stopped; of more than there is room for the last one says how many.
///
/// # Errors
/// None in practice.
pub fn gitlab(summary: &Summary) -> Result<String, serde_json::Error> {
    let (path, line) = summary
        .run
        .source
        .as_ref()
        .map_or((ELSEWHERE, 1), |source| (source.path.as_str(), source.line));
    let entry = |finding: &qkvet_spec::Finding| -> Value {
        let severity = match (finding.kind, finding.verdict) {
            (FindingKind::Convention | FindingKind::Precision, _) => "major",
            (_, Verdict::Crash | Verdict::Timeout) => "blocker",
            _ => "critical",
        };
        let title = title(finding);
        let title = visible(&title);
        json!({
            "description": format!("{title} ({} of {} cases; {})", finding.cases, finding.of, visible(&finding.replay)),
            "check_name": rule(finding),
            "fingerprint": fingerprint(summary, finding),
            "severity": severity,
            "location": { "path": visible(path), "lines": { "begin": line } },
        })
    };
    let regression = |group: &ChangeGroup<'_>| -> Value {
        let (description, check_name, fingerprint) = regression_line(summary, group);
        json!({
            "description": description,
            "check_name": check_name,
            "fingerprint": fingerprint,
            "severity": "major",
            "location": { "path": visible(path), "lines": { "begin": line } },
        })
    };
    let (open, regressions) = (open_findings(summary), bare_regressions(summary));
    let findings = open.iter().map(|at| entry(&summary.findings[*at]));
    let n_all = open.len() + regressions.len();
    let mut entries: Vec<Value> =
        findings.chain(regressions.iter().map(regression)).take(MAX).collect();
    if let Some(description) = unfinished(summary) {
        entries.push(json!({
            "description": visible(&description),
            "check_name": "run/incomplete",
            "fingerprint": fingerprint_of(&[&summary.run.target, "run/incomplete"]),
            "severity": "critical",
            "location": { "path": visible(path), "lines": { "begin": line } },
        }));
    }
    if n_all > MAX {
        let more = count(n_all - MAX);
        entries.push(json!({
            "description": format!("and {more} more findings: the JSON report has them all"),
            "check_name": "further-findings",
            "fingerprint": fingerprint_of(&[&summary.run.target, "further findings"]),
            "severity": "critical",
            "location": { "path": visible(path), "lines": { "begin": line } },
        }));
    }
    serde_json::to_string_pretty(&entries).map(|text| {
        visible_json(text)
            + "
"
    })
}
