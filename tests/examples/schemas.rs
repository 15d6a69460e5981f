//! Prints a JSON object with the JSON Schema of every file format, as a text, under its name.
#![allow(clippy::print_stdout, reason = "for whoever started it")]

use std::collections::BTreeMap;

use qkvet_run::config::Config;

fn main() -> Result<(), serde_json::Error> {
    let mut schemas = qkvet_spec::generate_schemas();
    schemas.extend(qkvet_exam::question::generate_schemas());
    schemas.push(("config", Config::schema()));
    let mut texts = BTreeMap::new();
    for (name, schema) in schemas {
        // As a value, whose names are in order.
        let schema = serde_json::Value::from(schema);
        texts.insert(name, serde_json::to_string_pretty(&schema)? + "\n");
    }
    println!("{}", serde_json::to_string(&texts)?);
    Ok(())
}
