//! Submissions in YAML and JSON.

use std::sync::Arc;

use indexmap::IndexMap;
use qkvet_spec::{parse_json, parse_yaml_of_answers};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::problem::{Problem, Trouble};
use super::submission::{Submission, SubmittedAnswer};
use crate::question::line_of;
use crate::student_answer::{Node, YamlNode};
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
    answers: Option<IndexMap<String, YamlNode>>,
}

pub(super) fn read(file: &str, text: &str) -> Submission {
    let written: SubmissionDocument = match parse_yaml_of_answers(file, text) {
        Ok(written) => written,
        Err(error) => {
            let at = error.place.map_or(Spot::All, |(line, column)| Spot::Sign(line, column));
            return Submission::at(file, Place::new(file, at), Problem::Yaml(error));
        }
    };
    let place = |node: &YamlNode| Place::new(file, Spot::Line(line_of(text, node.offset())));
    let mut trouble = Vec::new();
    let mut word = |field, node: &Option<YamlNode>| {
        let node = node.as_ref()?;
        scalar(field, &node.node(text)).unwrap_or_else(|problem| {
            trouble.push(Trouble { place: place(node), problem });
            None
        })
    };
    Submission {
        student: word("student", &written.student),
        file: file.to_owned(),
        exam: word("exam", &written.exam),
        variant: word("variant", &written.variant),
        answers: written
            .answers
            .unwrap_or_default()
            .iter()
            .map(|(part, node)| SubmittedAnswer {
                part: part.clone(),
                answer: node.node(text),
                place: place(node),
            })
            .collect(),
        trouble,
    }
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
        let node = Node::from_json(raw).map_err(|error| Arc::new(error).into());
        node.and_then(|node| of_json(file, entry, node)).unwrap_or_else(|problem| {
            Submission::at(file, Place::new(file, Spot::Answer(entry, None)), problem)
        })
    };
    all.iter().enumerate().map(one).collect()
}

fn of_json(file: &str, entry: Option<usize>, node: Node) -> Result<Submission, Problem> {
    let Node::Named(entries) = node else {
        return Err(Problem::NoObject { got: node.kind() });
    };
    let mut submission = Submission { file: file.to_owned(), ..Submission::default() };
    let mut problems = Vec::new();
    for (name, node) in entries {
        let mut word = |field, node: &Node| {
            scalar(field, node).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        };
        match (name.as_str(), node) {
            ("exam", node) => submission.exam = word("exam", &node),
            ("variant", node) => submission.variant = word("variant", &node),
            ("student", node) => submission.student = word("student", &node),
            ("answers", Node::Named(answers)) => {
                for (part, answer) in answers {
                    let spot = Spot::Answer(entry, Some(part.clone()));
                    let place = Place::new(file, spot);
                    submission.answers.push(SubmittedAnswer { part, answer, place });
                }
            }
            ("answers", Node::Missing) => {}
            ("answers", node) => problems.push(Problem::NoAnswers { got: node.kind() }),
            _ => problems.push(Problem::Entry { got: name }),
        }
    }
    let place = Place::new(file, Spot::Answer(entry, None));
    let trouble = |problem| Trouble { place: place.clone(), problem };
    submission.trouble = problems.into_iter().map(trouble).collect();
    Ok(submission)
}

/// The text of a field, unless it is blank.
///
/// # Errors
/// A list or named entries.
fn scalar(field: &'static str, node: &Node) -> Result<Option<String>, Problem> {
    match node {
        Node::Missing => Ok(None),
        Node::Text(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Node::List(_) | Node::Named(_) => Err(Problem::NotText { field, got: node.kind() }),
    }
}
