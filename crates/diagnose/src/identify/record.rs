//! Calls and what came back, element by element, held against what is thought to be computed.

use qkvet_engine::format::{underflow, unit_roundoff};
use qkvet_engine::interpret::{Expected, interpret};
use qkvet_engine::law::CallRecord;
use qkvet_engine::lowering::{call_env, width_of};
use qkvet_engine::plain::{Extent, Plain};
use qkvet_spec::{
    Call, Contract, DeviationFormula, Dims, IndexExpr, Meaning, MeaningPatch, ResultName,
};

use super::layer::{Layer, is_of_elements, mixed, predict};

/// How far the bound of a contract may be above that of its format.
pub(crate) const MAX_LOOSENESS: f64 = 64.0;
/// A bound of so much of the range of a result says nothing.
const VACUOUS: f64 = 0.1;

/// One result of a call.
#[derive(Clone, Debug)]
pub(crate) struct ResultRecord {
    pub(crate) want: ResultName,
    /// What came back.
    pub(crate) got: Vec<f64>,
    /// Whether what is thought so far holds each element.
    pub(crate) is_held: Vec<bool>,
    /// Whether an element tells something: its bound is narrow.
    pub(crate) tells: Vec<bool>,
    /// What is thought so far.
    pub(super) base: Plain,
    /// The unit roundoff that errors of first order are multiplied with.
    pub(super) unit: f64,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) call: Call,
    pub(crate) results: Vec<ResultRecord>,
    /// What any element may be off by, however small it is.
    pub(super) tiny: f64,
    /// Whether its results are known one by one. Many laws hold of wrong results too.
    pub(crate) is_known: bool,
}

/// A call of a case that passed.
#[derive(Clone, Debug)]
pub struct RightCall {
    /// The call.
    pub call: Call,
    /// Whether its law holds of right results alone.
    pub is_known: bool,
}

/// What a formula says of a record on top of what is thought so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearing {
    /// It changes nothing here.
    Equal,
    /// It holds what was not held, and all else.
    Gain,
    /// It does not hold what is held.
    Loss,
    /// Both.
    Mixed,
    /// Something is held by neither.
    None,
}

/// Multiplications of all predictions of one kind together.
pub(super) const MAX_COST_OF_ALL: usize = 150_000_000;

/// Multiplications that a prediction takes.
pub(super) fn cost(call: &Call) -> usize {
    let Dims { b, h_q, n_q, n_k, d_k, d_v, .. } = call.dims();
    b * h_q * n_q * n_k * (d_k + d_v + 16)
}

/// What may be lost below the normal range: `2η(1 + n_k·max|V|)`, for products of weights and
/// values that underflow, or are flushed to zero.
pub(crate) fn lost_below_normal(call: &Call) -> f64 {
    let most = call.value.data.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    2.0 * underflow(call.dtype()) * (1.0 + call.dims().n_k as f64 * most)
}

/// By how much the bound of a contract is wider than errors of first order are.
fn looseness(expected: &Expected, plain: &Plain, unit: f64) -> f64 {
    let of = |at: usize| expected.hard[at] / (unit * plain.errors[at]);
    let bounded = (0..plain.errors.len()).filter(|at| expected.bounds_weights(*at));
    bounded.map(of).fold(1.0, f64::max).min(MAX_LOOSENESS)
}

impl Record {
    /// A recorded call; `None` where a result has another form, or nothing of it tells anything.
    pub(super) fn new(record: &CallRecord, contract: &Contract, base: &Meaning) -> Option<Self> {
        let call = &record.call;
        if call.misfit().is_some() {
            return None;
        }
        let result = |want: ResultName| {
            let got = want.of(&record.output)?;
            let expected = interpret(base, call, contract, want);
            let plain = predict(base, &[], call, want, Extent::Whole)?;
            let n = got.data.len();
            if n != expected.exact.len() || n != plain.values.len() {
                return None;
            }
            let unit = unit_roundoff(call.dtype());
            let looseness = looseness(&expected, &plain, unit);
            let mut one = ResultRecord {
                want,
                is_held: (0..n).map(|at| expected.holds(at, got.data[at])).collect(),
                got: got.data.clone(),
                tells: vec![true; n],
                base: plain,
                unit: unit * looseness,
            };
            one.find_telling(|at| expected.bounds_weights(at));
            Some(one)
        };
        let results = record.results().map(|it| result(it.want)).collect::<Option<Vec<_>>>()?;
        let tells = results.iter().any(|it| it.tells.contains(&true));
        let (tiny, call) = (lost_below_normal(call), call.clone());
        tells.then_some(Self { tiny, call, results, is_known: true })
    }

    /// A call that came out right: within the bound of the contract, which is at least so
    /// many times wider than errors of first order.
    pub(super) fn right_under(
        call: &Call,
        contract: &Contract,
        base: &Meaning,
        at_least: f64,
    ) -> Option<Self> {
        let unit = unit_roundoff(call.dtype());
        let mut record = Self::right(call, base, at_least)?;
        for one in &mut record.results {
            let expected = interpret(base, call, contract, one.want);
            if expected.exact.len() != one.got.len() {
                return None;
            }
            one.unit = one.unit.max(unit * looseness(&expected, &one.base, unit));
            one.find_telling(|_| true);
            // What came back may be farther away there than an error of first order.
            for (at, tells) in one.tells.iter_mut().enumerate() {
                *tells &= expected.hard[at] <= one.unit * one.base.errors[at] + record.tiny;
            }
        }
        Some(record)
    }

    /// A call that came out right.
    pub(super) fn right(call: &Call, base: &Meaning, looseness: f64) -> Option<Self> {
        let unit = unit_roundoff(call.dtype()) * looseness;
        let result = |want: ResultName| {
            let plain = predict(base, &[], call, want, Extent::Whole)?;
            let n = plain.values.len();
            let (is_held, tells) = (vec![true; n], vec![true; n]);
            let got = plain.values.clone();
            let mut one = ResultRecord { want, got, is_held, tells, base: plain, unit };
            one.find_telling(|_| true);
            Some(one)
        };
        let weights = call.return_weights.then_some(ResultName::Weights);
        let lse = call.return_lse.then_some(ResultName::Lse);
        let wants = std::iter::once(ResultName::Output).chain(weights).chain(lse);
        let results = wants.map(result).collect::<Option<Vec<_>>>()?;
        let (tiny, call) = (lost_below_normal(call), call.clone());
        Some(Self { tiny, call, results, is_known: true })
    }

    /// Those of the calls of a failure in which something that tells is wrong.
    pub(super) fn wrong_of(
        calls: &[CallRecord],
        contract: &Contract,
        base: &Meaning,
    ) -> impl Iterator<Item = Self> {
        calls.iter().filter_map(|record| Self::new(record, contract, base)).filter(Self::is_wrong)
    }

    /// Whether nothing that tells is wrong under the layers.
    pub(super) fn is_explained(&self, base: &Meaning, layers: &[&Layer]) -> bool {
        self.on(base, layers).is_some_and(|after| !after.is_wrong())
    }

    /// Whether something that tells is wrong.
    pub(crate) fn is_wrong(&self) -> bool {
        self.results.iter().any(|it| it.wrong().next().is_some())
    }

    /// Whether something that is wrong is no number.
    pub(super) fn has_nan(&self) -> bool {
        self.results.iter().any(|it| it.wrong().any(|at| it.got[at].is_nan()))
    }

    /// How loose the bound is.
    pub(super) fn looseness(&self) -> f64 {
        let unit = unit_roundoff(self.call.dtype());
        self.results.iter().map(|it| it.unit / unit).fold(1.0, f64::max)
    }

    /// The same with another thought: the layers over the meaning.
    pub(super) fn on(&self, base: &Meaning, layers: &[&Layer]) -> Option<Self> {
        let mut record = self.clone();
        for one in &mut record.results {
            one.base = predict(base, layers, &self.call, one.want, Extent::Whole)?;
            if one.base.values.len() != one.got.len() {
                return None;
            }
            one.is_held =
                (0..one.got.len()).map(|at| one.holds(&one.base, at, self.tiny)).collect();
        }
        Some(record)
    }

    /// What another prediction says of the record.
    pub(super) fn bearing(&self, predicted: &[Plain]) -> Bearing {
        let (mut gain, mut loss, mut neither) = (false, false, false);
        for (one, other) in self.results.iter().zip(predicted) {
            for at in (0..one.got.len()).filter(|at| one.tells[*at]) {
                match (one.is_held[at], one.holds(other, at, self.tiny)) {
                    (true, true) => {}
                    (true, false) => loss = true,
                    (false, true) => gain = true,
                    (false, false) => neither = true,
                }
            }
        }
        match (gain, loss, neither) {
            (false, false, false) => Bearing::Equal,
            (true, false, false) => Bearing::Gain,
            (false, true, false) => Bearing::Loss,
            (true, true, false) => Bearing::Mixed,
            (_, _, true) if self.is_same(predicted) => Bearing::Equal,
            (_, _, true) => Bearing::None,
        }
    }

    /// Whether a prediction is what is thought already.
    pub(super) fn is_same(&self, predicted: &[Plain]) -> bool {
        self.results.iter().zip(predicted).all(|(one, other)| {
            (0..one.got.len()).all(|at| !one.tells[at] || one.is_same(other, at, self.tiny))
        })
    }

    /// The predictions where a rule holds, else what is thought so far.
    pub(super) fn where_holds(&self, when: Option<&IndexExpr>, predicted: &[Plain]) -> Vec<Plain> {
        let of = |(one, with): (&ResultRecord, &Plain)| match when {
            Some(when) if is_of_elements(when) => {
                mixed(&self.call, Extent::Whole, one.want, when, with.clone(), &one.base)
            }
            Some(when) if !when.holds(&call_env(&self.call)) => one.base.clone(),
            _ => with.clone(),
        };
        self.results.iter().zip(predicted).map(of).collect()
    }

    /// Predictions of every result.
    pub(super) fn predicted(&self, base: &Meaning, layers: &[&Layer]) -> Option<Vec<Plain>> {
        let of = |one: &ResultRecord| {
            let plain = predict(base, layers, &self.call, one.want, Extent::Whole)?;
            (plain.values.len() == one.got.len()).then_some(plain)
        };
        self.results.iter().map(of).collect()
    }
}

impl ResultRecord {
    fn find_telling(&mut self, is_bounded: impl Fn(usize) -> bool) {
        let finite = || self.got.iter().chain(&self.base.values).filter(|x| x.is_finite());
        let (low, high) =
            finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        let range = (high - low).max(high.abs()).max(0.0);
        for at in 0..self.got.len() {
            self.tells[at] = is_bounded(at) && self.unit * self.base.errors[at] <= VACUOUS * range;
        }
    }

    /// The part that is computed first: the head with an element, or all where the formula moves rows
    /// and columns of the output.
    pub(super) fn part_of(
        &self,
        call: &Call,
        element: usize,
        formula: &DeviationFormula,
    ) -> (Extent, std::ops::Range<usize>) {
        let MeaningPatch { output_item, output_head, output_row, .. } = &formula.meaning;
        if [output_item, output_head, output_row].into_iter().any(Option::is_some) {
            return (Extent::Whole, 0..self.got.len());
        }
        let Dims { h_q, n_q, .. } = call.dims();
        let size = n_q * width_of(self.want, call.dims());
        let head = element / size.max(1);
        (Extent::Head { item: head / h_q, h: head % h_q }, head * size..(head + 1) * size)
    }

    /// Numbers of the elements that tell and are wrong.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = usize> {
        (0..self.got.len()).filter(|at| self.tells[*at] && !self.is_held[*at])
    }

    /// Whether a prediction holds an element.
    pub(super) fn holds(&self, predicted: &Plain, at: usize, tiny: f64) -> bool {
        self.is_held_by(predicted.values[at], predicted.errors[at], at, tiny)
    }

    /// Whether a number with an error of first order holds an element.
    pub(super) fn is_held_by(&self, value: f64, error: f64, at: usize, tiny: f64) -> bool {
        is_near(self.got[at], value, self.unit * error + tiny)
    }

    fn is_same(&self, other: &Plain, at: usize, tiny: f64) -> bool {
        let allowed = self.unit * (other.errors[at] + self.base.errors[at]) + tiny;
        is_near(self.base.values[at], other.values[at], allowed)
    }
}

/// Whether two numbers are as near as that, or both no number; with no limit, both not finite.
pub(crate) fn is_near(x: f64, y: f64, allowed: f64) -> bool {
    x.to_bits() == y.to_bits()
        || x.is_nan() && y.is_nan()
        || allowed == f64::INFINITY && !x.is_finite() && !y.is_finite()
        || x.is_finite() && y.is_finite() && (x - y).abs() <= allowed
}
