//! `qkvet schema NAME`: the JSON Schema of a file format.

use std::process::ExitCode;

use qkvet_spec::{SCHEMAS, Unexpected, name_hint};

use crate::exit::Failure;
use crate::out::write_text;

pub(super) fn schema(name: Option<&str>, list: bool) -> Result<ExitCode, Failure> {
    let names = || SCHEMAS.into_iter().map(|(name, _)| name);
    let Some(name) = name.filter(|_| !list) else {
        for name in names() {
            say!("{name}");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let Some(schema) = qkvet_spec::schema(name) else {
        let hint = name_hint(name, &SCHEMAS.map(|(name, _)| name));
        return Err(Unexpected::at(format!("schema `{name}`"), "a known format").hint(hint).into());
    };
    write_text(schema)?;
    Ok(ExitCode::SUCCESS)
}
