//! How far an implementation that keeps its [`Contract`] may be from the exact output.
//!
//! [`bound`] is the entry: it turns the facts of an [`HeadEnclosure`] and the formats of a contract
//! into forward error bounds. An output farther from the midpoint than radius plus hard bound was
//! computed by *no* implementation that keeps the contract. Model and derivation:
//! `docs/bounds.md#contract`.

mod exact;
mod formats;
mod from_below;
mod logits;
mod lse;
mod merging;
mod probable;
mod row;

use qkvet_spec::{Contract, LseBase};

use self::exact::exact_bound;
use self::formats::Formats;
pub use self::from_below::certainly_keeps;
use self::logits::Logits;
use self::row::RowTerms;
use crate::enclosure::{HeadEnclosure, RowStats};
use crate::format::{max_finite, unit_roundoff};
use crate::head::{EmptyRow, Head, Normalization};

/// Covers the rounding of the bound expressions: some hundred operations on non-negative numbers,
/// and more.
const INFLATION: f64 = 1.0 + 1.0 / 1_048_576.0;

/// Forward error bounds, element by element; never NaN, infinite where nothing can be said.
#[derive(Clone, Debug)]
pub struct Bound {
    /// A proof: no implementation that keeps the contract is farther from the exact output,
    /// `(n_q, d_v)`.
    pub hard: Vec<f64>,
    /// Not a proof: under independent roundings of mean zero the chance to exceed it is below 10⁻¹⁵
    /// for each element and source of error; at most `hard`, or infinite where `hard` is what any
    /// weights leave, `(n_q, d_v)`.
    pub probable: Vec<f64>,
    /// As `hard`, for the log-sum-exp of each query, `n_q` numbers; 0 where it is −∞.
    pub lse_hard: Vec<f64>,
    /// As `probable`, for the log-sum-exp of each query, `n_q` numbers.
    pub lse_probable: Vec<f64>,
    /// Whether an output of the query has no hard bound because a format of the contract may
    /// overflow on the way: then it may be NaN, `n_q` entries.
    pub overflows: Vec<bool>,
}

/// What a bound of the natural log-sum-exp becomes in a base. The bound allows for the rounding of
/// the factor.
///
/// # Error bound
/// An upper bound of the argument, times `log₂e` in base 2; derivation:
/// docs/bounds.md#lse-contract.
pub fn lse_bound_in(base: LseBase, bound: f64) -> f64 {
    match base {
        LseBase::Natural => bound,
        LseBase::NaturalTimesLn2 => bound.next_up(),
        LseBase::Two => (bound * std::f64::consts::LOG2_E * (1.0 + 2.0 * f64::EPSILON)).next_up(),
    }
}

/// Bounds the distance between the exact output of a head and that of an implementation that keeps
/// the contract, and the same for the log-sum-exp.
///
/// # Shapes
/// `head` and its enclosure → two times `(n_q, d_v)`, two times `n_q`.
///
/// # Error bound
/// To first order
/// `hard = (γ_d A + r_S u_S Z + 14 u_a Z + (1 + T) ε_x) · D + (u_p + (n + T) u_d) · Ā + (n + T) u_a |O| + u_o |O|`
/// and underflow; the factors that make it a theorem are derived in docs/bounds.md#contract, the
/// rows with bound 0 in docs/bounds.md#exact, `probable` in docs/bounds.md#probable and the
/// log-sum-exp in docs/bounds.md#lse-contract.
///
/// # Edge cases
/// All are infinite where a format of the contract could overflow. Where the errors of the logits
/// are so large that `hard` would exceed it, it is the bound of a mean of the values with any
/// weights (docs/bounds.md#any-weights). An empty row that is defined as zeros or NaN has
/// bound 0.
pub fn bound(head: &Head<'_>, enclosure: &HeadEnclosure, contract: &Contract) -> Bound {
    let formats = Formats::new(contract, head);
    let elements = enclosure.mid.len();
    let mut bound = Bound {
        hard: Vec::with_capacity(elements),
        probable: Vec::with_capacity(elements),
        lse_hard: Vec::with_capacity(head.n_q),
        lse_probable: Vec::with_capacity(head.n_q),
        overflows: Vec::with_capacity(head.n_q),
    };
    let values = Interval::of_columns(head);
    for (i, stats) in enclosure.rows.iter().enumerate() {
        let row = Row::new(head, i, stats, &formats);
        let columns = i * head.d_v..(i + 1) * head.d_v;
        for (c, column) in values.iter().enumerate() {
            let element = Element::new(enclosure, i * head.d_v + c, column);
            let (hard, probable) = row.element(c, &element);
            bound.hard.push(hard);
            bound.probable.push(probable);
        }
        let is_unbounded = bound.hard[columns.clone()].iter().any(|hard| hard.is_infinite());
        bound.overflows.push(is_unbounded && row.overflows(&enclosure.value_abs_sum[columns]));
        let (hard, probable) = row.lse();
        bound.lse_hard.push(if hard.is_nan() { f64::INFINITY } else { hard });
        bound.lse_probable.push(if probable.is_nan() { hard } else { probable.min(hard) });
    }
    bound
}

/// Upper bounds of the quantities of one output element.
struct Element {
    output: f64,
    abar: f64,
    deviation: f64,
    value_abs_sum: f64,
    product_norm: f64,
    /// `max |v|` and `max |v − O|` over all keys, and over 0 where there is a sink.
    largest: f64,
    farthest: f64,
}

impl Element {
    fn new(enclosure: &HeadEnclosure, index: usize, values: &Interval) -> Self {
        let (mid, rad) = (enclosure.mid[index], enclosure.rad[index]);
        Self {
            output: mid.abs() + rad,
            largest: values.largest(),
            farthest: values.farthest(mid) + rad,
            abar: enclosure.abar[index],
            deviation: enclosure.deviation[index],
            value_abs_sum: enclosure.value_abs_sum[index],
            product_norm: enclosure.product_norm[index],
        }
    }
}

/// Least and largest value of a column, over all keys, and over 0 where there is a sink.
#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    /// Those of each column.
    fn of_columns(head: &Head<'_>) -> Vec<Self> {
        let empty = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let start = if head.sink.is_some() { Self { low: 0.0, high: 0.0 } } else { empty };
        let mut columns = vec![start; head.d_v];
        for row in head.value.chunks_exact(head.d_v.max(1)) {
            for (column, x) in columns.iter_mut().zip(row) {
                *column = Self { low: column.low.min(*x), high: column.high.max(*x) };
            }
        }
        columns
    }

    fn largest(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// The largest distance from `x`.
    fn farthest(&self, x: f64) -> f64 {
        (self.high - x).max(x - self.low)
    }
}

/// One row under a contract.
struct Row<'a> {
    head: &'a Head<'a>,
    i: usize,
    stats: &'a RowStats,
    formats: &'a Formats,
    logits: Logits,
    /// Absent where a format could overflow.
    terms: Option<RowTerms>,
    /// Relative error of the factors that merge partial results.
    factors: f64,
}

impl<'a> Row<'a> {
    fn new(head: &'a Head<'a>, i: usize, stats: &'a RowStats, formats: &'a Formats) -> Self {
        let logits = Logits::new(head, i, stats);
        let terms = if stats.visible == 0 {
            Some(RowTerms::mean(head, formats))
        } else {
            RowTerms::new(head, i, stats, &logits, formats)
        };
        let factors = terms
            .as_ref()
            .map_or(0.0, |terms| merging::factor_error(head, &logits, terms, formats));
        Self { head, i, stats, formats, logits, terms, factors }
    }

    /// Whether the output is a constant by definition.
    fn is_defined(&self) -> bool {
        let is_mean = self.head.n_k > 0 && matches!(self.head.empty_row, EmptyRow::Mean);
        self.stats.visible == 0 && (!is_mean || self.head.sink.is_some())
    }

    /// Whether sums of the values of a column fit into the formats that hold them.
    fn values_fit(&self, value_abs_sum: f64) -> bool {
        let growth = self.terms.as_ref().map_or(1.0, |terms| 1.0 + terms.nu);
        value_abs_sum * growth <= max_finite(self.formats.dot) / (2.0 * self.formats.stale)
            && self.formats.partials_fit(value_abs_sum)
    }

    /// Whether a format may overflow before the output is there, given `Σ|v|` of each column.
    fn overflows(&self, value_abs_sums: &[f64]) -> bool {
        !(self.is_defined()
            || self.terms.is_some() && value_abs_sums.iter().all(|sum| self.values_fit(*sum)))
    }

    /// Hard and probable bound of column `c`.
    fn element(&self, c: usize, element: &Element) -> (f64, f64) {
        let (head, formats, stats, logits) = (self.head, self.formats, self.stats, &self.logits);
        let Some(terms) = self.terms.as_ref().filter(|_| !self.is_defined()) else {
            let nothing = if self.is_defined() { 0.0 } else { f64::INFINITY };
            return (nothing, nothing);
        };
        if !(self.values_fit(element.value_abs_sum) && element.output <= max_finite(formats.output))
        {
            return (f64::INFINITY, f64::INFINITY);
        }
        let merging = merging::merge_error(self.factors, element.abar + element.output);
        let absolute = self.absolute_error(terms, element);
        let weights = self.weights_underflow(terms, element);
        if let Some(hard) = exact_bound(head, (self.i, c), stats, logits, formats, element) {
            let stored = merging::stored_error(terms, self.factors, formats, element);
            let hard = number(hard + merging + stored);
            return self.said(terms, element, absolute + weights, (hard, hard));
        }
        // Half of the row sum is left where the probable bound is finite.
        let undivided = |mass: f64| if formats.divides_last { mass } else { mass.clamp(0.0, 1.0) };
        // Errors are absolute beside the largest exponential, which is off by a factor itself.
        let hard_absolute = terms.growth()
            * (absolute / terms.mass.clamp(0.0, 1.0) + weights / undivided(terms.mass));
        // What is merged are results, with the errors that they have.
        let merged = |error: f64| number(INFLATION * error * (1.0 + 2.0 * self.factors) + merging);
        let hard = merged(terms.hard(head, formats, element, hard_absolute));
        let probable_absolute = 2.0 * (absolute + weights / undivided(terms.sum_lower));
        let probable =
            probable::probable(head, stats, logits, terms, formats, element, probable_absolute);
        self.said(terms, element, absolute + weights, (hard, merged(probable)))
    }

    /// The bounds that are left beside what any weights leave: the probable one is infinite where
    /// no bound is below that, and that is no matter of roundings.
    fn said(
        &self,
        terms: &RowTerms,
        element: &Element,
        absolute: f64,
        (hard, probable): (f64, f64),
    ) -> (f64, f64) {
        let (head, formats) = (self.head, self.formats);
        let fits = |error: f64| {
            if element.output + error <= max_finite(formats.output) { error } else { f64::INFINITY }
        };
        let least = hard.min(probable);
        // Any weights may move a mean as far as its farthest value at least.
        if hard <= element.farthest {
            return (fits(hard), fits(least));
        }
        let of_means = INFLATION * terms.of_any_weights(head, formats, element, absolute);
        let of_any_weights = number(of_means + INFLATION * self.factors * element.largest);
        let is_vague = least >= of_any_weights && element.farthest >= of_any_weights / 2.0;
        let hard = hard.min(of_any_weights);
        (fits(hard), if is_vague { f64::INFINITY } else { fits(least.min(hard)) })
    }

    /// Hard and probable bound of the log-sum-exp.
    fn lse(&self) -> (f64, f64) {
        match (&self.terms, self.stats.visible, self.head.sink) {
            (_, 0, None) => (0.0, 0.0),
            (_, 0, Some(sink)) => {
                let bound = lse::sink_bound(sink, self.formats);
                (bound, bound)
            }
            (Some(terms), ..) => {
                lse::lse_bound(self.head, self.stats, &self.logits, terms, self.formats)
            }
            (None, ..) => (f64::INFINITY, f64::INFINITY),
        }
    }

    /// Errors that do not scale with the weights, for a row sum of 1: exponentials and products
    /// that underflow, values that do as operands.
    fn absolute_error(&self, terms: &RowTerms, element: &Element) -> f64 {
        let (head, formats) = (self.head, self.formats);
        let over_queries = matches!(head.normalization, Normalization::OverQueries);
        let queries = if over_queries { 1.0 + head.n_q as f64 } else { 1.0 };
        let operations = 2.0 * (terms.keys as f64 + terms.rescalings) + 4.0;
        2.0 * terms.omega * queries * spread(terms, element)
            + operations * formats.dot_underflow
            + 2.0 * terms.keys as f64 * formats.operand_underflow
    }

    /// Error of weights that underflow when they are rounded, for a row sum of 1.
    fn weights_underflow(&self, terms: &RowTerms, element: &Element) -> f64 {
        let sum = if self.formats.sum_of_rounded {
            spread(terms, element)
        } else {
            element.value_abs_sum
        };
        self.formats.weights_underflow * sum
    }
}

/// A bound that is a number: what is none says nothing.
fn number(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

/// `Σ|v| + n|O|`: what an error of 1 in every weight may do to the output.
fn spread(terms: &RowTerms, element: &Element) -> f64 {
    element.value_abs_sum + terms.keys as f64 * element.output
}

/// Unit roundoff of the output and of the three operations between sums and output.
fn output_roundings(formats: &Formats) -> f64 {
    let u = formats.softmax_unit();
    (1.0 + u) * (1.0 + u) * (1.0 + u) * (1.0 + unit_roundoff(formats.output)) - 1.0
}
