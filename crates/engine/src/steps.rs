//! One query on its way from products to logits, in plain arithmetic: for people to read, never to
//! judge by.

use qkvet_spec::{Call, Dims, Meaning};

use crate::head::{Head, Stage};
use crate::lowering::{Maps, ResultName, lower};

/// What a stage did and the scores behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct StageScores {
    /// `· 0.5`, `softcap 30`, `+ bias`.
    pub stage: String,
    /// `(n_k,)`.
    pub scores: Vec<f64>,
}

/// One query of one head under a meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct QuerySteps {
    /// `q · k_j`, `(n_k,)`.
    pub products: Vec<f64>,
    /// The stages that do something, in their order.
    pub stages: Vec<StageScores>,
    /// Scores behind all stages, −∞ where the query does not see the key.
    pub logits: Vec<f64>,
    /// The logit of the sink.
    pub sink: Option<f64>,
    /// What the weights are multiplied with, `(n_k, d_v)`.
    pub values: Vec<Vec<f64>>,
}

/// What row `(item, h, i)` of the output of `call` is made of under `meaning`: keys of the call,
/// and behind them those of zeros that the meaning adds.
///
/// # Error bound
/// None is claimed: every operation is rounded to binary64.
pub fn query_steps(meaning: &Meaning, call: &Call, [item, h, i]: [usize; 3]) -> QuerySteps {
    let Dims { h_q, n_q, .. } = call.dims();
    let shown = Maps::new(meaning, call).output_rows();
    let row = shown.map_or((item * h_q + h) * n_q + i, |rows| rows[(item * h_q + h) * n_q + i]);
    let (item, h, i) = (row / (h_q * n_q), row / n_q % h_q, row % n_q);
    let lowered = lower(meaning, call, item, h, ResultName::Weights);
    let head = lowered.head();
    let product =
        |j: usize| head.query_row(i).iter().zip(head.key_row(j)).map(|(q, k)| q * k).sum();
    let products: Vec<f64> = (0..head.n_k).map(product).collect();
    let mut scores = products.clone();
    let mut stages = Vec::new();
    for stage in head.stages {
        let Some(name) = name(&head, *stage) else { continue };
        scores.iter_mut().enumerate().for_each(|(j, z)| *z = staged(&head, *stage, i, j, *z));
        stages.push(StageScores { stage: name, scores: scores.clone() });
    }
    let logits = (0..head.n_k)
        .map(|j| if head.sees(i, j) { scores[j] } else { f64::NEG_INFINITY })
        .collect();
    let valued = lower(meaning, call, item, h, ResultName::Output);
    let valued = valued.head();
    let values = (0..valued.n_k).map(|j| valued.value_row(j).to_vec()).collect();
    QuerySteps { products, stages, logits, sink: head.sink, values }
}

/// What the stage is called; `None` where it changes nothing.
fn name(head: &Head<'_>, stage: Stage) -> Option<String> {
    match stage {
        Stage::Scale => Some(format!("· {}", head.scale.value)),
        Stage::Softcap => head.softcap.map(|cap| format!("softcap {cap}")),
        Stage::Bias => match (head.bias, head.alibi) {
            (Some(_), Some(_)) => Some("+ bias and ALiBi".to_owned()),
            (Some(_), None) => Some("+ bias".to_owned()),
            (None, Some(alibi)) => Some(format!("+ ALiBi of slope {}", alibi.slope)),
            (None, None) => None,
        },
    }
}

fn staged(head: &Head<'_>, stage: Stage, i: usize, j: usize, z: f64) -> f64 {
    match stage {
        Stage::Scale => z * head.scale.value,
        Stage::Softcap => head.softcap.map_or(z, |cap| cap * libm::tanh(z / cap)),
        Stage::Bias => {
            let z = head.bias.map_or(z, |bias| z + bias[i * head.n_k + j]);
            head.slopes_of(i).map_or(z, |alibi| {
                #[expect(clippy::cast_possible_wrap, reason = "extents are far below 2^63")]
                let distance = (i as i64 + alibi.offset - j as i64).unsigned_abs() as f64;
                z - alibi.slope * distance
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOptions, Dtype, Tensor};

    use super::*;

    #[test]
    fn a_query_by_hand() {
        let column = |data: &[f64]| Tensor {
            dtype: Dtype::Float32,
            shape: vec![1, 1, data.len(), 1],
            data: data.to_vec(),
        };
        let options = CallOptions {
            scale: Some(0.5),
            causal: true,
            bias: Some(Tensor {
                dtype: Dtype::Float32,
                shape: vec![1, 3],
                data: vec![1.0, 2.0, 3.0],
            }),
            ..CallOptions::default()
        };
        let (return_weights, return_lse) = (false, false);
        let (query, key, value) =
            (column(&[2.0, 4.0]), column(&[1.0, -1.0, 3.0]), column(&[7.0, 8.0, 9.0]));
        let call = Call { query, key, value, options, return_weights, return_lse };
        let steps = query_steps(&Meaning::standard(), &call, [0, 0, 0]);
        assert_eq!(steps.products, [2.0, -2.0, 6.0]);
        let stages: Vec<(&str, &[f64])> = steps
            .stages
            .iter()
            .map(|stage| (stage.stage.as_str(), stage.scores.as_slice()))
            .collect();
        assert_eq!(stages, [("· 0.5", &[1.0, -1.0, 3.0][..]), ("+ bias", &[2.0, 1.0, 6.0])]);
        // Lower-right: the first of two queries sees two of three keys.
        assert_eq!(steps.logits, [2.0, 1.0, f64::NEG_INFINITY]);
        assert_eq!(steps.sink, None);
        assert_eq!(steps.values, [[7.0], [8.0], [9.0]]);
    }
}
