//! Conventions and faults: patches of a `Meaning` or an `Execution`, written once.

use serde::{Deserialize, Serialize};

use crate::{CallOption, ExecutionPatch, IndexExpr, MeaningPatch, Misfit};

/// A legitimate choice other than the standard one; one file in `specs/conventions/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Convention {
    /// The id, equal to the file name: `<field>-<value>`.
    pub convention: String,
    /// One sentence: what is done.
    pub title: String,
    /// The field of `--convention field=value` and of `conventions:` in `qkvet.yaml`.
    pub field: String,
    /// The value.
    pub value: String,
    /// What it changes.
    pub meaning: MeaningPatch,
    /// The options without all of which it makes no difference. None: it may always make one.
    #[serde(default)]
    pub options: Vec<CallOption>,
    /// The value of the field that stands for the standard.
    pub standard_value: String,
    /// What the standard does, in words.
    pub standard: String,
    /// Who follows it.
    #[serde(default)]
    pub seen: Vec<String>,
}

/// Behavior that no change of meaning or execution can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Behavior {
    /// The query is overwritten.
    InputsOverwritten,
    /// Every second call gives other bits.
    NotRepeatable,
    /// The rows it strikes are not written: they hold what the buffer of the output held, at first
    /// NaN, then the last result.
    RowsUnwritten,
    /// The answer to the first call of these shapes and options is given to all of them.
    AnswerCached,
    /// The mask of the call before is used as long as it has the same shape.
    MaskKept,
    /// The scale of the first call is used ever after.
    ScaleKept,
    /// The lengths of the first call are used as long as there are as many.
    LengthsKept,
    /// The first call is right; later ones see no more than half of the keys.
    RightAtFirst,
    /// The output has the heads behind the queries, `(b, n_q, h_q, d_v)`.
    HeadsLast,
    /// The output is float32 whatever the call is.
    WideOutput,
    /// A call that does not fit is answered: what is too much is left out, what is missing comes
    /// from the front again.
    MisfitAnswered(Misfit),
}

impl Behavior {
    /// Whether something of an earlier call is kept for later ones.
    pub fn keeps_something(self) -> bool {
        use Behavior::{AnswerCached, LengthsKept, MaskKept, RightAtFirst, ScaleKept};
        matches!(self, AnswerCached | ScaleKept | MaskKept | LengthsKept | RightAtFirst)
    }
}

/// A mistake, as a patch; one file in `specs/faults/`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The id, equal to the file name.
    pub fault: String,
    /// Finding code, `QK` and three digits; never moves.
    pub code: String,
    /// One sentence: what is wrong.
    pub title: String,
    /// What it changes in the exact function.
    #[serde(default, skip_serializing_if = "MeaningPatch::is_empty")]
    pub meaning: MeaningPatch,
    /// What it changes in the computation.
    #[serde(default, skip_serializing_if = "ExecutionPatch::is_empty")]
    pub execution: ExecutionPatch,
    /// What it does besides computing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
    /// The calls it strikes; absent: all. Where it speaks of `item`, `h` or `i`, the rows of the
    /// output that it strikes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<IndexExpr>,
    /// Calls on which it makes no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalent_when: Option<IndexExpr>,
    /// Where it was seen in the wild.
    #[serde(default)]
    pub seen: Vec<String>,
    /// How it shows and what is right instead.
    pub tell: String,
    /// What is right, where its family says too little; absent: what that says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Whether students make it.
    #[serde(default)]
    pub student: bool,
    /// Its family, the folder in which it lies.
    #[serde(skip)]
    pub family: String,
}

impl Fault {
    /// Whether it changes the exact function and nothing else.
    pub fn is_formula(&self) -> bool {
        !self.meaning.is_empty() && self.execution.is_empty() && self.behavior.is_none()
    }
}

/// What the faults of a family have in common; one file in `specs/families/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FaultFamily {
    /// The id, equal to the file name and to the folder of its faults.
    pub family: String,
    /// What is wrong with them.
    pub title: String,
    /// Where in an implementation to look.
    pub look: String,
    /// What is right there.
    pub fix: String,
}
