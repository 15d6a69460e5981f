//! The suite of an implementation as `cargo test` runs it: right, or with `WRONG_HEADS` set with
//! the query heads in another order.
#![expect(
    clippy::disallowed_methods,
    reason = "an implementation like any user's, exponentials of the platform included"
)]

use qkvet::{Attention, Call, Declined, Dims, Supports};

/// Attention in `f64`, row by row.
struct Rows;

macro_rules! of_format {
    ($format:ty) => {
        impl Attention<$format> for Rows {
            fn attention(
                &self,
                call: &Call<'_, $format>,
                output: &mut [$format],
            ) -> Result<(), Declined> {
                rows(call.dims(), |tensor, at| {
                    f64::from([call.query, call.key, call.value][tensor].data[at])
                })
                .zip(output)
                .for_each(|(x, to)| *to = x as $format);
                Ok(())
            }

            fn supports(&self) -> Supports {
                Supports::options([])
            }
        }
    };
}

of_format!(f32);
of_format!(f64);

/// The elements of the output in order; `number` is an element of query, key or value.
fn rows<'a>(
    Dims { b, h_q, h_k, n_q, n_k, d_k, d_v }: Dims,
    number: impl Fn(usize, usize) -> f64 + 'a,
) -> impl Iterator<Item = f64> + 'a {
    let is_wrong = std::env::var_os("WRONG_HEADS").is_some();
    (0..b * h_q * n_q).flat_map(move |row| {
        let (item, h) = (row / n_q / h_q, row / n_q % h_q);
        let head = item * h_k + if is_wrong { h % h_k } else { h / (h_q / h_k) };
        let product = |j| -> f64 {
            (0..d_k).map(|t| number(0, row * d_k + t) * number(1, (head * n_k + j) * d_k + t)).sum()
        };
        let scores: Vec<f64> = (0..n_k).map(|j| product(j) / (d_k as f64).sqrt()).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score: &f64| (score - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let value = |c| -> f64 {
            (0..n_k).map(|j| weights[j] / sum * number(2, (head * n_k + j) * d_v + c)).sum()
        };
        (0..d_v).map(value).collect::<Vec<_>>()
    })
}

qkvet::attention_tests!(Rows, f32, f64; suite = "smoke");
