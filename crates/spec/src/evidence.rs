//! What is seen of a case that did not pass: where, what was expected, what came.

use serde::{Deserialize, Serialize};

use crate::verdict::is_false;
use crate::{Breakage, Dtype, Form, MisfitShapes, Number, Quoted, ResultName};

/// Why a case did not pass: where, what was expected and why, what came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Where it is seen.
    pub place: Place,
    /// What was expected there.
    pub expected: Expectation,
    /// What came.
    pub got: Got,
    /// Distance over bound; absent where nothing was measured or the bound is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The error allowed there, where it is a finite number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// What is wrong with the form of the result, if it is its form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// Whether the law's own relation was refuted (otherwise one of its calls had a wrong value).
    pub relation: bool,
    /// Whether the target's process answered what is not of the protocol.
    #[serde(default, skip_serializing_if = "is_false")]
    pub broke_protocol: bool,
    /// Whether the same numbers, contiguous in memory, are answered rightly: what was given were
    /// transposed views.
    #[serde(default, skip_serializing_if = "is_false")]
    pub strided: bool,
    /// Whether transposed views of the same numbers are answered rightly: what was given lay
    /// contiguous in memory.
    #[serde(default, skip_serializing_if = "is_false")]
    pub contiguous: bool,
    /// Whether both answers of a call that gave two lie within the bound; absent where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_bound: Option<bool>,
    /// The end of the standard error of a target that broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Quoted>,
}

impl Evidence {
    /// Evidence of what was not measured: no ratio, no bound, no form, no relation.
    pub fn new(place: Place, expected: Expectation, got: Got) -> Self {
        Self {
            place,
            expected,
            got,
            ratio: None,
            bound: None,
            form: None,
            relation: false,
            broke_protocol: false,
            strided: false,
            contiguous: false,
            within_bound: None,
            stderr: None,
        }
    }
}

/// Where something is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The call, or the expression of the law: `attention(Q, K, V)`.
    pub of: String,
    /// Whether it is the output of a call that the law asked for something else.
    #[serde(default, skip_serializing_if = "is_false")]
    pub its_output: bool,
    /// What of it.
    pub what: Aspect,
}

/// What of a call or an expression is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// All of it.
    Whole,
    /// One element.
    Element(Element),
    /// Kind, number, shape or format of a result.
    Form,
    /// The inputs of the call.
    Inputs,
    /// The same call, several times.
    Repeated,
}

/// An element of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Batch item, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<usize>,
    /// Head, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h: Option<usize>,
    /// Row.
    pub i: usize,
    /// Column.
    pub c: usize,
}

/// A number up to an error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Approx {
    /// The number.
    pub value: Number,
    /// The error, rounded up where it is shown.
    pub error: Number,
}

/// How a number has to lie to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Relates {
    /// The same, up to the errors of both.
    Equal,
    /// Not larger.
    AtMost,
    /// Not smaller.
    AtLeast,
    /// The same bits.
    Bits,
}

/// Where an expected number comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The exact result of the call.
    Exact(ResultName),
    /// The other side of a law.
    Expression(String),
}

/// What was expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// A number.
    Number {
        /// How what came has to lie to it.
        relation: Relates,
        /// The number.
        number: Approx,
        /// Where it comes from.
        from: Origin,
    },
    /// The same number every time, and which one is right if that is known.
    EveryTime(Option<Approx>),
    /// Inputs with the same bits after the call.
    Unchanged,
    /// A result.
    Result,
    /// A result, for the same call with other numbers got one.
    ResultAsOthers,
    /// A tensor of floating-point numbers.
    Tensor,
    /// An answer of the protocol.
    Protocol,
    /// A refusal of a call that does not fit.
    Refusal(MisfitShapes),
    /// A shape.
    Shape(Vec<usize>),
    /// A number format.
    Format(Dtype),
    /// This result beside the output.
    Second(ResultName),
}

/// What came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Got {
    /// A number.
    Number(Approx),
    /// One number, then another one.
    Then(Number, Number),
    /// Inputs with other bits.
    Changed,
    /// One result where two were asked for.
    One,
    /// A shape.
    Shape(Vec<usize>),
    /// A number format.
    Format(Dtype),
    /// Numbers of this shape where none were right.
    Numbers(Vec<usize>),
    /// No result: what the target said.
    Said(Quoted),
    /// No result: what became of its process, or of its message.
    Broke {
        /// How it broke.
        how: Breakage,
        /// The line that it had begun, or what is wrong with the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<Quoted>,
    },
}
