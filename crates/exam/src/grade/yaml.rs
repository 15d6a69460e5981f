//! Submissions in YAML and JSON.

use std::sync::Arc;

use indexmap::IndexMap;
use qkvet_spec::{parse_json, parse_yaml_of_answers};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines;
use super::problem::{Problem, Trouble};
use super::submission::{Submission, SubmittedAnswer};
use crate::question::line_of;
use crate::student_answer::{YamlNode, json_entries, of_json};
use crate::{Place, Spot};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmissionDocument {
    #[serde(default)]
    exam: Option<YamlNode>,
    #[serde(default)]
    variant: Option<YamlNode>,
    #[serde(default)]
    student: Option<YamlNode>,
    #[serde(default)]
    decimal: Option<YamlNode>,
    #[serde(default)]
    answers: Option<IndexMap<String, YamlNode>>,
}

pub(super) fn read(file: &str, text: &str) -> Submission {
    let written: SubmissionDocument = match parse_yaml_of_answers(file, text) {
        Ok(written) => written,
        // A colon, a tab or a `*` in one answer is no reason to lose the others.
        Err(error) => {
            return lines::read(file, text).unwrap_or_else(|| {
                let at = error.place.map_or(Spot::All, |(line, column)| Spot::Sign(line, column));
                Submission::at(file, Place::new(file, at), Problem::Yaml(error))
            });
        }
    };
    let place = |node: &YamlNode| Place::new(file, Spot::Line(line_of(text, node.offset())));
    let mut submission = Submission { file: file.to_owned(), ..Submission::default() };
    for (field, node) in [
        ("student", &written.student),
        ("exam", &written.exam),
        ("variant", &written.variant),
        ("decimal", &written.decimal),
    ] {
        let Some(node) = node else { continue };
        let value = if node.is_scalar() { Ok(node.text(text)) } else { Err(node.kind()) };
        if let Err(problem) = submission.set(field, value) {
            submission.trouble.push(Trouble { place: place(node), problem });
        }
    }
    let answer = |(part, node): (&String, &YamlNode)| SubmittedAnswer {
        part: part.clone(),
        answer: node.text(text),
        place: place(node),
    };
    submission.answers = written.answers.unwrap_or_default().iter().map(answer).collect();
    submission
}

/// One submission, or a list of them.
pub(super) fn read_json(file: &str, text: &str) -> Vec<Submission> {
    let all = parse_json::<&RawValue>(text).and_then(|raw| {
        if raw.get().starts_with('[') { parse_json(raw.get()) } else { Ok(vec![raw]) }
    });
    let all: Vec<&RawValue> = match all {
        Ok(all) => all,
        Err(error) => return vec![Submission::unreadable(file, error)],
    };
    let many = all.len() > 1;
    let one = |(at, raw): (usize, &&RawValue)| {
        let entry = many.then_some(at + 1);
        of_object(file, entry, raw).unwrap_or_else(|problem| {
            Submission::at(file, Place::new(file, Spot::Answer(entry, None)), problem)
        })
    };
    all.iter().enumerate().map(one).collect()
}

/// What kind of value it is: `a list`.
fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'{') => "named entries",
        Some(b'n') => "nothing",
        _ => "a text",
    }
}

fn of_object(file: &str, entry: Option<usize>, raw: &RawValue) -> Result<Submission, Problem> {
    let value = |error: serde_json::Error| Problem::from(Arc::new(error));
    if kind(raw) != "named entries" {
        return Err(Problem::NoObject { got: kind(raw) });
    }
    let mut submission = Submission { file: file.to_owned(), ..Submission::default() };
    let mut problems = Vec::new();
    for (name, raw) in json_entries(raw).map_err(value)? {
        let kind = kind(raw);
        match (name.as_str(), kind) {
            ("answers", "named entries") => {
                for (part, answer) in json_entries(raw).map_err(value)? {
                    let place = Place::new(file, Spot::Answer(entry, Some(part.clone())));
                    let answer = of_json(answer).map_err(value)?;
                    submission.answers.push(SubmittedAnswer { part, answer, place });
                }
            }
            ("answers", "nothing") => {}
            ("answers", got) => problems.push(Problem::NoAnswers { got }),
            (field, "a list" | "named entries") => {
                problems.extend(submission.set(field, Err(kind)).err());
            }
            (field, _) => {
                problems.extend(submission.set(field, Ok(of_json(raw).map_err(value)?)).err());
            }
        }
    }
    let place = Place::new(file, Spot::Answer(entry, None));
    let trouble = |problem| Trouble { place: place.clone(), problem };
    submission.trouble = problems.into_iter().map(trouble).collect();
    Ok(submission)
}
