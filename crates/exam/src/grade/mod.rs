//! Grading: submissions against a key.
//!
//! Numbers are compared exactly: a decimal is right if it is at most half a unit of its last asked
//! digit from the value. Partial credit follows the question's own rule, and a modelled mistake is
//! named. Nothing in a submission ends the run: what cannot be read is a line of the result.

mod choices;
mod csv;
mod design;
mod earlier_steps;
mod feedback;
mod fit;
mod grader;
mod lines;
mod notebook;
mod numbers;
mod part;
mod problem;
mod property;
mod result;
mod submission;
mod tables;
mod template;
mod yaml;

pub use feedback::{
    Extents, Failure, Feedback, List, Nature, NoDesign, TurnedVector, Undecided, Unread,
    WrongStatement,
};
pub use grader::Grader;
pub use problem::{FileError, Problem, Trouble};
pub use result::{FORMAT, Graded, GradedPart, Verdict};
pub use submission::{MAX_BYTES, Submission, SubmittedAnswer, read};
pub use tables::{RESULT_HEADS, csv as csv_table, gradescope, json};
pub(crate) use template::sample;
pub use template::template;

/// `1a`: number of the question on the sheet and letter of the part, both from 0.
pub fn part_id(question: usize, part: usize) -> String {
    let letter =
        u8::try_from(part).ok().filter(|part| *part < 26).map(|part| char::from(b'a' + part));
    match letter {
        Some(letter) => format!("{}{letter}", question + 1),
        None => format!("{}.{}", question + 1, part + 1),
    }
}
