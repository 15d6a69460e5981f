//! Targets, the worker process, the wire and the runner: everything that touches foreign code.

pub mod adapters;
pub mod answer;
pub mod atomic_write;
pub mod config;
pub mod declared;
mod declined;
pub mod doctor;
pub mod frozen;
pub mod inputs;
pub mod probing;
pub mod process;
pub mod record;
mod repro;
pub mod run;
pub mod runtime;
mod small;
pub mod store;
mod wire;

pub use declined::Declined;
pub use wire::{AnswerReader, TensorBits, WireError, params, tensors};
