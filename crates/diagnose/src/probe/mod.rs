//! Probing: recovers what a target computes from its outputs, question by question.
//!
//! A question has calls that tell the values of its fields apart. A value holds a call if what came
//! back lies within the enclosure of the call under that value, widened by the hard bound of the
//! contract; the one value that holds all calls is decided, for the others are refuted. A probe
//! proposes and excuses nothing. It talks to the target through the trait alone.

mod asker;
mod field;
mod hypothesis;
mod interval;
mod precision;
mod prober;
mod question;
mod report;
mod spans;
mod tally;
mod trials;

pub use asker::MAX_CALLS;
pub use prober::{Probed, probe};
