//! A finding in numbers: one query of its witness from scores to output, and a head of one of its
//! cases as a picture.

use std::cmp::Reverse;

use qkvet_engine::affects::{AffectedElements, affects};
use qkvet_engine::interpret::{Expected, interpret, second_opinion};
use qkvet_engine::law::CallRecord;
use qkvet_engine::lowering::{ResultName, alters, visibility};
use qkvet_engine::simulate::Simulator;
use qkvet_engine::steps::{QuerySteps, query_steps};
use qkvet_spec::{
    Call, Contract, Dims, Execution, Fault, Meaning, Numbers, Picture, Response, StageStep, Steps,
    Target, Tensor, Verdict, WorkedExample,
};

use crate::run::case::JudgedCase;
use crate::run::error::{Contradiction, RunError};
use crate::run::group::Group;
use crate::run::state::RunState;

/// Keys of an example; of more those of most weight.
const MAX_KEYS: usize = 24;
/// Columns of an example; of more those farthest out.
const MAX_COLUMNS: usize = 8;
/// Queries and keys of a picture.
const MAX_ROWS: usize = 32;
/// Columns of its result.
const MAX_WIDTH: usize = 64;

/// What a finding is told with.
pub(super) struct Telling<'s> {
    pub(super) meaning: &'s Meaning,
    pub(super) contract: &'s Contract,
    /// The faults that are named.
    pub(super) faults: &'s [&'s Fault],
    /// The meaning of an undeclared convention.
    pub(super) convention: Option<&'s Meaning>,
}

/// A result of a call that the target answered in the right form, and its place farthest out.
pub(super) struct Farthest<'c> {
    record: &'c CallRecord,
    want: ResultName,
    tensor: &'c Tensor,
    expected: Expected,
    /// Number of the element.
    worst: usize,
}

impl Farthest<'_> {
    /// The result of the calls that is farthest out, one that is refuted before any other.
    pub(super) fn of<'c>(calls: &'c [CallRecord], telling: &Telling<'_>) -> Option<Farthest<'c>> {
        let mut best: Option<(f64, Farthest<'c>)> = None;
        for record in calls.iter().filter(|record| record.call.misfit().is_none()) {
            for result in record.results() {
                let expected =
                    interpret(telling.meaning, &record.call, telling.contract, result.want);
                let axes = if result.want == ResultName::Lse {
                    &expected.shape[..3]
                } else {
                    &expected.shape[..]
                };
                let Some(tensor) = result.tensor().filter(|tensor| tensor.shape == axes) else {
                    continue;
                };
                let far = |at: usize| (ratio(&expected, tensor, at), at);
                let farthest =
                    (0..tensor.data.len()).map(far).reduce(|a, b| if b.0 > a.0 { b } else { a });
                let Some((out, worst)) = farthest else { continue };
                if best.as_ref().is_none_or(|(known, _)| out > *known) {
                    best = Some((
                        out,
                        Farthest { record, want: result.want, tensor, expected, worst },
                    ));
                }
            }
        }
        best.map(|(_, farthest)| farthest)
    }

    fn width(&self) -> usize {
        self.expected.shape[3]
    }

    /// `(item, h, i)` of the place farthest out.
    fn place(&self) -> [usize; 3] {
        let [_, h_q, n_q, width] = self.expected.shape;
        let row = self.worst / width;
        [row / (h_q * n_q), row / n_q % h_q, row % n_q]
    }
}

/// Holds the number that a finding of wrong results shows against a second route, in integers.
///
/// # Errors
/// [`RunError::Contradiction`] where no number is what both say.
pub(super) fn confirm(
    case: &str,
    farthest: &Farthest<'_>,
    telling: &Telling<'_>,
) -> Result<(), RunError> {
    let (place, column) = (farthest.place(), farthest.worst % farthest.width());
    let call = &farthest.record.call;
    let Some(row) = second_opinion(telling.meaning, call, farthest.want, place) else {
        return Ok(());
    };
    let (enclosed, precise) = (farthest.expected.exact[farthest.worst], row[column]);
    if enclosed.meets(precise) {
        return Ok(());
    }
    Err(RunError::Contradiction(Box::new(Contradiction {
        case: case.to_owned(),
        call: farthest.record.label.clone(),
        result: farthest.want.name(),
        place,
        column,
        enclosed,
        precise,
    })))
}

/// Distance over what is allowed; infinite where no error is allowed, and for NaN.
fn ratio(expected: &Expected, got: &Tensor, at: usize) -> f64 {
    let (x, ball) = (got.data[at], expected.exact[at]);
    if x.to_bits() == ball.mid.to_bits() || (x.is_nan() && ball.mid.is_nan()) {
        return 0.0;
    }
    let far = (x - ball.mid).abs();
    let over = far / (ball.rad + expected.hard[at]);
    if far <= 0.0 {
        0.0
    } else if over.is_nan() {
        f64::INFINITY
    } else {
        over
    }
}

/// The meaning with the cause that is named, where it changes what the call computes.
fn supposed(telling: &Telling<'_>, call: &Call) -> Option<Meaning> {
    let striking =
        telling.faults.iter().filter(|fault| affects(fault, call) != AffectedElements::Nothing);
    let base = telling.convention.unwrap_or(telling.meaning);
    let meaning = striking.fold(base.clone(), |meaning, fault| fault.meaning.apply(&meaning));
    alters(&meaning, telling.meaning, call).then_some(meaning)
}

/// What the cause that is named gives for a call, rounding included.
fn simulated(telling: &Telling<'_>, farthest: &Farthest<'_>) -> Option<Tensor> {
    if telling.faults.is_empty() && telling.convention.is_none() {
        return None;
    }
    let base = telling.convention.unwrap_or(telling.meaning).clone();
    let simulator = Simulator::new(base, Execution::standard());
    let mut simulator = telling
        .faults
        .iter()
        .fold(simulator, |simulator, fault| simulator.with_fault((*fault).clone()));
    let Response::Output(output) = simulator.call(&farthest.record.call) else { return None };
    farthest.want.of(&output).filter(|tensor| tensor.shape == farthest.tensor.shape).cloned()
}

/// One query of the witness: the one whose result is farthest out.
pub(super) fn example(farthest: &Farthest<'_>, telling: &Telling<'_>) -> WorkedExample {
    let call = &farthest.record.call;
    let Dims { h_q, n_q, n_k, .. } = call.dims();
    let [item, head, query] = farthest.place();
    let row = (item * h_q + head) * n_q + query;
    let supposed = supposed(telling, call);
    let weights = |meaning: &Meaning| -> Vec<f64> {
        let weights = interpret(meaning, call, telling.contract, ResultName::Weights).exact;
        weights[row * n_k..][..n_k].iter().map(|ball| ball.mid).collect()
    };
    let (own, other) = (weights(telling.meaning), supposed.as_ref().map(weights));
    let weight = |j: usize| own[j].abs().max(other.as_ref().map_or(0.0, |other| other[j].abs()));
    let keys = foremost(n_k, MAX_KEYS, weight);
    let own_steps = query_steps(telling.meaning, call, [item, head, query]);
    let steps = |all: &QuerySteps, weights: &[f64]| {
        let pick = |numbers: &[f64]| Numbers(keys.iter().map(|j| numbers[*j]).collect());
        Steps {
            products: pick(&all.products),
            stages: all
                .stages
                .iter()
                .map(|one| StageStep { stage: one.stage.clone(), scores: pick(&one.scores) })
                .collect(),
            logits: pick(&all.logits),
            weights: pick(weights),
            sink: all.sink.map(|sink| Numbers(vec![sink])),
        }
    };
    let width = farthest.width();
    let columns = foremost(width, MAX_COLUMNS, |c| {
        ratio(&farthest.expected, farthest.tensor, row * width + c)
    });
    let pick = |number: &dyn Fn(usize) -> f64| {
        Numbers(columns.iter().map(|c| number(row * width + c)).collect())
    };
    let simulated = simulated(telling, farthest);
    let values = |j: &usize| Numbers(columns.iter().map(|c| own_steps.values[*j][*c]).collect());
    WorkedExample {
        call: farthest.record.label.clone(),
        result: farthest.want.name().to_owned(),
        item,
        head,
        query,
        n_k,
        expected: steps(&own_steps, &own),
        supposed: supposed.as_ref().zip(other.as_ref()).map(|(meaning, weights)| {
            steps(&query_steps(meaning, call, [item, head, query]), weights)
        }),
        values: if farthest.want == ResultName::Output {
            keys.iter().map(values).collect()
        } else {
            Vec::new()
        },
        keys: keys.clone(),
        width,
        exact: pick(&|at| farthest.expected.exact[at].mid),
        allowed: pick(&|at| farthest.expected.exact[at].rad + farthest.expected.hard[at]),
        got: pick(&|at| farthest.tensor.data[at]),
        simulated: simulated.map(|tensor| pick(&|at| tensor.data[at])),
        columns,
    }
}

/// At most `most` of `0..n`, those of the largest keys, in their order.
fn foremost(n: usize, most: usize, key: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    all.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
    all.truncate(most);
    all.sort_unstable();
    all
}

/// Cases that are looked at for a picture.
const MAX_LOOKED_AT: usize = 24;

/// The head farthest out of the largest member that can still be looked at: one whose result the
/// named cause explains, if there is one.
pub(super) fn picture(
    state: &RunState<'_, '_>,
    group: &Group<'_>,
    telling: &Telling<'_>,
) -> Option<(usize, Picture)> {
    if group.verdict != Verdict::Fail {
        return None;
    }
    let is_small = |at: &usize| {
        let planned = &state.cases[*at].planned;
        let Dims { n_q, n_k, d_v, .. } = planned.dims();
        n_q <= MAX_ROWS
            && n_k <= MAX_ROWS
            && d_v <= MAX_WIDTH
            && n_q * n_k > 1
            && planned.dtype() == telling.contract.dtype
    };
    let mut members: Vec<usize> = group.members.iter().copied().filter(is_small).collect();
    members.sort_by_key(|at| {
        let planned = &state.cases[*at].planned;
        let Dims { n_q, n_k, .. } = planned.dims();
        let size = planned.size();
        (Reverse(n_q.min(n_k)), Reverse(n_q * n_k), planned.options(), size, *at)
    });
    let mut second = None;
    for at in members.into_iter().take(MAX_LOOKED_AT) {
        let Some(farthest) = Farthest::of(&state.cases[at].calls, telling) else { continue };
        let supposed = supposed(telling, &farthest.record.call);
        let explains = |meaning: &Meaning| {
            let expected =
                interpret(meaning, &farthest.record.call, telling.contract, farthest.want);
            expected.shape == farthest.expected.shape
                && farthest.tensor.data.iter().enumerate().all(|(at, x)| expected.holds(at, *x))
        };
        let is_explained = supposed.as_ref().is_some_and(explains);
        let picture = drawn(&state.cases[at], telling, &farthest, supposed.as_ref());
        match picture {
            Some(picture) if is_explained => return Some((at, picture)),
            Some(picture) if second.is_none() => second = Some((at, picture)),
            _ => {}
        }
    }
    second
}

fn drawn(
    judged: &JudgedCase<'_>,
    telling: &Telling<'_>,
    farthest: &Farthest<'_>,
    supposed: Option<&Meaning>,
) -> Option<Picture> {
    let call = &farthest.record.call;
    let Dims { h_q, n_q, n_k, .. } = call.dims();
    let width = farthest.width();
    // A result may be wider than the values.
    if width > 2 * MAX_WIDTH || n_k == 0 {
        return None;
    }
    let [item, head, _] = farthest.place();
    let first = (item * h_q + head) * n_q;
    let lines = |numbers: Vec<f64>, width: usize| -> Vec<Numbers> {
        numbers[first * width..(first + n_q) * width]
            .chunks(width)
            .map(|row| Numbers(row.to_vec()))
            .collect()
    };
    let weights = |meaning: &Meaning| {
        let weights = interpret(meaning, call, telling.contract, ResultName::Weights).exact;
        lines(weights.iter().map(|ball| four_digits(ball.mid)).collect(), n_k)
    };
    let seen = |meaning: &Meaning| -> Vec<String> {
        let seen = visibility(meaning, call.dims(), call.dtype(), &call.options);
        let line = |row: &[bool]| row.iter().map(|seen| if *seen { '1' } else { '0' }).collect();
        seen[first * n_k..(first + n_q) * n_k].chunks(n_k).map(line).collect()
    };
    let ratios = (0..farthest.tensor.data.len())
        .map(|at| four_digits(ratio(&farthest.expected, farthest.tensor, at)))
        .collect();
    Some(Picture {
        case: judged.record.id.clone(),
        call: judged.record.call.clone(),
        label: farthest.record.label.clone(),
        item,
        head,
        weights: weights(telling.meaning),
        seen: seen(telling.meaning),
        supposed_weights: supposed.map(weights).unwrap_or_default(),
        supposed_seen: supposed.map(seen).unwrap_or_default(),
        ratios: lines(ratios, width),
        result: farthest.want.name().to_owned(),
    })
}

/// The number nearest to four digits.
fn four_digits(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}
