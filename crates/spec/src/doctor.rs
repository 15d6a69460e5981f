//! What `qkvet doctor` tells: the words between the conversation and its reporter.

/// One thing that the doctor tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoctorEvent {
    /// A step begins: what is asked and why.
    Step(String),
    /// A message to the program, without its line break.
    Sent(String),
    /// A message of the program, without its line break.
    Received(String),
    /// The last message of the program is not of the protocol.
    BadField {
        /// The field, `tensors.output.shape[1]`; empty if it is the message as a whole.
        path: String,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
        /// What to do.
        hint: Option<String>,
    },
    /// How the step ended, in words, with what to do about it.
    Shown(Diagnosis, String, Option<String>),
}

/// How a step of the doctor ended, from well to ill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Diagnosis {
    /// As it should be.
    #[default]
    Well,
    /// Not offered, so not tried.
    NotOffered,
    /// An answer is wrong.
    Wrong,
    /// The program does not keep to the protocol, or could not be started.
    Broken,
}
