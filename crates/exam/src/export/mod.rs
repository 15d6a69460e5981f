//! Exports: an exam that was built, in the formats of learning management systems, notebooks and
//! tables.
//!
//! A format that must hold answers is written for the one who teaches: below `key/`, for its owner
//! alone. What stands below `student/` holds neither answers nor the seed. What a format cannot
//! hold is an error, and never left out.

mod csv;
mod decimal;
mod item;
mod moodle;
mod notebook;
mod package;
mod prairielearn;
mod qti12;
mod qti21;
mod xml;

use indexmap::IndexMap;
use qkvet_spec::Catalog;

use crate::answer::work;
use crate::error::{ExamError, KeyError};
pub use crate::file::Exported;
use crate::generate::{Instance, Which};
use crate::key::Key;
use crate::proofs::proofs;
use crate::question::{Library, ProblemSet};
pub use crate::target::Target;
use crate::verify::verify;
use item::{Item, items};

/// What a modelled mistake earns, in percent, where a format can say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// A number or a shape that was entered; absent: what the question says, where the format can
    /// say so.
    pub entered: Option<u8>,
    /// An option that was ticked; absent: nothing.
    pub ticked: Option<u8>,
}

/// One variant, ready to be written.
struct Variant {
    /// Its number, from 1.
    number: usize,
    /// `tiny-head-1`.
    name: String,
    items: Vec<Item>,
}

/// All variants of an exam.
struct Exam {
    id: String,
    title: String,
    /// Ids of items and questions are made from it and tell nothing of it.
    seed: u64,
    variants: Vec<Variant>,
}

/// The files of an exam in one format. `keys` are those that [`crate::build::build`] made for it,
/// in order.
///
/// # Errors
/// A key that the engine does not confirm, an answer that the format cannot hold, or credit that it
/// cannot give.
pub fn export(
    target: Target,
    keys: &[Key],
    credit: Credit,
    catalog: &Catalog,
) -> Result<Vec<Exported>, ExamError> {
    let first = keys.first().ok_or(KeyError::None)?;
    credit.fits(target)?;
    let (set, library) = first.sources(catalog)?;
    let proven = proofs(&library.of_set(&first.set.path, &first.set.text, &set)?, catalog)?;
    let mut variants = Vec::new();
    for key in keys {
        if (&key.set, &key.own, key.seed) != (&first.set, &first.own, first.seed) {
            return Err(KeyError::OtherExam { exam: set.exam }.into());
        }
        if let Some(reason) = verify(key, &library, catalog).wrong.into_iter().next() {
            return Err(ExamError::Untrue { variant: key.variant, reason: reason.into() });
        }
        let posed = posed(key, &library)?;
        let width = key.variants.to_string().len();
        let name = format!("{}-{:0width$}", set.exam, key.variant);
        variants.push(Variant { number: key.variant, name, items: items(&posed, &proven, credit) });
    }
    let ProblemSet { exam: id, title, .. } = set;
    let exam = Exam { id, title, seed: first.seed, variants };
    match target {
        Target::Moodle => moodle::write(&exam, credit),
        Target::Qti12 => qti12::write(&exam),
        Target::Qti21 => qti21::write(&exam, credit),
        Target::PrairieLearn => prairielearn::write(&exam, credit),
        Target::Notebook => notebook::write(&exam),
        Target::Csv => csv::write(&exam),
    }
}

impl Credit {
    /// What a mistake earns that was ticked.
    fn ticked(self) -> u8 {
        self.ticked.unwrap_or(0)
    }

    fn fits(self, target: Target) -> Result<(), ExamError> {
        let [entered, ticked] = target.gives();
        let entered = match self {
            Self { entered: Some(_), .. } if !entered => true,
            Self { ticked: Some(_), .. } if !ticked => false,
            _ => return Ok(()),
        };
        Err(ExamError::NoCredit { target, entered })
    }
}

/// The questions of a key with their answers.
fn posed<'a>(key: &Key, library: &'a Library) -> Result<Vec<Instance<'a>>, ExamError> {
    let mut all = Vec::new();
    for keyed in &key.questions {
        let Some(question) = library.get(&keyed.question) else {
            return Err(KeyError::Question { question: keyed.question.clone() }.into());
        };
        let worked = work(&question.law, &keyed.drawn, &IndexMap::new()).map_err(|error| {
            ExamError::NoValue {
                question: keyed.question.clone(),
                what: Which::Steps,
                reason: Box::new(error.into()),
            }
        })?;
        let parts = keyed.parts.clone();
        let (drawn, thrown) = (keyed.drawn.clone(), Vec::new());
        all.push(Instance { question, drawn, worked, parts, thrown });
    }
    Ok(all)
}

/// A file for the one who teaches.
fn secret(path: String, text: impl Into<Vec<u8>>) -> Exported {
    Exported { path: format!("key/{path}"), bytes: text.into(), secret: true }
}
