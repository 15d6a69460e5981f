//! Stored cases: readable JSON that gives back every bit, and a reader that trusts nothing.

mod document;
mod layout;
mod rows;

use qkvet_spec::{Case, JsonError, parse_json};
use serde::{Deserialize, Serialize};

use crate::validate::{check_dims, check_option_values, is_law};
use crate::{GenError, case_id};
use document::{Bindings, Document, Options};
use layout::Layout;
pub(crate) use rows::{FloatRows, MaskRows, check_rows, width};

/// Version of the document.
const VERSION: u32 = 1;

/// Longer documents are refused before they are read.
const MAX_BYTES: usize = 1 << 28;

/// The case as a JSON document of version 1: tensors row by row, floats as the shortest decimals
/// that give back their bits.
///
/// Cases hold finite numbers; one that does not is written as `null` and refused by [`from_json`].
pub fn to_json(case: &Case) -> String {
    let document = Document {
        version: VERSION,
        id: case_id(case),
        law: case.law.clone(),
        dtype: case.dtype,
        dims: case.dims,
        options: Options::new(&case.options),
        bindings: Bindings::new(&case.bindings),
    };
    lay_out(&document)
}

/// A document as text, laid out for people.
pub(crate) fn lay_out(document: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Layout::default());
    // Writing strings and numbers to memory cannot fail; if it did, the reader would refuse the
    // rest.
    let _ = document.serialize(&mut serializer);
    bytes.push(b'\n');
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a stored case. Whether it fits its law is for [`check_case`](crate::check_case) to say.
///
/// # Errors
/// Anything but a well-formed document of version 1: unknown, missing and repeated fields, extents
/// that do not fit the elements, elements that the format does not have, an id that is not the
/// content's.
pub fn from_json(text: &str) -> Result<Case, GenError> {
    let version = parse::<Version>(text, STORED_CASE)?.version;
    if version != VERSION {
        return Err(GenError::new(
            "document",
            "`version`",
            VERSION.to_string(),
            version.to_string(),
        ));
    }
    let document: Document = parse(text, STORED_CASE)?;
    check_dims(&document.dims, "`dims`")?;
    let law = document.law;
    if !is_law(&law) {
        return Err(GenError::new(
            "law",
            "`law`",
            "lower-case words joined by hyphens",
            format!("`{law:.64}`"),
        ));
    }
    let (dims, dtype) = (document.dims, document.dtype);
    let options = document.options.options(dtype)?;
    check_option_values(&options, &dims, dtype)?;
    let case = Case { law, dtype, dims, options, bindings: document.bindings.bindings(dtype)? };
    let id = case_id(&case);
    if id != document.id {
        return Err(GenError::new(
            "id",
            "`id`",
            format!("`{id}`, the content's"),
            format!("`{:.64}`", document.id),
        ));
    }
    Ok(case)
}

/// The one field that every version has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

const STORED_CASE: &str = "a stored case";

/// Reads one JSON document that is `expected` to be of a kind.
///
/// # Errors
/// A document that is too long, or not of this form, with the line and column.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str, expected: &str) -> Result<T, GenError> {
    if text.len() > MAX_BYTES {
        return Err(GenError::new(
            "document",
            "its end",
            format!("{MAX_BYTES} bytes at most"),
            text.len().to_string(),
        ));
    }
    parse_json(text).map_err(|JsonError { misread, line, column, .. }| {
        let place = format!("line {line} column {column}");
        GenError::new("document", place, expected, misread.to_string())
    })
}
