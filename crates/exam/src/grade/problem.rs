//! What is wrong with a submission beside its answers.

use std::sync::Arc;

use qkvet_spec::{JsonError, SpecError};
use serde::{Serialize, Serializer};

use super::csv::{MAX_COLUMNS, MAX_ROWS};
use super::submission::MAX_BYTES;
use crate::Place;

/// Something wrong with a submission that belongs to no part.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl Serialize for Trouble {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            place: &'a Place,
            says: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<String>,
        }
        let Self { place, problem } = self;
        Document { place, says: problem.to_string(), hint: problem.hint() }.serialize(serializer)
    }
}

/// Why a file cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FileError {
    /// It is no file, as a folder or a pipe.
    #[error("expected a regular one, got {got}")]
    NotRegular {
        /// What it is: `a folder`.
        got: &'static str,
    },
    /// It is too large.
    #[error("expected at most {} bytes, got {got}", MAX_BYTES)]
    TooLarge {
        /// Its bytes.
        got: u64,
    },
    /// It is no text.
    #[error("expected text in UTF-8, got other bytes")]
    NotText,
    /// The operating system does not give it.
    #[error(transparent)]
    Io(#[from] Arc<std::io::Error>),
}

/// What is wrong with a submission.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Problem {
    /// A file that cannot be read.
    #[error("file: {0}")]
    File(#[from] FileError),
    /// A file of another kind.
    #[error("file: expected a submission, got {}", ending(got))]
    Kind {
        /// What its name ends in, behind the point; empty where it has none.
        got: String,
    },
    /// YAML that is no submission.
    #[error("{}", .0.message)]
    Yaml(SpecError),
    /// No JSON.
    #[error("JSON: {0}")]
    Json(#[from] JsonError),
    /// JSON with values that no answer has.
    #[error("JSON: {0}")]
    Value(#[from] Arc<serde_json::Error>),
    /// Other JSON than an object.
    #[error("expected an object with `answers`, got {got}")]
    NoObject {
        /// What kind of value it is.
        got: &'static str,
    },
    /// Other answers than an object.
    #[error("answers: expected an object, a part each, got {got}")]
    NoAnswers {
        /// What kind of value it is.
        got: &'static str,
    },
    /// A list or named entries for `student`, `exam` or `variant`.
    #[error("{field}: expected a text or a number, got {got}")]
    NotText {
        /// The field.
        field: &'static str,
        /// What kind of value it has.
        got: &'static str,
    },
    /// Another decimal sign.
    #[error("decimal: expected `point` or `comma`, got `{}`", got.escape_debug())]
    Decimal {
        /// What is named.
        got: String,
    },
    /// An entry that no submission has.
    #[error("expected `exam`, `variant`, `student`, `decimal` and `answers`, got `{got}`")]
    Entry {
        /// Its name.
        got: String,
    },
    /// A table without a first line.
    #[error("table: expected a line that names the columns, got none")]
    NoHead,
    /// A table with too many columns.
    #[error("table: expected at most {} columns, got {got}", MAX_COLUMNS)]
    TooManyColumns {
        /// How many.
        got: usize,
    },
    /// A table with too many rows.
    #[error("table: expected at most {} rows, got more", MAX_ROWS)]
    TooManyRows,
    /// A table that does not say whose its rows are.
    #[error("table: expected a column `student`, got {got} others")]
    NoStudents {
        /// How many columns it has.
        got: usize,
    },
    /// A row that is longer than the first.
    #[error("row: expected {expected} cells, got {got}")]
    Cells {
        /// Cells of the first.
        expected: usize,
        /// Cells of this one.
        got: usize,
    },
    /// A quote without its end.
    #[error("cell from line {line}: expected a closing quote, got the end")]
    OpenQuote {
        /// The line of the row.
        line: usize,
    },
    /// A table without rows.
    #[error("table: expected a row for each student, got none")]
    NoRows,
    /// No notebook.
    #[error("notebook: {0}")]
    Notebook(JsonError),
    /// A notebook without answers.
    #[error("notebook: expected cells of parts, got none")]
    NoCells,
    /// A second submission of a student.
    #[error("student `{student}`: expected one submission, got another in {file}")]
    Another {
        /// Whose.
        student: String,
        /// The first.
        file: String,
    },
    /// Another exam than that of the key.
    #[error("exam: expected `{expected}`, got `{}`", got.escape_debug())]
    Exam {
        /// That of the key.
        expected: String,
        /// That of the submission.
        got: String,
    },
    /// A variant without a key.
    #[error("variant: expected {}, got `{}`", listed(known), got.escape_debug())]
    Variant {
        /// Those with a key.
        known: Vec<usize>,
        /// That of the submission.
        got: String,
    },
    /// No variant where there are several.
    #[error("variant: expected one, got none")]
    NoVariant,
    /// A part that the sheet does not have.
    #[error("part `{}`: expected one of the sheet", got.escape_debug())]
    Part {
        /// Its name.
        got: String,
        /// The nearest name of the sheet.
        near: Option<String>,
        /// All names of the sheet.
        known: Vec<String>,
    },
    /// A second answer to a part.
    #[error("part `{part}`: expected one answer, got a second; the one at {first} counts")]
    Second {
        /// The part.
        part: String,
        /// The first answer.
        first: Place,
    },
}

fn ending(extension: &str) -> String {
    if extension.is_empty() {
        return "one without an ending".to_owned();
    }
    format!("one that ends in `.{}`", extension.escape_debug())
}

fn listed(known: &[usize]) -> String {
    known.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
