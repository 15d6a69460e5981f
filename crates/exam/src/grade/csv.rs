//! Submissions as a table: a column a part, a row a student.

use super::submission::{Submission, SubmittedAnswer};
use super::{Problem, Trouble};
use crate::{Place, Spot};

/// Rows that are read.
pub(super) const MAX_ROWS: usize = 100_000;

/// Columns that are read.
pub(super) const MAX_COLUMNS: usize = 1_000;

pub(super) fn read(file: &str, text: &str) -> Vec<Submission> {
    let (rows, end) = rows(text);
    let mut rows =
        rows.into_iter().filter(|(_, row)| row.iter().any(|cell| !cell.trim().is_empty()));
    let Some((_, head)) = rows.next() else {
        return vec![Submission::unreadable(file, Problem::NoHead)];
    };
    let names: Vec<String> = head.iter().map(|name| name.trim().to_owned()).collect();
    if names.len() > MAX_COLUMNS {
        let got = names.len();
        return vec![Submission::unreadable(file, Problem::TooManyColumns { got })];
    }
    let column = |name: &str| names.iter().position(|other| other.eq_ignore_ascii_case(name));
    let [student, variant, exam, decimal] = ["student", "variant", "exam", "decimal"].map(column);
    let mut all = Vec::new();
    for (line, row) in rows {
        let cell = |at: Option<usize>| {
            at.and_then(|at| row.get(at))
                .map(|cell| cell.trim().to_owned())
                .filter(|cell| !cell.is_empty())
        };
        let mut submission = Submission {
            student: cell(student),
            file: file.to_owned(),
            exam: cell(exam),
            variant: cell(variant),
            ..Submission::default()
        };
        if submission.student.is_none() {
            submission.student = Some(format!("line {line}"));
        }
        let (expected, got) = (names.len(), row.len());
        let problem = match student {
            None => Some(Problem::NoStudents { got: names.len() }),
            Some(_) => (got > expected).then_some(Problem::Cells { expected, got }),
        };
        let place = Place::new(file, Spot::Line(line));
        let problem = problem.or_else(|| submission.set("decimal", Ok(cell(decimal)?)).err());
        submission.trouble.extend(problem.map(|problem| Trouble { place, problem }));
        for (at, name) in names
            .iter()
            .enumerate()
            .filter(|(at, _)| ![student, variant, exam, decimal].contains(&Some(*at)))
        {
            // An empty cell is no answer.
            if let Some(text) = cell(Some(at)) {
                let place = Place::new(file, Spot::Cell(line, name.clone()));
                submission.answers.push(SubmittedAnswer {
                    part: name.clone(),
                    answer: text,
                    place,
                });
            }
        }
        all.push(submission);
    }
    all.extend(end.map(|problem| Submission::unreadable(file, problem)));
    if all.is_empty() {
        all.push(Submission::unreadable(file, Problem::NoRows));
    }
    all
}

/// Rows with the number of their first line, and what is wrong at the end. Cells may stand in
/// quotes, quotes in them twice (RFC 4180).
fn rows(text: &str) -> (Vec<(usize, Vec<String>)>, Option<Problem>) {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut start, mut quoted) = (1, 1, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        line += usize::from(c == '\n');
        match (quoted, c) {
            (true, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            (true, '"') => quoted = false,
            (true, c) => cell.push(c),
            (false, '"') if cell.trim().is_empty() => {
                cell.clear();
                quoted = true;
            }
            (false, ',') => row.push(std::mem::take(&mut cell)),
            (false, '\r') if chars.peek() == Some(&'\n') => {}
            (false, '\n') => {
                row.push(std::mem::take(&mut cell));
                rows.push((start, std::mem::take(&mut row)));
                start = line;
                if rows.len() > MAX_ROWS {
                    return (rows, Some(Problem::TooManyRows));
                }
            }
            (false, c) => cell.push(c),
        }
    }
    let end = quoted.then_some(Problem::OpenQuote { line: start });
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        if !quoted {
            rows.push((start, row));
        }
    }
    (rows, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_quoted_and_rows_short() {
        let all = read(
            "a.csv",
            "student,variant,1a,1b\r\nAda,1,\"[[1, 2],\n [3, 4]]\",\"say \"\"x\"\"\"\n\nBob,2,5\n",
        );
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].answers[0].answer, "[[1, 2],\n [3, 4]]");
        assert_eq!(all[0].answers[1].answer, "say \"x\"");
        assert_eq!(
            (all[1].student.as_deref(), all[1].answers[0].place.to_string().as_str()),
            (Some("Bob"), "a.csv:5, column 1a")
        );
        assert_eq!(all[1].answers.len(), 1);
        assert!(all.iter().all(|submission| submission.trouble.is_empty()));
    }

    #[test]
    fn a_table_that_is_none_is_told() {
        for (text, says) in [
            ("", "names the columns"),
            ("student\n", "a row"),
            ("student,1a\nAda,\"1", "closing quote"),
            ("1a\n3\n", "column `student`"),
            ("student,1a\nA,1,2\n", "expected 2 cells, got 3"),
            (format!("student{}\n", ",".repeat(2_000)).as_str(), "at most 1000 columns, got 2001"),
        ] {
            let all = read("a.csv", text);
            assert!(
                all.iter().any(|one| one
                    .trouble
                    .iter()
                    .any(|trouble| trouble.problem.to_string().contains(says))),
                "{text}: {all:?}"
            );
        }
    }
}
