//! Pure diagnosis: which convention or fault explains what a target returned, and the smallest input that shows it.
//!
//! Nothing here talks to a process: results come in as recorded calls, and witnesses are tried through a closure.

mod cause;
mod convention;
mod witness;

pub use cause::{Cause, cause};
pub use convention::{applied, conventions_that_explain};
pub use witness::{describe_call, describe_inputs, smallest};
