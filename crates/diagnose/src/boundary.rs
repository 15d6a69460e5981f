//! The boundary of a failure: what all that is wrong has in common and few others, in the space of
//! calls and among the elements of their results.

use std::collections::BTreeSet;

use qkvet_engine::lowering::width_of;
use qkvet_engine::plain::Extent as Whole;
use qkvet_spec::{
    CallOption, Condition, Dims, Dtype, Extent, IndexEnv, IndexExpr, IndexName, Meaning, OptionSet,
    ResultName,
};

use crate::cause::Records;
use crate::identify::{
    Bits, Record, RightCall, Sample, Text, bits, chosen, element_env, is_of_elements, parsed, texts,
};
use crate::sample_evenly::sample_evenly;

/// Where a case lies.
#[derive(Clone, Debug)]
pub struct Place {
    /// Extents.
    pub dims: Dims,
    /// Format.
    pub dtype: Dtype,
    /// Options in use.
    pub options: Vec<CallOption>,
}

impl Place {
    fn env(&self) -> IndexEnv {
        IndexEnv::new(self.dims, self.dtype, self.options.iter().copied().collect())
    }
}

/// A boundary is told if one as narrow would be there by chance in at most one of so many runs.
const CHANCES: f64 = 100.0;
/// Literals that are joined.
const MAX_LITERALS: usize = 4;
/// Losses that a bit of a condition has to leave out, in parts of the gains.
const WORTH: f64 = 0.01;
/// Conditions that are held against chance.
const MAX_TRIED: usize = 300;
/// Elements of a call that are learned from, of each kind.
const MAX_ELEMENTS: usize = 12;
/// Cases that are learned from, of each kind.
const MAX_CASES: usize = 2000;
/// How often what the condition leaves out is added.
const MAX_ROUNDS: usize = 3;

/// What all failing cases have in common and few passing ones: of the cases where it holds, more
/// than half fail. It describes these cases and proves nothing of others.
pub fn boundary(failing: &[Place], passing: &[Place]) -> Option<Condition> {
    let of = |places: &[Place], is_gain| -> Vec<Sample> {
        places.iter().map(|place| Sample { env: place.env(), is_gain }).collect()
    };
    let (wrong, right) = (of(failing, true), of(passing, false));
    let samples = [some(&wrong, MAX_CASES), some(&right, MAX_CASES)].concat();
    let when = learned(samples, false, &|when| {
        let left: Vec<Sample> = wrong.iter().filter(|it| !when.holds(&it.env)).copied().collect();
        some(&left, MAX_CASES)
    })?;
    let right = right.iter().filter(|it| when.holds(&it.env)).count();
    let condition = Condition { when, wrong: wrong.len(), of: wrong.len() + right };
    (right < wrong.len()).then_some(condition)
}

/// What all wrong elements of results have in common, and at most half of the right ones of these
/// and of other calls, with their numbers.
pub fn region(failures: &Records<'_>, right: &[RightCall], base: &Meaning) -> Option<Condition> {
    let mut records = chosen(failures, right, base);
    // Of laws that hold of wrong results too nothing is known by element.
    records.retain(|record| record.is_known || record.is_wrong());
    // Columns of the output, keys of weights and rows of the log-sum-exp are not the same.
    let has_wrong = |want: &ResultName| {
        records.iter().any(|record| elements(record, *want, true).next().is_some())
    };
    let want = ResultName::ALL.into_iter().find(has_wrong)?;
    let of = |record: &Record, is_wrong: bool, is_asked: &dyn Fn(&Sample) -> bool| {
        let all: Vec<Sample> = elements(record, want, is_wrong).filter(is_asked).collect();
        some(&all, MAX_ELEMENTS)
    };
    let both = |record| [of(record, true, &|_| true), of(record, false, &|_| true)].concat();
    let samples = records.iter().flat_map(both).collect();
    let when = learned(samples, true, &|when| {
        let left = |record| of(record, true, &|it| !when.holds(&it.env));
        records.iter().flat_map(left).collect()
    })?;
    let all = |is_wrong| records.iter().flat_map(move |record| elements(record, want, is_wrong));
    let count = |is_wrong| all(is_wrong).filter(|it| when.holds(&it.env)).count();
    let (wrong, right) = (count(true), count(false));
    let is_narrow = 2 * right <= all(false).count();
    is_narrow.then_some(Condition { when, wrong, of: wrong + right })
}

/// The condition of samples that leaves out no gain of all: what it does is added to them.
fn learned(
    mut samples: Vec<Sample>,
    of_elements: bool,
    left_out: &dyn Fn(&IndexExpr) -> Vec<Sample>,
) -> Option<IndexExpr> {
    for _ in 0..MAX_ROUNDS {
        let when = shared(&samples, of_elements)?;
        let left = left_out(&when);
        if left.is_empty() {
            return Some(when);
        }
        samples.extend(left);
    }
    None
}

/// The elements of a result that are wrong, or those that are right.
fn elements(
    record: &Record,
    want: ResultName,
    is_wrong: bool,
) -> impl Iterator<Item = Sample> + '_ {
    record.results.iter().filter(move |one| one.want == want).flat_map(move |one| {
        let env = element_env(&record.call, width_of(one.want, record.call.dims()), Whole::Whole);
        let all =
            (0..one.got.len()).filter(move |at| one.tells[*at] && one.is_held[*at] != is_wrong);
        all.map(move |at| Sample { env: env(at), is_gain: is_wrong })
    })
}

fn some(all: &[Sample], most: usize) -> Vec<Sample> {
    sample_evenly(all, most).copied().collect()
}

/// A literal that all gains meet.
struct Common {
    text: Text,
    when: IndexExpr,
    /// Which losses meet it.
    losses: Bits,
}

/// The condition of a few literals that all gains meet and fewest losses.
///
/// A literal that `K` of `N` draws meet is met by all `n` draws of the gains by chance with
/// probability `p = Π (K − k)/(N − k)` over `k < n`, and one among all literals of weights `2^−bits`,
/// whose sum is `M`, with at most `M · 2^bits · p`: nothing is told unless that is below 1/100, for
/// each literal among the samples that meet the others. What was drawn at once is one draw: extents,
/// the options of a shape, formats.
fn shared(samples: &[Sample], of_elements: bool) -> Option<IndexExpr> {
    let (gains, losses): (Vec<Sample>, Vec<Sample>) = samples.iter().partition(|it| it.is_gain);
    if gains.is_empty() || losses.is_empty() {
        return None;
    }
    let texts = texts(samples, of_elements);
    let mass: f64 = texts.iter().map(|text| libm::exp2(-text.bits)).sum();
    let common = |text: Text| {
        let when = parsed(&text.text)?;
        let is_common = gains.iter().all(|it| when.holds(&it.env));
        let losses = || bits(losses.iter().map(|it| when.holds(&it.env)));
        is_common.then(losses).map(|losses| Common { text, when, losses })
    };
    let mut all: Vec<Common> = texts.into_iter().filter_map(common).collect();
    let n_words = losses.len().div_ceil(64);
    let met =
        |one: &Common| one.losses.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    all.retain(|one| met(one) < losses.len());
    // A set holds numbers of literals.
    let left = |set: &[usize]| {
        let in_all = |word| set.iter().fold(u64::MAX, |left, one| left & all[*one].losses[word]);
        (0..n_words).map(|word| in_all(word).count_ones() as usize).sum::<usize>()
    };
    let key = |set: &[usize]| {
        let bits: f64 = set.iter().map(|one| all[*one].text.bits).sum();
        left(set) as f64 + bits * WORTH * gains.len() as f64
    };
    let is_chance = |at: usize, set: &[usize]| {
        let (one, others) = (&all[set[at]], [&set[..at], &set[at + 1..]].concat());
        let inside = |it: &&Sample| others.iter().all(|other| all[*other].when.holds(&it.env));
        let chance = chance(samples.iter().filter(inside), one);
        let chance = chance * mass * libm::exp2(one.text.bits);
        chance * CHANCES >= 1.0
    };
    let is_told = |set: &[usize]| !(0..set.len()).any(|at| is_chance(at, set));
    // The first that is told, of the shortest that leave fewest losses.
    let first = |sets: Vec<Vec<usize>>, below: f64| {
        let keyed = sets.into_iter().map(|set| (key(&set), set));
        let mut keyed: Vec<(f64, Vec<usize>)> = keyed.filter(|(key, _)| *key < below).collect();
        keyed.sort_by(|x, y| x.0.total_cmp(&y.0));
        keyed.into_iter().take(MAX_TRIED).find(|(_, set)| is_told(set))
    };
    let numbers = 0..all.len();
    let pairs = numbers.clone().flat_map(|at| (0..at).map(move |other| vec![other, at]));
    let sets = numbers.clone().map(|at| vec![at]).chain(pairs).collect();
    let (mut least, mut best) = first(sets, f64::INFINITY)?;
    while (2..MAX_LITERALS).contains(&best.len()) {
        let more = numbers.clone().map(|one| [&best[..], &[one]].concat()).collect();
        let Some(next) = first(more, least) else { break };
        (least, best) = next;
    }
    best.sort_unstable();
    let texts: Vec<&str> = best.iter().map(|one| all[*one].text.text.as_str()).collect();
    parsed(&texts.join(" and "))
}

/// What is drawn at once: a format, options with their shape, extents, and for what speaks of
/// elements a row of a call with these windows and lengths.
type Draw = (Option<Dtype>, Option<OptionSet>, Option<[usize; 7]>, Option<[i64; 7]>);

fn draw(of: &Common, env: &IndexEnv) -> Draw {
    let extents = Some(Extent::ALL.map(|extent| extent.of(env.dims)));
    let formats = Dtype::CHECKED.map(IndexName::Format);
    if formats.into_iter().any(|format| of.when.is(format)) {
        return (Some(env.dtype), None, None, None);
    }
    if of.text.is_option {
        return (None, Some(env.options), extents, None);
    }
    let (IndexEnv { item, h, i, .. }, [left, right], [keys, queries]) =
        (env, env.window, env.lengths);
    let open = [0, 1].map(IndexName::WindowOpen);
    let sides = [IndexName::WindowLeft, IndexName::WindowRight].into_iter().chain(open);
    let is_of_call = !sides.into_iter().any(|side| of.when.mentions(side));
    let row = match is_of_elements(&of.when) {
        true => Some([*item, *h, *i, left, right, keys, queries]),
        false if is_of_call => None,
        false => Some([0, 0, 0, left, right, keys, queries]),
    };
    (None, None, extents, row)
}

/// The chance that the draws of all gains meet a literal that has nothing to do with them.
fn chance<'s>(samples: impl Iterator<Item = &'s Sample>, one: &Common) -> f64 {
    let (mut all, mut met, mut gained) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for it in samples {
        let drawn = draw(one, &it.env);
        if one.when.holds(&it.env) {
            met.insert(drawn);
        }
        if it.is_gain {
            gained.insert(drawn);
        }
        all.insert(drawn);
    }
    // One after the other, without putting back.
    let left = |of: &BTreeSet<Draw>, at: usize| (of.len() - at) as f64;
    (0..gained.len()).fold(1.0, |chance, at| chance * left(&met, at) / left(&all, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [CallOption; 5] = [
        CallOption::Causal,
        CallOption::Mask,
        CallOption::Bias,
        CallOption::Scale,
        CallOption::Softcap,
    ];

    /// Places with options that have nothing to do with their extents.
    fn places(shapes: impl Iterator<Item = [usize; 4]>) -> Vec<Place> {
        let place = |(at, [n_q, n_k, d_k, d_v]): (usize, [usize; 4])| {
            let bits = at.wrapping_mul(0x9e37_79b9) >> 9;
            let used =
                OPTIONS.into_iter().enumerate().filter(|(number, _)| bits >> number & 1 == 1);
            Place {
                dims: Dims { b: 1, h_q: 2, h_k: 1, n_q, n_k, d_k, d_v },
                dtype: Dtype::Float32,
                options: used.map(|(_, option)| option).collect(),
            }
        };
        shapes.enumerate().map(place).collect()
    }

    fn split(fails: impl Fn(&Place) -> bool) -> Option<Condition> {
        let shapes =
            (0..240).map(|at| [1 + at % 11, 1 + at * 7 % 130, 8 + 8 * (at % 3), 8 + 8 * (at % 5)]);
        let (failing, passing) = places(shapes).into_iter().partition::<Vec<_>, _>(fails);
        boundary(&failing, &passing)
    }

    #[test]
    fn the_boundary_between_failing_and_passing_cases_is_found() {
        let exactly = |text: &str, fails: &dyn Fn(&Place) -> bool| {
            let Condition { when, wrong, of } = split(fails).expect("a condition");
            assert_eq!((when.text(), of), (text, wrong));
        };
        exactly("n_k % 64 != 0", &|place| !place.dims.n_k.is_multiple_of(64));
        exactly("n_k % 4 == 0", &|place| place.dims.n_k.is_multiple_of(4));
        exactly("n_k >= 65", &|place| place.dims.n_k > 64);
        exactly("n_q > n_k", &|place| place.dims.n_q > place.dims.n_k);
        let is_causal = |place: &Place| place.options.contains(&CallOption::Causal);
        exactly("causal", &is_causal);
        exactly("causal and n_k % 2 != 0", &|place| {
            is_causal(place) && !place.dims.n_k.is_multiple_of(2)
        });
    }

    /// Elements: rows at the end of calls with a mask of one row.
    #[test]
    fn elements_have_a_boundary_too() {
        let sample = |at: usize| {
            let (n_q, n_k) = (1 + at % 7, 3 + at % 29);
            let dims = Dims { b: 1, h_q: 2, h_k: 1, n_q, n_k, d_k: 8, d_v: 8 };
            let on: &[CallOption] = if at.is_multiple_of(2) { &[CallOption::Mask] } else { &[] };
            let env = IndexEnv::new(dims, Dtype::Float32, on.iter().copied().collect());
            let i = i64::try_from(at / 2 % n_q).expect("small");
            let rows = if at.is_multiple_of(3) { 1 } else { env.lengths[1] };
            let forms = [[1, 1, rows, env.lengths[0]], [1; 4]];
            let is_gain = at.is_multiple_of(2) && rows == 1 && i > 0;
            Sample { env: IndexEnv { i, forms, ..env }, is_gain }
        };
        let samples: Vec<Sample> = (0..1200).map(sample).collect();
        let found = shared(&samples, true).expect("a condition");
        assert_eq!(found.text(), "mask and i >= 1 and mask_queries == 1");
    }

    #[test]
    fn what_may_be_chance_is_not_told() {
        let mut left = 2;
        let mut once = |_: &Place| {
            left -= i32::from(left > 0);
            left > 0
        };
        let shapes = (0..20).map(|at| [1 + at % 5, 3 + at, 8, 8]);
        let (failing, passing) = places(shapes).into_iter().partition::<Vec<_>, _>(&mut once);
        assert_eq!(failing.len(), 1);
        assert_eq!(boundary(&failing, &passing), None);
        assert_eq!(boundary(&[], &passing), None);
        assert_eq!(split(|_| true), None);
    }
}
