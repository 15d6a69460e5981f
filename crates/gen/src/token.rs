//! Tokens: a tiny case in one line, for a shell, a bug report or a chat. Documented in
//! `docs/token.md`.
//!
//! [`token`] writes, [`from_token`] reads and trusts nothing. What a token of a version says never
//! changes: version 2 knows more options, whose names version 1 leaves to variables, and is written
//! only where one of them is on.

mod read;
mod write;

use indexmap::IndexMap;
use qkvet_spec::{Binding, Dims, Matrices};

use crate::validate::is_variable;
pub use read::from_token;
pub use write::token;

/// Version of the form, behind `qk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Longer tokens are not written.
const MAX_LEN: usize = 400;

/// Names of options, which no variable of a token can have, in the order of the token; those of
/// version 1 first.
const OPTIONS: [&str; 12] = [
    "dims",
    "causal",
    "scale",
    "mask",
    "bias",
    "softcap",
    "window",
    "sinks",
    "alibi_slopes",
    "key_lengths",
    "query_lengths",
    "packed",
];

impl Version {
    const ALL: [Self; 2] = [Self::One, Self::Two];

    /// How a token begins.
    fn prefix(self) -> &'static str {
        match self {
            Self::One => "qk1",
            Self::Two => "qk2",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::One => &OPTIONS[..5],
            Self::Two => &OPTIONS,
        }
    }

    /// Whether a variable of a token can have this name: not that of an option.
    fn is_name(self, name: &str) -> bool {
        is_variable(name) && !self.options().contains(&name)
    }
}

/// Whether `text` begins like a token of any version: `qk`, digits, a colon.
pub fn is_token(text: &str) -> bool {
    let rest =
        text.strip_prefix("qk").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.is_some_and(|rest| rest.starts_with(':') && !text.starts_with("qk:"))
}

/// The extents of the call as the variables `Q`, `K` and `V` show them.
fn extents_of(bindings: &IndexMap<String, Binding>) -> Option<Dims> {
    let shape = |name| match bindings.get(name) {
        Some(Binding::Matrices(Matrices {
            batch: Some(b), heads: Some(h), rows, cols, ..
        })) => Some((*b, *h, *rows, *cols)),
        _ => None,
    };
    let ((b, h_q, n_q, d_k), (b_k, h_k, n_k, width), (b_v, h_v, rows, d_v)) =
        (shape("Q")?, shape("K")?, shape("V")?);
    let fits = b_k == b && b_v == b && h_v == h_k && rows == n_k && width == d_k;
    fits.then_some(Dims { b, h_q, h_k, n_q, n_k, d_k, d_v })
}
