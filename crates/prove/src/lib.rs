//! Symbolic truth about attention: a law is proved for all shapes, decided exactly for small ones,
//! or refuted.
//!
//! Every function here depends on its arguments alone.

pub mod derive;
pub mod exact;
pub mod moments;
pub mod number;
mod open;
pub mod outcome;
mod rational;
pub mod render;
pub mod rewrite;
pub mod show;
pub mod tree;
pub mod unfold;
