//! What a run came to, for a program that acts on it: one small JSON object.

use qkvet_spec::{Change, Finding, Summary, Verdict};
use serde_json::{Value, json};

use crate::finding_name::{code, finding_name};
use crate::known::{failing_findings, open_findings};
use crate::text::{cut, visible_json};

/// Name and version of the format.
const FORMAT: &str = "qkvet-verdict/1";
/// It is shorter than this.
const MAX_BYTES: usize = 2048;
/// Findings that it has, and columns of a text, the most that fit.
const SIZES: [(usize, usize); 6] = [(3, 120), (3, 60), (2, 60), (1, 60), (1, 20), (0, 10)];

/// The object, in one line: whether something fails, how much was checked, the first findings that
/// fail with what replays them.
///
/// # Errors
/// None in practice.
pub fn verdict(summary: &Summary) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for size in SIZES {
        text = visible_json(serde_json::to_string(&object(summary, size))?) + "\n";
        if text.len() < MAX_BYTES {
            break;
        }
    }
    Ok(text)
}

/// A text in so many columns and characters.
fn short(text: &str, width: usize) -> String {
    cut(text, width).chars().take(width).collect()
}

fn object(summary: &Summary, (most, width): (usize, usize)) -> Value {
    let (run, open) = (&summary.run, open_findings(summary));
    let worse = summary.snapshot.as_ref().map(|outcome| outcome.count(Change::is_regression));
    let n_worse = worse.unwrap_or(0);
    let contradicted = summary.claim.as_ref().map_or(0, |claim| claim.contradicted);
    let n_stale = summary.known.as_ref().map_or(0, |known| known.stale().count());
    let first = open.iter().take(most).map(|at| finding(&summary.findings[*at], width));
    json!({
        "format": FORMAT,
        "target": short(&run.target, width),
        "suite": short(&run.suite, width),
        "seed": run.seed,
        "fails": failing_findings(summary) > 0 || n_stale > 0 || n_worse > 0 || contradicted > 0
            || summary.stopped.is_some() || summary.other_configuration,
        "checked": summary.checked(),
        "declined": summary.count(Verdict::Unsupported) + summary.count(Verdict::Refused),
        "undecided": summary.count(Verdict::Suspect) + summary.count(Verdict::Inconclusive),
        "skipped": summary.count(Verdict::Skipped),
        "stopped": summary.stopped.as_ref().map(|why| short(&why.to_string(), width)),
        "findings": open.len(),
        "settled": summary.findings.len() - open.len(),
        "stale": n_stale,
        "regressions": n_worse,
        "first": first.collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding, width: usize) -> Value {
    let faults: Vec<&str> = finding.cause.faults().iter().map(|one| one.fault.as_str()).collect();
    json!({
        "verdict": finding.verdict,
        "name": short(&finding_name(finding), width),
        "code": code(finding),
        "fault": (!faults.is_empty()).then(|| faults.join("+")),
        "convention": finding.cause.convention(),
        "condition": finding.condition,
        "contract": short(&finding.contract, width),
        "cases": finding.cases,
        "of": finding.of,
        "witness": short(&finding.witness.call, width),
        "replay": short(&finding.replay, width),
    })
}
