//! Submissions as Jupyter notebooks: the answer to a part stands in the cell whose metadata has
//! `qkvet: {part: ID}`.

use qkvet_spec::parse_json;
use serde::Deserialize;

use super::Problem;
use super::submission::{Submission, SubmittedAnswer, stem};
use crate::student_answer::Node;
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
    for (at, cell) in notebook.cells.into_iter().enumerate() {
        let Some(part) = cell.metadata.qkvet.and_then(|tag| tag.part) else { continue };
        let source = match cell.source {
            Source::Lines(lines) => lines.concat(),
            Source::Text(text) => text,
        };
        let text =
            if cell.cell_type == "code" { of_code(&source) } else { source.trim().to_owned() };
        let answer =
            if text.is_empty() || text == EMPTY { Node::Missing } else { Node::Text(text) };
        submission.answers.push(SubmittedAnswer {
            part,
            answer,
            place: Place::new(file, Spot::NotebookCell(at + 1)),
        });
    }
    if submission.answers.is_empty() {
        let Submission { trouble, .. } = Submission::unreadable(file, Problem::NoCells);
        submission.trouble = trouble;
    }
    submission
}

/// What a cell of code says without being run: its text without comments; of `answer = …`, `…`.
fn of_code(source: &str) -> String {
    let lines: Vec<&str> = source
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim_end())
        .filter(|line| !line.trim().is_empty() && line.trim() != "...")
        .collect();
    let text = lines.join("\n");
    let value = match text.trim().split_once('=') {
        Some((name, value)) if name.trim().starts_with("answer") && !value.contains('=') => {
            value.trim()
        }
        _ => text.trim(),
    };
    let value =
        value.strip_prefix("np.array(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(value);
    let quoted =
        ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let value = quoted.unwrap_or(value);
    if matches!(value, "None" | "...") { String::new() } else { value.to_owned() }
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
        let answers: Vec<(&str, &Node)> =
            read.answers.iter().map(|given| (given.part.as_str(), &given.answer)).collect();
        let text = |text: &str| Node::Text(text.to_owned());
        assert_eq!(
            answers,
            [
                ("1a", &text("[[1, 2],\n [3, 4]]")),
                ("1b", &Node::Missing),
                ("1c", &text("because")),
                ("1d", &Node::Missing),
                ("1e", &text("1/3"))
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
