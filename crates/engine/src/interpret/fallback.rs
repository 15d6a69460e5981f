//! Rows whose enclosure is too wide, computed again in arbitrary precision.

use qkvet_spec::Contract;

use super::reference::Reference;
use crate::bound::{Bound, bound};
use crate::digits::{Logarithm, PreciseHead, Width};
use crate::enclosure::{HeadEnclosure, Lse};
use crate::exp::U;
use crate::head::Head;
use crate::lowering::ResultName;

/// Weights that the rows of one call may cost in all. A weight takes some 30 to 60 µs (an
/// exponential of 128 bits, a dot product and a row of values in integers), so a call takes a few
/// seconds at most; rows beyond it keep their enclosure.
pub(super) const MAX_WEIGHTS: usize = 1 << 16;

/// What a call may still spend, in weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget(pub(super) usize);

/// Replaces what is too wide and says of every row where its numbers come from.
///
/// A row is too wide where a radius exceeds the contract's hard bound: results are judged by the
/// sum of the two, and there a doubt about the reference would decide more than the contract does.
/// An infinite radius always is. Derivation: `docs/bounds.md#fallback`.
pub(super) fn recompute(
    head: &Head<'_>,
    enclosure: &mut HeadEnclosure,
    allowed: &mut Bound,
    contract: &Contract,
    want: ResultName,
    budget: &mut Budget,
) -> Vec<Reference> {
    let columns = |i: usize| i * head.d_v..(i + 1) * head.d_v;
    let of_lse = want == ResultName::Lse;
    let is_wide = |i: usize| {
        let is_wide = |(rad, hard): (&f64, &f64)| rad.is_infinite() || rad > hard;
        let mut pairs = enclosure.rad[columns(i)].iter().zip(&allowed.hard[columns(i)]);
        pairs.any(is_wide) || of_lse && is_wide((&enclosure.rows[i].lse.rad, &allowed.lse_hard[i]))
    };
    let wide: Vec<bool> = (0..head.n_q).map(is_wide).collect();
    let mut references: Vec<Reference> = (0..head.n_q)
        .map(|i| match &enclosure.rows[i] {
            row if row.visible == 0 => Reference::Defined,
            row if of_lse && row.lse.rad == 0.0 => Reference::Exact,
            _ if of_lse => Reference::Enclosure,
            row if row.exact.is_some()
                || enclosure.rad[columns(i)].iter().all(|rad| *rad == 0.0) =>
            {
                Reference::Exact
            }
            _ => Reference::Enclosure,
        })
        .collect();
    // What has no real value, or weights that are normalized otherwise, stay as they are.
    let precise = if wide.contains(&true) { PreciseHead::new(head).ok() } else { None };
    let Some(precise) = precise else { return references };
    let mut bound_changes = false;
    for i in (0..head.n_q).filter(|i| wide[*i]) {
        // Without a radius the sums of the bound are unknown too, and the weights are wanted once
        // more.
        let is_unknown = enclosure.rad[columns(i)].iter().any(|rad| rad.is_infinite());
        let cost = (precise.visible(i) + 1) * if is_unknown { 2 } else { 1 };
        if cost > budget.0 {
            continue;
        }
        budget.0 -= cost;
        if of_lse {
            let Ok(lse) = precise.lse(i, Logarithm::Natural, Width::ONE_EVALUATION) else {
                continue;
            };
            enclosure.rows[i].lse = Lse { mid: lse.mid, rad: lse.rad };
            references[i] = Reference::ArbitraryPrecision;
            continue;
        }
        // One evaluation: its error is 2^−126 of Σ w|v|, and no contract knows that much of its
        // weights.
        let Ok(row) = precise.output(i, Width::ONE_EVALUATION) else { continue };
        references[i] = Reference::ArbitraryPrecision;
        let weights = if is_unknown { precise.weights(i) } else { Vec::new() };
        for (c, ball) in row.into_iter().enumerate() {
            let at = i * head.d_v + c;
            if enclosure.rad[at].is_infinite() {
                bound_changes = true;
                let sums = Sums::new(head, &weights, c, ball.mid);
                enclosure.abar[at] = sums.abs;
                enclosure.deviation[at] = sums.deviation + ball.rad;
                enclosure.product_norm[at] = sums.product_norm;
            }
            enclosure.mid[at] = ball.mid;
            enclosure.rad[at] = ball.rad;
        }
    }
    if bound_changes {
        *allowed = bound(head, enclosure, contract);
    }
    references
}

/// Sums over a row of weights, from above.
struct Sums {
    abs: f64,
    deviation: f64,
    product_norm: f64,
}

impl Sums {
    /// Of weights that are the nearest doubles, against values in column `c`.
    fn new(head: &Head<'_>, weights: &[(usize, f64)], c: usize, mid: f64) -> Self {
        let (mut abs, mut deviation, mut squares) = (0.0, 0.0, 0.0);
        for (j, weight) in weights {
            let v = head.value_row(*j)[c];
            abs += weight * v.abs();
            deviation += weight * (v - mid).abs();
            squares += (weight * v) * (weight * v);
        }
        // A sink is a key of value 0; what the weights of the keys leave is its weight, and 2u of
        // rounding for each.
        let keys: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let count = weights.len() as f64;
        if head.sink.is_some() {
            deviation += (1.0 - keys + 2.0 * U * count).max(0.0) * mid.abs();
        }
        // Each term has three roundings, each sum one for every term; what underflows is charged
        // the smallest normal number.
        let largest =
            weights.iter().fold(1.0f64, |max, (j, _)| max.max(head.value_row(*j)[c].abs()));
        let underflow = (count + 1.0) * 4.0 * f64::MIN_POSITIVE * largest;
        let up = |sum: f64| {
            let upper = sum * (1.0 + 4.0 * U * (count + 4.0)) + underflow;
            if upper.is_nan() { f64::INFINITY } else { upper }
        };
        Self { abs: up(abs), deviation: up(deviation), product_norm: up(squares.sqrt()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enclosure::enclose;
    use crate::head::{EmptyRow, Normalization, RealScale, Stage, Visible};
    use qkvet_spec::{Depth, Dtype};

    /// Three queries whose logits are beyond every double, alike for both keys.
    const HEAD: Head<'_> = Head {
        n_q: 3,
        n_k: 2,
        d_k: 1,
        d_v: 1,
        query: &[1e200; 3],
        key: &[1e200; 2],
        value: &[1.0, 2.0],
        stages: &[Stage::Scale],
        scale: RealScale { factor: 1.0, radicand: 1, value: 1.0, rel_error: 0.0 },
        softcap: None,
        bias: None,
        alibi: None,
        alibi_shifts: None,
        sink: None,
        visible: Visible::All,
        normalization: Normalization::OverKeys,
        empty_row: EmptyRow::Zero,
    };

    #[test]
    fn rows_are_recomputed_while_the_budget_lasts() {
        let dtype = Dtype::Float64;
        let contract = Contract {
            contract: String::new(),
            title: String::new(),
            dtype,
            output: None,
            wider_output: false,
            lse: None,
            default: true,
            frozen: false,
            storage: None,
            operands: None,
            dot: dtype,
            dot_bits: None,
            truncates: false,
            depth: Depth::default(),
            softmax: dtype,
            input_roundings: 0,
            score_roundings: 0,
            weights: dtype,
            stored_steps: false,
            sum_of_rounded: false,
            divides_last: false,
            exp_error: 4,
            tanh_error: 8,
            tile: None,
            merges: false,
            partial: None,
            about: String::new(),
        };
        // A row of unknown sums costs twice its keys and one.
        for (budget, rows, left) in [(5, 0, 5), (6, 1, 0), (13, 2, 1), (100, 3, 82)] {
            let mut enclosure = enclose(&HEAD);
            let mut allowed = bound(&HEAD, &enclosure, &contract);
            let mut budget = Budget(budget);
            let references = recompute(
                &HEAD,
                &mut enclosure,
                &mut allowed,
                &contract,
                ResultName::Output,
                &mut budget,
            );
            let recomputed =
                references.iter().filter(|reference| **reference == Reference::ArbitraryPrecision);
            assert_eq!((recomputed.count(), budget.0), (rows, left));
            assert_eq!(enclosure.mid[..rows], vec![1.5; rows]);
            assert_eq!(enclosure.rad[..rows], vec![0.0; rows]);
            assert_eq!(enclosure.rad[rows..], vec![f64::INFINITY; 3 - rows]);
            // The mean of 1 and 2 is 1.5, and so is that of their magnitudes; 1/2 is what they are
            // off.
            let about = |x: f64, y: f64| (x - y).abs() < 1e-14;
            assert!(
                (0..rows)
                    .all(|i| about(enclosure.abar[i], 1.5) && about(enclosure.deviation[i], 0.5))
            );
        }
    }
}
