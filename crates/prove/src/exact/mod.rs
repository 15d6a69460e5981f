//! Exact values: numbers whose equality is decided, laws evaluated on concrete matrices, and counterexamples.

mod algebraic;
mod exp_sum;
mod interval;
mod number;
mod reduce;

pub use number::{Exact, NotExact};
