//! `qkvet schema NAME`: the JSON Schema of a file format.

use std::process::ExitCode;

use qkvet_spec::{SCHEMAS, nearest};

use crate::exit::Failure;

pub(super) fn schema(name: Option<&str>, list: bool) -> Result<ExitCode, Failure> {
    let Some(name) = name.filter(|_| !list) else {
        for name in SCHEMAS {
            anstream::println!("{name}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let Some(schema) = qkvet_spec::schema(name) else {
        let hint = nearest(name, SCHEMAS)
            .map_or_else(|| format!("known: {}", SCHEMAS.join(", ")), |near| format!("did you mean `{near}`?"));
        return Err(Failure::Usage(format!("schema `{name}`: expected a known format\nhint: {hint}")));
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| Failure::Usage(format!("schema: {error}")))?;
    anstream::println!("{text}");
    Ok(ExitCode::SUCCESS)
}
