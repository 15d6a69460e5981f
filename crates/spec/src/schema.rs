//! JSON Schemas of every file format, generated from the types.

use schemars::schema_for;
use serde_json::Value;

use crate::{Contract, Convention, Fault, Law, Suite, Summary};

/// Names that [`schema`] knows.
pub const SCHEMAS: [&str; 6] = ["law", "fault", "convention", "contract", "suite", "report"];

/// The JSON Schema (draft 2020-12) of a file format; `None` for an unknown name.
pub fn schema(name: &str) -> Option<Value> {
    let schema = match name {
        "law" => schema_for!(Law),
        "fault" => schema_for!(Fault),
        "convention" => schema_for!(Convention),
        "contract" => schema_for!(Contract),
        "suite" => schema_for!(Suite),
        "report" => schema_for!(Summary),
        _ => return None,
    };
    Some(schema.into())
}
