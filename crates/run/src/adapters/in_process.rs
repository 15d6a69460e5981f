//! Functions of the process that qkvet itself is in.

use qkvet_spec::Meaning;

use super::adapter::Adapter;
use super::open::{OpenTarget, OwnTarget};
use crate::process::{Limits, StartError};

impl Adapter for OwnTarget {
    fn open(&self, _: &Meaning, _: &Limits) -> Result<OpenTarget, StartError> {
        Ok(self.start())
    }

    fn in_process(&self) -> Option<&OwnTarget> {
        Some(self)
    }
}
