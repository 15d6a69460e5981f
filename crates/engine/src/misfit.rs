//! Calls that are made not to fit, and what a target that answers them all the same computes.

use qkvet_spec::{BoolTensor, Call, CallOptions, Misfit, Tensor};

/// The call with the misfit: the last slice of a tensor comes twice, or a mask that shows every key
/// lacks a row.
///
/// # Shapes
/// The call fits, and its extents are not below [`Misfit::least`].
pub fn unfit(call: Call, misfit: Misfit) -> Call {
    let again = |tensor: Tensor, axis: usize| {
        let n = tensor.shape[axis];
        select(&tensor, axis, &(0..n).chain(n.checked_sub(1)).collect::<Vec<_>>())
    };
    match misfit {
        Misfit::KeyWidth => Call { key: again(call.key, 3), ..call },
        Misfit::KeyCount => Call { value: again(call.value, 2), ..call },
        Misfit::HeadCount => Call { query: again(call.query, 1), ..call },
        Misfit::ItemCount => Call { query: again(call.query, 0), ..call },
        Misfit::MaskShape => {
            let shape = vec![1, 1, call.query.shape[2].saturating_sub(1), call.key.shape[2]];
            let data = vec![true; shape.iter().product()];
            Call {
                options: CallOptions { mask: Some(BoolTensor { shape, data }), ..call.options },
                ..call
            }
        }
    }
}

/// The call that a target answers which does not look whether a call fits: columns and rows that
/// the other tensor lacks are left out, heads and items that are missing are taken from the front
/// again, and a mask that does not broadcast shows every key.
pub(crate) fn fitted(call: &Call, misfit: Misfit) -> Call {
    let (q, k, v) = (&call.query, &call.key, &call.value);
    let first = |n: usize| (0..n).collect::<Vec<_>>();
    let wrapped = |n: usize, of: usize| (0..n).map(|at| at % of.max(1)).collect::<Vec<_>>();
    let keys = |axis: usize, at: &[usize]| Call {
        key: select(k, axis, at),
        value: select(v, axis, at),
        ..call.clone()
    };
    match misfit {
        Misfit::KeyWidth => {
            let columns = first(q.shape[3].min(k.shape[3]));
            Call { query: select(q, 3, &columns), key: select(k, 3, &columns), ..call.clone() }
        }
        Misfit::KeyCount => keys(2, &first(k.shape[2].min(v.shape[2]))),
        Misfit::HeadCount => keys(1, &wrapped(q.shape[1], k.shape[1].min(v.shape[1]))),
        Misfit::ItemCount => keys(0, &wrapped(q.shape[0], k.shape[0].min(v.shape[0]))),
        Misfit::MaskShape => {
            Call { options: CallOptions { mask: None, ..call.options.clone() }, ..call.clone() }
        }
    }
}

/// The slices `at` of a tensor along an axis.
fn select(tensor: &Tensor, axis: usize, at: &[usize]) -> Tensor {
    let inner: usize = tensor.shape[axis + 1..].iter().product();
    let slices = tensor.data.chunks_exact((tensor.shape[axis] * inner).max(1));
    let data = slices
        .flat_map(|slice| at.iter().flat_map(move |n| &slice[n * inner..(n + 1) * inner]))
        .copied()
        .collect();
    let mut shape = tensor.shape.clone();
    shape[axis] = at.len();
    Tensor { dtype: tensor.dtype, shape, data }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Dtype;

    use super::*;

    fn tensor(shape: [usize; 4]) -> Tensor {
        let n = shape.iter().product();
        Tensor {
            dtype: Dtype::Float32,
            shape: shape.to_vec(),
            data: (0..n).map(|at: usize| at as f64).collect(),
        }
    }

    fn call() -> Call {
        Call {
            query: tensor([2, 4, 3, 5]),
            key: tensor([2, 2, 6, 5]),
            value: tensor([2, 2, 6, 7]),
            options: CallOptions::default(),
            return_weights: false,
            return_lse: false,
        }
    }

    #[test]
    fn slices_are_taken_along_any_axis() {
        let of = tensor([1, 2, 2, 2]);
        assert_eq!(
            select(&of, 3, &[0, 1, 1]).data,
            [0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 5.0, 6.0, 7.0, 7.0]
        );
        assert_eq!(select(&of, 2, &[1]).data, [2.0, 3.0, 6.0, 7.0]);
        assert_eq!(select(&of, 1, &[1, 0]).data, [4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(select(&of, 0, &[0, 0]).shape, [2, 2, 2, 2]);
    }

    #[test]
    fn each_misfit_is_the_one_that_is_made() {
        assert_eq!(call().misfit(), None);
        let told = [
            (Misfit::KeyWidth, "queries of width 5, keys of width 6"),
            (Misfit::KeyCount, "6 keys, 7 values"),
            (Misfit::HeadCount, "5 query heads, 2 key/value heads"),
            (Misfit::ItemCount, "items: 3 of queries, 2 of keys, 2 of values"),
            (Misfit::MaskShape, "a mask of shape (1, 1, 2, 6), scores of shape (2, 4, 3, 6)"),
        ];
        for (misfit, told) in told {
            let unfit = unfit(call(), misfit);
            assert_eq!(unfit.misfit(), Some(misfit));
            assert_eq!(unfit.misfit_shapes().expect("a misfit").to_string(), told);
            let fitted = fitted(&unfit, misfit);
            assert_eq!(fitted.misfit(), None, "{misfit:?}");
        }
    }

    #[test]
    fn what_is_broadcast_fits() {
        let masked = |shape: &[usize]| {
            let mask = Some(BoolTensor {
                shape: shape.to_vec(),
                data: vec![true; shape.iter().product()],
            });
            Call { options: CallOptions { mask, ..CallOptions::default() }, ..call() }.misfit()
        };
        assert_eq!(masked(&[2, 1, 3, 6]), None);
        assert_eq!(masked(&[1, 1]), None);
        assert_eq!(masked(&[3, 2]), Some(Misfit::MaskShape));
        assert_eq!(masked(&[3, 4, 3, 6]), Some(Misfit::MaskShape));
        assert_eq!(masked(&[1, 2, 4, 3, 6]), Some(Misfit::MaskShape));
    }
}
