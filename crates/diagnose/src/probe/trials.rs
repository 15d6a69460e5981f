//! The shapes that a probe asks with, and its calls: numbers that every format holds exactly.

use qkvet_engine::lowering::ResultName;
use qkvet_spec::{BoolTensor, Call, CallOptions, Dims, Dtype, Tensor};

/// A call and the result of it that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    pub(super) call: Call,
    pub(super) want: ResultName,
    /// Whether column `j` of the output is the weight of key `j`.
    pub(super) reads_keys: bool,
}

/// Two shapes, one with more keys and one with more queries, no two extents of either alike where
/// the target allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trials {
    pub(super) dtype: Dtype,
    pub(super) shapes: [Dims; 2],
}

/// How the shapes of a bench differ from the first one that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    /// Several query heads read one key head.
    grouped: bool,
    /// Widths of query and value of both shapes.
    widths: [(usize, usize); 2],
}

/// Benches in the order in which they are tried: what an implementation often leaves out is given
/// up step by step.
pub(super) const RUNGS: [Rung; 6] = [
    Rung { grouped: true, widths: [(8, 20), (9, 25)] },
    Rung { grouped: true, widths: [(16, 16), (32, 32)] },
    Rung { grouped: false, widths: [(8, 20), (9, 25)] },
    Rung { grouped: false, widths: [(16, 16), (32, 32)] },
    Rung { grouped: true, widths: [(64, 64), (128, 128)] },
    Rung { grouped: false, widths: [(64, 64), (128, 128)] },
];

impl Trials {
    pub(super) fn new(dtype: Dtype, rung: Rung) -> Self {
        let [(d_k, d_v), (e_k, e_v)] = rung.widths;
        let shapes = if rung.grouped {
            [
                Dims { b: 4, h_q: 6, h_k: 2, n_q: 3, n_k: 7, d_k, d_v },
                Dims { b: 2, h_q: 6, h_k: 3, n_q: 8, n_k: 5, d_k: e_k, d_v: e_v },
            ]
        } else {
            [
                Dims { b: 2, h_q: 4, h_k: 4, n_q: 3, n_k: 7, d_k, d_v },
                Dims { b: 2, h_q: 4, h_k: 4, n_q: 8, n_k: 5, d_k: e_k, d_v: e_v },
            ]
        };
        Self { dtype, shapes }
    }

    /// The same widths with grouped heads, whatever the bench: the question of heads is about
    /// those.
    pub(super) fn grouped(self) -> [Dims; 2] {
        let [one, other] = self.shapes;
        [Dims { h_q: 6, h_k: 2, ..one }, Dims { h_q: 6, h_k: 3, ..other }]
    }

    /// A call in each of the two shapes.
    pub(super) fn each(&self, trial: impl Fn(&Self, Dims) -> Trial) -> Vec<Trial> {
        self.shapes.map(|dims| trial(self, dims)).into()
    }

    /// The trial that weighs every key alike, with options.
    pub(super) fn uniform(&self, dims: Dims, options: CallOptions) -> Trial {
        let mut trial = uniform(self.dtype, dims);
        trial.call.options = options;
        trial
    }

    /// A mask of the given shape, `at(item, h, i, j)`.
    pub(super) fn mask(shape: &[usize], at: impl Fn([usize; 4]) -> bool) -> Option<BoolTensor> {
        Some(BoolTensor { shape: shape.to_vec(), data: indices(shape).map(at).collect() })
    }

    /// A tensor of the given shape, `at(item, h, i, j)`.
    pub(super) fn tensor(&self, shape: &[usize], at: impl Fn([usize; 4]) -> f64) -> Tensor {
        tensor(self.dtype, shape, at)
    }
}

/// Index tuples of a shape of at most four axes, row-major; axes that are not there are 0.
fn indices(shape: &[usize]) -> impl Iterator<Item = [usize; 4]> {
    (0..shape.iter().product()).map(move |at: usize| {
        let mut rest = at;
        let mut index = [0; 4];
        for (axis, n) in (0..4).rev().zip(shape.iter().rev()) {
            index[axis] = rest % n;
            rest /= n;
        }
        index
    })
}

fn tensor(dtype: Dtype, shape: &[usize], at: impl Fn([usize; 4]) -> f64) -> Tensor {
    Tensor { dtype, shape: shape.to_vec(), data: indices(shape).map(at).collect() }
}

/// A call without options, its elements by `(item, head, row, column)`.
pub(super) fn call(
    dtype: Dtype,
    dims: Dims,
    query: impl Fn([usize; 4]) -> f64,
    key: impl Fn([usize; 4]) -> f64,
    value: impl Fn([usize; 4]) -> f64,
) -> Call {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = dims;
    Call {
        query: tensor(dtype, &[b, h_q, n_q, d_k], query),
        key: tensor(dtype, &[b, h_k, n_k, d_k], key),
        value: tensor(dtype, &[b, h_k, n_k, d_v], value),
        options: CallOptions::default(),
        return_weights: false,
        return_lse: false,
    }
}

/// 1 where the two numbers are equal, else 0.
pub(super) fn one_hot(at: usize, hot: usize) -> f64 {
    f64::from(u8::from(at == hot))
}

/// Zero queries: every key that is seen weighs the same. Value `j` is row `j` of the identity.
pub(super) fn uniform(dtype: Dtype, dims: Dims) -> Trial {
    let call = call(
        dtype,
        dims,
        |_| 0.0,
        |[_, _, j, t]| ((j + t) % 3) as f64 - 1.0,
        |[_, _, j, c]| one_hot(c, j),
    );
    Trial { call, want: ResultName::Output, reads_keys: true }
}

/// The tensor with heads and positions exchanged.
pub(super) fn swapped(tensor: &Tensor) -> Tensor {
    let [b, h, n, d] = tensor.shape[..] else { return tensor.clone() };
    let at = |[item, i, head, c]: [usize; 4]| tensor.data[((item * h + head) * n + i) * d + c];
    self::tensor(tensor.dtype, &[b, n, h, d], at)
}

/// The call with heads and positions of query, key and value exchanged.
pub(super) fn swapped_call(call: &Call) -> Call {
    let (query, key, value) = (swapped(&call.query), swapped(&call.key), swapped(&call.value));
    Call { query, key, value, ..call.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanging_axes_twice_changes_nothing() {
        let x = tensor(Dtype::Float64, &[2, 3, 4, 5], |[a, b, c, d]| {
            (a * 1000 + b * 100 + c * 10 + d) as f64
        });
        let y = swapped(&x);
        assert_eq!((y.shape.as_slice(), y.data[5]), ([2, 4, 3, 5].as_slice(), 100.0));
        assert_eq!(swapped(&y), x);
    }

    #[test]
    fn extents_of_the_first_bench_differ() {
        for Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } in Trials::new(Dtype::Float32, RUNGS[0]).shapes
        {
            let mut all = [b, h_q, h_k, n_q, n_k, d_k, d_v];
            all.sort_unstable();
            assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
        }
    }

    #[test]
    fn every_bench_has_room_for_what_is_read_off_the_values() {
        for rung in RUNGS {
            let bench = Trials::new(Dtype::Float32, rung);
            for Dims { b, h_k, n_k, d_k, d_v, .. } in
                bench.shapes.into_iter().chain(bench.grouped())
            {
                assert!(n_k <= d_v && n_k <= d_k && b * h_k <= d_v, "{rung:?}");
            }
        }
    }
}
