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
mod marked;
mod notebook;
mod numbers;
mod part;
mod problem;
mod property;
mod result;
mod submission;
mod tables;
mod yaml;

pub use crate::key::part_id;
pub use feedback::{
    Extents, Failure, Feedback, List, Nature, NoDesign, TurnedVector, Undecided, Unread,
    WrongStatement,
};
pub use grader::Grader;
pub use problem::{FileError, Problem, Trouble};
pub use result::{FORMAT, Graded, GradedPart, Verdict};
pub use submission::{MAX_BYTES, Submission, SubmittedAnswer, read};
pub use tables::{RESULT_HEADS, csv as csv_table, gradescope, json};
