//! An answer that certainly keeps its contract, without the numbers that measure how well.

use qkvet_spec::{Call, Contract, Meaning, Tensor};

use super::{heads_at_once, mapped};
use crate::bound::certainly_keeps;
use crate::enclosure::{Detail, HeadEnclosure, enclose_together};
use crate::gemm::Products;
use crate::lowering::{LoweredHead, Maps, ResultName, lower};
use crate::selftest::rounds_conventionally;

/// Whether an output certainly passes: the verdict that [`interpret`](super::interpret)'s numbers
/// give is `PASS`, margin aside.
///
/// For about the price of plain attention, where those numbers cost two or three times as much.
/// `false` says nothing.
///
/// # Shapes
/// `output` of `(b, h_q, n_q, d_v)`; any other is `false`, and so is a meaning that rearranges its
/// output.
///
/// # Error bound
/// docs/bounds.md#from-below.
pub fn certainly_passes(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    output: &Tensor,
) -> bool {
    let dims = call.dims();
    let maps = Maps::new(meaning, call);
    let is_as_computed = maps.output_rows().is_none()
        && maps.output_width() == dims.d_v
        && maps.output_columns(dims.d_v).into_iter().eq(0..dims.d_v);
    let has_form =
        output.shape == [dims.b, dims.h_q, dims.n_q, dims.d_v] && output.dtype == contract.output();
    if !(is_as_computed && has_form) {
        return false;
    }
    let size = dims.n_q * dims.d_v;
    let keeps = |(at, (lowered, enclosure)): (usize, (&LoweredHead<'_>, &HeadEnclosure))| {
        !lowered.is_rounded()
            && rounds_conventionally()
            && certainly_keeps(
                &lowered.head(),
                enclosure,
                contract,
                &output.data[at * size..(at + 1) * size],
            )
    };
    let (heads, at_once) = (dims.b * dims.h_q, heads_at_once(dims));
    (0..heads).step_by(at_once).all(|first| {
        let heads = first..heads.min(first + at_once);
        let lowered = mapped(heads.clone().collect(), dims, |at| {
            lower(meaning, call, at / dims.h_q, at % dims.h_q, ResultName::Output)
        });
        let problems: Vec<_> = lowered.iter().map(LoweredHead::head).collect();
        let enclosures = enclose_together(&problems, Products::Faer, Detail::Rows);
        let each: Vec<_> = heads.zip(lowered.iter().zip(&enclosures)).collect();
        mapped(each, dims, keeps).into_iter().all(|keeps| keeps)
    })
}
