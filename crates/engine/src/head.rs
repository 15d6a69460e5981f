//! The problem of one head: the exact real function whose value
//! [`enclose`](crate::enclosure::enclose) encloses.
//!
//! Everything that attention options do to one head ends up here as numbers: stages with scale,
//! softcap, bias and ALiBi, a sink, the keys that each query sees, and what the exponentials are
//! divided by. Batches, head maps and option names are not known here.

pub use qkvet_spec::{EmptyRow, Normalization, Stage};

/// One head of attention: `O_ic = Σ_j w_ij · v_jc` with `w` the softmax of the logits `z_ij` over
/// the visible keys, and over the sink where there is one.
///
/// A logit begins as the dot product `Σ_t q_it · k_jt` and passes through the `stages` in their
/// order: multiplied by the scale, limited by the softcap, increased by bias and ALiBi.
///
/// How errors pass through all this: docs/bounds.md#stages, docs/bounds.md#softcap,
/// docs/bounds.md#alibi and docs/bounds.md#sink.
///
/// # Shapes
/// `query: (n_q, d_k)`, `key: (n_k, d_k)`, `value: (n_k, d_v)` row-major and finite → output
/// `(n_q, d_v)`. Every extent may be 0.
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
    /// Order of scale, softcap and bias, each at most once; what it leaves out does not happen.
    pub stages: &'a [Stage],
    /// Factor of [`Stage::Scale`].
    pub scale: RealScale,
    /// The `c` of [`Stage::Softcap`], `c · tanh(x/c)`: positive and finite; absent: no cap.
    pub softcap: Option<f64>,
    /// Added by [`Stage::Bias`], `(n_q, n_k)`: finite, or `−∞` for a key that the query does not
    /// see.
    pub bias: Option<&'a [f64]>,
    /// Added by [`Stage::Bias`] too.
    pub alibi: Option<Alibi>,
    /// Added to the position of each query as ALiBi sees it, `n_q` numbers: packed sequences begin
    /// anew. Absent: nothing.
    pub alibi_shifts: Option<&'a [i64]>,
    /// A logit that joins the row sum of every query and has no value: finite. No stage applies to
    /// it, no mask hides it.
    pub sink: Option<f64>,
    /// Which keys a query may see, before `−∞` entries of the bias hide more.
    pub visible: Visible<'a>,
    /// What the exponentials are divided by.
    pub normalization: Normalization,
    /// The output of a query that sees no key; with a sink that is 0, whatever is said here.
    pub empty_row: EmptyRow,
}

impl<'a> Head<'a> {
    /// Checks that every slice has the length its shape says.
    ///
    /// # Panics
    /// Unless `query.len() == n_q·d_k`, `key.len() == n_k·d_k`, `value.len() == n_k·d_v`, a bias
    /// and a mask have `n_q·n_k` entries, shifts of ALiBi are `n_q`, spans have `n_q` that end
    /// within the keys, and distances are as many as what they belong to.
    pub(crate) fn assert_shapes(&self) {
        assert_eq!(self.query.len(), self.n_q * self.d_k, "query");
        assert_eq!(self.key.len(), self.n_k * self.d_k, "key");
        assert_eq!(self.value.len(), self.n_k * self.d_v, "value");
        if let Some(bias) = &self.bias {
            assert_eq!(bias.len(), self.n_q * self.n_k, "bias");
        }
        if let Some(shifts) = self.alibi_shifts {
            assert_eq!(shifts.len(), self.n_q, "alibi_shifts");
        }
        match self.visible {
            Visible::All => {}
            Visible::Spans(spans) => {
                assert_eq!(spans.len(), self.n_q, "spans");
                assert!(
                    spans.iter().all(|span| span.start <= span.end && span.end <= self.n_k),
                    "spans"
                );
            }
            Visible::Mask(mask) => assert_eq!(mask.len(), self.n_q * self.n_k, "mask"),
        }
    }

    /// Whether the logits pass through the stage.
    fn passes(&self, stage: Stage) -> bool {
        self.stages.contains(&stage)
    }

    /// The scale that the logits meet; 1 without [`Stage::Scale`].
    pub(crate) fn factor(&self) -> RealScale {
        if self.passes(Stage::Scale) { self.scale } else { RealScale::exact(1.0) }
    }

    /// The softcap that the logits meet.
    pub(crate) fn cap(&self) -> Option<f64> {
        self.softcap.filter(|_| self.passes(Stage::Softcap))
    }

    /// The ALiBi that the logits meet.
    pub(crate) fn slopes(&self) -> Option<Alibi> {
        self.alibi.filter(|_| self.passes(Stage::Bias))
    }

    /// ALiBi as query `i` meets it: its position is `i + offset`.
    pub(crate) fn slopes_of(&self, i: usize) -> Option<Alibi> {
        let shift = self.alibi_shifts.map_or(0, |shifts| shifts[i]);
        self.slopes().map(|alibi| Alibi { offset: alibi.offset.saturating_add(shift), ..alibi })
    }

    /// The bias that the logits meet. What is left out hides nothing either.
    pub(crate) fn biases(&self) -> Option<&'a [f64]> {
        self.bias.filter(|_| self.passes(Stage::Bias))
    }

    /// Whether query `i` may see key `j`, biases aside.
    pub(crate) fn sees(&self, i: usize, j: usize) -> bool {
        match self.visible {
            Visible::All => true,
            Visible::Spans(spans) => spans[i].contains(j),
            Visible::Mask(mask) => mask[i * self.n_k + j],
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
    pub(crate) fn bias_row(&self, i: usize) -> Option<&'a [f64]> {
        self.biases().map(|bias| &bias[i * self.n_k..(i + 1) * self.n_k])
    }
}

/// The real factor `factor/√radicand` and its double.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealScale {
    /// Numerator of the true factor; any sign, or zero.
    pub factor: f64,
    /// The true factor is `factor/√radicand`; at least 1.
    pub radicand: u128,
    /// The `f64` used in its place.
    pub value: f64,
    /// Relative distance to the true factor, `|s − value| ≤ rel_error · |value|`; 0 when the factor
    /// is this `f64`.
    pub rel_error: f64,
}

impl RealScale {
    /// The factor that is this `f64`.
    pub fn exact(value: f64) -> Self {
        Self { factor: value, radicand: 1, value, rel_error: 0.0 }
    }

    /// The real number `factor/√radicand`; a radicand of 0 stands for 1, as the width 0 does, where
    /// it does not matter.
    ///
    /// # Error bound
    /// Roundings of root and reciprocal give `(1 + e₁)/(1 + e₂)`, so `rel_error = 3u ≥ 2u/(1 − u)`;
    /// those of the radicand and of the product, where they round, make it `5u`. It is 0 when the
    /// radicand is a power of 4, or the factor 0. A product that is not a normal number has no
    /// relative error: then it is infinite.
    pub fn over_root(factor: f64, radicand: u128) -> Self {
        let radicand = radicand.max(1);
        let value = factor * (1.0 / (radicand as f64).sqrt());
        let halves = radicand.is_power_of_two() && radicand.trailing_zeros().is_multiple_of(2);
        let rel_error = match () {
            () if factor == 0.0 || radicand == 1 => 0.0,
            () if !value.is_normal() => f64::INFINITY,
            () if halves => 0.0,
            () if radicand < 1 << 53 && factor.abs().to_bits() << 12 == 0 => 1.5 * f64::EPSILON,
            () => 2.5 * f64::EPSILON,
        };
        Self { factor, radicand, value, rel_error }
    }

    /// The real number `1/√d_k`; 1 for `d_k = 0`, where it does not matter.
    ///
    /// # Error bound
    /// As [`RealScale::over_root`].
    pub fn inverse_sqrt(d_k: usize) -> Self {
        Self::over_root(1.0, d_k as u128)
    }
}

/// `−slope · |i + offset − j|`, added to the logit of query `i` and key `j`; see
/// [`Head::alibi_shifts`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alibi {
    /// The slope, finite, exactly this `f64`.
    pub slope: f64,
    /// Position of the first query among the keys.
    pub offset: i64,
}

/// Neighboring keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first one.
    pub start: usize,
    /// The one behind the last; not below `start`, at most `n_k`.
    pub end: usize,
}

impl Span {
    /// The keys below `end`.
    pub fn prefix(end: usize) -> Self {
        Self { start: 0, end }
    }

    /// How many keys.
    pub fn count(self) -> usize {
        self.end - self.start
    }

    /// Whether key `j` is one of them.
    pub fn contains(self, j: usize) -> bool {
        self.start <= j && j < self.end
    }
}

/// Which keys each query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible<'a> {
    /// Every key.
    All,
    /// Query `i` sees the keys `spans[i].start ≤ j < spans[i].end`: prefixes, windows, sequences
    /// packed into one.
    Spans(&'a [Span]),
    /// Row-major `(n_q, n_k)`; true is visible.
    Mask(&'a [bool]),
}
