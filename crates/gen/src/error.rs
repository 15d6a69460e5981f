//! What can be wrong with a plan, a suite or a stored case.

/// A plan, a suite or a stored case that is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at {place}: expected {expected}, got {got}")]
pub struct GenError {
    /// What is wrong.
    pub what: String,
    /// Where: a field, a variable, a place in a file.
    pub place: String,
    /// What would be right.
    pub expected: String,
    /// What was there.
    pub got: String,
}

impl GenError {
    /// An error from its four parts.
    pub(crate) fn new(
        what: impl Into<String>,
        place: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), place: place.into(), expected: expected.into(), got: got.into() }
    }

    /// A variable that no case has a value for.
    pub(crate) fn not_drawn(name: &str) -> Self {
        Self::new(
            "domain",
            format!("variable `{name}`"),
            "one that is drawn",
            "one that stands for any number",
        )
    }

    /// The same, with the case that it is about.
    pub(crate) fn of_case(self, id: &str) -> Self {
        Self { place: format!("{} of case {id:.64}", self.place), ..self }
    }
}
