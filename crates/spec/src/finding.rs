//! Findings: what is wrong with a target, as data. Words are made of them where they are shown
//! ([`Words`](crate::Words)).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::verdict::{is_false, is_zero};
use crate::{
    Breakage, CallOption, Condition, Deviation, Dtype, Evidence, Fault, Format, Output, Picture,
    Quoted, Reading, SeenIn, Standing, Tensor, Verdict, Witness, WorkedExample, WrongElements,
};

/// How far a finding has come. Reports and exit codes know final ones only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingState {
    /// Shown while the run goes on.
    Proposed,
    /// Shown before in another way.
    Revised,
    /// Shown before, and no finding any more.
    Withdrawn,
    /// It stays.
    #[default]
    Final,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A verdict of its cases.
    Verdict,
    /// A legitimate convention that was not declared.
    Convention,
    /// A narrower format than declared.
    Precision,
}

/// A fault of the atlas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultRef {
    /// `QK221`.
    pub code: String,
    /// `gqa-modulo`.
    pub fault: String,
    /// One line of the atlas.
    pub title: String,
    /// How it looks, of the atlas too.
    pub tell: String,
}

impl From<&Fault> for FaultRef {
    fn from(fault: &Fault) -> Self {
        let Fault { code, fault, title, tell, .. } = fault;
        Self { code: code.clone(), fault: fault.clone(), title: title.clone(), tell: tell.clone() }
    }
}

/// The faults that explain a finding second best.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rival {
    /// Their ids.
    pub faults: Vec<String>,
    /// How many of the failing cases that were looked at they explain.
    pub explained: usize,
    /// How many were looked at.
    pub of: usize,
}

/// For which of two layouts in memory a result is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RightLayout {
    /// Contiguous query, key and value.
    Contiguous,
    /// Views of which heads and positions lie exchanged.
    Views,
}

/// One of the results of a call: the output, `(b, h_q, n_q, d_v)`, the weights, `(b, h_q, n_q, n_k)`,
/// the log-sum-exp of each query, `(b, h_q, n_q)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ResultName {
    /// The output.
    Output,
    /// The attention weights.
    Weights,
    /// The log-sum-exp of each row.
    Lse,
}

impl ResultName {
    /// Every result.
    pub const ALL: [Self; 3] = [Self::Output, Self::Weights, Self::Lse];
}

/// What is wrong with the form of a result, so that its values are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// It is no tensor.
    Kind,
    /// A result that was asked for is missing.
    Number,
    /// The shape of a result.
    Shape(ResultName),
    /// The number format of a result.
    Format(ResultName),
}

impl ResultName {
    /// The name on the wire and in reports: `output`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Weights => "weights",
            Self::Lse => "lse",
        }
    }

    /// This result among those that a target gave; `None` if it is not there.
    pub fn of(self, output: &Output) -> Option<&Tensor> {
        match self {
            Self::Output => Some(&output.output),
            Self::Weights => output.weights.as_ref(),
            Self::Lse => output.lse.as_ref(),
        }
    }
}

impl fmt::Display for Form {
    /// `shape of the output`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, result) = match self {
            Self::Kind => return f.write_str("kind of result"),
            Self::Number => return f.write_str("number of results"),
            Self::Shape(result) => ("shape", result),
            Self::Format(result) => ("format", result),
        };
        write!(f, "{what} of the {}", result.name())
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Cause {
    /// A fault of the atlas, or two together.
    Faults {
        /// The one that is named for the first time comes first.
        faults: Vec<FaultRef>,
        /// How many of the failing cases they explain.
        explained: usize,
        /// How many there were.
        of: usize,
        /// How many right results speak against it for certain: what is wrong is like the fault in
        /// the failing cases alone.
        #[serde(default, skip_serializing_if = "is_zero")]
        contradicted: usize,
        /// What comes next to them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rival: Option<Rival>,
    },
    /// A legitimate convention that was not declared.
    Convention {
        /// Its field.
        field: String,
        /// Its value.
        value: String,
        /// One line of the catalog.
        title: String,
        /// What is standard.
        standard: String,
    },
    /// Something is computed in a narrower format than the contract says, and all is right by it.
    Precision {
        /// Format of the calls.
        dtype: Dtype,
        /// The narrower format.
        computed: Format,
        /// What is computed in it.
        #[serde(default, skip_serializing_if = "Narrowed::is_everything")]
        what: Narrowed,
        /// The contract that holds instead.
        contract: String,
        /// How many of the failing cases are right under it.
        explained: usize,
        /// How many failed.
        of: usize,
    },
    /// The target declines calls that it is required to answer.
    Declined {
        /// What it said.
        said: Quoted,
    },
    /// What the target computes, as a formula with a condition.
    Deviation {
        /// The formula, and what speaks for it.
        #[serde(flatten)]
        deviation: Box<Deviation>,
        /// The fault of the atlas that has this formula, if one has.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<FaultRef>,
    },
    /// The result is right for one layout in memory alone.
    Layout {
        /// For this one.
        right: RightLayout,
        /// Where both are wrong: ids of the faults that explain what contiguous inputs give.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String>,
    },
    /// It is wrong only when the library uses several threads.
    Threads,
    /// Wrong results that were right when the same case was put again.
    Intermittent,
    /// The same call gave different results.
    Nondeterministic {
        /// Whether all of them lie within the bound, as those of sums that are added up in another
        /// order each time do.
        #[serde(default, skip_serializing_if = "is_false")]
        within_bound: bool,
        /// Chance `p` with which a weight is dropped, in percent: where one key is seen, each result
        /// is 0 or `1/(1 − p)` times the right one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropout: Option<u8>,
    },
    /// The form of a result.
    Form {
        /// What of it.
        form: Form,
    },
    /// The target raised an exception, died, hung or broke the protocol: the verdict says which.
    Broken {
        /// What it said, or what became of it.
        how: Breakage,
    },
    /// Wrong values that nothing explains.
    Unexplained {
        /// The one law that all cases are of, where others were checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        law: Option<String>,
        /// Options that all cases use, where not every checked case does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<CallOption>,
    },
    /// A kind of a later version, which wrote the report.
    #[serde(other)]
    Later,
}

impl Cause {
    /// Its faults, if it is any.
    pub fn faults(&self) -> &[FaultRef] {
        match self {
            Self::Faults { faults, .. } | Self::Deviation { faults, .. } => faults,
            _ => &[],
        }
    }

    /// `causal=upper-left`, if it is an undeclared convention.
    pub fn convention(&self) -> Option<String> {
        match self {
            Self::Convention { field, value, .. } => Some(format!("{field}={value}")),
            _ => None,
        }
    }

    /// Whether it says what is wrong: a fault, or a convention. Of any other it is known only where
    /// it was seen.
    pub fn is_named(&self) -> bool {
        match self {
            Self::Faults { .. } | Self::Convention { .. } => true,
            Self::Deviation { deviation, .. } => deviation.standing == Standing::Named,
            _ => false,
        }
    }

    /// Whether a finding of either is called the same, whatever the numbers in it.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Faults { faults: x, .. }, Self::Faults { faults: y, .. }) => x == y,
            (Self::Deviation { deviation: x, .. }, Self::Deviation { deviation: y, .. }) => {
                x.formula == y.formula && x.when == y.when
            }
            (Self::Broken { how: x }, Self::Broken { how: y }) => x.is_like(y),
            (Self::Declined { said: x }, Self::Declined { said: y }) => x.is_like(y),
            (Self::Layout { right: x, .. }, Self::Layout { right: y, .. }) => x == y,
            (Self::Nondeterministic { .. }, Self::Nondeterministic { .. }) => true,
            (x, y) => x == y,
        }
    }

    /// What a finding of this cause is about.
    pub fn kind(&self) -> FindingKind {
        match self {
            Self::Convention { .. } => FindingKind::Convention,
            Self::Precision { .. } => FindingKind::Precision,
            _ => FindingKind::Verdict,
        }
    }
}

/// What is computed in a narrower format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Narrowed {
    /// Everything: each number returned is one of the format.
    #[default]
    Everything,
    /// The softmax.
    Softmax,
    /// The sums of both products.
    Sums,
    /// What is multiplied in both products: query and key, weights and values.
    Operands,
}

impl Narrowed {
    fn is_everything(&self) -> bool {
        *self == Self::Everything
    }
}

/// What is told of a finding while the run goes on. The report has what stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proposal {
    /// Proposed, revised or withdrawn.
    pub state: FindingState,
    /// How its cases ended.
    pub verdict: Verdict,
    /// What is wrong, as far as is known.
    pub cause: Cause,
    /// Id of the case by which it was found; it stays when the finding is revised.
    pub case: String,
    /// The law of this case.
    pub law: String,
    /// The call in one line: extents and options.
    pub call: String,
    /// Cases that show it so far.
    pub cases: usize,
    /// Cases that were checked so far.
    pub of: usize,
}

/// How often a case, or a kind of case, was wrong by number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "counted", rename_all = "kebab-case")]
pub enum ThreadCounts {
    /// Cases of the run.
    Cases {
        /// Wrong on several threads.
        wrong: usize,
        /// Put on several threads.
        several: usize,
        /// Put on one, none of them wrong.
        one: usize,
    },
    /// One case, put again.
    Again {
        /// Wrong on several threads.
        wrong: usize,
        /// Put so often on several threads, and as often on one, never wrong there.
        times: usize,
    },
}

/// What else is to be known of a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// Further wrong cases use the same options, and no fault explains them.
    Others {
        /// The options.
        options: Vec<CallOption>,
        /// How many cases.
        cases: usize,
        /// Ids of the first ones.
        first: Vec<String>,
    },
    /// Cases without a mask were put with one that hides nothing.
    Filled {
        /// How many.
        cases: usize,
    },
    /// What broke is right for one layout in memory.
    Layout {
        /// For this one.
        right: RightLayout,
    },
    /// It is wrong on several threads alone.
    Threads(ThreadCounts),
    /// It did not come when the same case was put again.
    Once,
    /// The inputs of the witness were views; contiguous ones were not tried.
    Views {
        /// Whether contiguous inputs may have been given after an exception.
        maybe_contiguous: bool,
    },
    /// A kind of a later version, which wrote the report.
    #[serde(other)]
    Later,
}

/// One cause, however many cases it broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// How far it has come.
    pub state: FindingState,
    /// What it is about.
    pub kind: FindingKind,
    /// The verdict of its cases.
    pub verdict: Verdict,
    /// What is wrong.
    pub cause: Cause,
    /// What else is to be known of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Law whose case is shown.
    pub law: String,
    /// Title of that law.
    pub law_title: String,
    /// Contract it was judged by.
    pub contract: String,
    /// Laws broken, with how many cases each.
    pub laws: BTreeMap<String, usize>,
    /// Cases that show it.
    pub cases: usize,
    /// Cases decided in the run.
    pub of: usize,
    /// How many of its cases are known deviations; if all are, the finding does not fail.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub known: usize,
    /// What all cases that show it have in common and few others of their laws, and how many of
    /// those that have it show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// What all wrong elements have in common and few others, of the results that were looked at in
    /// the widest format, for wrong results that no fault explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Condition>,
    /// The smallest input found.
    pub witness: Witness,
    /// What was expected there and what came.
    pub evidence: Evidence,
    /// Keys that a query weighs and those that it should, where an output of one of the cases
    /// tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<SeenIn<Reading>>,
    /// Where in an output the wrong elements are, for wrong results that no fault explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<SeenIn<WrongElements>>,
    /// The command that shows it again.
    pub replay: String,
    /// The command that shows it again without a stored case, if the case has a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_anywhere: Option<String>,
    /// The script that shows it again without qkvet, for a target that is not built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// That script itself, unless it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_text: Option<String>,
    /// One query of the witness number by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Box<WorkedExample>>,
    /// A head of one of the cases as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Box<Picture>>,
}

impl Finding {
    /// Whether every case of it is a known deviation.
    pub fn is_known(&self) -> bool {
        self.cases > 0 && self.known >= self.cases
    }
}
