//! JSON Schemas of every file format: the generated files of `docs/schema`, and what generates
//! them.

macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../docs/schema/", $name, ".json")))),*]
    };
}

/// Names of the file formats, each with its JSON Schema (draft 2020-12), in the order in which they
/// are listed.
pub const SCHEMAS: [(&str, &str); 20] = schemas![
    "law",
    "fault",
    "convention",
    "contract",
    "modifier",
    "suite",
    "report",
    "stream",
    "probe",
    "replay",
    "doctor",
    "wire",
    "onnx-report",
    "snapshot",
    "known",
    "known-list",
    "deviations",
    "question",
    "exam",
    "config",
];

/// The JSON Schema of a file format; `None` for an unknown name.
pub fn schema(name: &str) -> Option<&'static str> {
    SCHEMAS.into_iter().find_map(|(known, text)| (known == name).then_some(text))
}

/// The JSON Schemas of the formats that this crate reads and writes, from the types.
#[cfg(feature = "schema")]
pub fn generate_schemas() -> Vec<(&'static str, schemars::Schema)> {
    use schemars::schema_for;

    vec![
        ("law", schema_for!(crate::Law)),
        ("fault", schema_for!(crate::Fault)),
        ("convention", schema_for!(crate::Convention)),
        ("contract", schema_for!(crate::Contract)),
        ("modifier", schema_for!(crate::Modifier)),
        ("suite", schema_for!(crate::Suite)),
        ("report", schema_for!(crate::SummaryDocument<'static>)),
        ("stream", schema_for!(crate::StreamLine)),
        ("probe", schema_for!(crate::Probe)),
        ("replay", schema_for!(crate::Replay)),
        ("doctor", schema_for!(crate::DoctorReport)),
        ("onnx-report", schema_for!(crate::OnnxReport)),
        ("wire", schema_for!(crate::wire::WireMessage)),
        ("snapshot", schema_for!(crate::Snapshot)),
        ("known", schema_for!(crate::KnownFile)),
        ("known-list", schema_for!(crate::KnownOutcome)),
        ("deviations", schema_for!(crate::DeviationFile)),
    ]
}
