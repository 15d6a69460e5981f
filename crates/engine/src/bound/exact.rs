//! Rows in which nothing is rounded. Derivation: `docs/bounds.md#exact`.

use super::formats::Formats;
use super::logits::Logits;
use super::{Element, INFLATION};
use crate::enclosure::RowStats;
use crate::format::min_normal;
use crate::head::Head;

/// The bound of column `c` of an exact row `i`; `None` if it is not exact in some format.
pub(super) fn exact_bound(
    head: &Head<'_>,
    (i, c): (usize, usize),
    row: &RowStats,
    logits: &Logits,
    formats: &Formats,
    element: &Element,
) -> Option<f64> {
    let exact = row.exact.as_ref()?;
    // A sink is one of the live or dead. A bias and an ALiBi that cancel are rounded first.
    let is_plain = head.bias.is_none() || head.alibi.is_none();
    let dots_vanish = exact.products_vanish || formats.dot_is_exact(i, row);
    // What is cut off takes a whole unit from a sum, however little is subtracted from it.
    let dead_is_lost = !formats.truncates || formats.weights_flush;
    let dead_is_safe =
        exact.dead == 0 || (dead_is_lost && logits.dropped_is_safe(head, row, formats));
    let sums = formats.operands.leave_column(c)
        && exact.sums_exactly(c, formats.sum_bits, formats.sum_min_exponent);
    let halvings = exact.live.trailing_zeros() as i32;
    let weight_fits =
        -halvings >= formats.weight_min_exponent && halvings < formats.sum_bits as i32;
    if !(is_plain && dots_vanish && dead_is_safe && sums && weight_fits) {
        return None;
    }
    let dead = exact.dead_abs_sum[c] + exact.dead as f64 * element.output;
    Some(if exact.dead == 0 {
        0.0
    } else {
        INFLATION * 2.5 * formats.stale * min_normal(formats.softmax) * dead / exact.live as f64
    })
}
