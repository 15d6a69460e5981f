//! How a backend did on each case: five ways, and two for what decides nothing.

use std::collections::BTreeMap;

use qkvet_gen::frozen::FrozenCase;
use qkvet_spec::{
    CaseRecord, FindingDocument, OnnxCase, OnnxOutcome, OnnxReport, Summary, Verdict,
};

use super::allowance::{Allowance, Seen};
use super::export::test_name;
use super::node::Opset;

/// Splits the records of a run on frozen cases. `findings` explain the cases that disagree;
/// `left_out` counts the cases that the operator cannot state, by reason.
pub fn split(
    summary: &Summary,
    cases: &[FrozenCase],
    allowance: &Allowance,
    opset: Opset,
    findings: Vec<FindingDocument<'static>>,
    left_out: BTreeMap<String, usize>,
) -> OnnxReport {
    let names: BTreeMap<&str, String> =
        cases.iter().map(|case| (case.id.as_str(), test_name(case))).collect();
    let split: Vec<OnnxCase> = summary
        .records
        .iter()
        .map(|record| {
            let outcome = outcome(record, allowance.seen(&record.id));
            OnnxCase {
                test: names.get(record.id.as_str()).cloned().unwrap_or_default(),
                id: record.id.clone(),
                call: record.call.clone(),
                outcome,
                detail: detail(record, outcome),
            }
        })
        .collect();
    let mut counts = BTreeMap::new();
    let mut kinds: BTreeMap<(OnnxOutcome, String), String> = BTreeMap::new();
    let mut reasons: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for case in &split {
        *counts.entry(case.outcome.word().to_owned()).or_default() += 1;
        if let (
            OnnxOutcome::Unsupported | OnnxOutcome::Refused | OnnxOutcome::Broke,
            Some(detail),
        ) = (case.outcome, &case.detail)
        {
            let reason = detail.lines().next().unwrap_or_default().to_owned();
            // One reason with changing extents is one line: the first as it was written.
            let key =
                (case.outcome, reason.chars().filter(|c| !c.is_ascii_digit()).collect::<String>());
            let shown = kinds.entry(key).or_insert(reason).clone();
            *reasons
                .entry(case.outcome.word().to_owned())
                .or_default()
                .entry(shown)
                .or_default() += 1;
        }
    }
    OnnxReport {
        run: summary.run.clone(),
        opset: opset.version(),
        counts,
        reasons,
        left_out,
        findings,
        cases: split,
        stopped: summary.stopped.clone(),
        interrupted: summary.interrupted,
    }
}

/// A case that holds under a convention nobody declared still disagrees with what the operator
/// says: what was seen decides.
fn outcome(record: &CaseRecord, seen: Option<Seen>) -> OnnxOutcome {
    match (record.verdict, seen) {
        (Verdict::Fail, Some(Seen::Allowed)) => OnnxOutcome::WithinAllowance,
        (Verdict::Fail | Verdict::Nondet | Verdict::Unguarded, _) => OnnxOutcome::Disagrees,
        (Verdict::Pass | Verdict::Suspect, Some(Seen::Beyond)) => OnnxOutcome::Disagrees,
        (Verdict::Pass | Verdict::Suspect, Some(Seen::Allowed)) => OnnxOutcome::WithinAllowance,
        (Verdict::Pass | Verdict::Suspect, _) => OnnxOutcome::Ok,
        (Verdict::Unsupported, _) => OnnxOutcome::Unsupported,
        (Verdict::Refused, _) => OnnxOutcome::Refused,
        (Verdict::Error | Verdict::Crash | Verdict::Timeout, _) => OnnxOutcome::Broke,
        (Verdict::Inconclusive | Verdict::Skipped, _) => OnnxOutcome::Undecided,
    }
}

/// What is to be known of a case that is not ok: the reason of who declined, else where and how far
/// off.
fn detail(record: &CaseRecord, outcome: OnnxOutcome) -> Option<String> {
    let evidence = record.evidence.as_ref()?;
    Some(match outcome {
        OnnxOutcome::Ok => return None,
        OnnxOutcome::Unsupported | OnnxOutcome::Refused | OnnxOutcome::Broke => {
            evidence.format_got().to_string()
        }
        _ => evidence.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes() {
        let record = |verdict| CaseRecord {
            id: String::new(),
            law: String::new(),
            dtype: String::new(),
            call: String::new(),
            dims: qkvet_spec::Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 1, d_k: 1, d_v: 1 },
            options: Vec::new(),
            verdict,
            margin: None,
            evidence: None,
            replay: None,
            finding: None,
            known: false,
            digest: None,
        };
        let check = |verdict, seen, expected| assert_eq!(outcome(&record(verdict), seen), expected);
        check(Verdict::Pass, Some(Seen::Certified), OnnxOutcome::Ok);
        check(Verdict::Fail, Some(Seen::Allowed), OnnxOutcome::WithinAllowance);
        check(Verdict::Fail, Some(Seen::Beyond), OnnxOutcome::Disagrees);
        // Judged under a convention that was found, not declared.
        check(Verdict::Pass, Some(Seen::Beyond), OnnxOutcome::Disagrees);
        check(Verdict::Nondet, Some(Seen::Certified), OnnxOutcome::Disagrees);
        check(Verdict::Crash, None, OnnxOutcome::Broke);
        check(Verdict::Inconclusive, None, OnnxOutcome::Undecided);
    }
}
