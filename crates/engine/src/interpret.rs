//! The interpreter of meanings: what a call must return, as balls, under a meaning and a contract.

use qkvet_spec::{Call, Contract, Meaning};

use crate::ball::Ball;
use crate::bound::bound;
use crate::enclosure::enclose_with;
use crate::gemm::Products;
use crate::lowering::{Maps, Want, lower};

/// The exact output of a call, enclosed, and how far an implementation under a contract may be from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// `(b, h_q, n_q, width)`.
    pub shape: [usize; 4],
    /// The enclosure, row-major.
    pub exact: Vec<Ball>,
    /// Proved bound of the contract, ∞ where it is vacuous.
    pub hard: Vec<f64>,
    /// Probabilistic bound of the contract.
    pub probable: Vec<f64>,
}

/// Encloses what `call` means and bounds what an implementation under `contract` may return for it.
///
/// # Shapes
/// `(b, h_q, n_q, d_v)` for [`Want::Output`] (the width as the meaning says), `(b, h_q, n_q, n_k)` for [`Want::Weights`].
///
/// # Error bound
/// Radii as in `docs/bounds.md#output`, bounds as in `docs/bounds.md#contract`.
pub fn interpret(meaning: &Meaning, call: &Call, contract: &Contract, want: Want) -> Expected {
    interpret_with(meaning, call, contract, want, Products::Faer)
}

/// [`interpret`] with the given matrix products: with [`Products::FixedOrder`] every number is the same on every machine.
pub fn interpret_with(meaning: &Meaning, call: &Call, contract: &Contract, want: Want, products: Products) -> Expected {
    let dims = call.dims();
    let inner = if want == Want::Output { dims.d_v } else { dims.n_k };
    let width = if want == Want::Output { Maps::new(meaning, call).output_width() } else { inner };
    let total = dims.b * dims.h_q * dims.n_q * width;
    let mut expected = Expected {
        shape: [dims.b, dims.h_q, dims.n_q, width],
        exact: Vec::with_capacity(total),
        hard: Vec::with_capacity(total),
        probable: Vec::with_capacity(total),
    };
    for item in 0..dims.b {
        for h in 0..dims.h_q {
            let lowered = lower(meaning, call, item, h, want);
            let head = lowered.head();
            let enclosure = enclose_with(&head, products);
            let allowed = bound(&head, &enclosure, contract);
            for i in 0..dims.n_q {
                for c in 0..width {
                    let at = i * inner + c;
                    let (ball, hard, probable) = if c < inner {
                        let rad = enclosure.rad[at];
                        (Ball { mid: enclosure.mid[at], rad, soft: rad }, allowed.hard[at], allowed.probable[at])
                    } else {
                        (Ball::exact(0.0), 0.0, 0.0)
                    };
                    expected.exact.push(ball);
                    expected.hard.push(hard);
                    expected.probable.push(probable);
                }
            }
        }
    }
    expected
}

/// Which keys each query sees: `(b, h_q, n_q, n_k)`, row-major, keys that exist only.
pub fn visibility(meaning: &Meaning, call: &Call) -> Vec<bool> {
    let dims = call.dims();
    let mut seen = Vec::with_capacity(dims.b * dims.h_q * dims.n_q * dims.n_k);
    for item in 0..dims.b {
        for h in 0..dims.h_q {
            let lowered = lower(meaning, call, item, h, Want::Weights);
            for i in 0..dims.n_q {
                seen.extend((0..dims.n_k).map(|j| lowered.sees(i, j)));
            }
        }
    }
    seen
}

/// Key/value head that query head `h` reads.
pub fn key_head(meaning: &Meaning, call: &Call, h: usize) -> usize {
    Maps::new(meaning, call).key_head(h)
}
