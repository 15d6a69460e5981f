//! The error of a place that does not hold what was expected there.

use std::fmt;
use std::path::Path;

/// What was expected at a place, and what is there.
///
/// `{:#}` leaves the hints out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected {
    /// A file, flag or name.
    pub place: Box<str>,
    /// What was expected there; absent where `error` says it.
    pub expected: Option<Box<str>>,
    /// The value that is there instead.
    pub got: Option<Box<str>>,
    /// The message of another error that is the reason.
    pub error: Option<Box<str>>,
    /// What to do about it.
    pub hints: Vec<String>,
}

impl Unexpected {
    /// Something else than `expected` at a place.
    pub fn at(place: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self { expected: Some(expected.to_string().into()), ..Self::bare(place) }
    }

    /// Another error that occurred at a place.
    pub fn within(place: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::bare(place).error(error)
    }

    /// The same within a larger place.
    #[must_use]
    pub fn inside(self, place: impl fmt::Display) -> Self {
        Self { place: format!("{place}: {}", self.place).into(), ..self }
    }

    /// The same for `what`, which lies at a path.
    pub fn within_path(what: &str, path: impl AsRef<Path>, error: impl fmt::Display) -> Self {
        Self::within(format_args!("{what} at {}", path.as_ref().display()), error)
    }

    fn bare(place: impl fmt::Display) -> Self {
        Self {
            place: place.to_string().into(),
            expected: None,
            got: None,
            error: None,
            hints: Vec::new(),
        }
    }

    /// The same for `what`, which lies at a path.
    pub fn at_path(what: &str, path: impl AsRef<Path>, expected: impl fmt::Display) -> Self {
        Self::at(format_args!("{what} at {}", path.as_ref().display()), expected)
    }

    /// The value that is there.
    pub fn got(self, got: impl fmt::Display) -> Self {
        Self { got: Some(got.to_string().into()), ..self }
    }

    /// The value that is there, which the message shows as code.
    pub fn quoted(self, got: impl fmt::Display) -> Self {
        self.got(format_args!("`{got}`"))
    }

    /// The error that occurred there.
    pub fn error(self, error: impl fmt::Display) -> Self {
        Self { error: Some(error.to_string().into()), ..self }
    }

    /// What to do about it.
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(expected) = &self.expected {
            write!(f, "expected {expected}")?;
        }
        if let Some(got) = &self.got {
            write!(f, ", got {got}")?;
        }
        if let Some(error) = &self.error {
            let before = if self.expected.is_some() { ", got: " } else { "" };
            write!(f, "{before}{error}")?;
        }
        let hints = if f.alternate() { &[][..] } else { &self.hints };
        for hint in hints {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Unexpected {}
