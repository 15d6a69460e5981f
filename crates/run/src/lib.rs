//! Targets, the worker process, the wire and the runner: everything that touches foreign code.

pub mod config;
pub mod doctor;
pub mod flash;
pub mod frozen;
pub mod process;
pub mod python;
pub mod record;
mod repro;
pub mod runner;
pub mod target;
mod wire;

pub use wire::WireError;
