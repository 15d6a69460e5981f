//! `qkvet schema NAME`: the JSON Schema of a file format.

use std::process::ExitCode;

use qkvet_exam::question;
use qkvet_run::config::Config;
use qkvet_spec::{SCHEMAS, nearest};

use crate::exit::Failure;

/// The file `qkvet.yaml`, which `run` reads.
const CONFIG: &str = "config";

fn names() -> impl Iterator<Item = &'static str> {
    SCHEMAS.into_iter().chain(question::SCHEMAS).chain([CONFIG])
}

pub(super) fn schema(name: Option<&str>, list: bool) -> Result<ExitCode, Failure> {
    let Some(name) = name.filter(|_| !list) else {
        for name in names() {
            say!("{name}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let known = if name == CONFIG {
        Some(Config::schema())
    } else {
        qkvet_spec::schema(name).or_else(|| question::schema(name))
    };
    let Some(schema) = known else {
        let known: Vec<&str> = names().collect();
        let hint = nearest(name, names()).map_or_else(
            || format!("known: {}", known.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Failure::Usage(format!(
            "schema `{name}`: expected a known format\nhint: {hint}"
        )));
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::Usage(format!("schema: {error}")))?;
    say!("{text}");
    Ok(ExitCode::SUCCESS)
}
