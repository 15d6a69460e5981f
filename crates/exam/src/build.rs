//! From a problem set and a seed to the files of an exam.

use std::collections::BTreeSet;

use qkvet_spec::{Catalog, SpecError};

use crate::answer::AnswerError;
use crate::error::ExamError;
pub use crate::file::File;
use crate::generate::{Contradiction, Instance, Report, Stream, Which, instantiate};
use crate::key::{FORMAT, Key, KeyedQuestion, Source};
use crate::print::{Format, key_document, print, sheet_document};
use crate::proofs::proofs;
use crate::question::{CheckedQuestion, Library, Misfit, ProblemSet, line_of, span_of};

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

/// Builds every variant of a problem set: sheets in `student/`, keys in `key/`.
///
/// # Errors
/// A set or a question that does not fit, one without good numbers, or a law that is not proved.
pub fn build(request: &Request, catalog: &Catalog) -> Result<Vec<File>, ExamError> {
    let mut files = Vec::new();
    build_each(request, catalog, &mut |made| {
        files.extend(made);
        Ok::<(), ExamError>(())
    })?;
    Ok(files)
}

/// The same, one variant after the other, so that no more than one has to be held. Gives what was
/// thrown away on the way.
///
/// # Errors
/// As [`build`], and what `take` says of the files of a variant.
pub fn build_each<E: From<ExamError>>(
    request: &Request,
    catalog: &Catalog,
    take: &mut dyn FnMut(Vec<File>) -> Result<(), E>,
) -> Result<Report, E> {
    let mut report = Report::default();
    let (set, library) = sources(request, catalog)?;
    let questions = of_set(request, &set, &library)?;
    let proofs = proofs(&questions, catalog)?;
    let draws = Draws::new(request, &set, &questions, catalog);
    for drawn in draws {
        let (posed, key) = drawn?;
        posed.iter().for_each(|posed| report.note(posed));
        let variant = key.variant;
        let width = request.variants.to_string().len();
        let name = format!("{}-{variant:0width$}", set.exam);
        let sheet = sheet_document(&set, &posed, variant);
        let solutions = key_document(&set, &posed, variant, &proofs);
        let mut files = Vec::new();
        for format in Format::ALL {
            let extension = format.extension();
            files.push(File {
                path: format!("student/{name}.{extension}"),
                text: print(&sheet, format),
                secret: false,
            });
            files.push(File {
                path: format!("key/{name}.{extension}"),
                text: print(&solutions, format),
                secret: true,
            });
        }
        let answers = crate::print::template(&set, &posed, variant);
        files.push(File {
            path: format!("student/{name}.answers.yaml"),
            text: answers,
            secret: false,
        });
        files.push(File { path: format!("key/{name}.json"), text: key.json()?, secret: true });
        take(files)?;
    }
    Ok(report)
}

/// The keys of the first variants, without their sheets.
///
/// # Errors
/// As [`build`].
pub fn keys(request: &Request, first: usize, catalog: &Catalog) -> Result<Vec<Key>, ExamError> {
    let (set, library) = sources(request, catalog)?;
    let questions = of_set(request, &set, &library)?;
    Draws::new(request, &set, &questions, catalog)
        .take(first)
        .map(|drawn| drawn.map(|(_, key)| key))
        .collect()
}

fn sources(request: &Request, catalog: &Catalog) -> Result<(ProblemSet, Library), ExamError> {
    let mut library = Library::embedded(catalog)?;
    for Source { path, text } in &request.own {
        let id = library.add(path, text, catalog)?;
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".yaml");
        if name != id {
            return Err(Misfit::OtherName { name: name.to_owned(), got: id }
                .at(path, text, "question")
                .into());
        }
    }
    let Source { path, text } = &request.set;
    let set = ProblemSet::from_yaml(path, text)?;
    library.adapt(path, text, &set)?;
    Ok((set, library))
}

fn of_set<'a>(
    request: &Request,
    set: &ProblemSet,
    library: &'a Library,
) -> Result<Vec<&'a CheckedQuestion>, ExamError> {
    Ok(library.of_set(&request.set.path, &request.set.text, set)?)
}

/// Variants in order, each drawn when it is asked for.
struct Draws<'a> {
    request: &'a Request,
    set: &'a ProblemSet,
    questions: &'a [&'a CheckedQuestion],
    catalog: &'a Catalog,
    seen: Vec<BTreeSet<String>>,
    variant: usize,
}

impl<'a> Draws<'a> {
    fn new(
        request: &'a Request,
        set: &'a ProblemSet,
        questions: &'a [&'a CheckedQuestion],
        catalog: &'a Catalog,
    ) -> Self {
        Self {
            request,
            set,
            questions,
            catalog,
            seen: vec![BTreeSet::new(); questions.len()],
            variant: 0,
        }
    }
}

impl<'a> Iterator for Draws<'a> {
    type Item = Result<(Vec<Instance<'a>>, Key), ExamError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self { request, set, questions, catalog, .. } = *self;
        self.variant += 1;
        if self.variant > request.variants {
            return None;
        }
        let posed = posed(
            set,
            questions,
            (request.seed, self.variant),
            &mut self.seen,
            (&request.own, catalog),
        );
        Some(posed.map(|posed| {
            let key = Key {
                format: FORMAT.to_owned(),
                generator: env!("CARGO_PKG_VERSION").to_owned(),
                seed: request.seed,
                variant: self.variant,
                variants: request.variants,
                set: request.set.clone(),
                own: request.own.clone(),
                questions: posed.iter().map(KeyedQuestion::of).collect(),
            };
            (posed, key)
        }))
    }
}

fn posed<'a>(
    set: &ProblemSet,
    questions: &[&'a CheckedQuestion],
    (seed, variant): (u64, usize),
    seen: &mut [BTreeSet<String>],
    (own, catalog): (&[Source], &Catalog),
) -> Result<Vec<Instance<'a>>, ExamError> {
    let mut all = Vec::new();
    let items: Vec<_> = set.items().collect();
    let number = variant.to_string();
    let shuffled =
        |name: &str, n| Stream::new(seed, &[set.exam.as_str(), number.as_str(), name]).shuffled(n);
    for at in set.asked(&shuffled) {
        let question = questions[at];
        let (parts, place) = (items[at].asked_of(question.parts.len()), (at + 1).to_string());
        let name = [set.exam.as_str(), number.as_str(), place.as_str()];
        let posed = instantiate(question, &parts, (seed, &name, variant), &mut seen[at], catalog);
        all.push(posed.map_err(|error| placed(error, question, own))?);
    }
    Ok(all)
}

/// A contradiction in a part of a question with the line of its answer, and what leaves no numbers
/// with its line.
fn placed(error: ExamError, question: &CheckedQuestion, own: &[Source]) -> ExamError {
    let source = own.iter().find(|source| source.text == question.source);
    let Some(source) = source else { return error };
    let (span, message, hint) = match &error {
        ExamError::NoVariant { none } => {
            (none.last.span(&source.text), none.to_string(), Some(none.hint()))
        }
        ExamError::NoValue { what: Which::Part(part), reason, .. } => {
            let word = match **reason {
                Contradiction::Check { .. } => "check",
                Contradiction::Example { .. } => "example",
                _ => "answer",
            };
            let path = format!("parts.{}.answer.{word}", part + 1);
            let hint = matches!(**reason, Contradiction::Answer(AnswerError::Irrational { .. }))
                .then(|| "ask for decimals: `places: 3`".to_owned());
            (span_of(&source.text, &path), error.to_string(), hint)
        }
        _ => return error,
    };
    SpecError::at(&source.path, &source.text, span, &message, hint.as_deref()).into()
}

/// What stands out in questions of one's own: names in their prose that they do not define, and
/// parameters that no answer depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Path, line and name.
    pub strangers: Vec<(String, usize, String)>,
    /// Path, line and name.
    pub unused: Vec<(String, usize, String)>,
}

/// Looks for what stands out in questions of one's own that the set asks.
///
/// # Errors
/// A question that does not fit.
pub fn notes(request: &Request, catalog: &Catalog) -> Result<Notes, ExamError> {
    let (set, library) = sources(request, catalog)?;
    let asked = of_set(request, &set, &library)?;
    let mut notes = Notes::default();
    for Source { path, text } in &request.own {
        let Some(question) = asked.iter().find(|question| question.source == *text) else {
            continue;
        };
        let at = |line: usize, name: &str| (path.clone(), line, name.to_owned());
        notes.strangers.extend(question.strangers().iter().map(|(line, name)| at(*line, name)));
        let line = |name: &str| line_of(text, span_of(text, &format!("draw.{name}")).start);
        notes.unused.extend(question.unused().iter().map(|name| at(line(name), name)));
    }
    Ok(notes)
}
