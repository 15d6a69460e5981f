//! JSON Schemas of every file format, generated from the types.

use schemars::schema_for;
use serde_json::Value;

use crate::wire::WireMessage;
use crate::{
    Contract, Convention, Fault, KnownFile, Law, Modifier, OnnxReport, Probe, Snapshot, StreamLine,
    Suite, Summary,
};

/// Names that [`schema`] knows.
pub const SCHEMAS: [&str; 13] = [
    "law",
    "fault",
    "convention",
    "contract",
    "modifier",
    "suite",
    "report",
    "stream",
    "probe",
    "wire",
    "onnx-report",
    "snapshot",
    "known",
];

/// The JSON Schema (draft 2020-12) of a file format; `None` for an unknown name.
pub fn schema(name: &str) -> Option<Value> {
    let schema = match name {
        "law" => schema_for!(Law),
        "fault" => schema_for!(Fault),
        "convention" => schema_for!(Convention),
        "contract" => schema_for!(Contract),
        "modifier" => schema_for!(Modifier),
        "suite" => schema_for!(Suite),
        "report" => schema_for!(Summary),
        "stream" => schema_for!(StreamLine),
        "probe" => schema_for!(Probe),
        "onnx-report" => schema_for!(OnnxReport),
        "wire" => schema_for!(WireMessage),
        "snapshot" => schema_for!(Snapshot),
        "known" => schema_for!(KnownFile),
        _ => return None,
    };
    Some(schema.into())
}
