//! Numeric truth of qkvet: enclosures, bounds, the interpreter of meanings, the simulator of
//! executions, a tiled kernel that is written apart from them, law evaluation.

pub mod affects;
pub mod ball;
pub mod bound;
pub mod digits;
pub mod enclosure;
pub mod exp;
pub mod flash;
pub mod format;
mod gemm;
pub mod head;
pub mod interpret;
pub mod law;
pub mod lowering;
pub mod misfit;
pub mod plain;
pub mod selftest;
pub mod simulate;
pub mod steps;
pub mod tanh;

pub use gemm::Products;
