//! Exit codes, fixed forever: 0 held, 1 findings, 2 usage or specification, 3 target, 4 nothing
//! checked, 5 qkvet contradicts itself, 130 interrupted.

use qkvet_exam::ExamError;
use qkvet_gen::GenError;
use qkvet_run::process::{LoadKind, StartError};
use qkvet_run::run::RunError;
use qkvet_spec::{
    CaseRecord, Change, ClaimOutcome, KnownOutcome, SnapshotOutcome, SpecError, Stopped, Summary,
    Unexpected, Verdict,
};

/// Everything checked held.
pub(crate) const HELD: u8 = 0;
/// Something is wrong with the target.
pub(crate) const FINDINGS: u8 = 1;
/// Usage, configuration or specification.
pub(crate) const USAGE: u8 = 2;
/// The target could not be started or broke the protocol.
pub(crate) const TARGET: u8 = 3;
/// Nothing was checked.
pub(crate) const NOTHING: u8 = 4;
/// What qkvet itself counts on does not hold: of the machine, or of two routes to one number.
pub(crate) const CONTRADICTION: u8 = 5;
/// Interrupted; the partial report is written.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error that ends the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Exam(#[from] ExamError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Gen(#[from] GenError),
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The target could not be asked.
    #[error(transparent)]
    Target(Unexpected),
    #[error(transparent)]
    Usage(#[from] Unexpected),
}

impl Failure {
    /// Whether it shows an excerpt of a file, which says itself that it is an error.
    fn is_excerpt(&self) -> bool {
        match self {
            Self::Spec(error)
            | Self::Run(RunError::Spec(error))
            | Self::Exam(ExamError::Spec(error)) => error.place.is_some(),
            _ => false,
        }
    }

    /// Prints the message and gives the exit code.
    pub(crate) fn tell(&self) -> u8 {
        let before = if self.is_excerpt() { "" } else { "error: " };
        tell!("{before}{self}");
        match self {
            Self::Start(error) | Self::Run(RunError::Start(error)) => match error {
                // Declared in qkvet.yaml, which has a slip.
                StartError::Load { kind: Some(LoadKind::Supports), .. } => USAGE,
                StartError::Interrupted { .. } => INTERRUPTED,
                _ => TARGET,
            },
            Self::Target(_) => TARGET,
            Self::Run(RunError::SelfTest(_) | RunError::Contradiction(_)) => CONTRADICTION,
            _ => USAGE,
        }
    }
}

/// The exit code of several runs: the one that asks most for a look.
pub(crate) fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    const ORDER: [u8; 7] = [HELD, NOTHING, FINDINGS, USAGE, TARGET, CONTRADICTION, INTERRUPTED];
    let rank = |code: &u8| ORDER.iter().position(|other| other == code);
    codes.max_by_key(rank).unwrap_or(NOTHING)
}

/// How a run ended: with an outcome, or where nothing could be joined with an exit code.
pub(crate) enum Ended {
    Run(Box<Summary>),
    Code(u8),
}

/// The exit code of a finished run.
pub(crate) fn code(summary: &Summary, strict: bool) -> u8 {
    if summary.interrupted {
        return INTERRUPTED;
    }
    if summary.other_configuration {
        return USAGE;
    }
    let is_stale = summary.known.as_ref().is_some_and(KnownOutcome::is_stale);
    let code = match &summary.snapshot {
        Some(snapshot) => of_snapshot(snapshot, strict, is_stale),
        None => of_records(summary, strict, is_stale),
    };
    of_stopped(summary.stopped.as_ref(), code)
}

/// The exit code of a run that its findings alone give this one. A run that ended early never
/// holds: nothing is known of the cases that it left out.
pub(crate) fn of_stopped(stopped: Option<&Stopped>, code: u8) -> u8 {
    match (stopped, code) {
        (Some(Stopped::Gone(_)), HELD | NOTHING) => TARGET,
        (Some(_), HELD) => FINDINGS,
        _ => code,
    }
}

/// The exit code of a run that was compared with no snapshot: known deviations do not fail.
fn of_records(summary: &Summary, strict: bool, is_stale: bool) -> u8 {
    let unknown = || summary.records.iter().filter(|record| !record.known);
    let broke_protocol =
        |record: &CaseRecord| record.evidence.as_ref().is_some_and(|one| one.broke_protocol);
    let fails = |verdict: Verdict| verdict.fails() || (strict && verdict.is_finding());
    let is_undecided = |verdict| summary.count(verdict) > 0;
    if unknown().any(broke_protocol) {
        TARGET
    } else if summary.findings.iter().any(|one| !one.is_known() && fails(one.verdict))
        || unknown().any(|record| fails(record.verdict))
        || summary.claim.as_ref().is_some_and(|claim| claim.contradicted > 0)
        || is_stale
    {
        FINDINGS
    } else if summary.checked() == 0 || summary.claim.as_ref().is_some_and(ClaimOutcome::is_open) {
        NOTHING
    } else if strict && [Verdict::Suspect, Verdict::Inconclusive].into_iter().any(is_undecided) {
        FINDINGS
    } else {
        HELD
    }
}

/// The exit code of a run that was compared with a snapshot: what was recorded or is known does not
/// fail, whatever it is.
fn of_snapshot(snapshot: &SnapshotOutcome, strict: bool, is_stale: bool) -> u8 {
    let is_change = |change| change != Change::Known;
    if is_stale
        || snapshot.count(Change::is_regression) > 0
        || (strict && snapshot.count(is_change) > 0)
    {
        FINDINGS
    } else if snapshot.compared == 0 {
        NOTHING
    } else {
        HELD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The exit code of a run with one case of this verdict and some fields, and under `--strict`.
    fn codes(verdict: &str, fields: Value) -> [u8; 2] {
        let record = json!({
            "id": "c", "law": "value", "dtype": "float32", "call": "", "verdict": verdict,
            "dims": {"b": 1, "h_q": 1, "h_k": 1, "n_q": 1, "n_k": 1, "d_k": 1, "d_v": 1},
        });
        let mut summary = json!({
            "run": {
                "tool": "", "target": "t", "environment": [], "suite": "s", "seed": 0,
                "conventions": [], "contracts": {}, "cases": 1,
            },
            "counts": {verdict: 1},
            "findings": [],
            "coverage": {
                "laws": {}, "dtypes": {}, "options": {}, "sizes": {}, "declined": [],
                "margins": {}, "unchecked": [],
            },
            "records": [record],
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            let of = if name == "known" { &mut summary["records"][0] } else { &mut summary };
            of[name] = value.clone();
        }
        let summary = serde_json::from_value(summary).expect("a summary");
        [false, true].map(|strict| code(&summary, strict))
    }

    fn snapshot(compared: usize) -> Value {
        json!({
            "file": "s.yaml", "device": "cpu", "exact": false, "compared": compared,
            "left_out": 0, "recorded_findings": [], "changes": [],
        })
    }

    #[test]
    fn a_run_that_ended_early_never_holds() {
        for (verdict, code) in
            [("PASS", HELD), ("UNSUPPORTED", NOTHING), ("CRASH", FINDINGS), ("TIMEOUT", FINDINGS)]
        {
            assert_eq!(codes(verdict, json!({})), [code; 2], "{verdict}");
        }
        for (stopped, held) in [
            (json!("interrupted"), FINDINGS),
            (json!("first-finding"), FINDINGS),
            (json!({"timeouts": 10}), FINDINGS),
            (json!({"ends": 10}), FINDINGS),
            (json!({"gone": "not restarted"}), TARGET),
            (json!({"shards": [{"shard": 1, "stopped": {"ends": 9}}]}), FINDINGS),
            (json!("an older version's words"), FINDINGS),
            (json!({"power": {"volts": 0}}), FINDINGS),
        ] {
            let check = |verdict, fields: Value, code| {
                let mut fields = fields;
                fields["stopped"] = stopped.clone();
                assert_eq!(codes(verdict, fields.clone()), [code; 2], "{verdict} {fields}");
            };
            check("PASS", json!({}), held);
            check("CRASH", json!({}), FINDINGS);
            check("CRASH", json!({"known": true}), held);
            check("PASS", json!({"snapshot": snapshot(1)}), held);
            let nothing = if held == TARGET { TARGET } else { NOTHING };
            check("UNSUPPORTED", json!({}), nothing);
            check("PASS", json!({"snapshot": snapshot(0)}), nothing);
            check("PASS", json!({"interrupted": true}), INTERRUPTED);
        }
        assert_eq!(codes("CRASH", json!({"known": true})), [HELD; 2]);
        assert_eq!(codes("SUSPECT", json!({})), [HELD, FINDINGS]);
    }
}
