//! Keys and values in the order in which the inner loop reads them: copied once for all rows.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::BLOCK;
use super::group::Aligned;
use super::transposition::transpose;
use crate::enclosure::blocks::each;
use crate::enclosure::table::ValueTable;

/// Keys and values of some neighboring blocks of keys, the first of which begins at a multiple of
/// [`BLOCK`].
#[derive(Default)]
pub(in crate::enclosure) struct Panels {
    pub(super) blocks: Vec<Panel>,
}

/// Keys and values of a block, `N` keys or columns at a time.
#[derive(Default)]
pub(super) struct Panel {
    pub(super) keys: Range<usize>,
    /// `(BLOCK/N, d_k, N)`; what lies behind the last key is arbitrary: it is hidden.
    pub(super) key: Aligned<f64>,
    /// `(columns/N, BLOCK, N)`, zeros behind the last column.
    pub(super) value: Aligned<f64>,
    /// `|v|·2^−e` and `(v·2^−e)²` with the square exponent `e` of the values, each like `value`; 0
    /// for keys that no row sees. In full only.
    pub(super) sizes: Aligned<f32>,
}

/// Keys or columns of a panel.
#[inline(always)]
pub(super) const fn width<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 8 } else { 6 }
}

impl Panels {
    /// Copies keys from a multiple of [`BLOCK`] on, on the threads of the pool.
    pub(in crate::enclosure) fn pack(
        &mut self,
        table: &ValueTable<'_>,
        keys: Range<usize>,
        with_sizes: bool,
    ) {
        self.blocks.resize_with(keys.len().div_ceil(BLOCK), Panel::default);
        for (panel, first) in self.blocks.iter_mut().zip(keys.clone().step_by(BLOCK)) {
            panel.keys = first..keys.end.min(first + BLOCK);
        }
        each(&mut self.blocks, |panel| Arch::new().dispatch(Pack { table, with_sizes, panel }));
    }
}

/// Copies a block.
pub(super) struct Pack<'a> {
    pub(super) table: &'a ValueTable<'a>,
    pub(super) with_sizes: bool,
    pub(super) panel: &'a mut Panel,
}

impl WithSimd for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if width::<S>() == 8 { self.by::<S, 8>(simd) } else { self.by::<S, 6>(simd) }
    }
}

impl Pack<'_> {
    #[inline(always)]
    fn by<S: Simd, const N: usize>(self, simd: S) {
        let Self { table, with_sizes, panel } = self;
        let (head, keys) = (table.head(), panel.keys.clone());
        let (d_k, d_v) = (head.d_k, head.d_v);
        if d_k > 0 {
            let key = panel.key.fit(d_k * BLOCK);
            let rows = head.key[keys.start * d_k..keys.end * d_k].chunks(N * d_k);
            for (rows, to) in rows.zip(key.chunks_exact_mut(N * d_k)) {
                transpose(simd, (rows, d_k), (to, N), 1.0);
            }
        }
        let columns = d_v.div_ceil(N);
        let value = panel.value.fit(columns * N * BLOCK).as_chunks_mut::<N>().0;
        let values = table.of_keys(keys.clone());
        for (k, row) in values.chunks_exact(d_v.max(1)).enumerate() {
            // Whole panels by arrays: what has no fixed length is copied by a call.
            let (whole, rest) = row.as_chunks::<N>();
            for (c, row) in whole.iter().enumerate() {
                value[c * BLOCK + k] = *row;
            }
            if !rest.is_empty() {
                let to = &mut value[whole.len() * BLOCK + k];
                *to = [0.0; N];
                to[..rest.len()].copy_from_slice(rest);
            }
        }
        if !with_sizes {
            return;
        }
        let sizes = panel.sizes.fit(2 * columns * N * BLOCK).as_chunks_mut::<N>().0;
        let (abs, squares) = sizes.split_at_mut(columns * BLOCK);
        let factor = crate::format::pow2(-table.square_exponent);
        for c in 0..columns {
            for (k, j) in keys.clone().enumerate() {
                let at = c * BLOCK + k;
                let factor = if table.is_seen(j) { factor } else { 0.0 };
                // Numbers of this loop alone, for it would not be known that none is written to.
                let (mut of_abs, mut of_squares) = ([0.0; N], [0.0; N]);
                for (n, v) in value[at].iter().enumerate() {
                    of_abs[n] = (v * factor).abs() as f32;
                    of_squares[n] = ((v * factor) * (v * factor)) as f32;
                }
                (abs[at], squares[at]) = (of_abs, of_squares);
            }
        }
    }
}
