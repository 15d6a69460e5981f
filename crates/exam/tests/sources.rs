//! The table of sources in `docs/exams.md` names parts that exist, and every question that is built
//! in.

#![expect(clippy::disallowed_methods, reason = "reads the documentation, which is the point")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::library;

struct Row {
    source: String,
    /// What is asked there.
    asked: String,
    /// Questions with their parts, `` `hand-head` 3; `attention-map` 2 ``.
    questions: Vec<(String, Vec<usize>)>,
}

fn rows(page: &str) -> Vec<Row> {
    let (_, section) = page.split_once("## Where the questions come from").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let (mut source, mut all) = (String::new(), Vec::new());
    for line in section.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [from, asked, questions] = cells.as_slice() else { panic!("{line}") };
        if !from.is_empty() {
            (*from).clone_into(&mut source);
        }
        let named = questions.split(';').map(|one| {
            let (id, parts) = one
                .trim()
                .trim_start_matches('`')
                .split_once('`')
                .unwrap_or_else(|| panic!("{line}"));
            let parts = parts
                .split(',')
                .map(|part| part.trim().parse().unwrap_or_else(|_| panic!("{line}")));
            (id.to_owned(), parts.collect())
        });
        all.push(Row {
            source: source.clone(),
            asked: (*asked).to_owned(),
            questions: named.collect(),
        });
    }
    all
}

#[test]
fn every_kind_of_question_of_the_sources_has_a_part_that_exists() {
    let library = library();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exams.md");
    let rows = rows(&std::fs::read_to_string(path).expect("docs/exams.md"));
    let sources: BTreeSet<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    assert_eq!(sources.len(), 5, "{sources:?}");
    assert!(rows.len() >= 50, "{} rows", rows.len());
    let mut named = BTreeSet::new();
    for Row { source, asked, questions } in &rows {
        for (id, parts) in questions {
            let question =
                library.get(id).unwrap_or_else(|| panic!("{source}, {asked}: no question `{id}`"));
            let n = question.question.parts.len();
            assert!(
                parts.iter().all(|part| (1..=n).contains(part)),
                "{source}, {asked}: `{id}` has {n} parts, not {parts:?}"
            );
            named.insert(id.as_str());
        }
    }
    let unnamed: Vec<&str> = library
        .iter()
        .map(|question| question.question.question.as_str())
        .filter(|id| !named.contains(id))
        .collect();
    assert!(unnamed.is_empty(), "without a source: {unnamed:?}");
}
