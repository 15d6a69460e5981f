//! Identification: what a wrong target computes, as a formula with a condition, found by running a
//! language of formulas against the calls that there are. The target is asked again only to tell
//! rivals apart, to find the edge of a condition, and to confirm.
//!
//! A false name is worse than none: a formula is a name if it leaves nothing unexplained where it
//! holds, makes no right call wrong, and foretells calls that are put after it was found.

mod compound;
mod condition;
mod fresh;
mod hole;
mod language;
mod layer;
mod literal;
mod readout;
mod record;
mod search;
mod synthesis;

use std::collections::{BTreeMap, BTreeSet};

use qkvet_engine::law::CallRecord;
use qkvet_spec::{CallOption, Contract, Deviation, Fault, Meaning, Reason, Standing};

use self::fresh::{CONFIRMING, Confirmed, Pool, again};
pub use self::fresh::{Came, FreshCalls};
pub use self::language::is_word;
pub(crate) use self::layer::{Layer, element_env, is_of_elements, predict};
pub(crate) use self::literal::{Bits, Sample, Text, bits, parsed, texts};
pub(crate) use self::record::Record;
pub use self::record::RightCall;
use self::record::{MAX_COST_OF_ALL, cost};
pub(crate) use self::record::{MAX_LOOSENESS, is_near, lost_below_normal};
use self::search::{Candidate, ENOUGH, Known, MIN_EXPLAINED, holds_somewhere, ordered};
use crate::cause::Records;
use crate::sample_evenly::sample_evenly;

/// A formula, and which of the failures it explains.
#[derive(Clone, Debug)]
pub struct Identified {
    /// What is computed.
    pub deviation: Deviation,
    /// Numbers of the failures whose wrong calls it explains, with those before it.
    pub members: Vec<usize>,
}

/// Calls of failures and right calls that are looked at.
const MAX_WRONG: usize = 60;
const MAX_RIGHT: usize = 120;
/// Multiplications of a prediction of all of either.
const MAX_COST: usize = 6_000_000;
/// Findings on top of each other.
const MAX_FINDINGS: usize = 3;
/// Fresh calls at least of which a name has to say something.
const MIN_TOLD: usize = 4;
/// How often the search begins again after a call that was not foretold.
const MAX_ROUNDS: usize = 5;
/// Candidates that are asked about: behind them the search begins again with what came.
const MAX_CANDIDATES: usize = 16;
/// How often a rule is learned again with elements that it was wrong about.
const MAX_CORRECTIONS: usize = 8;
/// While calls are left unexplained, a line that explains fewer than so many times as many is no
/// name.
const MIN_SHARE: usize = 5;

/// Says what a target computes that gave these failures, and gave `right` calls what is right.
pub fn identify(
    failures: &Records<'_>,
    right: &[RightCall],
    base: &Meaning,
    fresh: &mut dyn FreshCalls,
) -> Vec<Identified> {
    let Some((_, contract)) = failures.first() else { return Vec::new() };
    let records = chosen(failures, right, base);
    let looseness = records.iter().map(Record::looseness).fold(1.0, f64::max);
    let mut known = Known::new(base, records);
    let mut found: Vec<Found> = Vec::new();
    let mut pool: Option<Pool<'_>> = None;
    let mut fresh = Some(fresh);
    while found.len() < MAX_FINDINGS {
        let mut candidates = known.candidates();
        let is_enough = candidates.first().is_some_and(|best| best.score >= ENOUGH);
        if !is_enough && !found.is_empty() {
            // What is left may lie in calls that were not looked at.
            let more = rest(failures, right, &known);
            if !more.is_empty() {
                known.records.extend(more);
                candidates = known.candidates();
            }
        }
        if candidates.is_empty() {
            break;
        }
        if let Some(source) = fresh.take() {
            pool = Some(Pool::new(source, base, contract, looseness));
        }
        let Some(pool) = &mut pool else { break };
        let Some((candidate, put, foretold)) = decided(&mut known, pool, &mut candidates) else {
            break;
        };
        let before = known.add_layer(candidate.layer());
        if !is_name(&candidate, put, foretold) && !is_part(&candidate, put, foretold) {
            break;
        }
        let asked = pool.take_asked();
        found.push(Found { candidate, put, foretold, asked, before });
    }
    together(base, &mut found);
    described(failures, base, found)
}

/// Counts again what each formula leaves where it holds: the others may explain it.
fn together(base: &Meaning, found: &mut [Found]) {
    let layers: Vec<Layer> = found.iter().map(|one| one.candidate.layer()).collect();
    let all: Vec<&Layer> = layers.iter().collect();
    if all.len() < 2 {
        return;
    }
    for (one, layer) in found.iter_mut().zip(&layers) {
        let when = layer.when.as_ref();
        let applies = |it: &&Record| when.is_none_or(|when| holds_somewhere(when, &it.call));
        let wrong = one.before.iter().filter(|it| it.is_wrong()).filter(applies);
        one.candidate.left = wrong.filter(|it| !it.is_explained(base, &all)).count();
    }
}

/// Wrong calls of the failures that the layers do not explain, and that are not known yet.
fn rest(failures: &Records<'_>, right: &[RightCall], known: &Known<'_>) -> Vec<Record> {
    let layers: Vec<&Layer> = known.layers.iter().collect();
    let mut left = MAX_COST_OF_ALL;
    let mut is_left = |(calls, contract): &&(&[CallRecord], &Contract)| {
        calls.iter().any(|record| {
            let price = cost(&record.call);
            if record.call.misfit().is_some() || price > MAX_COST / 6 || price > left {
                return false;
            }
            left -= price;
            Record::new(record, contract, known.base)
                .is_some_and(|it| it.is_wrong() && !it.is_explained(known.base, &layers))
        })
    };
    let mut of: Vec<(&[CallRecord], &Contract)> = Vec::new();
    for failure in failures {
        if is_left(&failure) {
            of.push(*failure);
        }
    }
    let records = chosen(&of, right, known.base).into_iter();
    let after = records.filter_map(|record| record.on(known.base, &layers));
    let is_known = |it: &Record| known.records.iter().any(|other| other.call == it.call);
    after.filter(|it| it.is_wrong() && !is_known(it)).collect()
}

/// Fresh calls by which a fault of the atlas is confirmed.
const CONFIRMING_FAULT: usize = 8;

/// Whether a fault foretells fresh calls: how many were put, and how many of them it foretold. The
/// failures are some that it explains.
pub fn foretells(
    failures: &Records<'_>,
    base: &Meaning,
    fault: &Fault,
    fresh: &mut dyn FreshCalls,
) -> (usize, usize) {
    let Some((_, contract)) = failures.first() else { return (0, 0) };
    let records: Vec<Record> = failures
        .iter()
        .flat_map(|(calls, contract)| calls.iter().map(move |record| (record, *contract)))
        .filter(|(record, _)| cost(&record.call) < MAX_COST)
        .filter_map(|(record, contract)| Record::new(record, contract, base))
        .take(CONFIRMING_FAULT)
        .collect();
    let looseness = records.iter().map(Record::looseness).fold(1.0, f64::max);
    let Layer { formula, when } = Layer::from(fault);
    let candidate = Candidate::of(formula, when);
    let known = Known::new(base, records);
    let mut pool = Pool::new(fresh, base, contract, looseness);
    let Confirmed { put, seen, .. } = pool.confirm(&known, &candidate, CONFIRMING_FAULT);
    (put, seen.len())
}

/// A fault of the atlas as what a target computes, where it explains every failure and foretells
/// fresh calls.
pub fn confirmed(
    failures: &Records<'_>,
    base: &Meaning,
    fault: &Fault,
    fresh: &mut dyn FreshCalls,
) -> Option<Deviation> {
    let (put, foretold) = foretells(failures, base, fault, fresh);
    let Layer { formula, when } = Layer::from(fault);
    let deviation = Deviation {
        standing: Standing::Named,
        formula,
        when,
        explained: 0,
        of: 0,
        outside: 0,
        foretold,
        fresh: put,
        asked: [(Reason::Confirm, put)].into(),
    };
    let ExplainedBy { members, untold, calls, .. } = explained_by(failures, base, &[&deviation]);
    let is_whole = !members.is_empty() && members.len() + untold.len() == failures.len();
    (is_whole && foretold == put && 2 * put >= CONFIRMING_FAULT).then_some(Deviation {
        explained: calls,
        of: calls,
        ..deviation
    })
}

/// What deviations explain of failures, numbers of each.
#[derive(Clone, Debug, Default)]
pub struct ExplainedBy {
    /// Failures of which they explain every wrong call.
    pub members: Vec<usize>,
    /// Failures of which no call tells anything: their bounds are too wide.
    pub untold: Vec<usize>,
    /// How many wrong calls they explain.
    pub calls: usize,
    /// How many wrong calls there are to which one of them applies.
    pub of: usize,
}

/// What deviations that are known from elsewhere explain together of these failures, each on top of
/// those before it.
pub fn explained_by(
    failures: &Records<'_>,
    base: &Meaning,
    deviations: &[&Deviation],
) -> ExplainedBy {
    let layer = |it: &&Deviation| Layer { formula: it.formula.clone(), when: it.when.clone() };
    let layers: Vec<Layer> = deviations.iter().map(layer).collect();
    let layers: Vec<&Layer> = layers.iter().collect();
    let mut found = ExplainedBy::default();
    for (at, (calls, contract)) in failures.iter().enumerate() {
        let wrong: Vec<Record> = Record::wrong_of(calls, contract, base).collect();
        let applies = |record: &&Record| {
            let holds = |it: &&Layer| {
                it.when.as_ref().is_none_or(|when| holds_somewhere(when, &record.call))
            };
            layers.iter().any(holds)
        };
        found.of += wrong.iter().filter(applies).count();
        if wrong.is_empty() {
            found.untold.push(at);
        } else if wrong.iter().all(|record| record.is_explained(base, &layers)) {
            found.members.push(at);
            found.calls += wrong.len();
        }
    }
    found
}

/// Whether a deviation explains every wrong call of a failure.
pub fn deviation_explains(
    calls: &[CallRecord],
    contract: &Contract,
    base: &Meaning,
    deviation: &Deviation,
) -> bool {
    let layer = Layer { formula: deviation.formula.clone(), when: deviation.when.clone() };
    let mut wrong = Record::wrong_of(calls, contract, base).peekable();
    wrong.peek().is_some() && wrong.all(|record| record.is_explained(base, &[&layer]))
}

/// What was found, and how.
struct Found {
    candidate: Candidate,
    /// Calls that were put to confirm it, and how many of them it foretold.
    put: usize,
    foretold: usize,
    asked: BTreeMap<Reason, usize>,
    /// The calls before it was found.
    before: Vec<Record>,
}

/// The best candidate once rivals and rules are settled, how many calls were put to confirm it and
/// how many it foretold.
fn decided(
    known: &mut Known<'_>,
    pool: &mut Pool<'_>,
    candidates: &mut Vec<Candidate>,
) -> Option<(Candidate, usize, usize)> {
    let mut last = None;
    for left in (0..MAX_ROUNDS).rev() {
        candidates.truncate(MAX_CANDIDATES);
        pool.settle(known, candidates);
        correct(known, candidates);
        pool.narrow(known, candidates);
        pool.strengthen(known, candidates);
        correct(known, candidates);
        let best = candidates.first().filter(|best| best.score >= ENOUGH);
        let Some(best) = best.cloned() else { break };
        pool.draw_for(&best);
        let Confirmed { put, told, seen, missed } = pool.confirm(known, &best, CONFIRMING[0]);
        let foretold = seen.len();
        let is_done = missed.is_empty();
        known.records.extend(seen.into_iter().chain(missed));
        let renewed = again(known, candidates);
        let best = if is_done { best.again(known).unwrap_or(best) } else { best };
        // A candidate that had nothing to say was not confirmed, not even in part.
        let put = if told < MIN_TOLD { 0 } else { put };
        last = Some((best, put, foretold.min(put)));
        if is_done || left == 0 {
            break;
        }
        // What was not foretold may be said by a word that nothing asked for before.
        let has_clean = renewed.iter().any(|one| one.is_clean() && one.score >= ENOUGH);
        *candidates = if has_clean { renewed } else { known.candidates() };
    }
    last
}

/// Learns the rule of the best candidate again while it is wrong about elements.
fn correct(known: &Known<'_>, candidates: &mut Vec<Candidate>) {
    for _ in 0..MAX_CORRECTIONS {
        let better = candidates.first().and_then(|best| best.corrected(known));
        let (Some(better), Some(best)) = (better, candidates.first_mut()) else { break };
        *best = better;
        *candidates = ordered(std::mem::take(candidates));
    }
}

fn is_name(candidate: &Candidate, put: usize, foretold: usize) -> bool {
    candidate.is_clean()
        && candidate.explained >= MIN_EXPLAINED
        && put == foretold
        && put >= CONFIRMING[1]
}

/// Whether it is worth to be told as a part of what is wrong: it explains more where it holds than
/// it leaves, and foretold most of what was put.
fn is_part(candidate: &Candidate, put: usize, foretold: usize) -> bool {
    candidate.left < candidate.explained
        && candidate.explained >= MIN_EXPLAINED
        && put > 0
        && foretold * 4 >= put * 3
}

/// The findings in facts, with the failures that each explains.
fn described(failures: &Records<'_>, base: &Meaning, found: Vec<Found>) -> Vec<Identified> {
    let mut all = Vec::new();
    let mut layers: Vec<Layer> = Vec::new();
    // What takes longest is left out first.
    let mut left: Vec<usize> = (0..failures.len()).collect();
    let price = |at: &usize| failures[*at].0.iter().map(|record| cost(&record.call)).sum::<usize>();
    let mut order = left.clone();
    order.sort_by_key(|at| (price(at), *at));
    let affordable = order.iter().scan(0, |sum, at| {
        *sum += price(at);
        Some((*sum <= MAX_COST_OF_ALL).then_some(*at))
    });
    let affordable: BTreeSet<usize> = affordable.flatten().collect();
    for Found { candidate, put, foretold, asked, .. } in found {
        let layer = candidate.layer();
        layers.push(layer.clone());
        let under: Vec<&Layer> = layers.iter().collect();
        let (mut members, mut explained, mut of) = (Vec::new(), 0, 0);
        let mut untold = Vec::new();
        for at in &left {
            let (calls, contract) = &failures[*at];
            let calls = if affordable.contains(at) { *calls } else { &[] };
            let wrong: Vec<Record> = Record::wrong_of(calls, contract, base).collect();
            let count = wrong.iter().filter(|record| record.is_explained(base, &under)).count();
            let applies = |record: &&Record| {
                layer.when.as_ref().is_none_or(|when| holds_somewhere(when, &record.call))
            };
            of += wrong.iter().filter(applies).count();
            explained += count;
            if wrong.is_empty() {
                untold.push(*at);
            } else if count == wrong.len() {
                members.push(*at);
            }
        }
        left.retain(|at| !members.contains(at));
        // Bounds too wide, calls too large: where all others are explained, these are no others.
        if untold.len() == left.len() {
            members.append(&mut left);
            members.sort_unstable();
        }
        let standing = match is_name(&candidate, put, foretold) {
            true => Standing::Named,
            false => Standing::Partly,
        };
        let deviation = Deviation {
            standing,
            formula: layer.formula,
            when: layer.when,
            explained,
            of: of.max(explained),
            outside: candidate.outside,
            foretold,
            fresh: put,
            asked,
        };
        if !members.is_empty() {
            all.push(Identified { deviation, members });
        }
    }
    for one in &mut all {
        if one.members.len() < MIN_SHARE * left.len() {
            one.deviation.standing = Standing::Partly;
        }
    }
    all
}

/// The calls that are looked at: cheap ones, and a few that are larger.
pub(crate) fn chosen(failures: &Records<'_>, right: &[RightCall], base: &Meaning) -> Vec<Record> {
    let mut wrong: Vec<(&CallRecord, &Contract)> = failures
        .iter()
        .flat_map(|(calls, contract)| calls.iter().map(move |record| (record, *contract)))
        .filter(|(record, _)| record.call.misfit().is_none())
        .collect();
    wrong.sort_by_key(|(record, _)| cost(&record.call));
    let wrong: Vec<Record> = affordable(&wrong, MAX_WRONG, |(record, _)| cost(&record.call))
        .filter_map(|(record, contract)| Record::new(record, contract, base))
        .collect();
    let looseness = wrong.iter().map(Record::looseness).fold(1.0, f64::max);
    let mut calls: Vec<&RightCall> = right.iter().collect();
    calls.sort_by_key(|right| cost(&right.call));
    // Those that have what all wrong ones have say most of where a formula ends.
    let is_shared = |option: &CallOption| wrong.iter().all(|it| it.call.options.has(*option));
    let shared: Vec<CallOption> = CallOption::ALL.into_iter().filter(is_shared).collect();
    let is_like = |right: &&RightCall| shared.iter().all(|option| right.call.options.has(*option));
    let (like, others): (Vec<&RightCall>, Vec<&RightCall>) = calls.into_iter().partition(is_like);
    let mut all = wrong;
    for (calls, most) in [(like, MAX_RIGHT * 2 / 3), (others, MAX_RIGHT / 3)] {
        let some = affordable(&calls, most, |right| cost(&right.call));
        all.extend(some.filter_map(|right| {
            let (_, contract) = failures.first()?;
            let record = Record::right_under(&right.call, contract, base, looseness)?;
            Some(Record { is_known: right.is_known, ..record })
        }));
    }
    all.sort_by_key(|record| cost(&record.call));
    all
}

/// At most `most` of what is sorted by cost, as evenly as all of it together can be afforded.
fn affordable<T>(all: &[T], most: usize, cost: impl Fn(&T) -> usize) -> impl Iterator<Item = &T> {
    let mut end = all.len();
    loop {
        let total: usize = sample_evenly(&all[..end], most).map(&cost).sum();
        if total <= MAX_COST || end <= 3 {
            break;
        }
        end -= end.div_ceil(20);
    }
    sample_evenly(&all[..end], most)
}
