//! Attention written with ndarray: `softmax(scale · QKᵀ + bias over the visible keys) · V`.

use ndarray::{Array2, Array4, ArrayView4, ArrayViewD, Axis, NdFloat, Zip, s};

/// What may be asked for besides.
#[derive(Clone, Debug, Default)]
pub struct Options<'a, T> {
    /// By default `1/√d_k`.
    pub scale: Option<T>,
    /// Aligned lower right: query `i` sees keys `j ≤ i + n_k − n_q`.
    pub causal: bool,
    /// True attends; broadcast to `(b, h_q, n_q, n_k)`.
    pub mask: Option<ArrayViewD<'a, bool>>,
    /// Added to the scaled scores; broadcast likewise.
    pub bias: Option<ArrayViewD<'a, T>>,
}

/// `(b, h_q, n_q, d_v)` of query `(b, h_q, n_q, d_k)`, key `(b, h_k, n_k, d_k)` and value
/// `(b, h_k, n_k, d_v)`. Query head `h` reads key head `h / (h_q / h_k)`; a query that sees no key
/// gives 0.
///
/// # Errors
/// Arrays that do not fit together, in words.
pub fn attention<T: NdFloat>(
    query: ArrayView4<'_, T>,
    key: ArrayView4<'_, T>,
    value: ArrayView4<'_, T>,
    options: &Options<'_, T>,
) -> Result<Array4<T>, String> {
    let ((b, h_q, n_q, d_k), (items, h_k, n_k, width)) = (query.dim(), key.dim());
    let d_v = value.dim().3;
    if width != d_k || items != b || value.dim() != (b, h_k, n_k, d_v) || h_k == 0 || h_q % h_k != 0 {
        return Err(format!("shapes {:?}, {:?} and {:?} do not fit", query.shape(), key.shape(), value.shape()));
    }
    let scores_shape = (b, h_q, n_q, n_k);
    let unfit = |name: &str| format!("{name} does not broadcast to {scores_shape:?}");
    let mask = options.mask.as_ref().map(|mask| mask.broadcast(scores_shape).ok_or_else(|| unfit("mask")));
    let bias = options.bias.as_ref().map(|bias| bias.broadcast(scores_shape).ok_or_else(|| unfit("bias")));
    let (mask, bias) = (mask.transpose()?, bias.transpose()?);
    let number = |x: usize| T::from(x).unwrap_or_else(T::infinity);
    let scale = options.scale.unwrap_or_else(|| number(d_k).sqrt().recip());

    let mut output = Array4::zeros((b, h_q, n_q, d_v));
    for item in 0..b {
        for head in 0..h_q {
            let group = head / (h_q / h_k);
            let key = key.slice(s![item, group, .., ..]);
            let mut scores: Array2<T> = query.slice(s![item, head, .., ..]).dot(&key.t()) * scale;
            if let Some(bias) = &bias {
                scores += &bias.slice(s![item, head, .., ..]);
            }
            if let Some(mask) = &mask {
                let hide = |score: &mut T, shown: &bool| *score = if *shown { *score } else { T::neg_infinity() };
                Zip::from(&mut scores).and(mask.slice(s![item, head, .., ..])).for_each(hide);
            }
            if options.causal {
                let hide = |((i, j), score): ((usize, usize), &mut T)| {
                    if j + n_q > i + n_k {
                        *score = T::neg_infinity();
                    }
                };
                scores.indexed_iter_mut().for_each(hide);
            }
            for mut row in scores.axis_iter_mut(Axis(0)) {
                let largest = row.fold(T::neg_infinity(), |largest, x| largest.max(*x));
                if largest == T::neg_infinity() {
                    row.fill(T::zero());
                    continue;
                }
                row.mapv_inplace(|x| (x - largest).exp());
                let sum = row.sum();
                row.mapv_inplace(|x| x / sum);
            }
            output.slice_mut(s![item, head, .., ..]).assign(&scores.dot(&value.slice(s![item, group, .., ..])));
        }
    }
    Ok(output)
}
