//! JSON Schemas of questions and problem sets, from the types that read them.

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

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

/// Names that [`schema`] knows.
pub const SCHEMAS: [&str; 2] = ["question", "exam"];

/// The JSON Schema (draft 2020-12) of a question or of a problem set; `None` for an unknown name.
pub fn schema(name: &str) -> Option<Value> {
    match name {
        "question" => Some(schema_for!(Question).into()),
        "exam" => Some(schema_for!(ProblemSet).into()),
        _ => None,
    }
}
