//! Exams: questions as data, seeded variants of problem sets, answers whose digits are certified, sheets and keys.
//!
//! The way of a question: [`question`] reads and checks it, [`generate`] draws its numbers until every modelled mistake gives
//! another answer than the key, [`answer`] computes that key in exact numbers, [`mod@print`] makes sheet and key from one tree, [`mod@export`] the
//! files of learning management systems, and [`verify`] derives every number again by another route. [`build`] does it all for a problem set.
//!
//! Every function depends on its arguments alone: no clock, no environment, no files.

pub mod answer;
pub mod build;
mod error;
pub mod export;
pub mod generate;
pub mod key;
pub mod print;
pub mod question;
pub mod verify;

pub use error::ExamError;
