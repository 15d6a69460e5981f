//! Exit codes, fixed forever: 0 held, 1 findings, 2 usage or specification, 3 target, 4 nothing checked, 130 interrupted.

use std::process::ExitCode;

use qkvet_exam::ExamError;
use qkvet_run::frozen::FileError;
use qkvet_run::process::StartError;
use qkvet_run::record::ShardError;
use qkvet_run::runner::{RunError, StoreError};
use qkvet_spec::{SpecError, Summary, Verdict};

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
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// The target could not be asked.
    #[error("{0}")]
    Target(String),
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// Prints the message and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let text = self.to_string();
        let text = if text.starts_with("error") { text } else { format!("error: {text}") };
        tell!("{text}");
        ExitCode::from(match self {
            Self::Start(_) | Self::Target(_) | Self::Run(RunError::Start(_)) => TARGET,
            _ => USAGE,
        })
    }
}

/// The exit code of a finished run.
pub(crate) fn code(summary: &Summary, strict: bool) -> u8 {
    if summary.interrupted {
        return INTERRUPTED;
    }
    let evidence = summary.records.iter().filter_map(|record| record.evidence.as_ref());
    if evidence.clone().any(|evidence| evidence.broke_protocol) {
        return TARGET;
    }
    let count = |verdict: Verdict| summary.counts.get(verdict.word()).copied().unwrap_or(0);
    if !summary.findings.is_empty() || Verdict::ALL.iter().any(|verdict| verdict.is_finding() && count(*verdict) > 0) {
        return FINDINGS;
    }
    if Verdict::ALL.iter().all(|verdict| !verdict.is_checked() || count(*verdict) == 0) {
        return NOTHING;
    }
    if strict && count(Verdict::Suspect) + count(Verdict::Inconclusive) > 0 {
        return FINDINGS;
    }
    HELD
}
