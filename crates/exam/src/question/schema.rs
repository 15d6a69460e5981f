//! JSON Schemas of questions and problem sets, from the types that read them.

use schemars::{JsonSchema, Schema, schema_for};

use super::{ProblemSet, Question};

/// A formula in YAML, where one that is nothing but a number needs no quotes.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a schema without values")]
pub(super) enum Plain {
    /// A formula.
    Formula(String),
    /// A number.
    Number(f64),
}

/// One, or a list.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a schema without values")]
pub(super) enum OneOrMore<T> {
    /// One.
    One(T),
    /// Several.
    More(Vec<T>),
}

/// The JSON Schemas of a question and of a problem set.
pub fn generate_schemas() -> Vec<(&'static str, Schema)> {
    vec![("question", schema_for!(Question)), ("exam", schema_for!(ProblemSet))]
}
