//! Whether an output keeps a contract, from less than its bound needs. Derivation:
//! `docs/bounds.md#from-below`.

use super::formats::Formats;
use super::{Element, Interval, Row};
use crate::enclosure::{HeadEnclosure, RowStats};
use crate::exp::U;
use crate::head::{Head, Normalization};
use qkvet_spec::Contract;

/// Covers the roundings of what is bounded from below, and those of sums that are known from above
/// only.
const DEFLATION: f64 = 1.0 - 1e-9;

/// Whether every number of an output is certainly within the probable [`bound`](super::bound) of
/// the exact one, and that bound finite.
///
/// # Shapes
/// A head, its enclosure in [`Detail::Rows`](crate::enclosure::Detail::Rows) or more,
/// `output: (n_q, d_v)`.
///
/// # Error bound
/// Radius and distance against bounds from below: `true` is proved, `false` says nothing;
/// docs/bounds.md#from-below.
///
/// # Panics
/// Unless the enclosure knows its rows and the output has that shape.
pub fn certainly_keeps(
    head: &Head<'_>,
    enclosure: &HeadEnclosure,
    contract: &Contract,
    output: &[f64],
) -> bool {
    assert_eq!(
        (enclosure.rows.len(), output.len()),
        (head.n_q, head.n_q * head.d_v),
        "detail and output"
    );
    let formats = Formats::new(contract, head);
    let width = head.d_v;
    let values = Interval::of_columns(head);
    enclosure.rows.iter().enumerate().all(|(i, stats)| {
        let at = i * width..(i + 1) * width;
        let known = Known {
            row: Row::new(head, i, stats, &formats),
            lightest: lightest_weight(head, stats),
            mid: &enclosure.mid[at.clone()],
            rad: &enclosure.rad[at.clone()],
            value_abs_sum: &enclosure.value_abs_sum[at.clone()],
            values: &values,
        };
        known.keeps(&output[at])
    })
}

/// Lower bound of the least weight of a row, 0 where none is at hand: `z ≥ −max|z|`, and
/// `w = e^(z − lse)`.
fn lightest_weight(head: &Head<'_>, stats: &RowStats) -> f64 {
    let is_whole = matches!(head.normalization, Normalization::OverKeys)
        && stats.visible > 0
        && stats.dropped == 0;
    let weight = libm::exp(-(stats.final_max + stats.lse.mid + stats.lse.rad)) * DEFLATION;
    if is_whole && weight > 0.0 { weight } else { 0.0 }
}

/// What is known of a row.
struct Known<'a> {
    row: Row<'a>,
    lightest: f64,
    mid: &'a [f64],
    rad: &'a [f64],
    value_abs_sum: &'a [f64],
    values: &'a [Interval],
}

impl Known<'_> {
    fn keeps(&self, output: &[f64]) -> bool {
        let mut columns = output.iter().copied().enumerate();
        if self.row.stats.exact.is_some() {
            return columns.all(|(c, x)| self.is_finite(c, c..c + 1) && self.column_keeps(c, x));
        }
        // One bound for the whole row, of the least that any column has, is enough for almost all
        // of them.
        let least = self.value_abs_sum.iter().fold(f64::INFINITY, |least, sum| least.min(*sum));
        let reach = self.values.iter().map(half_range).fold(f64::INFINITY, f64::min);
        let floor = self.limit(0, &self.element(0.0, f64::INFINITY, least, [reach; 2]));
        self.is_finite(0, 0..output.len())
            && columns.all(|(c, x)| self.distance(c, x) <= floor || self.column_keeps(c, x))
    }

    /// Upper bound of the distance between `x` and the exact output.
    fn distance(&self, c: usize, x: f64) -> f64 {
        ((x - self.mid[c]).abs() + self.rad[c]) * (1.0 + 4.0 * U)
    }

    fn column_keeps(&self, c: usize, x: f64) -> bool {
        let (mid, rad) = (self.mid[c].abs(), self.rad[c]);
        let (least, most) = (self.mid[c] - rad, self.mid[c] + rad);
        let farthest = (self.values[c].high - most).max(least - self.values[c].low);
        let reach = [self.values[c].largest(), farthest.max(0.0) * DEFLATION];
        let element = self.element((mid - rad).max(0.0), mid + rad, self.value_abs_sum[c], reach);
        self.distance(c, x) <= self.limit(c, &element)
    }

    /// An element of which every part is at most the true one, from `|O|` from below and above and
    /// `Σ|v|`, and from the largest value and its largest distance from `O`.
    fn element(
        &self,
        output: f64,
        output_above: f64,
        value_abs_sum: f64,
        [largest, farthest]: [f64; 2],
    ) -> Element {
        let keys = self.row.stats.visible as f64;
        let sum = value_abs_sum * DEFLATION;
        let abar = (output * DEFLATION).max(self.lightest * sum);
        let deviation = (self.lightest * (sum - keys * output_above * (1.0 + 4.0 * U))).max(0.0);
        Element {
            output,
            abar,
            deviation,
            value_abs_sum,
            product_norm: abar / keys.max(1.0).sqrt() * DEFLATION,
            largest,
            farthest,
        }
    }

    /// The lesser of the two bounds of an element, 0 if it is none.
    fn limit(&self, c: usize, element: &Element) -> f64 {
        let (hard, probable) = self.row.element(c, element);
        if hard.is_nan() || probable.is_nan() { 0.0 } else { hard.min(probable) }
    }

    /// Whether the bounds of these columns are finite and below what any weights leave: those of an
    /// element of which every part is at least theirs are below half the range of the values, the
    /// least that any weights leave. Column `c` stands for them.
    #[expect(clippy::float_cmp, reason = "values are the same or not")]
    fn is_finite(&self, c: usize, columns: std::ops::Range<usize>) -> bool {
        let largest =
            |xs: &[f64]| xs[columns.clone()].iter().fold(0.0f64, |max, x| max.max(x.abs()));
        let (sum, output) = (largest(self.value_abs_sum), largest(self.mid) + largest(self.rad));
        let values = &self.values[columns.clone()];
        let value = values.iter().map(Interval::largest).fold(0.0f64, f64::max);
        let is_mean = matches!(self.row.head.normalization, Normalization::OverKeys);
        let size = if is_mean { value.max(output) } else { sum.max(output) };
        let ceiling = Element {
            output,
            abar: size,
            deviation: 2.0 * size,
            value_abs_sum: sum,
            product_norm: size,
            largest: value,
            farthest: value + output,
        };
        let least = values.iter().map(half_range).fold(f64::INFINITY, f64::min);
        let (_, probable) = self.row.element(c, &ceiling);
        // What is copied is the same under any weights.
        let is_one = |at: usize| self.values[at].low == self.values[at].high && self.rad[at] == 0.0;
        probable <= least || probable.is_finite() && columns.clone().all(is_one)
    }
}

/// Half the range of a column, from below: no mean is nearer to both of its ends.
fn half_range(column: &Interval) -> f64 {
    (column.high - column.low) / 2.0 * DEFLATION
}
