//! How far an implementation that keeps its [`Contract`] may be from the exact output.
//!
//! [`bound`] is the entry: it turns the facts of an [`HeadEnclosure`] and the formats of a contract into forward error bounds.
//! An output farther from the midpoint than radius plus hard bound was computed by *no* implementation that keeps the contract.
//! Model and derivation: `docs/bounds.md#contract`.

mod formats;
mod probable;
mod row;

use qkvet_spec::Contract;

use self::formats::Formats;
use self::row::RowTerms;
use crate::enclosure::{HeadEnclosure, RowStats};
use crate::format::{max_finite, min_normal, unit_roundoff};
use crate::head::{EmptyRow, Head, Normalization};

/// Covers the rounding of the bound expressions: some hundred operations on non-negative numbers, and more.
const INFLATION: f64 = 1.0 + 1.0 / 1_048_576.0;

/// Forward error bounds, element by element; never NaN, infinite where nothing can be said.
#[derive(Clone, Debug)]
pub struct Bound {
    /// A proof: no implementation that keeps the contract is farther from the exact output, `(n_q, d_v)`.
    pub hard: Vec<f64>,
    /// Not a proof: under independent roundings of mean zero the chance to exceed it is below 10⁻¹⁵ for each element and source
    /// of error; at most `hard`, `(n_q, d_v)`.
    pub probable: Vec<f64>,
}

/// Bounds the distance between the exact output of a head and that of an implementation that keeps the contract.
///
/// # Shapes
/// `head` and its enclosure → two times `(n_q, d_v)`.
///
/// # Error bound
/// To first order `hard = (γ_d A + r_S u_S Z + 14 u_a Z + (1 + T) ε_x) · D + (u_p + (n + T) u_d) · Ā + (n + T) u_a |O| + u_o |O|` and
/// underflow; the factors that make it a theorem are derived in docs/bounds.md#contract, the rows with bound 0 in
/// docs/bounds.md#exact, and `probable` in docs/bounds.md#probable.
///
/// # Edge cases
/// Both are infinite where a format of the contract could overflow, and `hard` also where an error term reaches 1 (the bound is
/// vacuous). An empty row that is defined as zeros or NaN has bound 0.
pub fn bound(head: &Head<'_>, enclosure: &HeadEnclosure, contract: &Contract) -> Bound {
    let formats = Formats::new(contract);
    let mut bound =
        Bound { hard: Vec::with_capacity(enclosure.mid.len()), probable: Vec::with_capacity(enclosure.mid.len()) };
    for (i, row) in enclosure.rows.iter().enumerate() {
        let is_defined = row.visible == 0 && (head.n_k == 0 || !matches!(head.empty_row, EmptyRow::Mean));
        let terms = if row.visible == 0 { RowTerms::mean(head, &formats) } else { RowTerms::new(head, row, &formats) };
        for index in i * head.d_v..(i + 1) * head.d_v {
            let element = Element::new(enclosure, index);
            let (hard, probable) = match &terms {
                _ if is_defined => (0.0, 0.0),
                None => (f64::INFINITY, f64::INFINITY),
                Some(terms) => bound_element(head, row, terms, &formats, &element, index - i * head.d_v),
            };
            bound.hard.push(if hard.is_nan() { f64::INFINITY } else { hard });
            bound.probable.push(if probable.is_nan() { hard } else { probable.min(hard) });
        }
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
}

impl Element {
    fn new(enclosure: &HeadEnclosure, index: usize) -> Self {
        Self {
            output: enclosure.mid[index].abs() + enclosure.rad[index],
            abar: enclosure.abar[index],
            deviation: enclosure.deviation[index],
            value_abs_sum: enclosure.value_abs_sum[index],
            product_norm: enclosure.product_norm[index],
        }
    }
}

/// Hard and probable bound of column `c` of a row.
fn bound_element(
    head: &Head<'_>,
    row: &RowStats,
    terms: &RowTerms,
    formats: &Formats,
    element: &Element,
    c: usize,
) -> (f64, f64) {
    let values_fit = element.value_abs_sum <= max_finite(formats.dot) / 2.0;
    if !(values_fit && element.output <= max_finite(formats.dtype)) {
        return (f64::INFINITY, f64::INFINITY);
    }
    let merging = merge_error(head, row, terms, formats, element);
    if let Some(hard) = exact_bound(head, row, formats, element, c) {
        return (hard + merging, hard + merging);
    }
    // An error that is not small makes the hard bound infinite, and half of the row sum is left where the probable one is finite.
    let absolute = absolute_error(head, terms, formats, element);
    let hard = INFLATION * terms.hard(head, formats, element, absolute / terms.mass.clamp(0.0, 1.0)) + merging;
    let probable = INFLATION * probable::probable(head, row, terms, formats, element, 2.0 * absolute) + merging;
    let fits = |error: f64| if element.output + error <= max_finite(formats.dtype) { error } else { f64::INFINITY };
    (fits(hard), fits(probable))
}

/// What normalizing partial results on their own and merging them may add. Derivation: `docs/bounds.md#merging`.
fn merge_error(head: &Head<'_>, row: &RowStats, terms: &RowTerms, formats: &Formats, element: &Element) -> f64 {
    if !formats.merges || terms.keys <= 1 || !matches!(head.normalization, Normalization::OverKeys) {
        return 0.0;
    }
    let lse = row.logit_max + libm::log(terms.keys as f64) * (1.0 + 1e-15);
    let factor = unit_roundoff(formats.softmax) * (4.0 * lse + 16.0) + 2.0 * formats.exp_error;
    INFLATION * 2.0 * row::expm1_upper(factor * (terms.rescalings + 2.0)) * (element.abar + element.output)
}

/// Errors that do not scale with the weights, for a row sum of 1: exponentials, weights and products that underflow.
fn absolute_error(head: &Head<'_>, terms: &RowTerms, formats: &Formats, element: &Element) -> f64 {
    let keys = terms.keys as f64;
    let spread = element.value_abs_sum + keys * element.output;
    let queries = if matches!(head.normalization, Normalization::OverQueries) { 1.0 + head.n_q as f64 } else { 1.0 };
    let flushed_products = (2.0 * (keys + terms.rescalings) + 4.0) * min_normal(formats.dot);
    2.0 * terms.omega * queries * spread + formats.weights_underflow * spread + flushed_products
}

/// The bound of an exact row; `None` if its column is not exact in some format. Derivation: `docs/bounds.md#exact`.
fn exact_bound(head: &Head<'_>, row: &RowStats, formats: &Formats, element: &Element, c: usize) -> Option<f64> {
    let exact = row.exact.as_ref()?;
    let dots_vanish = exact.products_vanish || formats.dot_is_exact(row);
    let dead_is_safe = exact.dead == 0 || row::dropped_is_safe(head, row, formats);
    let sums = exact.sums_exactly(c, formats.fewest_bits, formats.highest_min_exponent);
    let halvings = exact.live.trailing_zeros() as i32;
    let weight_fits = -halvings >= formats.highest_min_exponent && halvings < formats.fewest_bits as i32;
    if !(dots_vanish && dead_is_safe && sums && weight_fits) {
        return None;
    }
    let dead = exact.dead_abs_sum[c] + exact.dead as f64 * element.output;
    Some(if exact.dead == 0 { 0.0 } else { INFLATION * 2.5 * min_normal(formats.softmax) * dead / exact.live as f64 })
}

/// Unit roundoff of the output and of the three operations between sums and output.
fn output_roundings(formats: &Formats) -> f64 {
    let u = unit_roundoff(formats.softmax);
    (1.0 + u) * (1.0 + u) * (1.0 + u) * (1.0 + unit_roundoff(formats.dtype)) - 1.0
}
