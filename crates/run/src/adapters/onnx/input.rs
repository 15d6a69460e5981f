//! An input of the graph of a model.

use qkvet_spec::Unexpected;

use super::feed::Element;

/// An input of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Format of an element.
    pub element: Element,
    /// Extents, `None` where they are free.
    pub shape: Vec<Option<usize>>,
    /// Names of free extents that have one.
    pub names: Vec<Option<String>>,
}

impl Input {
    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub(super) fn wrong(&self, expected: &str) -> Unexpected {
        Unexpected::at(format!("input {}", self.name), expected)
    }

    /// `(2, *, 8)`.
    pub fn format_shape(&self) -> String {
        let extent = |n: &Option<usize>| n.map_or_else(|| "*".to_owned(), |n| n.to_string());
        format!("({})", self.shape.iter().map(extent).collect::<Vec<_>>().join(", "))
    }
}
