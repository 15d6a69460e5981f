//! What is wrong with a message: which field, what it should be, what it is.

use std::fmt;

use qkvet_spec::{JsonError, Misread, Quoted, parse_json};
use serde::de::DeserializeOwned;
use thiserror::Error;

/// A message that is not of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct WireError {
    /// The field, `tensors.output.shape[1]`; empty if it is the message as a whole.
    pub path: Quoted,
    /// What it should be.
    pub expected: Quoted,
    /// What it is.
    pub got: Quoted,
    /// What to do.
    pub hint: Option<&'static str>,
    /// Whether the message is the answer to the request all the same, so that the next one can be
    /// asked.
    pub in_step: bool,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, got, .. } = self;
        if *path != Quoted::default() {
            write!(f, "{}: ", path.display())?;
        }
        write!(f, "expected {}, got {}", expected.display(), got.display())
    }
}

impl WireError {
    pub(crate) fn new(
        path: impl Into<String>,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> Self {
        Self {
            path: Quoted::new(path),
            expected: Quoted::new(expected.to_string()),
            got: Quoted::new(got.to_string()),
            hint: None,
            in_step: false,
        }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(crate) fn in_step(self) -> Self {
        Self { in_step: true, ..self }
    }
}

/// Reads one message; an error names the first field that is wrong.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, WireError> {
    let no_object = |why: &dyn fmt::Display| {
        WireError::new("", "a JSON object", format!("{} ({why})", quoted(line).display()))
    };
    let text = std::str::from_utf8(line).map_err(|error| no_object(&error))?;
    parse_json(text).map_err(|error| {
        let JsonError { misread, path, .. } = &error;
        match misread {
            Misread::MoreText => {
                WireError::new("", "one JSON object on the line", quoted(line).display())
            }
            misread if misread.is_no_json() => no_object(&error),
            Misread::Missing { field } => {
                let dot = if path.is_empty() { "" } else { "." };
                WireError::new(format!("{path}{dot}{field}"), "a value", "none")
            }
            misread => {
                let (expected, got) = misread
                    .sides()
                    .unwrap_or_else(|| ("a field of the protocol".to_owned(), misread.to_string()));
                WireError::new(path, expected, got)
            }
        }
    })
}

/// The beginning of some foreign bytes, fit for a message.
pub(crate) fn quoted(bytes: &[u8]) -> Quoted {
    let head: String = String::from_utf8_lossy(&bytes[..bytes.len().min(240)])
        .trim_end()
        .chars()
        .take(80)
        .collect();
    format!("{head:?}").into()
}
