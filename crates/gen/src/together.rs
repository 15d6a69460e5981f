//! How often options meet in one call, and which options a further case needs until they meet as
//! often as a suite asks.

use std::collections::BTreeMap;

use qkvet_spec::{CallOption, Dims, OptionSet, Together, Window};

use crate::choice::FAR;
use crate::source::Draws;

/// Options of a call, what kinds of values they have, and what its extents are: a bit each.
type Traits = u32;

const N_OPTIONS: usize = CallOption::ALL.len();
/// Kinds of windows.
const OPEN: Traits = 1 << N_OPTIONS;
const CLOSED: Traits = 1 << (N_OPTIONS + 1);
const BEYOND: Traits = 1 << (N_OPTIONS + 2);
/// Kinds of scales.
const NEGATIVE: Traits = 1 << (N_OPTIONS + 3);
const ZERO: Traits = 1 << (N_OPTIONS + 4);
/// Kinds of extents.
const ONE_QUERY: Traits = 1 << (N_OPTIONS + 5);
const UNEQUAL: Traits = 1 << (N_OPTIONS + 6);

/// A choice of options is drawn so often before the best one is taken.
const DRAWN: usize = 12;
/// So many choices in a row that add nothing are the end: what is missing cannot be drawn, such as
/// calls of one query for a target that takes as many queries as keys.
const IN_VAIN: usize = 8;

/// What one call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meeting(Traits);

impl Meeting {
    pub(crate) fn of(
        on: OptionSet,
        window: Option<Window>,
        scale: Option<f64>,
        dims: &Dims,
    ) -> Self {
        let window = window.map_or(0, |Window { left, right }| match (left, right) {
            (Some(left), Some(right)) if left.min(right) >= FAR => BEYOND,
            // One whose drawn edges may lie beyond all keys is of no kind: how many cases there are
            // would depend on the seed.
            (Some(left), Some(right)) if left.min(right) > 0 && dims.n_k.max(dims.n_q) < 10 => 0,
            (Some(_), Some(_)) => CLOSED,
            _ => OPEN,
        });
        let scale = match scale {
            Some(0.0) => ZERO,
            Some(scale) if scale < 0.0 => NEGATIVE,
            _ => 0,
        };
        let one_query = if dims.n_q == 1 { ONE_QUERY } else { 0 };
        let unequal = if dims.n_q == dims.n_k { 0 } else { UNEQUAL };
        Self(on.iter().map(bit).sum::<Traits>() | window | scale | one_query | unequal)
    }
}

/// How often each set of traits is still missing.
#[derive(Debug)]
pub(crate) struct Meetings {
    missing: BTreeMap<Traits, usize>,
    /// Options that a call may have.
    taken: Vec<CallOption>,
}

impl Meetings {
    /// All that is asked among the options that a call may have. Packed sequences and lengths never
    /// meet: one excludes the other.
    pub(crate) fn asked(quota: Together, takes: impl Fn(CallOption) -> bool) -> Self {
        let taken: Vec<CallOption> =
            CallOption::ALL.into_iter().filter(|option| takes(*option)).collect();
        let mut missing = BTreeMap::new();
        for (at, one) in taken.iter().enumerate() {
            for (below, two) in taken[..at].iter().enumerate() {
                if one.excludes(*two) {
                    continue;
                }
                let pair = bit(*one) | bit(*two);
                missing.insert(pair, quota.pairs);
                // Half of the options do nothing to most single queries.
                missing.insert(pair | ONE_QUERY, 2 * quota.triples);
                missing.insert(pair | UNEQUAL, quota.triples);
                let others = taken[..below].iter();
                let others = others.filter(|x| !x.excludes(*one) && !x.excludes(*two));
                missing.extend(others.map(|x| (pair | bit(*x), quota.triples)));
            }
            let kinds: [(CallOption, &[Traits], usize); 2] = [
                (CallOption::Window, &[OPEN, CLOSED, BEYOND], quota.pairs),
                (CallOption::Scale, &[NEGATIVE, ZERO], quota.triples),
            ];
            for (of, kinds, times) in kinds {
                if *one != of && taken.contains(&of) {
                    if of == CallOption::Window {
                        // Others hide nothing from a single query.
                        missing.insert(bit(*one) | CLOSED | ONE_QUERY, quota.triples);
                    }
                    missing.extend(kinds.iter().map(|kind| (bit(*one) | kind, times)));
                }
            }
        }
        Self { missing, taken }
    }

    /// Counts a call.
    pub(crate) fn add(&mut self, Meeting(has): Meeting) {
        self.missing.retain(|asked, left| {
            *left -= usize::from(asked & has == *asked);
            *left > 0
        });
    }

    /// A further case that adds something, made by `make` from the options that are on: of some that
    /// are drawn, the one that adds most, which is counted. `None` where nothing is missing, or
    /// nothing that can be drawn.
    pub(crate) fn next<T>(
        &mut self,
        draws: &mut Draws,
        make: impl Fn(OptionSet, &mut Draws) -> (Meeting, T),
    ) -> Option<T> {
        for _ in 0..IN_VAIN {
            let mut best: Option<(usize, (Meeting, T))> = None;
            for _ in 0..DRAWN {
                // One that is missing, and every other option by a fair coin.
                let needed = *self.missing.keys().nth(draws.below(self.missing.len()))?;
                let mut on: Vec<CallOption> =
                    self.taken.iter().copied().filter(|one| needed & bit(*one) != 0).collect();
                if needed & (OPEN | CLOSED | BEYOND) != 0 {
                    on.push(CallOption::Window);
                }
                if needed & (NEGATIVE | ZERO) != 0 {
                    on.push(CallOption::Scale);
                }
                for option in &self.taken {
                    if draws.one_in(2) && !on.iter().any(|one| one.excludes(*option)) {
                        on.push(*option);
                    }
                }
                let made = make(on.into_iter().collect(), draws);
                let Meeting(has) = made.0;
                let gain = self.missing.keys().filter(|asked| *asked & has == **asked).count();
                if gain > best.as_ref().map_or(0, |(most, _)| *most) {
                    best = Some((gain, made));
                }
            }
            if let Some((_, (meeting, made))) = best {
                self.add(meeting);
                return Some(made);
            }
        }
        None
    }
}

fn bit(option: CallOption) -> Traits {
    1 << (option as usize)
}
