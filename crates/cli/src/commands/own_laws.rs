//! Laws of the user before a target is asked anything: a false one would find fault with every
//! right implementation.

use qkvet_prove::outcome::{Status, prove};
use qkvet_spec::{Catalog, CheckedLaw, Unexpected};

use crate::exit::Failure;

/// What is said of the user's laws that are not proved. `has_conventions`: the target declares
/// some, and what is false of the standard meaning may be true of its own.
///
/// # Errors
/// A law that is false of the standard meaning, where no convention is declared.
pub(super) fn notices(
    laws: &[&CheckedLaw],
    catalog: &Catalog,
    has_conventions: bool,
) -> Result<Vec<String>, Failure> {
    let embedded = Catalog::embedded()?;
    let mut notices = Vec::new();
    for law in laws.iter().filter(|law| !embedded.laws.contains_key(&law.law.law)) {
        let id = &law.law.law;
        let file =
            catalog.law_files.get(id).map_or_else(|| id.clone(), |file| format!("--file {file}"));
        let hint = format!("`qkvet prove {file}` says the same");
        if law.compares_bits() {
            let what = "it compares bits, of which real numbers say nothing: what it finds may be its own fault";
            notices.push(format!("law {id}: {what}"));
        }
        let outcome = prove(law);
        match outcome.status {
            Status::Refuted(example) if !has_conventions => {
                return Err(Unexpected::at(format!("law {id}"), "one that holds")
                    .got(format!("a false one, as this shows:\n{example}"))
                    .hint(hint)
                    .into());
            }
            Status::Refuted(_) => {
                notices.push(format!(
                    "law {id} is false of the standard meaning, if not of the declared one\nhint: {hint}"
                ));
            }
            Status::Checked(_) => {
                let known = "it held on small instances and is not proved";
                notices.push(format!("law {id}: {known}: what it finds may be its own fault"));
            }
            status if status.reaches(law.law.proof) => {}
            Status::Unknown(reason) => {
                notices.push(format!(
                    "law {id} is not proved ({reason}): what it finds may be its own fault"
                ));
            }
            Status::ProvedTo { .. } | Status::Definition | Status::Proved => {
                let known = "it holds at small shapes and is not proved for all";
                notices.push(format!("law {id}: {known}: what it finds may be its own fault"));
            }
        }
    }
    Ok(notices)
}
