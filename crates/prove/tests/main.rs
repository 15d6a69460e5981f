//! Proofs, exact values and print of the prover.
//!
//! One program, for each one is linked with all that it tests.

mod base;
mod common;
mod derivations;
mod exact;
mod false_laws;
mod moments;
mod render;
mod rewriting;
mod seed_claims;
mod symbolic;
