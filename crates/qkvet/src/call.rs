//! One call of attention, as slices.

use qkvet_spec::{Dims, Packed, Window};

/// A row-major tensor without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a, T> {
    /// The elements.
    pub data: &'a [T],
    /// Extents, outermost first.
    pub shape: &'a [usize],
}

impl<T: Copy> Tensor<'_, T> {
    /// The element that stands at these indices, outermost first: an axis that is missing in front,
    /// or of extent 1, is the same for all of them.
    ///
    /// # Panics
    /// An index beyond its axis, or more axes than indices.
    pub fn at(&self, indices: [usize; 4]) -> T {
        let indices = &indices[indices.len() - self.shape.len()..];
        let flat = self.shape.iter().zip(indices).fold(0, |flat, (n, index)| {
            let index = if *n == 1 { 0 } else { *index };
            assert!(index < *n, "index: expected one below {n}, got {index}");
            flat * n + index
        });
        self.data[flat]
    }
}

/// What attention is asked for. An option that is absent is off, and one that a target does not
/// offer is never on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Call<'a, T> {
    /// `(b, h_q, n_q, d_k)`.
    pub query: Tensor<'a, T>,
    /// `(b, h_k, n_k, d_k)`.
    pub key: Tensor<'a, T>,
    /// `(b, h_k, n_k, d_v)`.
    pub value: Tensor<'a, T>,
    /// An explicit factor on `QKᵀ`; [`Call::scale_or_default`] fills in the default.
    pub scale: Option<f64>,
    /// Query `i` sees keys `j ≤ i + n_k − n_q`.
    pub causal: bool,
    /// True attends. Two axes, or four of which some may be 1: [`Tensor::at`] reads either.
    pub mask: Option<Tensor<'a, bool>>,
    /// Added to the scaled scores; axes as of the mask.
    pub bias: Option<Tensor<'a, T>>,
    /// `c` of `c · tanh(x/c)`, applied to the scaled scores.
    pub softcap: Option<f64>,
    /// How far a query sees before and behind its own position, which is that of causal masking.
    pub window: Option<Window>,
    /// `(h_q)`: a logit that joins the sum of each row and has no value.
    pub sinks: Option<Tensor<'a, T>>,
    /// `(h_q)`: `−slope · |i + n_k − n_q − j|` is added where the bias is.
    pub alibi_slopes: Option<Tensor<'a, T>>,
    /// `(b)`: how many keys of each item exist.
    pub key_lengths: Option<&'a [usize]>,
    /// `(b)`: how many queries of each item exist.
    pub query_lengths: Option<&'a [usize]>,
    /// Several sequences in one.
    pub packed: Option<&'a Packed>,
}

impl<T> Call<'_, T> {
    /// The extents: `b`, `h_q`, `n_q` and `d_k` of the query, `h_k` and `n_k` of the key, `d_v` of
    /// the value.
    pub fn dims(&self) -> Dims {
        let (q, k, v) = (self.query.shape, self.key.shape, self.value.shape);
        Dims { b: q[0], h_q: q[1], h_k: k[1], n_q: q[2], n_k: k[2], d_k: q[3], d_v: v[3] }
    }

    /// The factor on `QKᵀ`: the explicit one, or `1/√d_k`.
    pub fn scale_or_default(&self) -> f64 {
        self.scale.unwrap_or_else(|| 1.0 / (self.dims().d_k as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_through_broadcast_axes() {
        let whole = Tensor { data: &[1, 2, 3, 4, 5, 6], shape: &[1, 1, 2, 3] };
        assert_eq!([whole.at([7, 9, 0, 2]), whole.at([0, 0, 1, 0])], [3, 4]);
        let shared = Tensor { data: &[1, 2, 3, 4, 5, 6], shape: &[2, 3] };
        assert_eq!(shared.at([1, 1, 1, 2]), 6);
        let of_keys = Tensor { data: &[1, 2, 3, 4], shape: &[2, 1, 1, 2] };
        assert_eq!(of_keys.at([1, 3, 5, 1]), 4);
        assert_eq!(Tensor { data: &[1, 2], shape: &[2] }.at([0, 0, 0, 1]), 2);
    }
}
