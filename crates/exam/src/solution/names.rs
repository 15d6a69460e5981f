//! The steps of a worked solution, and what can go wrong in each.

use serde::Serialize;

/// A step of the solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// `Q`
    Queries,
    /// `K`
    Keys,
    /// `V`
    Values,
    /// `Q Kᵀ`
    Scores,
    /// The factor on the scores.
    Scale,
    /// The scores times the factor.
    Scaled,
    /// The softmax of each row.
    Weights,
    /// The weights times the values.
    Output,
}

/// All steps in order.
pub const STEPS: [Step; 8] = [
    Step::Queries,
    Step::Keys,
    Step::Values,
    Step::Scores,
    Step::Scale,
    Step::Scaled,
    Step::Weights,
    Step::Output,
];

/// What a slip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mistake {
    /// The scale was left out.
    MissingScale,
    /// Another scale than the right one.
    WrongScale,
    /// The scale was applied twice or in another step.
    MisplacedScale,
    /// Another matrix, or its transpose, was multiplied with.
    WrongFactor,
    /// Rows and columns are exchanged.
    Transposed,
    /// The softmax ran over something else than the rows.
    WrongAxis,
    /// The softmax was left out, or part of it.
    NoSoftmax,
    /// The sign of an entry or of a term of it.
    SignError,
    /// A term of an entry was left out or counted twice.
    TermError,
    /// Two entries are exchanged.
    EntriesExchanged,
    /// Cut off, or rounded the other way, in the last digit.
    NotNearest,
    /// Another value.
    Arithmetic,
    /// Numbers were rounded before going on.
    EarlyRounding,
    /// Another number of rows or columns.
    Extents,
}

impl Step {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queries => "Q",
            Self::Keys => "K",
            Self::Values => "V",
            Self::Scores => "scores",
            Self::Scale => "scale",
            Self::Scaled => "scaled",
            Self::Weights => "weights",
            Self::Output => "output",
        }
    }

    /// The step of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        STEPS.into_iter().find(|step| step.name() == name)
    }

    /// The letter in formulas.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Queries => "Q",
            Self::Keys => "K",
            Self::Values => "V",
            Self::Scores => "R",
            Self::Scale => "s",
            Self::Scaled => "S",
            Self::Weights => "A",
            Self::Output => "O",
        }
    }

    /// How it is computed from the letters before it.
    pub(super) fn formula(self) -> &'static str {
        match self {
            Self::Queries => "X @ W_Q",
            Self::Keys => "X @ W_K",
            Self::Values => "X @ W_V",
            Self::Scores => "Q @ K.T",
            Self::Scale => "1 / sqrt(d_k)",
            Self::Scaled => "s * R",
            Self::Weights => "softmax_rows(S)",
            Self::Output => "A @ V",
        }
    }

    /// What may have been rounded before it was computed, in words: each alone, and all at once.
    pub(super) fn sources(self) -> &'static [(&'static [Step], &'static str)] {
        match self {
            Self::Scores => &[
                (&[Self::Queries, Self::Keys], "the queries and keys"),
                (&[Self::Queries], "the queries"),
                (&[Self::Keys], "the keys"),
            ],
            Self::Scaled => &[
                (&[Self::Scale], "the scale"),
                (&[Self::Scores], "the scores"),
                (&[Self::Scale, Self::Scores], "the scale and the scores"),
            ],
            Self::Weights => &[(&[Self::Scaled], "the scaled scores")],
            Self::Output => &[
                (&[Self::Weights], "the weights"),
                (&[Self::Values], "the values"),
                (&[Self::Weights, Self::Values], "the weights and the values"),
            ],
            Self::Queries | Self::Keys | Self::Values | Self::Scale => &[],
        }
    }

    /// The factors of a product.
    pub(super) fn factors(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Queries => ("X", "W_Q"),
            Self::Keys => ("X", "W_K"),
            Self::Values => ("X", "W_V"),
            Self::Scores => ("Q", "K.T"),
            Self::Output => ("A", "V"),
            Self::Scale | Self::Scaled | Self::Weights => return None,
        })
    }

    /// What people compute instead, each with its name.
    pub(super) fn mistakes(self) -> &'static [(Mistake, &'static str, &'static str)] {
        use Mistake::{
            MisplacedScale, MissingScale, NoSoftmax, WrongAxis, WrongFactor, WrongScale,
        };
        match self {
            Self::Queries => &[
                (WrongFactor, "X @ W_K", "the weights of the keys were used"),
                (WrongFactor, "X @ W_V", "the weights of the values were used"),
                (WrongFactor, "X @ W_Q.T", "the weights were transposed"),
                (WrongFactor, "X.T @ W_Q", "the tokens were transposed"),
            ],
            Self::Keys => &[
                (WrongFactor, "X @ W_Q", "the weights of the queries were used"),
                (WrongFactor, "X @ W_V", "the weights of the values were used"),
                (WrongFactor, "X @ W_K.T", "the weights were transposed"),
                (WrongFactor, "X.T @ W_K", "the tokens were transposed"),
            ],
            Self::Values => &[
                (WrongFactor, "X @ W_Q", "the weights of the queries were used"),
                (WrongFactor, "X @ W_K", "the weights of the keys were used"),
                (WrongFactor, "X @ W_V.T", "the weights were transposed"),
                (WrongFactor, "X.T @ W_V", "the tokens were transposed"),
            ],
            Self::Scores => &[
                (WrongFactor, "K @ Q.T", "queries and keys were exchanged: this is K Qᵀ"),
                (WrongFactor, "Q @ K", "the keys were not transposed: this is Q K"),
                (WrongFactor, "Q.T @ K", "the queries were transposed, not the keys: this is Qᵀ K"),
                (WrongFactor, "Q @ V.T", "the values were taken for the keys: this is Q Vᵀ"),
                (WrongFactor, "Q @ Q.T", "the queries were taken for the keys: this is Q Qᵀ"),
                (WrongFactor, "K @ K.T", "the keys were taken for the queries: this is K Kᵀ"),
                (MisplacedScale, "s * Q @ K.T", "the scores were scaled already"),
            ],
            Self::Scale => &[
                (WrongScale, "1 / d_k", "d_k was taken for its root"),
                (WrongScale, "sqrt(d_k)", "the root was not inverted"),
                (WrongScale, "d_k", "d_k was taken for 1/√d_k"),
                (WrongScale, "1 / sqrt(n_k)", "the number of keys was taken for their width"),
                (MissingScale, "1 + 0 * d_k", "the scale was left out"),
            ],
            Self::Scaled => &[
                (MissingScale, "R", "the scale was left out"),
                (WrongScale, "R / d_k", "the scores were divided by d_k, not by its root"),
                (WrongScale, "R / s", "the scores were divided by the factor, not multiplied"),
                (WrongScale, "R * d_k", "the scores were multiplied by d_k"),
                (WrongScale, "R / sqrt(n_k)", "the number of keys was taken for their width"),
                (MisplacedScale, "s * s * R", "the scale was applied twice"),
            ],
            Self::Weights => &[
                (MissingScale, "softmax_rows(R)", "the scale was left out"),
                (WrongAxis, "softmax_rows(S.T).T", "the softmax ran over columns, not rows"),
                (
                    WrongAxis,
                    "softmax_rows(R.T).T",
                    "the softmax ran over columns, not rows, and without the scale",
                ),
                (
                    WrongScale,
                    "softmax_rows(R / d_k)",
                    "the scores were divided by d_k, not by its root",
                ),
                (
                    WrongScale,
                    "softmax_rows(R / s)",
                    "the scores were divided by the factor, not multiplied",
                ),
                (MisplacedScale, "s * softmax_rows(R)", "the scale was applied after the softmax"),
                (MisplacedScale, "softmax_rows(s * S)", "the scale was applied twice"),
                (NoSoftmax, "S", "the softmax was left out"),
                (Mistake::SignError, "softmax_rows(-S)", "the exponents have the other sign"),
            ],
            Self::Output => &[
                (WrongFactor, "A.T @ V", "the weights were transposed: this is Aᵀ V"),
                (NoSoftmax, "S @ V", "the softmax was left out"),
                (NoSoftmax, "R @ V", "scores were taken for weights"),
                (WrongFactor, "A @ K", "the keys were taken for the values"),
                (WrongFactor, "A @ Q", "the queries were taken for the values"),
                (WrongFactor, "A", "these are the weights"),
                (MisplacedScale, "s * A @ V", "the output was scaled"),
            ],
        }
    }
}
