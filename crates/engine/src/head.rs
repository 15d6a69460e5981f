//! The problem of one head: the exact real function whose value [`enclose`](crate::enclosure::enclose) encloses.
//!
//! Everything that attention options do to one head ends up here as numbers: a scale, an additive bias and the set of visible
//! keys. Batches, head maps and option names are not known here.

pub use qkvet_spec::{EmptyRow, Normalization};

/// One head of attention: `O_ic = Σ_j w_ij · v_jc` with `w` the softmax over the visible keys of
/// `z_ij = scale · Σ_t q_it · k_jt + bias_ij`.
///
/// # Shapes
/// `query: (n_q, d_k)`, `key: (n_k, d_k)`, `value: (n_k, d_v)` row-major and finite → output `(n_q, d_v)`. Every extent may be 0.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Number of queries.
    pub n_q: usize,
    /// Number of keys.
    pub n_k: usize,
    /// Width of a query and of a key.
    pub d_k: usize,
    /// Width of a value.
    pub d_v: usize,
    /// Queries, `n_q · d_k` finite numbers.
    pub query: &'a [f64],
    /// Keys, `n_k · d_k` finite numbers.
    pub key: &'a [f64],
    /// Values, `n_k · d_v` finite numbers.
    pub value: &'a [f64],
    /// Factor on the dot products.
    pub scale: RealScale,
    /// Added to the scaled dot products.
    pub bias: Option<Bias<'a>>,
    /// Which keys a query may see, before `−∞` entries of the bias hide more.
    pub visible: Visible<'a>,
    /// What the exponentials are divided by.
    pub normalization: Normalization,
    /// The output of a query that sees no key.
    pub empty_row: EmptyRow,
}

impl Head<'_> {
    /// Checks that every slice has the length its shape says.
    ///
    /// # Panics
    /// Unless `query.len() == n_q·d_k`, `key.len() == n_k·d_k`, `value.len() == n_k·d_v`, a bias and a mask have `n_q·n_k`
    /// entries and a prefix has `n_q`.
    pub(crate) fn assert_shapes(&self) {
        assert_eq!(self.query.len(), self.n_q * self.d_k, "query");
        assert_eq!(self.key.len(), self.n_k * self.d_k, "key");
        assert_eq!(self.value.len(), self.n_k * self.d_v, "value");
        if let Some(bias) = &self.bias {
            assert_eq!(bias.values.len(), self.n_q * self.n_k, "bias");
        }
        match self.visible {
            Visible::All => {}
            Visible::Prefix(prefix) => assert_eq!(prefix.len(), self.n_q, "prefix"),
            Visible::Mask(mask) => assert_eq!(mask.len(), self.n_q * self.n_k, "mask"),
        }
    }

    /// Query `i`.
    pub(crate) fn query_row(&self, i: usize) -> &[f64] {
        &self.query[i * self.d_k..(i + 1) * self.d_k]
    }

    /// Key `j`.
    pub(crate) fn key_row(&self, j: usize) -> &[f64] {
        &self.key[j * self.d_k..(j + 1) * self.d_k]
    }

    /// Value `j`.
    pub(crate) fn value_row(&self, j: usize) -> &[f64] {
        &self.value[j * self.d_v..(j + 1) * self.d_v]
    }

    /// Biases of query `i`.
    pub(crate) fn bias_row(&self, i: usize) -> Option<&[f64]> {
        self.bias.map(|bias| &bias.values[i * self.n_k..(i + 1) * self.n_k])
    }
}

/// A real factor known up to a relative error: the true `s` has `|s − value| ≤ rel_error · |value|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealScale {
    /// The `f64` used in its place; any sign, or zero.
    pub value: f64,
    /// Relative distance to the true factor, 0 when the factor is this `f64`.
    pub rel_error: f64,
}

impl RealScale {
    /// The factor that is this `f64`.
    pub fn exact(value: f64) -> Self {
        Self { value, rel_error: 0.0 }
    }

    /// The real number `1/√d_k`; 1 for `d_k = 0`, where it does not matter.
    ///
    /// # Error bound
    /// Two roundings give `s/value = (1 + e₁)/(1 + e₂)`, so `rel_error = 3u ≥ 2u/(1 − u)`; it is 0 when `d_k` is a power of 4.
    pub fn inverse_sqrt(d_k: usize) -> Self {
        if d_k == 0 {
            return Self::exact(1.0);
        }
        let value = 1.0 / (d_k as f64).sqrt();
        let is_exact = d_k.is_power_of_two() && d_k.trailing_zeros().is_multiple_of(2);
        Self { value, rel_error: if is_exact { 0.0 } else { 1.5 * f64::EPSILON } }
    }
}

/// Biases `(n_q, n_k)`: finite, or `−∞` for a key that the query does not see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias<'a> {
    /// Row-major entries.
    pub values: &'a [f64],
    /// The true bias `b` has `|b − value| ≤ rel_error · |value|`.
    pub rel_error: f64,
}

/// Which keys each query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible<'a> {
    /// Every key.
    All,
    /// Query `i` sees the keys `j < prefix[i]`.
    Prefix(&'a [usize]),
    /// Row-major `(n_q, n_k)`; true is visible.
    Mask(&'a [bool]),
}
