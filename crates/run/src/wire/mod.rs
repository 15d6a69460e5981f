//! Messages of `qkvet-wire/1`: made from calls, and checked before they are believed. No pipes
//! here.

mod answer;
mod error;
mod hex;
mod memory;
mod reader;
mod request;
mod scratch;

pub(crate) use answer::{Asked, Reply, read_hello, read_reply};
pub use error::WireError;
pub(crate) use error::quoted;
pub(crate) use memory::Memory;
pub use reader::AnswerReader;
pub(crate) use request::{Changed, RunLine, WorkerFields, empty_run, hello, line, run_request};
pub use request::{TensorBits, params, tensors};
pub(crate) use scratch::Scratch;

/// Longest answer to `hello` in bytes.
pub(crate) const HELLO_LIMIT: usize = 1 << 20;
