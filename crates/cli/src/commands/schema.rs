//! `qkvet schema NAME`: the JSON Schema of a file format.

use std::process::ExitCode;

use qkvet_spec::{SCHEMAS, nearest};

use super::launch::write_text;
use crate::exit::Failure;

pub(super) fn schema(name: Option<&str>, list: bool) -> Result<ExitCode, Failure> {
    let names = || SCHEMAS.into_iter().map(|(name, _)| name);
    let Some(name) = name.filter(|_| !list) else {
        for name in names() {
            say!("{name}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let Some(schema) = qkvet_spec::schema(name) else {
        let known: Vec<&str> = names().collect();
        let hint = nearest(name, names()).map_or_else(
            || format!("known: {}", known.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Failure::Usage(format!(
            "schema `{name}`: expected a known format\nhint: {hint}"
        )));
    };
    write_text(schema)?;
    Ok(ExitCode::SUCCESS)
}
