//! One frozen case as one JSON document.

use qkvet_spec::Dtype;
use serde::{Deserialize, Serialize};

use super::assemble::check_format;
use super::document::CaseDocument;
use super::{FROZEN_FORMAT, FrozenCase};
use crate::GenError;
use crate::json::{lay_out, parse};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Single {
    format: u32,
    dtype: Dtype,
    case: CaseDocument,
}

/// The case as a JSON document `{"format": 1, "dtype": ..., "case": {...}}`, the case as in a
/// group.
///
/// # Errors
/// A case that is no call of attention.
pub fn case_to_json(frozen: &FrozenCase) -> Result<String, GenError> {
    Ok(lay_out(&Single {
        format: FROZEN_FORMAT,
        dtype: frozen.case.dtype,
        case: CaseDocument::new(frozen)?,
    }))
}

/// Reads a case from a JSON document.
///
/// # Errors
/// Anything but what [`case_to_json`] writes, with its place; an id that is not the content's.
pub fn case_from_json(text: &str) -> Result<FrozenCase, GenError> {
    let single: Single = parse(text, "a frozen case")?;
    check_format(single.format)?;
    single.case.case(single.dtype)
}
