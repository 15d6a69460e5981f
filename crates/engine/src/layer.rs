//! A whole multi-head layer, projections included:
//! `concat_h(attention(X_q W_Q^h, X_kv W_K^h, X_kv W_V^h)) W_O`.
//!
//! [`enclose_layer`] encloses its exact output, [`bound_layer`] says how far an implementation
//! under a contract may be from it. Both hand the errors of the projections to the heads as
//! [`Inexact`] inputs. Derivation: `docs/bounds.md#layers`.

use qkvet_spec::Contract;

use crate::bound::bound;
use crate::enclosure::{HeadEnclosure, INFLATION, enclose_with, norm_upper};
use crate::exp::U;
use crate::format::{max_finite, min_normal, pow2, unit_roundoff};
use crate::gemm::{Products, gamma, times_depth};
use crate::head::{Alibi, EmptyRow, Head, Inexact, Normalization, RealScale, Stage, Visible};

/// A linear map `x ↦ x W + b`.
///
/// # Shapes
/// `weight: (rows, cols)` row-major, `bias: (cols,)`, all finite.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// Width of what it takes.
    pub rows: usize,
    /// Width of what it gives.
    pub cols: usize,
    /// `W`.
    pub weight: &'a [f64],
    /// `b`; absent: 0.
    pub bias: Option<&'a [f64]>,
}

/// What one head of a layer does with its queries, keys and values, see [`Head`].
#[derive(Clone, Copy, Debug)]
pub struct LayerHead<'a> {
    /// Which of the key and value heads it reads.
    pub key_head: usize,
    /// Order of the stages.
    pub stages: &'a [Stage],
    /// Factor of the scale.
    pub scale: RealScale,
    /// The softcap.
    pub softcap: Option<f64>,
    /// The bias, `(n_q, n_k)`.
    pub bias: Option<&'a [f64]>,
    /// ALiBi.
    pub alibi: Option<Alibi>,
    /// The sink.
    pub sink: Option<f64>,
    /// Which keys a query sees.
    pub visible: Visible<'a>,
    /// The output of a query that sees no key.
    pub empty_row: EmptyRow,
}

/// A layer and its inputs.
///
/// # Shapes
/// `x_q: (n_q, w_q.rows)`, `x_kv: (n_k, w_k.rows)`; with `h` heads, `g` key heads of width `d_k`
/// and `d_v`: `w_q: (·, h·d_k)`, `w_k: (·, g·d_k)`, `w_v: (·, g·d_v)`, `w_o: (h·d_v, d_out)` →
/// output `(n_q, d_out)`. Head `h` has columns `h·d_k..(h + 1)·d_k`, and so on.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// Number of queries.
    pub n_q: usize,
    /// Number of keys.
    pub n_k: usize,
    /// Width of a query and of a key of one head.
    pub d_k: usize,
    /// Width of a value of one head.
    pub d_v: usize,
    /// What queries are made of.
    pub x_q: &'a [f64],
    /// What keys and values are made of.
    pub x_kv: &'a [f64],
    /// `W_Q`.
    pub w_q: Projection<'a>,
    /// `W_K`.
    pub w_k: Projection<'a>,
    /// `W_V`.
    pub w_v: Projection<'a>,
    /// `W_O`.
    pub w_o: Projection<'a>,
    /// The heads.
    pub heads: &'a [LayerHead<'a>],
}

/// Enclosure of the output of a layer: the exact output is within `rad` of `mid`, `(n_q, d_out)`.
#[derive(Clone, Debug)]
pub struct LayerEnclosure {
    /// Midpoints.
    pub mid: Vec<f64>,
    /// Radii, infinite where nothing could be proved.
    pub rad: Vec<f64>,
    /// Enclosures of the heads.
    pub heads: Vec<HeadEnclosure>,
}

/// Encloses the output of a layer.
///
/// # Error bound
/// Each projection has elementwise radius `γ_κ (|X||W| + |b|)`, the heads take it as inexact
/// inputs, and the last projection adds `rad |W_O| + γ_κ |Ô||W_O|`. Derivation:
/// docs/bounds.md#layers.
///
/// # Panics
/// Unless the slices have the lengths that the shapes say.
pub fn enclose_layer(layer: &Layer<'_>, products: Products) -> LayerEnclosure {
    let parts = Parts::new(layer, products);
    let heads = parts.enclose_heads(layer, products, |matrix| matrix.rounding.clone());
    let (mid, rad) = parts.output(layer, &heads, products);
    LayerEnclosure { mid, rad, heads }
}

/// Bounds the distance between the exact output of a layer and that of an implementation that keeps
/// the contract in every head, and computes the projections in `dot`, rounding their results
/// (before and after a bias is added) to `dtype`; `(n_q, d_out)`.
///
/// # Error bound
/// With `r = (1 + γ(u_dot))(1 + u)² − 1` the heads take inputs that are off by `r(|X||W| + |b|)`;
/// to their radii the hard bound of a head is added, and `r |O||W_O|` for the last projection.
/// Derivation: docs/bounds.md#layers.
///
/// # Panics
/// As [`enclose_layer`].
pub fn bound_layer(layer: &Layer<'_>, contract: &Contract, products: Products) -> Vec<f64> {
    let parts = Parts::new(layer, products);
    let exact = parts.enclose_heads(layer, products, |matrix| matrix.rounding.clone());
    // Wherever the implementation's queries, keys and values may be.
    let implemented = |matrix: &Matrix| -> Vec<f64> {
        let radii = matrix.magnitude.iter().zip(&matrix.rounding);
        radii
            .map(|(size, rounding)| {
                INFLATION * (projected(*size, matrix.depth, contract) + rounding)
            })
            .collect()
    };
    let inner = layer.heads.len() * layer.d_v;
    let (mut distance, mut size) = (vec![0.0; layer.n_q * inner], vec![0.0; layer.n_q * inner]);
    for (h, exact) in exact.iter().enumerate() {
        let inputs = parts.inputs(layer, h, implemented);
        let head = inputs.head(layer, h);
        let enclosure = enclose_with(&head, products);
        let allowed = bound(&head, &enclosure, contract);
        for at in 0..layer.n_q * layer.d_v {
            let to = at / layer.d_v * inner + h * layer.d_v + at % layer.d_v;
            let apart = enclosure.rad[at] + exact.rad[at] + allowed.hard[at];
            distance[to] =
                if apart.is_nan() || enclosure.mid[at].is_nan() { f64::INFINITY } else { apart };
            size[to] = enclosure.mid[at].abs() + distance[to];
        }
    }
    let weight: Vec<f64> = layer.w_o.weight.iter().map(|w| w.abs()).collect();
    let moved = magnitudes(&distance, &weight, None, (layer.n_q, inner, layer.w_o.cols));
    let sizes = magnitudes(&size, &weight, layer.w_o.bias, (layer.n_q, inner, layer.w_o.cols));
    let total =
        |(moved, size): (&f64, &f64)| INFLATION * (moved + projected(*size, inner, contract));
    moved
        .iter()
        .zip(&sizes)
        .map(total)
        .map(|x| if x.is_nan() { f64::INFINITY } else { x })
        .collect()
}

/// What an implementation's projection may be off, from `|x||W| + |b|`; infinite if a format may
/// overflow, and under contracts whose operands are rounded to a narrower format before they are
/// multiplied: what underflows there is not known from the products.
fn projected(size: f64, depth: usize, contract: &Contract) -> f64 {
    let u = unit_roundoff(contract.dtype);
    // Cut off instead of rounded, products in blocks: as in the products of attention.
    let (cut, addends) = if contract.truncates { (2.0, 2 * depth) } else { (1.0, depth) };
    let dot_unit = cut * pow2(-(contract.dot_precision() as i32));
    let relative = (1.0 + gamma(addends + 1, dot_unit)) * (1.0 + u) * (1.0 + u) - 1.0;
    let underflow =
        (2 * depth + 2) as f64 * min_normal(contract.dot) + 3.0 * min_normal(contract.dtype);
    let fits = size <= max_finite(contract.dtype).min(max_finite(contract.dot)) / 4.0;
    if fits && contract.operands.is_none() {
        // A difference of numbers near 1 loses what `f64` cannot hold.
        (relative + 8.0 * U) * size + underflow
    } else {
        f64::INFINITY
    }
}

/// A projected matrix with what is known of its errors.
struct Matrix {
    mid: Vec<f64>,
    /// `|X||W| + |b|`, rounded up.
    magnitude: Vec<f64>,
    /// Error of `mid`.
    rounding: Vec<f64>,
    cols: usize,
    depth: usize,
}

impl Matrix {
    fn new(x: &[f64], rows: usize, map: &Projection<'_>, products: Products) -> Self {
        let shape = (rows, map.rows, map.cols);
        assert_eq!(x.len(), rows * map.rows, "inputs of a projection");
        assert_eq!(map.weight.len(), map.rows * map.cols, "weights of a projection");
        assert!(map.bias.is_none_or(|bias| bias.len() == map.cols), "bias of a projection");
        let mut mid = vec![0.0; rows * map.cols];
        products.times(&mut mid, x, map.weight, shape);
        if let Some(bias) = map.bias {
            mid.chunks_exact_mut(map.cols.max(1))
                .for_each(|row| row.iter_mut().zip(bias).for_each(|(m, b)| *m += b));
        }
        let abs = |xs: &[f64]| xs.iter().map(|x| x.abs()).collect::<Vec<_>>();
        let magnitude = magnitudes(&abs(x), &abs(map.weight), map.bias, shape);
        let growth = gamma(times_depth(map.rows) + 1, U);
        let underflow = (2 * map.rows + 4) as f64 * f64::MIN_POSITIVE;
        let rounding =
            |size: &f64| if *size == 0.0 { 0.0 } else { INFLATION * growth * size + underflow };
        let rounding = magnitude.iter().map(rounding).collect();
        Self { mid, magnitude, rounding, cols: map.cols, depth: map.rows }
    }

    /// Columns of one head.
    fn columns(&self, xs: &[f64], from: usize, width: usize) -> Vec<f64> {
        xs.chunks_exact(self.cols.max(1)).flat_map(|row| row[from..from + width].to_vec()).collect()
    }
}

/// Upper bound of `lhs · rhs + |bias|` for numbers that are not negative, infinite ones and 0 among
/// them.
fn magnitudes(
    lhs: &[f64],
    rhs: &[f64],
    bias: Option<&[f64]>,
    (rows, depth, cols): (usize, usize, usize),
) -> Vec<f64> {
    let growth = 1.0 + 2.0 * gamma(depth + 2, U);
    let mut sums = vec![0.0; rows * cols];
    for (i, row) in lhs.chunks_exact(depth.max(1)).enumerate() {
        let sums = &mut sums[i * cols..(i + 1) * cols];
        for (x, weights) in row.iter().zip(rhs.chunks_exact(cols.max(1))) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum +=
                    if *x == 0.0 || *weight == 0.0 { 0.0 } else { x * weight + f64::MIN_POSITIVE };
            }
        }
    }
    for (at, sum) in sums.iter_mut().enumerate() {
        *sum = (*sum + bias.map_or(0.0, |bias| bias[at % cols].abs())) * growth;
    }
    sums
}

/// The projected inputs.
struct Parts {
    query: Matrix,
    key: Matrix,
    value: Matrix,
}

/// Inputs of one head and how far they may be off.
struct Inputs {
    query: Vec<f64>,
    key: Vec<f64>,
    value: Vec<f64>,
    query_error: Vec<f64>,
    key_error: Vec<f64>,
    value_error: Vec<f64>,
}

impl Parts {
    fn new(layer: &Layer<'_>, products: Products) -> Self {
        let (h, g) = (
            layer.heads.len(),
            layer.heads.iter().map(|head| head.key_head + 1).max().unwrap_or(0),
        );
        assert_eq!(layer.w_q.cols, h * layer.d_k, "columns of W_Q");
        assert!(
            layer.w_k.cols >= g * layer.d_k && layer.w_v.cols >= g * layer.d_v,
            "columns of W_K and W_V"
        );
        assert_eq!(layer.w_o.rows, h * layer.d_v, "rows of W_O");
        Self {
            query: Matrix::new(layer.x_q, layer.n_q, &layer.w_q, products),
            key: Matrix::new(layer.x_kv, layer.n_k, &layer.w_k, products),
            value: Matrix::new(layer.x_kv, layer.n_k, &layer.w_v, products),
        }
    }

    fn inputs(&self, layer: &Layer<'_>, h: usize, radii: impl Fn(&Matrix) -> Vec<f64>) -> Inputs {
        let g = layer.heads[h].key_head;
        let of = |matrix: &Matrix, h: usize, width: usize| {
            (
                matrix.columns(&matrix.mid, h * width, width),
                matrix.columns(&radii(matrix), h * width, width),
            )
        };
        let norms = |radii: &[f64], rows: usize| -> Vec<f64> {
            (0..rows)
                .map(|row| norm_upper(&radii[row * layer.d_k..(row + 1) * layer.d_k]))
                .collect()
        };
        let ((query, query_radii), (key, key_radii)) =
            (of(&self.query, h, layer.d_k), of(&self.key, g, layer.d_k));
        let (value, value_error) = of(&self.value, g, layer.d_v);
        let (query_error, key_error) =
            (norms(&query_radii, layer.n_q), norms(&key_radii, layer.n_k));
        Inputs { query, key, value, query_error, key_error, value_error }
    }

    fn enclose_heads(
        &self,
        layer: &Layer<'_>,
        products: Products,
        radii: impl Fn(&Matrix) -> Vec<f64> + Copy,
    ) -> Vec<HeadEnclosure> {
        let heads = 0..layer.heads.len();
        heads
            .map(|h| enclose_with(&self.inputs(layer, h, radii).head(layer, h), products))
            .collect()
    }

    /// The last projection of enclosed heads.
    fn output(
        &self,
        layer: &Layer<'_>,
        heads: &[HeadEnclosure],
        products: Products,
    ) -> (Vec<f64>, Vec<f64>) {
        let inner = heads.len() * layer.d_v;
        let (mut mid, mut rad) = (vec![0.0; layer.n_q * inner], vec![0.0; layer.n_q * inner]);
        for (h, head) in heads.iter().enumerate() {
            for at in 0..layer.n_q * layer.d_v {
                let to = at / layer.d_v * inner + h * layer.d_v + at % layer.d_v;
                // A row that is NaN by definition makes an output that is NaN, about which no
                // number says anything.
                (mid[to], rad[to]) = if head.mid[at].is_nan() {
                    (0.0, f64::INFINITY)
                } else {
                    (head.mid[at], head.rad[at])
                };
            }
        }
        let last = Matrix::new(&mid, layer.n_q, &layer.w_o, products);
        let weight: Vec<f64> = layer.w_o.weight.iter().map(|w| w.abs()).collect();
        let moved = magnitudes(&rad, &weight, None, (layer.n_q, inner, layer.w_o.cols));
        let total = last.mid.iter().zip(last.rounding.iter().zip(&moved)).map(
            |(mid, (rounding, moved))| {
                let rad = rounding + INFLATION * moved;
                if mid.is_finite() && rad.is_finite() { (*mid, rad) } else { (0.0, f64::INFINITY) }
            },
        );
        total.unzip()
    }
}

impl Inputs {
    fn head<'a>(&'a self, layer: &Layer<'a>, h: usize) -> Head<'a> {
        let LayerHead { stages, scale, softcap, bias, alibi, sink, visible, empty_row, .. } =
            layer.heads[h];
        Head {
            n_q: layer.n_q,
            n_k: layer.n_k,
            d_k: layer.d_k,
            d_v: layer.d_v,
            query: &self.query,
            key: &self.key,
            value: &self.value,
            stages,
            scale,
            softcap,
            bias,
            alibi,
            alibi_shifts: None,
            sink,
            visible,
            normalization: Normalization::OverKeys,
            empty_row,
            inexact: Some(Inexact {
                query: &self.query_error,
                key: &self.key_error,
                value: &self.value_error,
            }),
        }
    }
}
