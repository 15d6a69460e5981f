//! A law for all numbers, at every small shape.
//!
//! Entries, scales, biases, sinks and slopes are indeterminates; masks, lengths, permutations,
//! subsets and indices are gone through, every one. Both sides are quotients of sums `Σ p·e^q` with
//! polynomials `p` and `q`, and such sums are equal as functions iff they have the same terms. So
//! one comparison decides the law for all numbers, wherever no divisor is 0.

use qkvet_spec::{CallOption, CheckedLaw, Dims, Domain, Dtype, IndexName};

use super::draw::{NoInstance, all_extents, draw};
use super::relation::{Decision, decide};
use super::source::Source;

/// Instances that are gone through at most; a law with more of them is left to chance.
const MAX_INSTANCES: usize = 3_000;

/// What a condition may speak of beside extents and options; nothing of it is gone through.
const PLACES: [IndexName; 6] = [
    IndexName::Head,
    IndexName::Query,
    IndexName::Key,
    IndexName::Item,
    IndexName::Format(Dtype::Float16),
    IndexName::Format(Dtype::Bfloat16),
];

/// How many instances a law has whose extents are at most `size`, those of its own that begin above
/// it at their least, each with indeterminates for numbers, if it holds for all of them.
///
/// `None` if it does not, if there are too many, or if one is not decided: inequalities are not,
/// nor is what asks for a margin or for moments. Nor are laws over windows and packed sequences, of
/// which longer calls have more than are gone through, or over soft caps, which are never on.
pub fn holds_up_to(law: &CheckedLaw, size: usize) -> Option<usize> {
    let is_asked = |domain: &Domain| {
        matches!(domain, Domain::Separated { .. } | Domain::Opposed { .. } | Domain::Normal { .. })
    };
    let has_more = [CallOption::Softcap, CallOption::Window, CallOption::Packed];
    if law.given.iter().any(|given| is_asked(&given.domain))
        || has_more.iter().any(|option| law.law.options.contains(option))
        || law
            .law
            .condition
            .as_ref()
            .is_some_and(|condition| PLACES.iter().any(|name| condition.mentions(*name)))
    {
        return None;
    }
    let (mut count, mut sequences) = (0, 0);
    for dims in extents(size) {
        let mut source = Source::every();
        loop {
            sequences += 1;
            if sequences > MAX_INSTANCES {
                return None;
            }
            match draw(law, dims, size, &mut source) {
                Ok(instance) if matches!(decide(law, &instance), Decision::Holds) => count += 1,
                Err(NoInstance::Empty) => {}
                Ok(_) | Err(NoInstance::Beyond) => return None,
            }
            if !source.next_sequence() {
                break;
            }
        }
    }
    (count > 0).then_some(count)
}

/// Every shape whose extents, items and heads are at most `size`; small ones first.
fn extents(size: usize) -> Vec<Dims> {
    let mut all: Vec<Dims> =
        all_extents(size).into_iter().filter(|d| d.b <= size && d.h_q <= size).collect();
    let two_of_both: Vec<Dims> =
        all.iter().filter(|d| (d.b, d.h_k) == (1, 2)).map(|d| Dims { b: 2, ..*d }).collect();
    all.extend(two_of_both);
    all
}
