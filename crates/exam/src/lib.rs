//! Exams: questions as data, seeded variants of problem sets, answers whose digits are certified,
//! sheets and keys.
//!
//! The way of a question: [`question`] reads and checks it, [`generate`] draws its numbers until
//! every modelled mistake gives another answer than the key, [`answer`] computes that key in exact
//! numbers, [`mod@print`] makes sheet and key from one tree, and [`verify`] derives every number
//! again by another route. [`build`] does it all for a problem set. [`student_answer`] reads what
//! students write, [`grade`] marks it with a key, and [`solution`] finds the first slip of a worked
//! solution. [`mod@export`] has the files of learning management systems.
//!
//! Every function depends on its arguments alone: no clock, no environment, no files.

pub mod answer;
pub mod begin;
pub mod build;
mod error;
pub mod export;
mod expr;
mod file;
pub mod generate;
pub mod grade;
pub mod key;
mod optionless;
mod place;
mod plural;
pub mod print;
pub mod proofs;
pub mod question;
pub mod solution;
mod spreadsheet;
pub mod student_answer;
mod target;
mod taught;
pub mod verify;
mod words;

pub use error::{ExamError, KeyError};
pub use place::{Place, Spot};
pub use plural::counted;
