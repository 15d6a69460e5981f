//! What `qkvet doctor` tells: the words between the conversation and its reporter.

use serde::Serialize;

use crate::Quoted;

/// The conversation with a target, and what it comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// The target as named.
    pub target: String,
    /// The worst that was found.
    pub diagnosis: Diagnosis,
    /// Everything that happened, in order.
    pub events: Vec<DoctorEvent>,
}

/// One thing that the doctor tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DoctorEvent {
    /// A step begins: what is asked and why.
    Step(String),
    /// A message to the program, without its line break.
    Sent(String),
    /// A message of the program, without its line break.
    Received(Quoted),
    /// The last message of the program is not of the protocol.
    BadField {
        /// The field, `tensors.output.shape[1]`; empty if it is the message as a whole.
        path: Quoted,
        /// What it should be.
        expected: Quoted,
        /// What it is.
        got: Quoted,
        /// What to do.
        hint: Option<Quoted>,
    },
    /// How the step ended.
    Shown {
        /// How well.
        diagnosis: Diagnosis,
        /// In words.
        text: Quoted,
        /// What to do about it.
        hint: Option<Quoted>,
    },
}

/// How a step of the doctor ended, from well to ill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
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
