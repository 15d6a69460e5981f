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

use qkvet_spec::{Contract, Dtype, Meaning, ProbedField, Target};

pub use asker::MAX_CALLS;
use precision::accumulation;
pub use precision::{operands_keep, sums_keep};
use prober::Prober;

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// One entry a field.
    pub fields: Vec<ProbedField>,
    /// The meaning with all that was decided.
    pub meaning: Meaning,
    /// How many calls the target was given.
    pub calls: usize,
}

/// Probes a target in `dtype`, setting out from the meaning that it declares; values are refuted
/// under `contract`.
///
/// At most [`MAX_CALLS`] calls, none of them large.
pub fn probe(
    target: &mut dyn Target,
    declared: &Meaning,
    contract: &Contract,
    dtype: Dtype,
) -> Probed {
    let mut prober = Prober::new(target, declared, contract);
    let bench = prober.run(dtype);
    let sums = accumulation(&mut prober.asker, &bench);
    report::report(&prober, sums)
}
