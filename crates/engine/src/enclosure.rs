//! Certified enclosures of attention: midpoints from ordinary matrix products, radii from a proof.
//!
//! [`enclose`] is the entry. Rounding to nearest is all it needs; the derivations are in
//! `docs/bounds.md`. How far a declared implementation may be from the exact value is the business
//! of [`bound`](crate::bound::bound), not of this module.

mod blocks;
mod element;
mod exact;
mod logits;
mod lse;
mod one_pass;
mod over_queries;
mod rows;
mod stages;
mod sweep;
mod table;
mod together;
mod visibility;

pub use exact::ExactRow;
pub use lse::Lse;
pub(crate) use lse::logarithm;
pub(crate) use table::{NO_GRID, common_grid, exponent};
pub(crate) use together::MIN_WEIGHTS;
pub use together::enclose_together;

use crate::gemm::Products;
use crate::head::{Head, Normalization};

/// Enclosure of the output of a [`Head`], with what [`bound`](crate::bound::bound) needs to know
/// about it.
///
/// The exact output is within `rad` of `mid`, element by element. A row that sees no key under
/// [`EmptyRow::Nan`](crate::head::EmptyRow::Nan) has midpoint NaN and radius 0. A radius is never
/// NaN; it is infinite when nothing could be proved, for example after an overflow.
#[derive(Clone, Debug)]
pub struct HeadEnclosure {
    /// Midpoints, `(n_q, d_v)`.
    pub mid: Vec<f64>,
    /// Radii, `(n_q, d_v)`.
    pub rad: Vec<f64>,
    /// Upper bounds of `Σ_j w_ij |v_jc|`, `(n_q, d_v)`.
    pub abar: Vec<f64>,
    /// Upper bounds of the mean absolute deviation `Σ_j w_ij |v_jc − O_ic|`, `(n_q, d_v)`; `abar`
    /// when the weights do not sum to 1 by construction.
    pub deviation: Vec<f64>,
    /// `√(Σ_j w_ij² v_jc²)`, `(n_q, d_v)`. No bound claimed: it serves the probable bound only.
    pub product_norm: Vec<f64>,
    /// Upper bounds of `Σ_j |v_jc|` over the visible keys, `(n_q, d_v)`.
    pub value_abs_sum: Vec<f64>,
    /// One entry for each query.
    pub rows: Vec<RowStats>,
}

/// Data of one row of the exact problem.
///
/// A visible key is *dropped* when its logit is more than 600 below the largest of its row, else
/// *kept*. A sink is one more key, of value 0, in whatever speaks of logits and weights; `visible`
/// and `dropped` count keys only.
#[derive(Clone, Debug)]
pub struct RowStats {
    /// Visible keys; 0 for an empty row.
    pub visible: usize,
    /// Visible keys that are dropped.
    pub dropped: usize,
    /// What became of the sink.
    pub sink: SinkWeight,
    /// Upper bound of `(|scale| Σ_t |q_t k_t| + |bias|) / (z_max − z)` over the dropped keys, ALiBi
    /// counting as bias.
    pub dropped_ratio: f64,
    /// Upper bound `Z` of `|scale · q·k| + |bias|` over the kept keys, ALiBi counting as bias; a
    /// softcap does not lower it.
    pub logit_max: f64,
    /// Upper bound of `|z|` over the kept keys, behind all stages.
    pub final_max: f64,
    /// Upper bound of `|bias| + |ALiBi|` over the kept keys, times a scale that follows.
    pub bias_max: f64,
    /// Upper bound `A` of `|scale| Σ_t |q_t k_t|` over the kept keys, before a softcap; 0 only if
    /// every such product is 0.
    pub dot_max: f64,
    /// Upper bound of `‖q‖`.
    pub query_norm: f64,
    /// Upper bound of `‖k‖` over the visible keys.
    pub key_norm: f64,
    /// Lower bound of `L = Σ_j e^(z_j − z_max)`, at least 1; 1 unless weights are normalized over
    /// keys.
    pub sum_lower: f64,
    /// `√(Σ_j w_j²)`. No bound claimed.
    pub weight_norm: f64,
    /// Bits with which every partial sum of every kept dot product is representable, whatever the
    /// order, above `dot_grid`.
    pub dot_bits: i32,
    /// Every partial sum of a kept dot product is a multiple of `2^dot_grid`.
    pub dot_grid: i32,
    /// Present when every visible logit is exactly 0 or at most −1100.
    pub exact: Option<ExactRow>,
    /// `ln Σ_j e^(z_j)`; unknown when weights are normalized over queries.
    pub lse: Lse,
}

/// What became of the sink of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkWeight {
    /// There is none.
    Absent,
    /// It is within 600 of the largest logit.
    Kept,
    /// It is further below.
    Dropped,
}

impl RowStats {
    /// A row without visible keys.
    fn empty(sink: Option<f64>) -> Self {
        let size = sink.map_or(0.0, f64::abs);
        Self {
            visible: 0,
            dropped: 0,
            sink: sink.map_or(SinkWeight::Absent, |_| SinkWeight::Kept),
            dropped_ratio: 0.0,
            logit_max: size,
            final_max: size,
            bias_max: 0.0,
            dot_max: 0.0,
            query_norm: 0.0,
            key_norm: 0.0,
            sum_lower: 1.0,
            weight_norm: 0.0,
            dot_bits: 0,
            dot_grid: 0,
            exact: None,
            lse: Lse::empty(sink),
        }
    }

    /// A row of which nothing is known.
    fn unknown(head: &Head<'_>, visible: usize) -> Self {
        let infinity = f64::INFINITY;
        Self {
            visible,
            sink: head.sink.map_or(SinkWeight::Absent, |_| SinkWeight::Kept),
            logit_max: infinity,
            final_max: infinity,
            bias_max: infinity,
            dot_max: infinity,
            query_norm: infinity,
            key_norm: infinity,
            dot_bits: i32::MAX,
            dot_grid: i32::MIN,
            lse: Lse::unknown(),
            ..Self::empty(None)
        }
    }
}

/// How much of a [`HeadEnclosure`] is computed; what is not has length 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// `mid` only, with no claim: the plain attention that the others are measured against.
    Midpoints,
    /// `mid` and `rad`, with `Σ w|v|` bounded by the largest `|v|` of its column: no further matrix
    /// product.
    Radii,
    /// That, with `value_abs_sum` and `rows`: what
    /// [`certainly_keeps`](crate::bound::certainly_keeps) needs.
    Rows,
    /// Everything, with the products of the weights with `|V|` and `V²`: narrower, and what a
    /// contract's bound needs.
    Full,
}

impl HeadEnclosure {
    fn new(head: &Head<'_>, detail: Detail) -> Self {
        let zeros = |needs: Detail| {
            if detail >= needs { vec![0.0; head.n_q * head.d_v] } else { Vec::new() }
        };
        Self {
            mid: zeros(Detail::Midpoints),
            rad: zeros(Detail::Radii),
            abar: zeros(Detail::Full),
            deviation: zeros(Detail::Full),
            product_norm: zeros(Detail::Full),
            value_abs_sum: zeros(Detail::Rows),
            rows: if detail >= Detail::Rows {
                vec![RowStats::empty(None); head.n_q]
            } else {
                Vec::new()
            },
        }
    }

    fn set(&mut self, index: usize, element: element::Element) {
        self.mid[index] = element.mid;
        self.rad[index] = element.rad;
        self.abar[index] = element.abar;
        self.deviation[index] = element.deviation;
        self.product_norm[index] = element.product_norm;
    }
}

/// Encloses the output `O_ic = Σ_j w_ij · v_jc` of one head.
///
/// # Shapes
/// See [`Head`] → `(n_q, d_v)`.
///
/// # Error bound
/// With `u = 2⁻⁵³`, `γ_k = ku/(1 − ku)`, `y` the error of a logit plus that of the exponential and
/// `τ = y + y²`, the radius is `τ/(1−τ) · D + γ_κ · Ā + (γ_l + u) · |O|` plus cut-off and underflow
/// terms, times `1 + 2⁻¹⁰`, where `Ā = Σ w|v|` and `D = Σ w|v − O|`. Derivation:
/// docs/bounds.md#output; with a sink docs/bounds.md#sink. The radius of the log-sum-exp:
/// docs/bounds.md#lse.
///
/// # Edge cases
/// Extents of 0 give empty results, or zero logits for `d_k = 0`. One visible key, and an exact row
/// (docs/bounds.md#exact), have radius 0, or the smallest positive number if keys vanish in it.
/// With a sink a row without keys is 0 with radius 0, and one key is not copied. A cap that is not
/// positive and finite, and a sink, bias or slope that is not finite, make the rows they meet
/// unknown.
///
/// # Panics
/// Unless the slices have the lengths that the shapes say, see [`Head`].
pub fn enclose(head: &Head<'_>) -> HeadEnclosure {
    enclose_with(head, Products::Faer)
}

/// [`enclose`] with the given matrix products: with [`Products::FixedOrder`] the same bits on every
/// machine.
///
/// # Panics
/// As [`enclose`].
pub fn enclose_with(head: &Head<'_>, products: Products) -> HeadEnclosure {
    enclose_as(head, products, Detail::Full)
}

/// [`enclose_with`] in the given detail; softmax over queries always in full.
///
/// Blocks of rows are computed in parallel, on the threads of the `rayon` pool that the caller is
/// in; callers may themselves be parallel over heads. The result is the same, bit for bit, for
/// every number of threads: docs/bounds.md#streaming.
///
/// # Panics
/// As [`enclose`].
pub fn enclose_as(head: &Head<'_>, products: Products, detail: Detail) -> HeadEnclosure {
    head.assert_shapes();
    match head.normalization {
        Normalization::OverKeys | Normalization::None => {
            let mut enclosure = HeadEnclosure::new(head, detail);
            blocks::enclose(head, products, detail, &mut enclosure);
            enclosure
        }
        Normalization::OverQueries => {
            let mut enclosure = HeadEnclosure::new(head, Detail::Full);
            over_queries::enclose(head, products, &mut enclosure);
            enclosure
        }
    }
}
