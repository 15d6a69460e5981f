//! Readout: the numbers that explain each row of wrong calls, in the hole of a formula, and the
//! expressions that have these numbers.

use std::collections::BTreeMap;

use qkvet_engine::lowering::width_of;
use qkvet_engine::plain::{Extent, Plain};
use qkvet_spec::{Call, CallOption, DeviationFormula, ResultName};

use super::hole::{Hole, holes};
use super::language::{Scope, Word};
use super::layer::{Layer, element_env};
use super::record::{Record, ResultRecord, cost};
use super::synthesis::{Expression, Place, synthesized};
use crate::sample_evenly::sample_evenly;

/// Multiplications with all numbers of a call that is read, and of all calls; how many are read.
const MAX_COST: usize = 4_000_000;
const MAX_COST_OF_HOLE: usize = 16_000_000;
const MAX_CALLS: usize = 10;
/// Numbers of a row that are tried.
const MAX_NUMBERS: usize = 80;
/// Rows of one call, and of all.
const MAX_ROWS: [usize; 2] = [16, 72];
/// Wrong rows at least.
const MIN_WRONG: usize = 4;
/// Bits by which rows tell more than an expression is long: millions of expressions are tried.
const EVIDENCE: f64 = 20.0;

/// The rows of a call that were read.
struct Reading {
    wrong: Vec<Place>,
    right: Vec<Place>,
}

/// What calls of one kind have in common: a number, and options.
type KindOf = dyn Fn(&Call) -> (usize, Vec<CallOption>);

/// What a call returns with one more layer.
pub(super) type Predict<'a> = dyn Fn(&Record, &Layer, ResultName, Extent) -> Option<Plain> + 'a;

/// The words whose expressions are read off at least so many wrong calls.
pub(super) fn readouts(
    wrong: &[&Record],
    scope: &Scope,
    least: usize,
    predict: &Predict<'_>,
) -> Vec<Word> {
    let tiles: Vec<usize> = scope.powers().collect();
    let mut words = Vec::new();
    for hole in holes(scope) {
        let mut affordable = MAX_COST_OF_HOLE;
        let formula = |text: &str| {
            let formula = hole.formula(text)?;
            Some(DeviationFormula { result: scope.alone, ..formula })
        };
        let is_read = |record: &&Record| {
            hole.needs.iter().all(|option| record.call.options.has(*option))
                && (hole.most)(record.call.dims()) < MAX_NUMBERS
                && cost(&record.call) * ((hole.most)(record.call.dims()) + 1) < MAX_COST
        };
        let all: Vec<&Record> = wrong.iter().copied().filter(is_read).collect();
        // The last is the one that was not foretold, if there is one.
        let some = sample_evenly(&all, MAX_CALLS - 1).chain(all.last());
        let mut calls: Vec<&Record> = some.copied().collect();
        calls.dedup_by(|x, y| std::ptr::eq(*x, *y));
        let readings: Vec<(&Call, Reading)> = calls
            .iter()
            .filter_map(|record| {
                Some((&record.call, read(predict, record, &hole, &formula, &mut affordable)?))
            })
            .collect();
        let found = said(&readings, least.min(wrong.len()), &tiles);
        words.extend(found.into_iter().filter_map(|one| {
            Some(Word {
                formula: formula(&one.text)?,
                bits: hole.bits + one.bits,
                needs: hole.needs.to_vec(),
                without: None,
                of: scope.alone,
            })
        }));
    }
    words
}

/// What readings have in common: of all calls, else of most of those that are of one kind.
fn said(readings: &[(&Call, Reading)], least: usize, tiles: &[usize]) -> Vec<Expression> {
    let heads = |call: &Call| (call.dims().h_q / call.dims().h_k.max(1), Vec::new());
    let options = |call: &Call| {
        let on = CallOption::ALL.into_iter().filter(|option| call.options.has(*option));
        (usize::from(call.dims().n_q == 1), on.collect())
    };
    let kinds: [&KindOf; 3] = [&|_| (0, Vec::new()), &heads, &options];
    let mut last = 0;
    for kind in kinds {
        let mut by_kind: BTreeMap<_, Vec<&Reading>> = BTreeMap::new();
        readings.iter().for_each(|(call, one)| by_kind.entry(kind(call)).or_default().push(one));
        let Some(most) = by_kind.into_values().max_by_key(Vec::len) else { break };
        if most.len() < least || most.len() == last {
            continue;
        }
        last = most.len();
        let mut wrong: Vec<Place> = most.iter().flat_map(|it| it.wrong.clone()).collect();
        if wrong.len() < MIN_WRONG {
            continue;
        }
        wrong.sort_by_key(Place::count);
        wrong.truncate(MAX_ROWS[1]);
        let right = most.iter().flat_map(|it| it.right.clone());
        let all: Vec<Place> = wrong.iter().cloned().chain(right).collect();
        for places in [all, wrong] {
            let told: f64 = places.iter().map(Place::bits).sum();
            let mut found = synthesized(&places, tiles);
            if !found.is_empty() {
                found.retain(|one| told >= one.bits + EVIDENCE);
                return found;
            }
        }
    }
    Vec::new()
}

/// The numbers that explain each row of a call; `None` where no number explains a wrong one, or
/// there is no time left.
fn read(
    predict: &Predict<'_>,
    record: &Record,
    hole: &Hole,
    formula: &dyn Fn(&str) -> Option<DeviationFormula>,
    affordable: &mut usize,
) -> Option<Reading> {
    let call = &record.call;
    let one = record.results.iter().find(|one| one.wrong().next().is_some())?;
    let first = one.wrong().next()?;
    let width = width_of(one.want, call.dims()).max(1);
    if one.got.len() % width != 0 {
        return None;
    }
    let most = (hole.most)(call.dims());
    let layers: Vec<Layer> = (0..=most)
        .map(|number| formula(&number.to_string()).as_ref().map(Layer::always))
        .collect::<Option<_>>()?;
    let mut predicted = |layer: &Layer, extent: Extent, length: usize| {
        let heads = call.dims().b * call.dims().h_q;
        let parts = if extent == Extent::Whole { 1 } else { heads.max(1) };
        *affordable = affordable.checked_sub(cost(call) / parts)?;
        let plain = predict(record, layer, one.want, extent)?;
        (plain.values.len() == length).then_some(plain)
    };
    // The first wrong row first: most formulas end here.
    let (extent, range) = one.part_of(call, first, &layers.first()?.formula);
    let row = first / width;
    let is_explained = layers.iter().any(|layer| {
        predicted(layer, extent, range.len()).is_some_and(|it| {
            let of = |at: usize| (it.values[at - range.start], it.errors[at - range.start]);
            holds_row(one, row, width, record.tiny, of)
        })
    });
    if !is_explained {
        return None;
    }
    let mut allowed = vec![vec![false; most + 1]; one.got.len() / width];
    for (number, layer) in layers.iter().enumerate() {
        let Some(it) = predicted(layer, Extent::Whole, one.got.len()) else { continue };
        for (row, allowed) in allowed.iter_mut().enumerate() {
            let of = |at: usize| (it.values[at], it.errors[at]);
            allowed[number] = holds_row(one, row, width, record.tiny, of);
        }
    }
    let env = element_env(call, width, Extent::Whole);
    let mut reading = Reading { wrong: Vec::new(), right: Vec::new() };
    for (row, allowed) in allowed.into_iter().enumerate() {
        let is_wrong = (row * width..(row + 1) * width).any(|at| one.tells[at] && !one.is_held[at]);
        let place = Place::new(hole.of.env(env(row * width)), allowed, hole.beyond);
        match (is_wrong, place.count()) {
            (true, 0) => return None,
            (true, _) => reading.wrong.push(place),
            // A row that allows every number says nothing.
            (false, count) if count == 0 || count > most => {}
            (false, _) => reading.right.push(place),
        }
    }
    let few = |of: &[Place]| sample_evenly(of, MAX_ROWS[0]).cloned().collect();
    Some(Reading { wrong: few(&reading.wrong), right: few(&reading.right) })
}

/// Whether a prediction holds every element of a row that tells something.
fn holds_row(
    one: &ResultRecord,
    row: usize,
    width: usize,
    tiny: f64,
    predicted: impl Fn(usize) -> (f64, f64),
) -> bool {
    (row * width..(row + 1) * width).filter(|at| one.tells[*at]).all(|at| {
        let (value, error) = predicted(at);
        one.is_held_by(value, error, at, tiny)
    })
}
