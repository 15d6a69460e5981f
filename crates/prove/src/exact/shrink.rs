//! Smaller and simpler instances on which a law still fails.

use qkvet_spec::{CheckedLaw, Dims, Domain};

use super::draw::draw;
use super::instance::{ExactOptions, Instance, Value};
use super::margin::keeps_margins;
use super::real::Real;
use super::relation::{Decision, Failure, decide};
use super::source::Source;

/// Instances that are tried at most, for smaller extents and for simpler numbers each.
const TRIES: usize = 200;

/// An instance that fails the law and where it does.
type Found = (Instance, Failure);

/// The same failure with `smaller` extents (smallest first), if an instance is found, and with
/// fewer options and simpler numbers.
pub(super) fn shrink(law: &CheckedLaw, found: Found, smaller: &[Dims], size: usize) -> Found {
    let step = (smaller.len() * 4).div_ceil(TRIES).max(1);
    let tries = smaller.iter().step_by(step).flat_map(|dims| (0..4).map(move |seed| (dims, seed)));
    let mut drawn =
        tries.filter_map(|(dims, seed)| draw(law, *dims, size, &mut Source::random(seed)).ok());
    let found = drawn.find_map(|instance| fails(law, instance)).unwrap_or(found);
    simplify(law, found)
}

fn fails(law: &CheckedLaw, instance: Instance) -> Option<Found> {
    if !keeps_margins(law, &instance) {
        return None;
    }
    match decide(law, &instance) {
        Decision::Fails(failure) => Some((instance, *failure)),
        Decision::Holds | Decision::Undecided(_) => None,
    }
}

/// Turns options off and moves numbers to 0 and 1, one at a time, while the law still fails.
fn simplify(law: &CheckedLaw, mut found: Found) -> Found {
    let off: [fn(&mut ExactOptions); 10] = [
        |o| o.mask = None,
        |o| o.bias = None,
        |o| o.causal = false,
        |o| o.window = None,
        |o| o.sinks = None,
        |o| o.alibi_slopes = None,
        |o| o.scale = None,
        |o| o.key_lengths = None,
        |o| o.query_lengths = None,
        |o| o.packed = None,
    ];
    for turn_off in off {
        let mut instance = found.0.clone();
        turn_off(&mut instance.options);
        found = fails(law, instance).unwrap_or(found);
    }
    let mut tries = 0;
    for name in found.0.values.keys().cloned().collect::<Vec<_>>() {
        // A permutation stays one; other matrices may hold any number.
        let is_fixed = law.given.iter().any(|given| {
            given.names.contains(&name) && matches!(given.domain, Domain::Permutation(_))
        });
        let Some(Value::Matrices(m)) = found.0.values.get(&name).filter(|_| !is_fixed) else {
            continue;
        };
        for at in 0..m.data.len() {
            for simpler in [0, 1] {
                tries += 1;
                let mut instance = found.0.clone();
                let Some(Value::Matrices(m)) = instance.values.get_mut(&name) else { break };
                let is_simple =
                    m.data[at].compare(&simpler.into()).is_ok_and(|order| order.is_eq());
                if is_simple || tries > TRIES {
                    break;
                }
                m.data[at] = Real::from(simpler);
                if let Some(simplified) = fails(law, instance) {
                    found = simplified;
                    break;
                }
            }
        }
    }
    found
}
