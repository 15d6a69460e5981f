//! Fresh calls: those that tell rivals apart, find the edge of a condition, and confirm a name.

use std::collections::BTreeMap;

use qkvet_engine::law::CallRecord;
use qkvet_engine::lowering::call_env;
use qkvet_engine::plain::{Extent as Part, Plain};
use qkvet_spec::{Call, Contract, Extent, IndexEnv, Meaning, Reason};

use super::condition::edges;
use super::layer::{Layer, element_env, is_of_elements};
use super::literal::{Literal, Sample, literals};
use super::record::{Bearing, Record, cost, is_near};
use super::search::{Candidate, ENOUGH, Known, holds_somewhere, ordered, places};

/// What came of a fresh call.
#[derive(Clone, Debug)]
pub enum Came {
    /// What is right.
    Right,
    /// Something else.
    Wrong(Box<CallRecord>),
}

/// Where fresh calls come from.
pub trait FreshCalls {
    /// Calls that may be put, none of which was before; with these extents, if there are any.
    fn draw(&mut self, sizes: &[(Extent, usize)]) -> Vec<Call>;

    /// Puts one of those that were drawn last; `None` where the target declines it.
    fn put(&mut self, at: usize, why: Reason) -> Option<Came>;
}

/// Fresh calls of one identification.
const MAX_CALLS: usize = 60;
/// Calls by which a name is confirmed, and how many of them at least.
pub(super) const CONFIRMING: [usize; 2] = [16, 12];
/// Calls to tell rivals apart, and to find the edge of a condition.
const MAX_RIVAL: usize = 6;
const MAX_EDGE: usize = 10;
/// Calls that are put for a candidate that few calls of the suite speak for.
const MAX_MORE: usize = 10;
/// Rivals are those with so much of the best score.
const NEAR: f64 = 0.7;
/// Elements of a call at which rules are compared.
const MAX_PLACES: usize = 128;
/// More multiplications take too long.
const MAX_COST: usize = 1_500_000;

/// Fresh calls that are there, and how they were spent.
pub(super) struct Pool<'a> {
    source: &'a mut dyn FreshCalls,
    base: &'a Meaning,
    contract: &'a Contract,
    looseness: f64,
    calls: Vec<Option<Record>>,
    spent: usize,
    /// What was put since the last finding.
    asked: BTreeMap<Reason, usize>,
}

impl<'a> Pool<'a> {
    pub(super) fn new(
        source: &'a mut dyn FreshCalls,
        base: &'a Meaning,
        contract: &'a Contract,
        looseness: f64,
    ) -> Self {
        let calls = Vec::new();
        let mut pool =
            Self { source, base, contract, calls, looseness, spent: 0, asked: BTreeMap::new() };
        pool.draw(&[]);
        pool
    }

    /// Draws other calls.
    fn draw(&mut self, sizes: &[(Extent, usize)]) {
        let record = |call: &Call| {
            let is_cheap = cost(call) <= MAX_COST;
            is_cheap.then(|| Record::right(call, self.base, self.looseness)).flatten()
        };
        self.calls = self.source.draw(sizes).iter().map(record).collect();
    }

    /// Puts a call: what came, under what is thought so far.
    fn put(&mut self, at: usize, why: Reason, known: &Known<'_>) -> Option<Record> {
        let right = self.calls[at].take()?;
        if self.spent >= MAX_CALLS {
            return None;
        }
        self.spent += 1;
        *self.asked.entry(why).or_default() += 1;
        let record = match self.source.put(at, why)? {
            Came::Right => {
                Record::right_under(&right.call, self.contract, self.base, self.looseness)?
            }
            Came::Wrong(record) => Record::new(&record, self.contract, self.base)?,
        };
        let layers: Vec<&Layer> = known.layers.iter().collect();
        record.on(self.base, &layers)
    }

    fn open(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.calls.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_ref()?)))
    }

    /// Asks what tells the leading candidates apart, until one is left; what came joins what is
    /// known. Candidates that no call tells from the first follow it.
    pub(super) fn settle(&mut self, known: &mut Known<'_>, candidates: &mut Vec<Candidate>) {
        for _ in 0..MAX_RIVAL {
            let Some(best) = candidates.first().map(|best| best.score) else { return };
            let leading: Vec<Layer> = candidates
                .iter()
                .filter(|one| one.score >= NEAR * best)
                .take(6)
                .map(Candidate::layer)
                .collect();
            if leading.len() < 2 {
                return;
            }
            let mut split: Option<(usize, usize)> = None;
            for (at, record) in self.open() {
                let groups = self.groups(known, &leading, record);
                if split.is_none_or(|(most, _)| groups > most) {
                    split = Some((groups, at));
                }
                if groups == leading.len() {
                    break;
                }
            }
            let Some((groups, at)) = split else { return };
            if groups < 2 {
                return;
            }
            let Some(record) = self.put(at, Reason::Rivals, known) else { continue };
            known.records.push(record);
            *candidates = again(known, candidates);
        }
    }

    /// How many different results the layers predict for a call.
    fn groups(&self, known: &Known<'_>, layers: &[Layer], record: &Record) -> usize {
        let mut different: Vec<Vec<Plain>> = Vec::new();
        for layer in layers {
            let Some(one) = known.predicted(record, layer) else { continue };
            if !different.iter().any(|other| is_same(record, &one, other)) {
                different.push(one);
            }
        }
        different.len()
    }

    /// Asks what splits the rules of the best candidate, until one is left or nothing splits them.
    pub(super) fn narrow(&mut self, known: &mut Known<'_>, candidates: &mut Vec<Candidate>) {
        let sizes = candidates.first().map(|best| edges(&best.rules)).unwrap_or_default();
        if !sizes.is_empty() {
            self.draw(&sizes);
        }
        for _ in 0..MAX_EDGE {
            let Some(best) = candidates.first() else { return };
            if best.rules.len() < 2 {
                return;
            }
            let always = Layer::always(&best.word.formula);
            let split = self
                .open()
                .filter(|(_, record)| known.concerns(&best.word, record))
                .filter_map(|(at, record)| {
                    let balance = balance(best, &record.call);
                    (balance > 0.02).then_some((balance, at, record))
                })
                .filter(|(_, _, record)| matters(known, &always, record))
                .max_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1)));
            let Some((_, at, _)) = split else { return };
            let Some(record) = self.put(at, Reason::Edge, known) else { continue };
            known.records.push(record);
            *candidates = again(known, candidates);
        }
    }

    /// Asks more where the best candidate says something, as long as too few calls speak for it:
    /// a suite may hold few that have all options of a condition.
    pub(super) fn strengthen(&mut self, known: &mut Known<'_>, candidates: &mut Vec<Candidate>) {
        for left in (1..=MAX_MORE).rev() {
            let is_open = |best: &&Candidate| {
                best.is_clean() && best.score < ENOUGH && best.score + left as f64 >= ENOUGH
            };
            let Some(best) = candidates.first().filter(is_open) else { return };
            let Some(at) = self.said(known, best).next() else { return };
            let Some(record) = self.put(at, Reason::Confirm, known) else { continue };
            known.records.push(record);
            *candidates = again(known, candidates);
        }
    }

    /// Open calls of which a candidate says something.
    fn said(&self, known: &Known<'_>, candidate: &Candidate) -> impl Iterator<Item = usize> {
        let layer = candidate.layer();
        let is_said = move |(_, record): &(usize, &Record)| {
            known.concerns(&candidate.word, record)
                && layer.when.as_ref().is_none_or(|when| holds_somewhere(when, &record.call))
                && matters(known, &layer, record)
        };
        self.open().filter(is_said).map(|(at, _)| at)
    }

    /// What all `gains` have in common and some of the calls do not: how much each such fact weighs,
    /// and which of the calls break it.
    fn broken(&self, gains: &[IndexEnv], calls: &[usize]) -> Vec<(f64, Vec<bool>)> {
        let called = calls.iter().filter_map(|at| Some(call_env(&self.calls[*at].as_ref()?.call)));
        let envs = gains.iter().copied().chain(called).enumerate();
        let samples: Vec<Sample> =
            envs.map(|(number, env)| Sample { env, is_gain: number < gains.len() }).collect();
        let is_common = |fact: &Literal| (0..gains.len()).all(|at| fact.has(at));
        let broken =
            |fact: &Literal| (gains.len()..samples.len()).map(|at| !fact.has(at)).collect();
        let facts = literals(&samples, false).into_iter().filter(is_common);
        facts.map(|fact| (libm::exp2(-fact.bits / 2.0), broken(&fact))).collect()
    }

    /// The calls in such an order that each of the first breaks most of what all `gains` have in common
    /// and no call before it broke: who explains calls without causal masking alone has to show
    /// that it holds with it, or to learn that it does not.
    fn unlike_first(&self, gains: &[IndexEnv], calls: &[usize]) -> Vec<usize> {
        let mut common = self.broken(gains, calls);
        let mut left: Vec<usize> = (0..calls.len()).collect();
        let mut order = Vec::new();
        while !left.is_empty() && !common.is_empty() {
            // The first of several.
            let best = (0..left.len())
                .rev()
                .max_by(|x, y| weight(&common, left[*x]).total_cmp(&weight(&common, left[*y])));
            let call = best.map_or(0, |at| left.remove(at));
            common.retain(|(_, broken)| !broken[call]);
            order.push(calls[call]);
        }
        order.extend(left.into_iter().map(|call| calls[call]));
        order
    }

    /// The calls in such an order that the first break least of what all `gains` have in common: there
    /// a condition that is too narrow shows.
    fn like_first(&self, gains: &[IndexEnv], calls: &[usize]) -> Vec<usize> {
        let common = self.broken(gains, calls);
        let mut order: Vec<usize> = (0..calls.len()).collect();
        order.sort_by(|x, y| weight(&common, *x).total_cmp(&weight(&common, *y)));
        order.into_iter().map(|call| calls[call]).collect()
    }

    /// Draws calls at the sizes that the rule of a candidate speaks of.
    pub(super) fn draw_for(&mut self, candidate: &Candidate) {
        let sizes = edges(candidate.rules.get(..1).unwrap_or_default());
        if !sizes.is_empty() {
            self.draw(&sizes);
        }
    }

    /// Puts so many calls that the candidate has to foretell, half of them where it says something.
    /// How many were put, and what it did not foretell.
    pub(super) fn confirm(
        &mut self,
        known: &Known<'_>,
        candidate: &Candidate,
        most: usize,
    ) -> Confirmed {
        let layer = candidate.layer();
        let said: Vec<usize> = self.said(known, candidate).collect();
        let gains = candidate.gains(known);
        let inside = self.unlike_first(&gains, &said);
        // Outside, those come first where the formula would change something if it held: they show
        // whether the condition ends where it says.
        let always = Layer::always(&candidate.word.formula);
        let others = self.open().filter(|(at, _)| !inside.contains(at));
        let would = |(_, record): &(usize, &Record)| {
            known.concerns(&candidate.word, record) && matters(known, &always, record)
        };
        let (near, far): (Vec<_>, Vec<_>) = others.partition(would);
        let numbers = |calls: Vec<(usize, &Record)>| -> Vec<usize> {
            calls.into_iter().map(|(at, _)| at).collect()
        };
        let outside = [self.like_first(&gains, &numbers(near)), numbers(far)].concat();
        let (mut put, mut told, mut seen, mut missed) = (0, 0, Vec::new(), Vec::new());
        let (mut inside, mut outside) = (inside.into_iter(), outside.into_iter());
        while put < most {
            let next = if put % 2 == 0 {
                inside.next().or_else(|| outside.next())
            } else {
                outside.next().or_else(|| inside.next())
            };
            let Some(at) = next else { break };
            let Some(record) = self.put(at, Reason::Confirm, known) else {
                if self.spent >= MAX_CALLS {
                    break;
                }
                continue;
            };
            put += 1;
            told += usize::from(said.contains(&at));
            let layers: Vec<&Layer> = known.layers.iter().chain([&layer]).collect();
            let is_foretold = record.is_explained(self.base, &layers);
            if is_foretold { &mut seen } else { &mut missed }.push(record);
            if missed.len() >= 3 {
                break;
            }
        }
        Confirmed { put, told, seen, missed }
    }

    /// What was put since the last finding, by reason.
    pub(super) fn take_asked(&mut self) -> BTreeMap<Reason, usize> {
        std::mem::take(&mut self.asked)
    }
}

/// What came of calls that a candidate had to foretell.
pub(super) struct Confirmed {
    pub(super) put: usize,
    /// How many of them it says something of.
    pub(super) told: usize,
    /// What it foretold.
    pub(super) seen: Vec<Record>,
    /// What it did not.
    pub(super) missed: Vec<Record>,
}

/// The same candidates after more calls.
pub(super) fn again(known: &Known<'_>, candidates: &[Candidate]) -> Vec<Candidate> {
    ordered(candidates.iter().filter_map(|one| one.again(known)).collect())
}

/// How much of what is common a call breaks.
fn weight(common: &[(f64, Vec<bool>)], call: usize) -> f64 {
    common.iter().filter(|(_, broken)| broken[call]).map(|(weight, _)| weight).sum()
}

/// Whether a layer changes what is thought of a call.
fn matters(known: &Known<'_>, layer: &Layer, record: &Record) -> bool {
    known
        .predicted(record, layer)
        .is_some_and(|predicted| record.bearing(&predicted) != Bearing::Equal)
}

fn is_same(record: &Record, x: &[Plain], y: &[Plain]) -> bool {
    record.results.iter().zip(x).zip(y).all(|((one, x), y)| {
        (0..x.values.len()).all(|at| {
            let allowed = one.unit * (x.errors[at] + y.errors[at]) + record.tiny;
            is_near(x.values[at], y.values[at], allowed)
        })
    })
}

/// The weight of the rules that are in the minority for a call, of 1 in all.
fn balance(candidate: &Candidate, call: &Call) -> f64 {
    let weight = |bits: f64| libm::exp2(-bits / 2.0);
    let total: f64 = candidate.rules.iter().map(|rule| weight(rule.bits)).sum();
    let env = call_env(call);
    let element = element_env(call, call.dims().d_v, Part::Whole);
    let mut kinds: Vec<(Vec<bool>, f64)> = Vec::new();
    for rule in &candidate.rules {
        let holds = match &rule.when {
            None => vec![true],
            Some(when) if is_of_elements(when) => {
                places(call, MAX_PLACES).map(|at| when.holds(&element(at))).collect()
            }
            Some(when) => vec![when.holds(&env)],
        };
        let is_all = |x: bool| holds.iter().all(|it| *it == x);
        let holds = if is_all(true) {
            vec![true]
        } else if is_all(false) {
            vec![false]
        } else {
            holds
        };
        match kinds.iter_mut().find(|(known, _)| *known == holds) {
            Some((_, sum)) => *sum += weight(rule.bits),
            None => kinds.push((holds, weight(rule.bits))),
        }
    }
    let most = kinds.iter().map(|(_, sum)| *sum).fold(0.0, f64::max);
    1.0 - most / total
}
