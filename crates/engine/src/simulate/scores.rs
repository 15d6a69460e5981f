//! Logits of one head, every operation rounded.

use qkvet_spec::Tanh;

use super::How;
use crate::head::{Head, Stage};

/// `(n_q, n_k)`; −∞ for a key that the query does not see.
pub(super) fn scores(head: &Head<'_>, how: &How<'_>) -> Vec<f64> {
    let formats = &how.formats;
    let r = |x| formats.arithmetic(x);
    let scale = r(head.scale.value);
    let mut logits = vec![f64::NEG_INFINITY; head.n_q * head.n_k];
    for i in 0..head.n_q {
        let scaled: Option<Vec<f64>> =
            head.query_row(i).iter().map(|q| formats.scaled_query(r(scale * q))).collect();
        let query = scaled.as_deref().unwrap_or(head.query_row(i));
        for j in (0..head.n_k).filter(|j| head.sees(i, *j)) {
            let pairs = query.iter().zip(head.key_row(j));
            let mut z = pairs.fold(0.0, |sum, (q, k)| formats.dot(sum + formats.dot(q * k)));
            for stage in head.stages {
                z = match (stage, head.softcap) {
                    (Stage::Scale, _) if scaled.is_some() && head.d_k > 0 => z,
                    (Stage::Scale, _) => r(scale * z),
                    (Stage::Softcap, Some(cap)) => r(r(cap) * tanh(r(z / r(cap)), how)),
                    (Stage::Softcap, None) => z,
                    (Stage::Bias, _) => {
                        let z = head.bias.map_or(z, |bias| r(z + r(bias[i * head.n_k + j])));
                        head.slopes_of(i).map_or(z, |alibi| {
                            #[expect(
                                clippy::cast_possible_wrap,
                                reason = "extents are far below 2^63"
                            )]
                            let distance =
                                (i as i64 + alibi.offset - j as i64).unsigned_abs() as f64;
                            r(z + r(-r(alibi.slope) * r(distance)))
                        })
                    }
                };
            }
            logits[i * head.n_k + j] = formats.score(z);
        }
    }
    logits
}

fn tanh(x: f64, how: &How<'_>) -> f64 {
    let r = |x| how.formats.arithmetic(x);
    match how.execution.tanh {
        Tanh::Library => r(libm::tanh(x)),
        Tanh::Quotient => {
            let e = how.formats.exp(r(2.0 * x));
            r(r(e - 1.0) / r(e + 1.0))
        }
    }
}
