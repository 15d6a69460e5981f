//! Targets of every kind, run from their files.
//!
//! One program, for each one is linked with all that it tests.

mod common;
mod examples;
mod flash;
mod loading;
mod programs;
mod python;
mod strides;
mod torch;
