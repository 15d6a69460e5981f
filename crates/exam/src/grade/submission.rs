//! Submissions of all kinds of files.

use std::path::Path;

use super::{FileError, Problem, Trouble, csv, notebook, yaml};
use crate::Place;

/// Larger files are not read.
pub const MAX_BYTES: usize = 16 << 20;

/// An answer to a part.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedAnswer {
    /// The part as it is named there.
    pub part: String,
    /// The answer.
    pub answer: String,
    /// Where it stands.
    pub place: Place,
}

/// What one student handed in.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The name, as far as it is said.
    pub student: Option<String>,
    /// The file.
    pub file: String,
    /// The problem set, if it is said.
    pub exam: Option<String>,
    /// The variant, if it is said.
    pub variant: Option<String>,
    /// Whether a comma is its decimal sign.
    pub comma: bool,
    /// The answers.
    pub answers: Vec<SubmittedAnswer>,
    /// What could not be read.
    pub trouble: Vec<Trouble>,
}

impl Submission {
    /// A file that could not be read.
    pub fn unreadable(file: &str, problem: impl Into<Problem>) -> Self {
        Self::at(file, Place::file(file), problem)
    }

    /// The same for a part of a file.
    pub(super) fn at(file: &str, place: Place, problem: impl Into<Problem>) -> Self {
        let trouble = Trouble { place, problem: problem.into() };
        Self { file: file.to_owned(), trouble: vec![trouble], ..Self::default() }
    }
}

/// The fields of a submission beside its answers.
const FIELDS: [&str; 4] = ["exam", "variant", "student", "decimal"];

impl Submission {
    /// Sets a field, unless it is blank; `Err` has what kind of value stands there.
    ///
    /// # Errors
    /// A list or named entries, a field that there is not, another decimal sign.
    pub(super) fn set(
        &mut self,
        field: &str,
        value: Result<String, &'static str>,
    ) -> Result<(), Problem> {
        let Some(field) = FIELDS.into_iter().find(|known| *known == field) else {
            return Err(Problem::Entry { got: field.to_owned() });
        };
        let value = value.map_err(|got| Problem::NotText { field, got })?;
        let value = Some(value.trim().to_owned()).filter(|text| !text.is_empty());
        match (field, value) {
            ("exam", value) => self.exam = value,
            ("variant", value) => self.variant = value,
            ("student", value) => self.student = value,
            (_, None) => {}
            (_, Some(sign)) => match sign.as_str() {
                "comma" | "," => self.comma = true,
                "point" | "." => self.comma = false,
                _ => return Err(Problem::Decimal { got: sign }),
            },
        }
        Ok(())
    }
}

/// Reads the submissions of a file, by the end of its name: `.yaml`, `.yml`, `.json`, `.csv` (a row
/// a student) and `.ipynb`.
///
/// What cannot be read is a submission with trouble.
pub fn read(file: &str, bytes: &[u8]) -> Vec<Submission> {
    if bytes.len() > MAX_BYTES {
        let got = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        return vec![Submission::unreadable(file, FileError::TooLarge { got })];
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return vec![Submission::unreadable(file, FileError::NotText)];
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let extension = Path::new(file).extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_ascii_lowercase();
    match extension.as_str() {
        "yaml" | "yml" => vec![yaml::read(file, text)],
        "json" => yaml::read_json(file, text),
        "csv" => csv::read(file, text),
        "ipynb" => vec![notebook::read(file, text)],
        _ => vec![Submission::unreadable(file, Problem::Kind { got: extension })],
    }
}

/// A file's name without its folders and its ending.
pub(super) fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
