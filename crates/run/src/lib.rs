//! Targets, the worker process, the wire and the runner: everything that touches foreign code.

pub mod config;
pub mod doctor;
pub mod flash;
pub mod process;
pub mod python;
mod repro;
pub mod runner;
pub mod target;
mod wire;

pub use wire::WireError;
