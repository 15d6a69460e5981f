//! From a problem set and a seed to the files of an exam.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_prove::outcome::{Line, Outcome, Shown, Status, prove};
use qkvet_spec::Catalog;

use crate::error::ExamError;
use crate::generate::{Posed, pose};
use crate::key::{FORMAT, Key, KeyedQuestion, Source};
use crate::plain::{plain, written_out};
use crate::print::{Format, key_document, print, sheet_document};
use crate::question::{AnswerSpec, CheckedQuestion, Library, ProblemSet};

/// What is to be built.
#[derive(Clone, Debug)]
pub struct Request {
    /// The problem set.
    pub set: Source,
    /// Questions that are not built in.
    pub own: Vec<Source>,
    /// How many variants.
    pub variants: usize,
    /// The seed of all of them.
    pub seed: u64,
}

/// A file of an exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path below the folder of the exam.
    pub path: String,
    /// What stands in it.
    pub text: String,
    /// Whether only its owner may read it.
    pub secret: bool,
}

/// Proofs of the laws that questions draw on, by id.
pub type Proofs = BTreeMap<String, Outcome>;

/// Builds every variant of a problem set: sheets in `student/`, keys in `key/`.
///
/// # Errors
/// A set or a question that does not fit, one without good numbers, or a law that is not proved.
pub fn build(request: &Request, catalog: &Catalog) -> Result<Vec<File>, ExamError> {
    let mut library = Library::embedded(catalog)?;
    for Source { path, text } in &request.own {
        library.add(path, text, catalog)?;
    }
    let set = ProblemSet::from_yaml(&request.set.path, &request.set.text)?;
    let questions = library.of_set(&request.set.path, &request.set.text, &set)?;
    let proofs = proofs(&questions, catalog)?;
    let mut seen: Vec<BTreeSet<String>> = vec![BTreeSet::new(); questions.len()];
    let mut files = Vec::new();
    for variant in 1..=request.variants {
        let posed = posed(&set, &questions, (request.seed, variant), &mut seen, catalog)?;
        let key = Key {
            format: FORMAT.to_owned(),
            generator: env!("CARGO_PKG_VERSION").to_owned(),
            seed: request.seed,
            variant,
            variants: request.variants,
            set: request.set.clone(),
            own: request.own.clone(),
            questions: posed.iter().map(KeyedQuestion::of).collect(),
        };
        let width = request.variants.to_string().len();
        let name = format!("{}-{variant:0width$}", set.exam);
        let sheet = sheet_document(&set, &posed, variant);
        let solutions = key_document(&set, &posed, variant, &proofs);
        for format in Format::ALL {
            let extension = format.extension();
            files.push(File {
                path: format!("student/{name}.{extension}"),
                text: print(&sheet, format),
                secret: false,
            });
            files.push(File { path: format!("key/{name}.{extension}"), text: print(&solutions, format), secret: true });
        }
        let answers = crate::grade::template(&set, &posed, variant);
        files.push(File { path: format!("student/{name}.answers.yaml"), text: answers, secret: false });
        files.push(File { path: format!("key/{name}.json"), text: key.json()?, secret: true });
    }
    Ok(files)
}

fn posed<'a>(
    set: &ProblemSet,
    questions: &[&'a CheckedQuestion],
    (seed, variant): (u64, usize),
    seen: &mut [BTreeSet<String>],
    catalog: &Catalog,
) -> Result<Vec<Posed<'a>>, ExamError> {
    let mut all = Vec::new();
    for (at, ((question, item), seen)) in questions.iter().zip(&set.questions).zip(seen).enumerate() {
        let parts: Vec<usize> = match item.parts.as_slice() {
            [] => (0..question.parts.len()).collect(),
            parts => parts.iter().map(|part| part - 1).collect(),
        };
        let (place, number) = ((at + 1).to_string(), variant.to_string());
        let name = [set.exam.as_str(), number.as_str(), place.as_str()];
        all.push(pose(question, &parts, (seed, &name, variant), seen, catalog)?);
    }
    Ok(all)
}

/// Proves the laws that the questions draw on.
///
/// # Errors
/// A law that is not proved.
pub fn proofs(questions: &[&CheckedQuestion], catalog: &Catalog) -> Result<Proofs, ExamError> {
    let mut proofs = Proofs::new();
    for question in questions {
        for part in &question.question.parts {
            let id = match &part.answer {
                AnswerSpec::Proof(proof) => &proof.law,
                AnswerSpec::Expression(expression) => match &expression.law {
                    Some(law) => law,
                    None => continue,
                },
                _ => continue,
            };
            if proofs.contains_key(id) {
                continue;
            }
            let law = Catalog::find("law", &catalog.laws, id)?;
            let is_proved = |outcome: &Outcome| matches!(outcome.status, Status::Proved | Status::ProvedTo { .. });
            // Questions are about attention without options, unless the law says nothing of that.
            let of_plain = plain(law).map(|law| prove(&law)).filter(is_proved);
            let mut outcome = of_plain.unwrap_or_else(|| prove(law));
            if !is_proved(&outcome) {
                return Err(ExamError::Unproved {
                    question: question.question.question.clone(),
                    law: id.clone(),
                    got: outcome.status.name().to_owned(),
                });
            }
            for Line { shown: Shown::Expression(expr) | Shown::Equation(expr), .. } in &mut outcome.lines {
                written_out(expr, &law.lets);
            }
            proofs.insert(id.clone(), outcome);
        }
    }
    Ok(proofs)
}
