//! Exit codes, fixed forever: 0 held, 1 findings, 2 usage or specification, 3 target, 4 nothing
//! checked, 130 interrupted.

use std::process::ExitCode;

use qkvet_exam::ExamError;
use qkvet_gen::GenError;
use qkvet_run::process::{LoadKind, StartError};
use qkvet_run::runner::RunError;
use qkvet_spec::{
    CaseRecord, Change, KnownOutcome, SnapshotOutcome, SpecError, Summary, Unexpected, Verdict,
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
    pub(crate) fn report(&self) -> ExitCode {
        let before = if self.is_excerpt() { "" } else { "error: " };
        tell!("{before}{self}");
        ExitCode::from(match self {
            Self::Start(error) | Self::Run(RunError::Start(error)) => match error {
                // Declared in qkvet.yaml, which has a slip.
                StartError::Load { kind: Some(LoadKind::Supports), .. } => USAGE,
                _ => TARGET,
            },
            Self::Target(_) => TARGET,
            _ => USAGE,
        })
    }
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
    let is_stale = summary.known.as_ref().is_some_and(KnownOutcome::is_stale);
    if let Some(snapshot) = &summary.snapshot {
        return of_snapshot(snapshot, strict, is_stale);
    }
    let is_known = |record: &&CaseRecord| record.known;
    let evidence = summary
        .records
        .iter()
        .filter(|record| !record.known)
        .filter_map(|record| record.evidence.as_ref());
    if evidence.clone().any(|evidence| evidence.broke_protocol) {
        return TARGET;
    }
    let n_known = |verdict: Verdict| {
        summary.records.iter().filter(is_known).filter(|record| record.verdict == verdict).count()
    };
    let is_wrong =
        |verdict: &Verdict| verdict.is_finding() && summary.count(*verdict) > n_known(*verdict);
    if summary.findings.iter().any(|finding| !finding.is_known())
        || Verdict::ALL.iter().any(is_wrong)
    {
        return FINDINGS;
    }
    // Known findings excuse what was found, not what was never asked.
    if is_stale
        || (summary.stopped.is_some() && summary.records.iter().any(|record| is_known(&record)))
    {
        return FINDINGS;
    }
    if summary.checked() == 0 {
        return NOTHING;
    }
    if strict && summary.count(Verdict::Suspect) + summary.count(Verdict::Inconclusive) > 0 {
        return FINDINGS;
    }
    HELD
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
