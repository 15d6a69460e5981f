//! The key of one variant as data: everything that is needed to mark it and to derive it again.

use qkvet_spec::{Catalog, parse_json};
use serde::{Deserialize, Serialize};

use crate::answer::Drawn;
use crate::error::{ExamError, KeyError};
use crate::generate::Instance;
pub use crate::generate::KeyedPart;
use crate::question::{Library, ProblemSet};

/// What the first field of a key says.
pub const FORMAT: &str = "qkvet-exam-key-1";

pub use crate::error::MAX_VARIANTS;

/// The name of a part on the sheet, `1a`: of its question and of itself, from 0.
pub fn part_id(question: usize, part: usize) -> String {
    let letter =
        u8::try_from(part).ok().filter(|part| *part < 26).map(|part| char::from(b'a' + part));
    match letter {
        Some(letter) => format!("{}{letter}", question + 1),
        None => format!("{}.{}", question + 1, part + 1),
    }
}

/// The key of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// [`FORMAT`].
    pub format: String,
    /// Version of the program that drew it.
    pub generator: String,
    /// Seed of all variants.
    pub seed: u64,
    /// Number of this one, from 1.
    pub variant: usize,
    /// How many were made.
    pub variants: usize,
    /// The problem set.
    pub set: Source,
    /// Questions that are not built in.
    pub own: Vec<Source>,
    /// Questions in the order of the sheet.
    pub questions: Vec<KeyedQuestion>,
}

/// A file that the exam was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its name, for messages.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A question of the variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyedQuestion {
    /// Its id.
    pub question: String,
    /// Its numbers.
    pub drawn: Drawn,
    /// How much work it is: see [`load`](crate::generate::load()).
    pub load: usize,
    /// Its parts.
    pub parts: Vec<KeyedPart>,
}

impl KeyedQuestion {
    /// The key of a question that was posed.
    pub fn of(posed: &Instance<'_>) -> Self {
        Self {
            question: posed.question.question.question.clone(),
            drawn: posed.drawn.clone(),
            load: posed.load(),
            parts: posed.parts.clone(),
        }
    }
}

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// Text that is no key of this format.
    pub fn from_json(text: &str) -> Result<Self, ExamError> {
        let key: Self = parse_json(text).map_err(KeyError::from)?;
        Err(if key.format != FORMAT {
            KeyError::Format { got: key.format }.into()
        } else if key.variants > MAX_VARIANTS {
            KeyError::Variants { got: key.variants }.into()
        } else {
            return Ok(key);
        })
    }

    /// The key as text.
    ///
    /// # Errors
    /// Numbers that JSON does not have.
    pub fn json(&self) -> Result<String, ExamError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The problem set and the questions that it may name.
    ///
    /// # Errors
    /// What does not fit, with its place in the copy that the key has.
    pub fn sources(&self, catalog: &Catalog) -> Result<(ProblemSet, Library), ExamError> {
        let mut library = Library::embedded(catalog)?;
        let in_copy = |error| KeyError::copy(self.variant, error);
        for Source { path, text } in &self.own {
            library.add(path, text, catalog).map_err(in_copy)?;
        }
        let set = ProblemSet::from_yaml(&self.set.path, &self.set.text).map_err(in_copy)?;
        library.adapt(&self.set.path, &self.set.text, &set).map_err(in_copy)?;
        Ok((set, library))
    }
}
