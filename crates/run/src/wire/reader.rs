//! Answers outside a conversation: the same checks on the same bytes, for those who test them.

use qkvet_spec::{Call, Response};

use super::{Asked, Scratch, WireError, read_hello, read_reply};
use crate::process::StartError;

/// Reads lines as a conversation does.
pub struct AnswerReader(Scratch);

impl AnswerReader {
    /// A reader with a folder of its own for tensors in files.
    ///
    /// # Errors
    /// No folder can be made.
    pub fn new() -> Result<Self, StartError> {
        Scratch::make().map(Self)
    }

    /// Reads a line as the answer to `hello`.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn hello(&self, line: &[u8]) -> Result<(), WireError> {
        read_hello(line).map(drop)
    }

    /// Reads a line as the answer to request `seq`, which was `call`.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn reply(&self, line: &[u8], seq: u64, call: &Call) -> Result<Response, WireError> {
        read_reply(line, &Asked::by(seq, call), &self.0).map(|reply| reply.response)
    }
}
