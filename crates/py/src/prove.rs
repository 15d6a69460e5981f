//! Laws and what is known of them.

use pyo3::prelude::*;
use qkvet_prove::outcome::{Line, Status};
use qkvet_prove::render::{Style, render_law};
use qkvet_spec::Catalog;
use serde_json::json;

use crate::interrupt::interruptible;
use crate::names::{catalog, invalid};

/// What is known of a law, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn prove(py: Python<'_>, law: String) -> PyResult<String> {
    let law = Catalog::find("law", &catalog()?.laws, &law).map_err(invalid)?;
    let outcome = interruptible(py, move || Ok(qkvet_prove::outcome::prove(law)))?;
    let steps: Vec<_> = outcome
        .lines
        .iter()
        .map(|Line { shown, relation, reason }| {
            json!({"relation": relation.sign(), "text": shown.text(Style::Unicode), "reason": reason})
        })
        .collect();
    let (counterexample, reason) = match &outcome.status {
        Status::Refuted(example) => (Some(example), None),
        Status::Unknown(reason) => (None, Some(reason.to_string())),
        Status::Proved | Status::ProvedTo { .. } | Status::Definition | Status::Checked(_) => {
            (None, None)
        }
    };
    let known = json!({
        "law": law.law.law,
        "title": law.law.title,
        "statement": render_law(law, Style::Unicode),
        "status": outcome.status.name(),
        "method": outcome.method.name(),
        "steps": steps,
        "counterexample": counterexample,
        "reason": reason,
    });
    Ok(known.to_string())
}
