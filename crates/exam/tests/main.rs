//! Questions, sheets, keys and grading as people use them.
//!
//! One program, for each one is linked with all that it tests.

mod corrupted;
mod designs;
mod fractions;
mod grading;
mod options;
mod own_question;
#[cfg(feature = "pdf")]
mod pdf;
mod questions;
mod seeds;
mod sheets;
mod solutions;
mod sources;
mod stress;
mod undecided;
mod variants;
