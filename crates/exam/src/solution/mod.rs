//! Worked solutions of one head of attention, checked step by step.
//!
//! Each step is held against what follows from the student's own steps before it, rounded and not,
//! and against the truth; the first that follows from nothing is where the slip is. After a slip,
//! written decimals stand for all that they may be rounded from. Values are exact, or known to 40
//! decimals where exact forms get too long.

mod chain;
mod check;
mod entries;
mod exchange;
mod file;
mod names;
mod remark;
mod rounding_spans;
mod stands_for;

pub use check::{CheckedSolution, CheckedStep, Found, check};
pub use file::{Entry, TEMPLATE, WrittenSolution};
pub use names::{Mistake, STEPS, Step};
pub use remark::{Base, Cause, Remark};
