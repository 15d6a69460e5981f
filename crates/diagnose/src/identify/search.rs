//! The search: every word is tried on a few small wrong calls, and what survives meets all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use qkvet_engine::lowering::{call_env, width_of};
use qkvet_engine::plain::{Extent, Plain};
use qkvet_spec::{Call, DeviationFormula, Dims, IndexEnv, IndexExpr, Meaning, ResultName};

use super::compound::{compounds, is_fit};
use super::condition::{Rule, rules};
use super::language::{Family, Scope, Word, families, shortest, words};
use super::layer::{Layer, element_env, predict};
use super::literal::{Sample, parsed};
use super::readout::{Predict, readouts};
use super::record::{Bearing, Record, ResultRecord, is_near};
use crate::cause::tells_apart;
use crate::sample_evenly::sample_evenly;

/// Wrong calls that every word is tried on.
const TRIED: usize = 4;
/// Words that meet every wrong call.
const MAX_SURVIVORS: usize = 200;
/// Words that meet every call: those that explain most, and those that besides make fewest right
/// calls wrong.
const MAX_WORDS: [usize; 2] = [24, 16];
/// Words that score so much less than the last of the first are not looked at.
const SLACK: f64 = 3.0;
/// Right calls that tell the second.
const MAX_RIGHT: usize = 12;
/// Elements of one call that a rule is learned from, of each kind.
const MAX_ELEMENTS: usize = 24;
/// Elements of all calls together, about.
const MAX_SAMPLES: usize = 800;
/// Elements of one call that a rule learns from because it makes them wrong.
const MAX_SPOILED: usize = 2;
/// Elements of a call at which it is looked whether a rule holds somewhere.
const MAX_PLACES: usize = 4096;
/// The score of a candidate that enough calls speak for.
pub(super) const ENOUGH: f64 = 1.0;
/// Wrong calls that a formula explains at least.
pub(super) const MIN_EXPLAINED: usize = 3;
/// How many times the score of a candidate that leaves nothing one that leaves a rest may have.
const CLEAN: f64 = 5.0;
/// Unexplained calls where the rule holds, as one in so many of those that are explained.
const MAX_LEFT: usize = 50;

/// A word, where it holds, and what speaks for it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) word: Word,
    /// All that are consistent, the shortest first.
    pub(super) rules: Vec<Rule>,
    /// Wrong calls that it explains.
    pub(super) explained: usize,
    /// Wrong calls where it applies that it does not explain.
    pub(super) left: usize,
    /// Right calls that it would make wrong.
    pub(super) outside: usize,
    pub(super) score: f64,
    told: Told,
}

/// What a word predicts of records, which stays while others join them.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// How many of the records were looked at.
    records: usize,
    /// Numbers of those that it changes, with its predictions.
    changed: Vec<(usize, Rc<[Plain]>, Bearing)>,
    /// Right elements that a rule made wrong.
    corrections: Vec<Sample>,
}

impl Told {
    /// The calls that it changes. Few calls of which only a law is known to hold say nothing
    /// against many.
    fn heard<'t>(&'t self, known: &'t Known<'_>) -> Vec<(&'t Record, &'t [Plain], Bearing)> {
        let of = |bearing: Bearing| matches!(bearing, Bearing::Gain | Bearing::Mixed);
        let all =
            self.changed.iter().map(|(at, of, bearing)| (&known.records[*at], &**of, *bearing));
        let gains = all.clone().filter(|(_, _, bearing)| of(*bearing)).count();
        let is_doubtful =
            |record: &Record, bearing: Bearing| bearing == Bearing::Loss && !record.is_known;
        let doubtful = all.clone().filter(|(record, _, it)| is_doubtful(record, *it)).count();
        let says = doubtful * MAX_LEFT > gains;
        all.filter(|(record, _, bearing)| says || !is_doubtful(record, *bearing)).collect()
    }
}

impl Candidate {
    /// A formula where a rule holds, of which nothing is counted.
    pub(super) fn of(formula: DeviationFormula, when: Option<IndexExpr>) -> Self {
        let word = Word { formula, bits: 0.0, needs: Vec::new(), without: None, of: None };
        let rules = vec![Rule { when, bits: 0.0 }];
        let told = Told::default();
        Self { word, rules, explained: 0, left: 0, outside: 0, score: 0.0, told }
    }

    /// The same after more calls.
    pub(super) fn again(&self, known: &Known<'_>) -> Option<Self> {
        known.candidate(self.word.clone(), self.told.clone())
    }

    /// The calls that it explains; all wrong ones where nothing is counted.
    pub(super) fn gains(&self, known: &Known<'_>) -> Vec<IndexEnv> {
        let is_gain = |bearing: Bearing| matches!(bearing, Bearing::Gain | Bearing::Mixed);
        let changed = self.told.changed.iter().filter(|(_, _, bearing)| is_gain(*bearing));
        let gains = changed.filter_map(|(at, ..)| known.records.get(*at));
        let env = |record: &Record| call_env(&record.call);
        let found: Vec<IndexEnv> = gains.map(env).collect();
        if !found.is_empty() {
            return found;
        }
        known.records.iter().filter(|it| it.is_wrong()).map(env).collect()
    }

    /// The same with rules that make fewer right elements wrong; `None` where the first rule makes
    /// none wrong, or no other rule is consistent.
    pub(super) fn corrected(&self, known: &Known<'_>) -> Option<Self> {
        let when = self.rules.first()?.when.as_ref();
        let heard = self.told.heard(known);
        if heard.iter().all(|(_, _, bearing)| *bearing != Bearing::Mixed) {
            return None;
        }
        let spoiled = heard.into_iter().flat_map(|(record, predicted, bearing)| {
            let is_loss = matches!(bearing, Bearing::Loss | Bearing::Mixed);
            let spoiled = is_loss.then(|| spoiled(record, predicted, when));
            spoiled.into_iter().flatten().take(MAX_SPOILED)
        });
        let spoiled: Vec<Sample> = spoiled.take(MAX_ELEMENTS).collect();
        if spoiled.is_empty() {
            return None;
        }
        let mut told = self.told.clone();
        told.corrections.extend(spoiled);
        known.candidate(self.word.clone(), told)
    }

    /// The formula where its shortest rule holds.
    pub(super) fn layer(&self) -> Layer {
        let when = self.rules.first().and_then(|rule| rule.when.clone());
        Layer { formula: self.word.formula.clone(), when }
    }

    /// Whether nothing where it holds is left unexplained, to 2 %.
    pub(super) fn is_clean(&self) -> bool {
        self.left * MAX_LEFT <= self.explained
    }
}

/// What was found out of a word: the search begins again with every few calls that join.
#[derive(Debug)]
struct Remembered {
    word: Word,
    /// By number of the record; `None` where nothing is predicted.
    bearings: BTreeMap<usize, Option<Bearing>>,
    told: Told,
}

/// What is known: calls, and what is thought so far.
pub(super) struct Known<'a> {
    pub(super) base: &'a Meaning,
    pub(super) layers: Vec<Layer>,
    /// Wrong under what is thought so far and right ones, the cheapest first; then what joined.
    pub(super) records: Vec<Record>,
    /// Of records and layers as they are.
    memory: RefCell<Vec<Remembered>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(base: &'a Meaning, records: Vec<Record>) -> Self {
        Self { base, layers: Vec::new(), records, memory: RefCell::default() }
    }

    /// The same with one more layer; what the records were before.
    pub(super) fn add_layer(&mut self, layer: Layer) -> Vec<Record> {
        self.layers.push(layer);
        self.memory.take();
        let layers: Vec<&Layer> = self.layers.iter().collect();
        let after = self.records.iter().filter_map(|record| record.on(self.base, &layers));
        let after = after.collect();
        std::mem::replace(&mut self.records, after)
    }

    /// The number of a word in the memory.
    fn remembered(&self, word: &Word) -> usize {
        let mut all = self.memory.borrow_mut();
        let at = all.iter().position(|one| one.word == *word).unwrap_or(all.len());
        if at == all.len() {
            let (bearings, told) = (BTreeMap::new(), Told::default());
            all.push(Remembered { word: word.clone(), bearings, told });
        }
        at
    }

    /// What the word with a number says of a record.
    fn bearing(&self, number: usize, layer: &Layer, at: usize) -> Option<Bearing> {
        *self.memory.borrow_mut()[number].bearings.entry(at).or_insert_with(|| {
            let record = &self.records[at];
            self.predicted(record, layer).map(|predicted| record.bearing(&predicted))
        })
    }

    fn under<'l>(&'l self, layer: &'l Layer) -> Vec<&'l Layer> {
        self.layers.iter().chain([layer]).collect()
    }

    /// What a call returns with one more layer.
    pub(super) fn predicted(&self, record: &Record, layer: &Layer) -> Option<Vec<Plain>> {
        record.predicted(self.base, &self.under(layer))
    }

    /// The candidates, the best first.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let numbers: Vec<usize> =
            (0..self.records.len()).filter(|at| self.records[*at].is_wrong()).collect();
        let wrong: Vec<&Record> = numbers.iter().map(|at| &self.records[*at]).collect();
        if wrong.is_empty() {
            return Vec::new();
        }
        let places: Vec<_> =
            wrong.iter().map(|record| (record.call.dims(), record.call.options.on())).collect();
        let has_nan = wrong.iter().any(|record| record.has_nan());
        let scope = Scope { has_nan, ..Scope::new(&places, alone(&wrong)) };
        let tried = one_of_each_kind(&wrong);
        let all = words(&scope);
        let mut survivors: Vec<Word> =
            all.iter().filter(|word| self.survives(word, &tried)).cloned().collect();
        let fitted = |family| self.fitted(family, &wrong, &tried);
        survivors.extend(families().iter().filter_map(fitted));
        let survivors = self.likeliest(survivors, &numbers);
        let mut best: Vec<f64> = Vec::new();
        let mut counted: Vec<(f64, Word)> = Vec::new();
        for word in survivors {
            let worst = best.get(MAX_WORDS[0] - 1).map(|score| score - SLACK);
            if let Some(score) = self.count(&word, &numbers, worst) {
                best.insert(best.partition_point(|other| *other >= score), score);
                best.truncate(MAX_WORDS[0]);
                counted.push((score, word));
            }
        }
        let worst = best.last().copied().unwrap_or(f64::NEG_INFINITY);
        let mut found: Vec<Candidate> = self
            .leading(counted, worst)
            .into_iter()
            .filter_map(|word| {
                let number = self.remembered(&word);
                let told = self.memory.borrow()[number].told.clone();
                self.candidate(word, told)
            })
            .collect();
        let is_named = found.iter().any(|it| it.score >= ENOUGH && it.is_clean());
        if self.layers.is_empty() && !is_named {
            let pairs = tried.iter().find(|record| is_fit(record)).into_iter().flat_map(|record| {
                compounds(&all, record, &|word| {
                    let concerns = self.concerns(word, record);
                    concerns.then(|| self.predicted(record, &Layer::always(&word.formula)))?
                })
            });
            found.extend(pairs.filter_map(|word| self.candidate(word, Told::default())));
        }
        if !is_named {
            let predicted: &Predict<'_> = &|record, layer, want, extent| {
                predict(self.base, &self.under(layer), &record.call, want, extent)
            };
            let read = readouts(&wrong, &scope, MIN_EXPLAINED, predicted).into_iter();
            found.extend(read.filter_map(|word| self.candidate(word, Told::default())));
        }
        ordered(found)
    }

    /// The words that explain most of the cheapest wrong calls, where many survive: in narrow
    /// formats a few small calls refute little.
    fn likeliest(&self, words: Vec<Word>, wrong: &[usize]) -> Vec<Word> {
        if words.len() <= MAX_SURVIVORS {
            return words;
        }
        let few = &wrong[..wrong.len().div_ceil(3)];
        let counted = |(at, word): (usize, Word)| Some((self.count(&word, few, None)?, at, word));
        let mut counted: Vec<_> = words.into_iter().enumerate().filter_map(counted).collect();
        counted.sort_by(|x, y| y.0.total_cmp(&x.0));
        counted.truncate(MAX_SURVIVORS);
        counted.sort_by_key(|(_, at, _)| *at);
        counted.into_iter().map(|(_, _, word)| word).collect()
    }

    /// The words that meet every call.
    fn leading(&self, mut counted: Vec<(f64, Word)>, worst: f64) -> Vec<Word> {
        counted.retain(|(score, _)| *score >= worst - SLACK);
        counted.sort_by(|x, y| y.0.total_cmp(&x.0));
        let right: Vec<usize> =
            (0..self.records.len()).filter(|at| !self.records[*at].is_wrong()).collect();
        let spoiled = |word: &Word| {
            let layer = Layer::always(&word.formula);
            let (number, concerned) = (self.remembered(word), self.concerned(word, &right));
            sample_evenly(&concerned.collect::<Vec<usize>>(), MAX_RIGHT)
                .filter(|at| self.bearing(number, &layer, **at) == Some(Bearing::Loss))
                .count()
        };
        let rest = counted.split_off(MAX_WORDS[0].min(counted.len()));
        let mut rest: Vec<(f64, Word)> =
            rest.into_iter().map(|(score, word)| (score - spoiled(&word) as f64, word)).collect();
        rest.sort_by(|x, y| y.0.total_cmp(&x.0));
        rest.truncate(MAX_WORDS[1]);
        counted.into_iter().chain(rest).map(|(_, word)| word).collect()
    }

    /// Wrong calls in which the word holds what was not held, less what its length costs; `None`
    /// where these are too few, or too few to come above `worst`.
    fn count(&self, word: &Word, wrong: &[usize], worst: Option<f64>) -> Option<f64> {
        let layer = Layer::always(&word.formula);
        let concerned: Vec<usize> = self.concerned(word, wrong).collect();
        let score = |count: usize| count as f64 - 0.2 * word.bits;
        let (number, mut count) = (self.remembered(word), 0);
        for (seen, at) in concerned.iter().enumerate() {
            let most = score(count + concerned.len() - seen);
            if worst.is_some_and(|worst| most < worst) {
                return None;
            }
            let bearing = self.bearing(number, &layer, *at);
            count += usize::from(matches!(bearing, Some(Bearing::Gain | Bearing::Mixed)));
        }
        (count >= MIN_EXPLAINED.min(wrong.len())).then(|| score(count))
    }

    /// Those of the records that can say something of the word.
    fn concerned(&self, word: &Word, records: &[usize]) -> impl Iterator<Item = usize> {
        records.iter().copied().filter(|at| self.concerns(word, &self.records[*at]))
    }

    /// Whether a call can say something of the word.
    pub(super) fn concerns(&self, word: &Word, record: &Record) -> bool {
        let options = &record.call.options;
        word.needs.iter().all(|option| options.has(*option))
            && word.without.is_none_or(|option| !options.has(option))
    }

    /// Whether the word explains one head of one of a few wrong calls.
    fn survives(&self, word: &Word, tried: &[&Record]) -> bool {
        let layer = Layer::always(&word.formula);
        let tried = tried.iter().filter(|record| self.concerns(word, record));
        tried.take(TRIED).any(|record| self.explains_a_head(&layer, word, record))
    }

    fn explains_a_head(&self, layer: &Layer, word: &Word, record: &Record) -> bool {
        let wants = |one: &&ResultRecord| word.of.is_none_or(|result| one.want == result);
        let Some(one) =
            record.results.iter().filter(wants).find(|one| one.wrong().next().is_some())
        else {
            return false;
        };
        let Some(first) = one.wrong().next() else { return false };
        let (extent, range) = one.part_of(&record.call, first, &word.formula);
        let layers = self.under(layer);
        let Some(predicted) = predict(self.base, &layers, &record.call, one.want, extent) else {
            return false;
        };
        if predicted.values.len() != range.len() {
            return false;
        }
        range.enumerate().all(|(at, whole)| {
            let allowed = one.unit * predicted.errors[at] + record.tiny;
            !one.tells[whole]
                || one.is_held[whole]
                || is_near(one.got[whole], predicted.values[at], allowed)
        })
    }

    /// The word of a family whose number fits a wrong call.
    fn fitted(&self, family: &Family, wrong: &[&Record], kinds: &[&Record]) -> Option<Word> {
        let word = |number: f64, bits: f64| Word {
            formula: (family.formula)(number),
            bits: family.bits + bits,
            needs: family.needs.to_vec(),
            without: None,
            of: None,
        };
        let probe = word(1.0, 0.0);
        // In formats of 16 bits one call leaves wide limits, and several together narrow ones.
        let tried = wrong.iter().filter(|record| self.concerns(&probe, record)).take(TRIED);
        let (mut limits, mut words) = ((f64::NEG_INFINITY, f64::INFINITY), Vec::new());
        for record in tried {
            let Some(one) = record.results.iter().find(|one| one.wrong().next().is_some()) else {
                continue;
            };
            let Some(first) = one.wrong().next() else { continue };
            let fit = |start: &f64| self.fit(family, *start, record, one, first);
            let Some((low, high)) = family.starts.iter().find_map(fit) else { continue };
            let both = (limits.0.max(low), limits.1.min(high));
            // What does not fit the calls before may fit those of another condition.
            limits = if both.0 <= both.1 { both } else { (low, high) };
            words.extend(shortest(limits.0, limits.1).map(|(number, bits)| word(number, bits)));
        }
        words.into_iter().rev().find(|word| self.survives(word, kinds))
    }

    /// Limits of the number that holds every element of a head, by Gauss and Newton.
    fn fit(
        &self,
        family: &Family,
        start: f64,
        record: &Record,
        one: &ResultRecord,
        first: usize,
    ) -> Option<(f64, f64)> {
        let of = |t: f64| {
            let layer = Layer::always(&(family.formula)(t));
            let (extent, range) = one.part_of(&record.call, first, &layer.formula);
            let layers = self.under(&layer);
            let predicted = predict(self.base, &layers, &record.call, one.want, extent)?;
            (predicted.values.len() == range.len()).then_some((predicted, range))
        };
        let mut t = start;
        for _ in 0..12 {
            let step = 1e-6 * (t.abs() + 1e-3);
            let ((here, range), (there, _)) = (of(t)?, of(t + step)?);
            let (mut up, mut down) = (0.0, 0.0);
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            for (at, whole) in range.enumerate().filter(|(_, whole)| one.tells[*whole]) {
                let slope = (there.values[at] - here.values[at]) / step;
                let miss = one.got[whole] - here.values[at];
                if !slope.is_finite() || !miss.is_finite() {
                    return None;
                }
                let weight = 1.0 / (here.errors[at] + 1e-30);
                up += slope * miss * weight * weight;
                down += slope * slope * weight * weight;
                if slope.abs() > 1e-9 {
                    let wide = (one.unit * here.errors[at] + record.tiny) / slope.abs();
                    low = low.max(t + miss / slope - wide);
                    high = high.min(t + miss / slope + wide);
                }
            }
            if down == 0.0 {
                return None;
            }
            let next = t + up / down;
            if !next.is_finite() || next.abs() > 1e9 {
                return None;
            }
            if (next - t).abs() <= 1e-9 * (t.abs() + 1e-6) {
                return (low <= high).then_some((low, high));
            }
            t = next;
        }
        None
    }

    /// What a word needs, if it changes calls without that: they are no evidence, and a rule that
    /// is learned from the others says nothing of them.
    fn beyond(&self, word: &Word, layer: &Layer) -> Vec<String> {
        let others = self.records.iter().filter(|record| !self.concerns(word, record));
        let changes = |record: &Record| {
            self.predicted(record, layer).is_some_and(|predicted| !record.is_same(&predicted))
        };
        let is_changed = others.take(MAX_RIGHT).any(changes);
        let needed = word.needs.iter().map(|option| option.name().to_owned());
        let without = word.without.iter().map(|option| format!("not {}", option.name()));
        needed.chain(without).filter(|_| is_changed).collect()
    }

    /// The word with its rules; `None` if nothing consistent can be said. `told` is what was told
    /// of the first of the records.
    pub(super) fn candidate(&self, word: Word, mut told: Told) -> Option<Candidate> {
        let layer = Layer::always(&word.formula);
        let number = self.remembered(&word);
        for (at, record) in self.records.iter().enumerate().skip(told.records) {
            let known = self.memory.borrow()[number].bearings.get(&at).copied();
            if !self.concerns(&word, record) || matches!(known, Some(None | Some(Bearing::Equal))) {
                continue;
            }
            let Some(predicted) = self.predicted(record, &layer) else { continue };
            let bearing = record.bearing(&predicted);
            if bearing != Bearing::Equal {
                told.changed.push((at, predicted.into(), bearing));
            }
        }
        told.records = self.records.len();
        if told.corrections.is_empty() {
            self.memory.borrow_mut()[number].told = told.clone();
        }
        let heard = told.heard(self);
        let of_elements = heard.iter().any(|(_, _, bearing)| *bearing == Bearing::Mixed);
        let mut samples = Vec::new();
        for (record, predicted, bearing) in heard.iter().copied() {
            match bearing {
                Bearing::Gain | Bearing::Loss | Bearing::Mixed if of_elements => {
                    let most = (MAX_SAMPLES / (2 * told.changed.len())).clamp(2, MAX_ELEMENTS);
                    samples.extend(element_samples(record, predicted, most));
                }
                Bearing::Gain | Bearing::Loss => samples.push(Sample {
                    env: call_env(&record.call),
                    is_gain: bearing == Bearing::Gain,
                }),
                _ => {}
            }
        }
        samples.extend(&told.corrections);
        let beyond = self.beyond(&word, &layer);
        let within = |rule: Rule| Rule { when: joined(&beyond, rule.when), ..rule };
        let rules: Vec<Rule> = rules(&samples, of_elements).into_iter().map(within).collect();
        let best = rules.first()?.clone();
        let (mut explained, mut left, mut outside) = (0, 0, 0);
        for (record, predicted, bearing) in heard.iter().copied() {
            match bearing {
                Bearing::Loss => outside += 1,
                Bearing::Gain | Bearing::Mixed if of_elements => {
                    match record.bearing(&record.where_holds(best.when.as_ref(), predicted)) {
                        Bearing::Gain => explained += 1,
                        Bearing::Equal => {}
                        _ => left += 1,
                    }
                }
                Bearing::Gain => explained += 1,
                _ => {
                    let holds =
                        best.when.as_ref().is_none_or(|when| holds_somewhere(when, &record.call));
                    left += usize::from(holds);
                }
            }
        }
        let of_elements = if of_elements { 2.0 } else { 0.0 };
        let score = explained as f64 - 0.2 * word.bits - 0.5 * best.bits - of_elements;
        Some(Candidate { word, rules, explained, left, outside, score, told })
    }
}

/// The best candidate first: one that leaves nothing comes before one that explains somewhat more
/// and leaves a rest, of which it may be no part.
pub(super) fn ordered(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let best = candidates.iter().map(|one| one.score).fold(f64::NEG_INFINITY, f64::max);
    let key = |one: &Candidate| (one.is_clean() && one.score * CLEAN >= best, one.score);
    candidates.sort_by(|x, y| {
        let (x, y) = (key(x), key(y));
        y.0.cmp(&x.0).then(y.1.total_cmp(&x.1))
    });
    candidates
}

/// A rule with further literals that it does not have yet.
fn joined(literals: &[String], when: Option<IndexExpr>) -> Option<IndexExpr> {
    let text = when.as_ref().map_or("", IndexExpr::text).to_owned();
    let has = |literal: &&String| text.split(" and ").any(|own| own == literal.as_str());
    let more = literals.iter().filter(|literal| !has(literal)).cloned();
    let all: Vec<String> = more.chain(when.iter().map(|_| text.clone())).collect();
    if all.is_empty() { None } else { parsed(&all.join(" and ")) }
}

/// For each set of options the smallest wrong call with the keys to tell words apart, else the
/// smallest.
fn one_of_each_kind<'a>(wrong: &[&'a Record]) -> Vec<&'a Record> {
    let mut kinds: Vec<&Record> = Vec::new();
    for record in wrong {
        let on = record.call.options.on();
        match kinds.iter_mut().find(|kind| kind.call.options.on() == on) {
            None => kinds.push(record),
            Some(kind) if !tells_apart(&kind.call) && tells_apart(&record.call) => *kind = record,
            Some(_) => {}
        }
    }
    kinds
}

/// The one result that is wrong, where some call gave another one, which is right.
fn alone(wrong: &[&Record]) -> Option<ResultName> {
    let is_wrong = |one: &&ResultRecord| one.wrong().next().is_some();
    let results = || wrong.iter().flat_map(|record| &record.results);
    let first = results().find(is_wrong)?.want;
    let is_alone = results().filter(is_wrong).all(|one| one.want == first);
    let has_others = results().any(|one| one.want != first && one.tells.contains(&true));
    (is_alone && has_others).then_some(first)
}

/// Whether a rule holds for some row of a call.
pub(super) fn holds_somewhere(when: &qkvet_spec::IndexExpr, call: &Call) -> bool {
    if !super::layer::is_of_elements(when) {
        return when.holds(&call_env(call));
    }
    let env = element_env(call, call.dims().d_v, Extent::Whole);
    places(call, MAX_PLACES).any(|at| when.holds(&env(at)))
}

/// Numbers of at most so many elements of the output, spread evenly.
pub(super) fn places(call: &Call, most: usize) -> impl Iterator<Item = usize> {
    let Dims { b, h_q, n_q, d_v, .. } = call.dims();
    let all = b * h_q * n_q * d_v;
    // No divisor of usual extents: each row and column has its turn.
    let step = all.div_ceil(most).max(1);
    (0..all).step_by(if step > 1 { step | 1 } else { 1 })
}

/// Elements that the formula gains and loses.
fn element_samples(record: &Record, predicted: &[Plain], most: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (one, other) in record.results.iter().zip(predicted) {
        let width = width_of(one.want, record.call.dims());
        let mut add = |is_gain: bool| {
            let all: Vec<usize> = (0..one.got.len())
                .filter(|at| {
                    let holds = one.holds(other, *at, record.tiny);
                    one.tells[*at] && holds == is_gain && one.is_held[*at] != is_gain
                })
                .collect();
            let some = sample_evenly(&all, most);
            let env = element_env(&record.call, width, Extent::Whole);
            samples.extend(some.map(|at| Sample { env: env(*at), is_gain }));
        };
        add(true);
        add(false);
    }
    samples
}

/// Right elements that the formula makes wrong where a rule holds.
fn spoiled<'a>(
    record: &'a Record,
    predicted: &'a [Plain],
    when: Option<&'a IndexExpr>,
) -> impl Iterator<Item = Sample> + 'a {
    record.results.iter().zip(predicted).flat_map(move |(one, other)| {
        let env = element_env(&record.call, width_of(one.want, record.call.dims()), Extent::Whole);
        let is_lost =
            |at: &usize| one.tells[*at] && one.is_held[*at] && !one.holds(other, *at, record.tiny);
        let lost = (0..one.got.len()).filter(is_lost).map(env);
        let is_said = move |env: &IndexEnv| when.is_none_or(|when| when.holds(env));
        lost.filter(is_said).map(|env| Sample { env, is_gain: false })
    })
}
