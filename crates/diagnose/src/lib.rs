//! Pure diagnosis: which convention or fault explains what a target returned, and the smallest
//! input that shows it.
//!
//! Nothing here talks to a process: results come in as recorded calls, and witnesses are tried
//! through a closure.

mod adequacy;
mod answered;
mod boundary;
mod cause;
mod convention;
mod named;
mod probe;
mod structure;
mod thinned;
mod witness;

pub use adequacy::{FORMATS, adequacy};
pub use answered::Answered;
pub use boundary::{Place, boundary};
pub use cause::{Cause, Records, cause, together};
pub use convention::{applied, conventions_that_explain, followed};
pub use named::{LEAST_SHARE, Named, named};
pub use probe::{MOST_CALLS, Probed, probe};
pub use structure::structure;
pub use thinned::thinned;
pub use witness::{describe_call, describe_case, describe_inputs, smallest};
