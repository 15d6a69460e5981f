//! The code quality report of GitLab.

use qkvet_spec::{FindingKind, Summary, Verdict};
use serde_json::{Value, json};

use crate::groups::{fingerprint, rule};
use crate::known::open_findings;
use crate::text::{visible, visible_json};

/// The file that findings of targets without a known place are shown at: the one that names targets.
const ELSEWHERE: &str = "qkvet.yaml";

/// A JSON array, an entry for each finding.
///
/// # Errors
/// None in practice.
pub fn gitlab(summary: &Summary) -> Result<String, serde_json::Error> {
    let (path, line) = summary.run.source.as_ref().map_or((ELSEWHERE, 1), |source| (source.path.as_str(), source.line));
    let entry = |finding: &qkvet_spec::Finding| -> Value {
        let severity = match (finding.kind, finding.verdict) {
            (FindingKind::Convention, _) => "major",
            (_, Verdict::Crash | Verdict::Timeout) => "blocker",
            _ => "critical",
        };
        let title = visible(&finding.title);
        json!({
            "description": format!("{title} ({} of {} cases; {})", finding.cases, finding.of, visible(&finding.replay)),
            "check_name": rule(finding),
            "fingerprint": fingerprint(summary, finding),
            "severity": severity,
            "location": { "path": visible(path), "lines": { "begin": line } },
        })
    };
    let entries: Vec<Value> = open_findings(summary).into_iter().map(|at| entry(&summary.findings[at])).collect();
    serde_json::to_string_pretty(&entries).map(|text| {
        visible_json(text)
            + "
"
    })
}
