//! Cases: from a suite and a seed to plans, from a plan to a concrete input, and from a failing
//! plan to a small one.
//!
//! [`plans`] combines shapes, options and value families by a covering array; [`build`] turns one
//! [`CasePlan`] into a [`Case`](qkvet_spec::Case); [`shrink`] lowers a plan while it still fails.
//! The same seed gives the same bytes on every machine: the only source of randomness is `ChaCha8`,
//! by name, read through our own maps.

mod build;
mod choice;
mod cover;
mod draw;
mod error;
mod exact;
mod extent;
mod foreign;
pub mod frozen;
mod id;
mod json;
mod levels;
mod margin;
mod options;
mod plan;
mod routing;
mod sequences;
mod shrink;
mod source;
mod together;
mod token;
mod usage;
mod validate;

pub use build::build;
pub use choice::{AlibiChoice, Number, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice};
pub use error::GenError;
pub use foreign::check_call;
pub use id::{call_id, case_id, outputs_digest};
pub use json::{from_json, to_json};
pub use plan::{CasePlan, case_seed, plans, plans_with};
pub use shrink::{SHRINK_BUDGET, shrink};
pub use token::{from_token, is_token, token};
pub use validate::{check_case, check_suite};
