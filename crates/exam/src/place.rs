//! Places in files that people wrote.

use std::fmt;

use serde::{Serialize, Serializer};

/// A file and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Where in it.
    pub spot: Spot,
}

/// A place in a file; all numbers are from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The file as a whole.
    All,
    /// A line.
    Line(usize),
    /// A line and a column of signs.
    Sign(usize, usize),
    /// A line of a table, and the name of a column.
    Cell(usize, String),
    /// A cell of a notebook.
    NotebookCell(usize),
    /// An entry of a list, if there are several, and the name of a part in it.
    Answer(Option<usize>, Option<String>),
}

impl Place {
    /// A file as a whole.
    pub fn file(file: &str) -> Self {
        Self::new(file, Spot::All)
    }

    /// A place in a file.
    pub(crate) fn new(file: &str, spot: Spot) -> Self {
        Self { file: file.to_owned(), spot }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match &self.spot {
            Spot::All => Ok(()),
            Spot::Line(line) => write!(f, ":{line}"),
            Spot::Sign(line, column) => write!(f, ":{line}:{column}"),
            Spot::Cell(line, column) => write!(f, ":{line}, column {column}"),
            Spot::NotebookCell(cell) => write!(f, ", cell {cell}"),
            Spot::Answer(entry, part) => {
                entry.iter().try_for_each(|entry| write!(f, ", entry {entry}"))?;
                part.iter().try_for_each(|part| write!(f, ", answers.{part}"))
            }
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
