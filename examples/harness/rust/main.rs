//! Attention for `qkvet check exec:./attention`. Put your own into the first function;
//! `qkvet_wire.rs` does the protocol.
//!
//!     rustc -O --edition 2021 -o attention main.rs
//!
//! The standard library alone. In a package, both files go to `src/`.

mod qkvet_wire;

use qkvet_wire::{Call, Declined, Program};

/// What is here is right and slow. The tensors are row-major without gaps: query (b, h_q, n_q,
/// d_k), key (b, h_k, n_k, d_k), value (b, h_k, n_k, d_v); the result is the numbers of (b, h_q,
/// n_q, d_v).
fn attention(call: &Call) -> Result<Vec<f32>, Declined> {
    let Call { query, key, value, b, h_q, h_k, n_q, n_k, d_k, d_v, scale, causal } = call;
    if *d_k > 1024 {
        return Err(Declined::unsupported(format!("head width {d_k} > 1024")));
    }
    let mut output = Vec::with_capacity(b * h_q * n_q * d_v);
    for row in 0..b * h_q * n_q {
        let (i, head, item) = (row % n_q, row / n_q % h_q, row / n_q / h_q);
        let group = item * h_k + head / (h_q / h_k);
        let score = |j: usize| {
            if *causal && j + n_q > i + n_k {
                return f64::NEG_INFINITY;
            }
            let (q, k) = (&query[row * d_k..], &key[(group * n_k + j) * d_k..]);
            scale * (0..*d_k).map(|t| f64::from(q[t]) * f64::from(k[t])).sum::<f64>()
        };
        let scores: Vec<f64> = (0..*n_k).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weigh = |score: &f64| if *score == f64::NEG_INFINITY { 0.0 } else { (score - largest).exp() };
        let weights: Vec<f64> = scores.iter().map(weigh).collect();
        let sum: f64 = weights.iter().sum();
        for c in 0..*d_v {
            let total: f64 = (0..*n_k).map(|j| weights[j] * f64::from(value[(group * n_k + j) * d_v + c])).sum();
            output.push(if sum > 0.0 { (total / sum) as f32 } else { 0.0 }); // a query that sees no key gives 0
        }
    }
    Ok(output)
}

fn main() -> std::io::Result<()> {
    // What is not listed is not asked for, and counted as declined.
    qkvet_wire::serve(&Program { name: "mine", options: &["scale", "causal"], attention })
}
