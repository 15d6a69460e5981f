//! `qkvet exam list`: what is built in.

use std::process::ExitCode;

use qkvet_exam::question::{Library, ProblemSet};
use qkvet_spec::Catalog;

use super::super::setup;
use crate::exit::{Failure, HELD};

pub(super) fn list() -> Result<ExitCode, Failure> {
    let catalog = setup::catalog()?;
    let mut sets = Vec::new();
    for (path, source) in built_in() {
        let set = ProblemSet::from_yaml(&path, source)?;
        sets.push((set.exam, set.title));
    }
    let library = Library::embedded(&catalog)?;
    let questions: Vec<(String, String)> = library
        .iter()
        .map(|question| (question.question.question.clone(), question.question.title.clone()))
        .collect();
    for (heading, lines) in [("Problem sets", sets), ("Questions", questions)] {
        say!("{heading}");
        let width = lines.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
        for (id, title) in lines {
            say!("  {id:width$}  {title}");
        }
    }
    Ok(ExitCode::from(HELD))
}

/// Path and text of every problem set that is built in.
pub(super) fn built_in() -> impl Iterator<Item = (String, &'static str)> {
    Catalog::texts("exams").into_iter().filter(|(path, _)| !path.contains("/questions/"))
}
