//! Submissions by lines: what is no YAML still has a name before each answer.

use super::submission::{Submission, SubmittedAnswer};
use crate::{Place, Spot};

/// Fields of the file and answers, each from its name to the next one. Nothing where no answers
/// stand.
pub(super) fn read(file: &str, text: &str) -> Option<Submission> {
    let mut submission = Submission { file: file.to_owned(), ..Submission::default() };
    let mut in_answers = false;
    for (number, line) in text.lines().enumerate() {
        let is_indented = line.starts_with([' ', '\t']);
        if line.trim_start().starts_with('#') {
            continue;
        }
        let entry = entry(line);
        match entry {
            Some(("answers", _)) if !is_indented => in_answers = true,
            Some((name, value)) if !is_indented && !in_answers => {
                // Another field is none of a submission, and is told where YAML is read.
                submission.set(name, Ok(unquoted(value).to_owned())).ok()?;
            }
            Some((name, value)) if in_answers && is_part(name) => {
                let place = Place::new(file, Spot::Line(number + 1));
                let (part, answer) = (name.to_owned(), value.trim().to_owned());
                submission.answers.push(SubmittedAnswer { part, answer, place });
            }
            _ => {
                if let Some(last) = submission.answers.last_mut() {
                    last.answer.push('\n');
                    last.answer.push_str(line);
                }
            }
        }
    }
    for answer in &mut submission.answers {
        let text = answer.answer.trim();
        let text =
            text.strip_prefix(['|', '>']).filter(|rest| rest.starts_with('\n')).unwrap_or(text);
        answer.answer = unquoted(text).to_owned();
    }
    in_answers.then_some(submission).filter(|submission| !submission.answers.is_empty())
}

/// The name before the first colon and what stands behind it.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let name = unquoted(name.trim().trim_start_matches("- "));
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | ' '));
    is_name.then_some((name, value))
}

/// Whether it may be the name of a part: a number, perhaps with a letter, or a question with one.
fn is_part(name: &str) -> bool {
    let bare = name.trim_start_matches(['q', 'Q']);
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = digits.len() < bare.len()
        && digits.trim_start_matches(['.', ' ']).len() <= 1
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == ' ');
    is_numbered && !digits.trim().is_empty() || name.contains('/')
}

/// Text without the quotes round all of it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
        .map_or(text, str::trim)
}
