//! How an answer was marked.

use super::Feedback;
use super::result::Verdict;

/// How an answer was marked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marked {
    pub(super) verdict: Verdict,
    /// Share of the points.
    pub(super) share: f64,
    pub(super) feedback: Feedback,
    pub(super) rubric: Vec<String>,
    /// The number of the mistake that it is.
    pub(super) mistake: Option<usize>,
}

impl Marked {
    fn of(verdict: Verdict, share: f64, feedback: Feedback) -> Self {
        Self { verdict, share, feedback, rubric: Vec::new(), mistake: None }
    }

    pub(super) fn right(feedback: Feedback) -> Self {
        Self::of(Verdict::Right, 1.0, feedback)
    }

    pub(super) fn wrong(feedback: Feedback) -> Self {
        Self::of(Verdict::Wrong, 0.0, feedback)
    }

    pub(super) fn partial(share: f64, feedback: Feedback) -> Self {
        let verdict = if share > 0.0 { Verdict::Partial } else { Verdict::Wrong };
        Self::of(verdict, share.max(0.0), feedback)
    }

    pub(super) fn follows(share: f64, feedback: Feedback) -> Self {
        Self::of(Verdict::Follows, share, feedback)
    }

    pub(super) fn by_hand(feedback: Feedback) -> Self {
        Self::of(Verdict::ByHand, 0.0, feedback)
    }
}
