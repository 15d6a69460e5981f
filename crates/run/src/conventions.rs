//! Which conventions a target declares.

use std::collections::BTreeMap;

use qkvet_diagnose::applied;
use qkvet_spec::{Catalog, Convention, Meaning, Unexpected, name_hint};

use crate::config::TargetEntry;

/// Conventions of flags and `qkvet.yaml`; a flag wins over the file.
///
/// # Errors
/// A flag that is not `field=value`, an unknown field, an unknown value of one.
pub fn conventions<'a>(
    entry: &TargetEntry,
    flags: &[String],
    catalog: &'a Catalog,
) -> Result<Vec<&'a Convention>, Unexpected> {
    let mut chosen: BTreeMap<String, String> = entry.conventions.clone().into_iter().collect();
    for flag in flags {
        let Some((field, value)) = flag.split_once('=') else {
            let expected = "field=value, such as causal=upper-left";
            return Err(Unexpected::at(format!("convention `{flag}`"), expected));
        };
        chosen.insert(field.trim().to_owned(), value.trim().to_owned());
    }
    let find = |(field, value): (&String, &String)| {
        let of_field: Vec<&Convention> =
            catalog.conventions.values().filter(|convention| convention.field == *field).collect();
        if let Some(found) = of_field.iter().find(|convention| convention.value == *value) {
            return Ok(*found);
        }
        let (what, mut known): (String, Vec<&str>) = if of_field.is_empty() {
            (
                format!("convention `{field}`"),
                catalog.conventions.values().map(|convention| convention.field.as_str()).collect(),
            )
        } else {
            (
                format!("convention `{field}={value}`"),
                of_field
                    .iter()
                    .flat_map(|known| [known.standard_value.as_str(), known.value.as_str()])
                    .collect(),
            )
        };
        known.dedup();
        let wrong = if of_field.is_empty() { field } else { value };
        Err(Unexpected::at(what, "a known one").hint(name_hint(wrong, &known)))
    };
    chosen.iter().filter(|(field, value)| !is_standard(catalog, field, value)).map(find).collect()
}

/// Declaring the standard is allowed and changes nothing.
fn is_standard(catalog: &Catalog, field: &str, value: &str) -> bool {
    catalog
        .conventions
        .values()
        .any(|convention| convention.field == field && convention.standard_value == value)
}

/// The standard under conventions.
pub fn meaning_of(conventions: &[&Convention]) -> Meaning {
    applied(&Meaning::standard(), conventions)
}
