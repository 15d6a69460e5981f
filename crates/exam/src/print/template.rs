//! What a student fills in: the parts of a sheet by name, without answers.

use crate::generate::{Answer, Instance, KeyedPart};
use crate::key::part_id;
use crate::plural::counted;
use crate::question::{AnswerSpec, ProblemSet};

/// The template of a submission for one variant. It depends on what is asked alone, not on the
/// answers.
pub fn template(set: &ProblemSet, posed: &[Instance<'_>], variant: usize) -> String {
    let mut text = format!(
        "# Your answers, a line each. Leave what you do not answer empty; keep the names of the parts.\n\
         # Numbers, alone and without units: 0.25, 1/4, exp(1/2), sqrt(2), (e^{{sqrt(2)/2}} + 1)/2. A matrix by rows: [[1, 2], [3, 4]].\n\
         exam: {}\nvariant: {variant}\nstudent: \"\"\nanswers:\n",
        set.exam
    );
    for (number, question) in posed.iter().enumerate() {
        text += &format!(
            "  # {}. {}\n",
            number + 1,
            question.question.question.title.replace('\n', " ")
        );
        for (at, part) in question.parts.iter().enumerate() {
            let points = question.written(part).0.points;
            let s = if points == 1 { "" } else { "s" };
            text += &format!(
                "  # {points} point{s}: {}\n  {}:\n",
                how(question, part),
                part_id(number, at)
            );
        }
    }
    text
}

/// Entries up to which a matrix is written out.
const WRITTEN: usize = 12;

/// How something of these extents is written, a number without any: `1`, `[[1, 0, 0]]`,
/// `[5 rows of 5 numbers]`.
pub(crate) fn sample(extents: Option<(usize, usize)>) -> String {
    let Some((rows, cols)) = extents else { return "1".to_owned() };
    if rows * cols > WRITTEN {
        return format!("[{rows} rows of {cols} numbers]");
    }
    let row =
        |i: usize| (0..cols).map(|j| if i == j { "1" } else { "0" }).collect::<Vec<_>>().join(", ");
    format!("[{}]", (0..rows).map(|i| format!("[{}]", row(i))).collect::<Vec<_>>().join(", "))
}

/// How the answer is given.
fn how(posed: &Instance<'_>, part: &KeyedPart) -> String {
    match (&posed.written(part).0.answer, &part.answer) {
        (AnswerSpec::Value(_), Answer::Numbers { choices, .. }) if !choices.is_empty() => {
            "the letter of an option".to_owned()
        }
        (AnswerSpec::Value(value), _) => match value.places {
            Some(places) => format!("numbers to {}, or exact", counted(places, "decimal")),
            None => "exact numbers".to_owned(),
        },
        (AnswerSpec::Shape(_), _) => "extents, [2, 3]".to_owned(),
        (AnswerSpec::Largest(_), _) => "a column for each row, [3, 1]".to_owned(),
        (AnswerSpec::Choice(_), _) => "the letter of an option".to_owned(),
        (AnswerSpec::Statements(_), _) => {
            "true or false for each statement, [true, false]".to_owned()
        }
        (AnswerSpec::Ordering(_), _) => "letters in order, [B, A]".to_owned(),
        (AnswerSpec::Expression(_), _) => "a formula in quotes, \"A @ B.T\"".to_owned(),
        (AnswerSpec::Design(property), _) => {
            let example = |name: &String| {
                let extents = posed.worked.extents_of(name);
                format!("{name}: {}", sample(extents))
            };
            let example: Vec<String> = property.example.iter().map(example).collect();
            format!("numbers by name, {{{}}}", example.join(", "))
        }
        (AnswerSpec::Proof(_), _) => "a proof, in words and formulas".to_owned(),
        (AnswerSpec::Text(_), _) => "words".to_owned(),
    }
}
