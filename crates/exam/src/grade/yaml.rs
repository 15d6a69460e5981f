//! Submissions in YAML and JSON.

use indexmap::IndexMap;
use qkvet_spec::{parse_json, parse_yaml_of_answers};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::result::Trouble;
use super::submission::{Given, Submission};
use crate::given::{Node, YamlNode};

const HINT: &str = "start from the template that `qkvet exam build` wrote beside the sheet";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
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
    let written: Written = match parse_yaml_of_answers(file, text) {
        Ok(written) => written,
        Err(error) => {
            let at = error.summary.find(": ").unwrap_or(0);
            let (place, says) = error.summary.split_at(at);
            let trouble = Trouble {
                place: if place.starts_with(file) { place.to_owned() } else { file.to_owned() },
                says: if place.starts_with(file) {
                    says.trim_start_matches(": ").to_owned()
                } else {
                    error.summary.clone()
                },
                hint: Some(HINT.to_owned()),
            };
            return Submission {
                file: file.to_owned(),
                trouble: vec![trouble],
                ..Submission::default()
            };
        }
    };
    let word = |node: &Option<YamlNode>| node.as_ref().and_then(|node| scalar(&node.node(text)));
    let place = |node: &YamlNode| {
        format!("{file}:{}", text.get(..node.offset()).unwrap_or("").matches('\n').count() + 1)
    };
    Submission {
        student: word(&written.student),
        file: file.to_owned(),
        exam: word(&written.exam),
        variant: word(&written.variant),
        answers: written
            .answers
            .unwrap_or_default()
            .iter()
            .map(|(part, node)| Given {
                part: part.clone(),
                answer: node.node(text),
                place: place(node),
            })
            .collect(),
        trouble: Vec::new(),
    }
}

/// One submission, or a list of them.
pub(super) fn read_json(file: &str, text: &str) -> Vec<Submission> {
    let unreadable =
        |says: String| vec![Submission::unreadable(file, format!("JSON: {says}"), Some(HINT))];
    let raw: &RawValue = match parse_json(text) {
        Ok(raw) => raw,
        Err(error) => return unreadable(error.to_string()),
    };
    let all: Vec<&RawValue> = if raw.get().starts_with('[') {
        match parse_json(raw.get()) {
            Ok(all) => all,
            Err(error) => return unreadable(error.to_string()),
        }
    } else {
        vec![raw]
    };
    let many = all.len() > 1;
    let one = |(at, raw): (usize, &&RawValue)| {
        let place = if many { format!("{file}, entry {}", at + 1) } else { file.to_owned() };
        Node::from_json(raw)
            .map_err(|e| e.to_string())
            .and_then(|node| of_json(file, &place, node))
            .unwrap_or_else(|says| {
                let trouble = Trouble { place, says, hint: Some(HINT.to_owned()) };
                Submission {
                    file: file.to_owned(),
                    trouble: vec![trouble],
                    ..Submission::default()
                }
            })
    };
    all.iter().enumerate().map(one).collect()
}

fn of_json(file: &str, place: &str, node: Node) -> Result<Submission, String> {
    let Node::Named(entries) = node else {
        return Err("expected an object with `answers`".to_owned());
    };
    let mut submission = Submission { file: file.to_owned(), ..Submission::default() };
    for (name, node) in entries {
        match (name.as_str(), node) {
            ("exam", node) => submission.exam = scalar(&node),
            ("variant", node) => submission.variant = scalar(&node),
            ("student", node) => submission.student = scalar(&node),
            ("answers", Node::Named(answers)) => {
                for (part, answer) in answers {
                    let place = format!("{place}, answers.{part}");
                    submission.answers.push(Given { part, answer, place });
                }
            }
            ("answers", Node::Missing) => {}
            ("answers", _) => return Err("answers: expected an object, a part each".to_owned()),
            (other, _) => {
                return Err(format!(
                    "expected `exam`, `variant`, `student` and `answers`, got `{other}`"
                ));
            }
        }
    }
    Ok(submission)
}

/// Text that is there.
pub(super) fn scalar(node: &Node) -> Option<String> {
    match node {
        Node::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => None,
    }
}
