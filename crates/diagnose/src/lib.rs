//! Pure diagnosis: which convention or fault explains what a target returned, and the smallest
//! input that shows it.
//!
//! Nothing here talks to a process: results come in as recorded calls, and witnesses are tried
//! through a closure.

mod adequacy;
mod boundary;
mod canned;
mod cause;
mod claim;
mod convention;
mod fault_groups;
mod identify;
mod probe;
mod sample_evenly;
mod structure;
mod witness;

pub use adequacy::{FORMATS, adequacy};
pub use boundary::{Place, boundary, region};
pub use canned::CannedTarget;
pub use cause::{Cause, Records, cause, together};
pub use claim::{Claim, Claimed, Formulas};
pub use convention::{applied, conventions_that_explain, explained, followed};
pub use fault_groups::{MIN_SHARE, Named, named};
pub use identify::{
    Came, ExplainedBy, FreshCalls, Identified, RightCall, confirmed, deviation_explains,
    explained_by, foretells, identify, is_word,
};
pub use probe::{MAX_CALLS, Probed, operands_keep, probe, sums_keep};
pub use sample_evenly::sample_evenly;
pub use structure::structure;
pub use witness::{describe_call, describe_case, describe_inputs, smallest};
