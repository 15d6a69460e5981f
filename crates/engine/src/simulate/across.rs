//! A softmax that is normalized over something else than the keys of a query.

use qkvet_spec::{EmptyRow, SoftmaxOver};

use super::How;
use super::scores::scores;
use crate::format::round;
use crate::head::Head;

/// Softmax over the queries of each key, then the weighted sum of the values.
pub(super) fn over_queries(head: &Head<'_>, logits: &[f64], how: &How<'_>) -> Vec<f64> {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let mut sums = vec![0.0; head.n_q * head.d_v];
    for j in 0..head.n_k {
        let column: Vec<f64> = (0..head.n_q).map(|i| logits[i * head.n_k + j]).collect();
        let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY {
            continue;
        }
        let exponentials: Vec<f64> = column.iter().map(|z| formats.exp(r(z - max))).collect();
        let total = exponentials.iter().fold(0.0, |sum, e| formats.sum(sum + e));
        for (i, e) in exponentials.iter().enumerate() {
            let weight = formats.weight(r(e / total));
            let sums = &mut sums[i * head.d_v..(i + 1) * head.d_v];
            let pairs = sums.iter_mut().zip(head.value_row(j));
            pairs.for_each(|(sum, v)| *sum = formats.output(*sum + formats.output(weight * v)));
        }
    }
    let empty =
        |i: usize| (0..head.n_k).all(|j| !head.sees(i, j)) && head.empty_row == EmptyRow::Nan;
    (0..head.n_q * head.d_v)
        .map(|at| if empty(at / head.d_v.max(1)) { f64::NAN } else { round(sums[at], how.dtype) })
        .collect()
}

/// Softmax over heads, batch items or whole score matrices, for all heads; `(n_q, d_v)` each.
pub(super) fn across(
    heads: &[Head<'_>],
    how: &How<'_>,
    over: SoftmaxOver,
    h_q: usize,
) -> Vec<Vec<f64>> {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let logits: Vec<Vec<f64>> = heads.iter().map(|head| scores(head, how)).collect();
    // The score of query `i` and key `j` in a head, where it has them: items may have queries and
    // keys of their own number.
    let score = |head: usize, (i, j): (usize, usize)| {
        let Head { n_q, n_k, .. } = heads[head];
        (i < n_q && j < n_k).then(|| logits[head][i * n_k + j])
    };
    // The numbers that the weight of this score is one of.
    let group = |head: usize, at: (usize, usize)| -> Vec<f64> {
        match over {
            SoftmaxOver::Keys => Vec::new(),
            SoftmaxOver::Heads => (head / h_q * h_q..(head / h_q + 1) * h_q)
                .filter_map(|other| score(other, at))
                .collect(),
            SoftmaxOver::Items => (head % h_q..heads.len())
                .step_by(h_q)
                .filter_map(|other| score(other, at))
                .collect(),
            SoftmaxOver::Scores => logits[head].clone(),
        }
    };
    let weight = |head: usize, at: usize| {
        let z = logits[head][at];
        if z == f64::NEG_INFINITY {
            return 0.0;
        }
        let n_k = heads[head].n_k;
        let all = group(head, (at / n_k, at % n_k));
        let max = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total = all.iter().fold(0.0, |sum, z| formats.sum(sum + formats.exp(r(z - max))));
        formats.weight(r(formats.exp(r(z - max)) / total))
    };
    let of_head = |(number, head): (usize, &Head<'_>)| {
        let mut sums = vec![0.0; head.n_q * head.d_v];
        // One sum for all of them.
        let whole = (over == SoftmaxOver::Scores).then(|| whole(&logits[number], how));
        for at in 0..head.n_q * head.n_k {
            let weight = whole.as_ref().map_or_else(|| weight(number, at), |weights| weights[at]);
            let (i, j) = (at / head.n_k, at % head.n_k);
            let sums = &mut sums[i * head.d_v..(i + 1) * head.d_v];
            let pairs = sums.iter_mut().zip(head.value_row(j));
            pairs.for_each(|(sum, v)| *sum = formats.output(*sum + formats.output(weight * v)));
        }
        sums.into_iter().map(|sum| round(sum, how.dtype)).collect()
    };
    heads.iter().enumerate().map(of_head).collect()
}

/// The softmax of all these numbers together.
fn whole(logits: &[f64], how: &How<'_>) -> Vec<f64> {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return vec![0.0; logits.len()];
    }
    let exponentials: Vec<f64> = logits.iter().map(|z| formats.exp(r(z - max))).collect();
    let total = exponentials.iter().fold(0.0, |sum, e| formats.sum(sum + e));
    exponentials.into_iter().map(|e| formats.weight(r(e / total))).collect()
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{
        Call, CallOptions, Dtype, Execution, HiddenKeys, Meaning, SoftmaxOver, Tensor,
    };

    use crate::lowering::ResultName;
    use crate::simulate::simulate;

    /// A hidden key is scored in a column of its own, which only the item has that hides one.
    #[test]
    fn items_with_different_numbers_of_columns_share_those_that_both_have() {
        let tensor = |data: [f64; 4]| Tensor {
            dtype: Dtype::Float64,
            shape: vec![2, 1, 2, 1],
            data: data.to_vec(),
        };
        let call = Call {
            query: Tensor { dtype: Dtype::Float64, shape: vec![2, 1, 1, 1], data: vec![0.0; 2] },
            key: tensor([0.0; 4]),
            value: tensor([1.0, 3.0, 5.0, 7.0]),
            return_weights: false,
            return_lse: false,
            options: CallOptions { key_lengths: Some(vec![2, 1]), ..CallOptions::default() },
        };
        let meaning = Meaning {
            hidden: HiddenKeys::ScoreReplaced,
            hidden_score: -1e4,
            ..Meaning::standard()
        };
        let execution = Execution { softmax_over: SoftmaxOver::Items, ..Execution::standard() };
        // Key 0: weights 1/2 in both items. Key 1: alone in item 0, and so is its replaced score in
        // item 1.
        let output = simulate(&meaning, &execution, &call, ResultName::Output);
        assert_eq!(output.data, [0.5 * 1.0 + 3.0, 0.5 * 5.0 + 7.0]);
    }
}
