//! Every rule and every lemma holds on random matrices, and a wrong variant of it does not.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod lemmas;
mod rules;
mod terms;
