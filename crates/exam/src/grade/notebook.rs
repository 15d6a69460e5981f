//! Submissions as Jupyter notebooks: the answer to a part stands in the cell whose metadata has
//! `qkvet: {part: ID}`.

use qkvet_spec::parse_json;
use serde::Deserialize;

use super::Problem;
use super::lines;
use super::submission::{Submission, SubmittedAnswer, stem};
use crate::{Place, Spot};

/// What stands in a cell for words before there are any.
const EMPTY: &str = "*Write your answer here.*";

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    cell_type: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    outputs: Vec<Output>,
}

/// What a cell printed, or the value of its last line.
#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Source,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(default, rename = "text/plain")]
    plain: Source,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    qkvet: Option<Tag>,
}

#[derive(Default, Deserialize)]
struct Tag {
    #[serde(default)]
    part: Option<String>,
    /// Whether the cell prints all answers, each behind its part.
    #[serde(default)]
    answers: bool,
    #[serde(default)]
    exam: Option<String>,
    #[serde(default)]
    variant: Option<Number>,
    #[serde(default)]
    student: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Lines(Vec<String>),
    Text(String),
}

impl Default for Source {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Source {
    fn text(self) -> String {
        match self {
            Self::Lines(lines) => lines.concat(),
            Self::Text(text) => text,
        }
    }
}

pub(super) fn read(file: &str, text: &str) -> Submission {
    let notebook: Notebook = match parse_json(text) {
        Ok(notebook) => notebook,
        Err(error) => {
            return Submission::unreadable(file, Problem::Notebook(error));
        }
    };
    let tag = notebook.metadata.qkvet.unwrap_or_default();
    let mut submission = Submission {
        student: Some(
            tag.student
                .filter(|name| !name.trim().is_empty())
                .unwrap_or_else(|| stem(file).to_owned()),
        ),
        file: file.to_owned(),
        exam: tag.exam,
        variant: tag.variant.map(|variant| match variant {
            Number::Number(n) => n.to_string(),
            Number::Text(text) => text,
        }),
        ..Submission::default()
    };
    let mut printed = Vec::new();
    for (at, cell) in notebook.cells.into_iter().enumerate() {
        let Some(tag) = cell.metadata.qkvet else { continue };
        let place = Place::new(file, Spot::NotebookCell(at + 1));
        let mut outputs = cell.outputs.into_iter().map(|output| {
            let text = output.text.text();
            if text.trim().is_empty() { output.data.plain.text() } else { text }
        });
        let output = outputs.rfind(|text| !text.trim().is_empty()).unwrap_or_default();
        if tag.answers {
            let all = lines::read(file, &format!("answers:\n{output}")).unwrap_or_default();
            printed.extend(
                all.answers.into_iter().map(|one| SubmittedAnswer { place: place.clone(), ..one }),
            );
        }
        let Some(part) = tag.part else { continue };
        let source = cell.source.text();
        let answer = match cell.cell_type.as_str() {
            "code" => of_code(&source).unwrap_or_else(|| output.trim().to_owned()),
            _ if source.trim() == EMPTY => String::new(),
            _ => source.trim().to_owned(),
        };
        submission.answers.push(SubmittedAnswer { part, answer, place });
    }
    for answer in &mut submission.answers {
        // What is computed is printed, and nothing is run here.
        if answer.answer.is_empty()
            && let Some(at) = printed.iter().position(|one: &SubmittedAnswer| {
                one.part == answer.part && one.answer.trim() != "None"
            })
        {
            *answer = printed.swap_remove(at);
        }
    }
    if submission.answers.is_empty() {
        let Submission { trouble, .. } = Submission::unreadable(file, Problem::NoCells);
        submission.trouble = trouble;
    }
    submission
}

/// What a cell of code says without being run: of `answer = …`, `…`. Nothing where that is no
/// value, but a name or a computation, or what stood there before there was an answer.
fn of_code(source: &str) -> Option<String> {
    let lines: Vec<&str> = source
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim_end())
        .filter(|line| !line.trim().is_empty() && line.trim() != "...")
        .collect();
    let text = lines.join("\n");
    let value = match text.trim().split_once('=') {
        Some((name, value)) if name.trim().starts_with("answer") && !value.starts_with('=') => {
            value.trim()
        }
        _ => text.trim(),
    };
    let quoted =
        ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    if let Some(text) = quoted {
        return Some(text.to_owned());
    }
    let is_value = value.starts_with(|c: char| c.is_ascii_digit() || "[({-+.\\".contains(c))
        || [
            "np.array(",
            "array(",
            "True",
            "False",
            "np.sqrt(",
            "np.exp(",
            "math.",
            "sqrt(",
            "exp(",
        ]
        .iter()
        .any(|start| value.starts_with(start));
    (is_value && lines.len() <= value.lines().count()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_from_tagged_cells() {
        let text = r##"{"nbformat": 4, "nbformat_minor": 5, "metadata": {"qkvet": {"exam": "x", "variant": 2}}, "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Sheet\n"]},
            {"cell_type": "code", "metadata": {"qkvet": {"part": "1a"}, "tags": []}, "source": ["# 1a\n", "answer = [[1, 2],  # rows\n", " [3, 4]]\n"], "outputs": []},
            {"cell_type": "code", "metadata": {"qkvet": {"part": "1b"}}, "source": "answer = None"},
            {"cell_type": "markdown", "metadata": {"qkvet": {"part": "1c"}}, "source": "because"},
            {"cell_type": "markdown", "metadata": {"qkvet": {"part": "1d"}}, "source": ["*Write your answer here.*"]},
            {"cell_type": "code", "metadata": {"qkvet": {"part": "1e"}}, "source": ["# A number.\n", "answer_1e = \"1/3\""]}]}"##;
        let read = read("dir/ada.ipynb", text);
        assert_eq!(
            (read.student.as_deref(), read.exam.as_deref(), read.variant.as_deref()),
            (Some("ada"), Some("x"), Some("2"))
        );
        let answers: Vec<(&str, &str)> =
            read.answers.iter().map(|given| (given.part.as_str(), given.answer.as_str())).collect();
        assert_eq!(
            answers,
            [
                ("1a", "[[1, 2],\n [3, 4]]"),
                ("1b", ""),
                ("1c", "because"),
                ("1d", ""),
                ("1e", "1/3")
            ]
        );
    }

    #[test]
    fn other_notebooks_are_told() {
        for text in [
            "{}",
            "[]",
            "{\"cells\": 3}",
            "{\"cells\": []}",
            "garbage",
            "{\"cells\": [{\"metadata\": {\"qkvet\": {\"part\": 7}}}]}",
        ] {
            assert!(!super::read("a.ipynb", text).trouble.is_empty(), "{text}");
        }
    }
}
