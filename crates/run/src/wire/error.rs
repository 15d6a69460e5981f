//! What is wrong with a message: which field, what it should be, what it is.

use std::fmt;

use serde::de::DeserializeOwned;
use thiserror::Error;

/// A message that is not of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct WireError {
    /// The field, `tensors.output.shape[1]`; empty if it is the message as a whole.
    pub path: String,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub got: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether the message is the answer to the request all the same, so that the next one can be
    /// asked.
    pub in_step: bool,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "expected {}, got {}", self.expected, self.got)
    }
}

impl WireError {
    pub(crate) fn new(
        path: impl Into<String>,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> Self {
        Self {
            path: path.into(),
            expected: expected.to_string(),
            got: got.to_string(),
            hint: None,
            in_step: false,
        }
    }

    pub(crate) fn hint(self, hint: &str) -> Self {
        Self { hint: Some(hint.to_owned()), ..self }
    }

    pub(crate) fn in_step(self) -> Self {
        Self { in_step: true, ..self }
    }
}

/// Reads one message; an error names the first field that is wrong.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, WireError> {
    // The path costs time, so it is looked for only when there is something to say.
    serde_json::from_slice(line).or_else(|_| {
        let mut json = serde_json::Deserializer::from_slice(line);
        serde_path_to_error::deserialize(&mut json)
            .map_err(|error| {
                let path = error.path().to_string();
                in_words(if path == "." { String::new() } else { path }, error.inner(), line)
            })
            .and_then(|value| match json.end() {
                Ok(()) => Ok(value),
                Err(_) => Err(WireError::new("", "one JSON object on the line", quoted(line))),
            })
    })
}

/// The parser's sentence, taken apart.
fn in_words(path: String, error: &serde_json::Error, line: &[u8]) -> WireError {
    if !error.is_data() {
        return WireError::new("", "a JSON object", format!("{} ({error})", quoted(line)));
    }
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    if let Some(field) =
        text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'))
    {
        let path = if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
        return WireError::new(path, "a value", "none");
    }
    match text.split_once(", expected ") {
        Some((got, expected)) => {
            let got = ["invalid type: ", "invalid value: ", "unknown variant "]
                .iter()
                .find_map(|prefix| got.strip_prefix(prefix))
                .unwrap_or(got);
            let expected =
                if expected == "usize" || expected == "u64" { "a whole number" } else { expected };
            WireError::new(path, expected, got)
        }
        None => WireError::new(path, "a field of the protocol", text),
    }
}

/// The beginning of some foreign bytes, fit for a message.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let head: String = String::from_utf8_lossy(&bytes[..bytes.len().min(240)])
        .trim_end()
        .chars()
        .take(80)
        .collect();
    format!("{head:?}")
}
