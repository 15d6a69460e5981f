//! A verdict on one answer, or on one case.

use serde::Serialize;

use crate::{Cause, Evidence, Verdict};

/// A verdict on one answer, or one case, as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgment {
    /// The word.
    pub verdict: Verdict,
    /// The largest distance over its bound, where it is a finite number: at most 1 where nothing is
    /// wrong. An assertion that holds does not measure it for large calls.
    pub margin: Option<f64>,
    /// What it was judged by.
    pub contract: String,
    /// Elements of the output; 0 for a case, whose calls may be several.
    pub elements: usize,
    /// How many of them are proved wrong.
    pub refuted: usize,
    /// Why it is not a pass.
    pub evidence: Option<Evidence>,
    /// What explains it, if it fails and something does.
    pub explanation: Option<Cause>,
}

impl Judgment {
    /// Whether it was not proved wrong.
    pub fn is_ok(&self) -> bool {
        self.verdict != Verdict::Fail
    }
}
