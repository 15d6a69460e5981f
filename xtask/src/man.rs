//! `cargo xtask man`: manual pages, for packagers.

use std::path::PathBuf;

use crate::step::{self, Failure};

/// Writes a page for every command into `folder`.
pub(crate) fn run(folder: Option<&str>) -> Result<(), Failure> {
    let folder = match folder {
        Some(folder) => PathBuf::from(folder),
        None => step::target_dir()?.join("man"),
    };
    step::build()?;
    step::run(step::command(step::example("man")?).arg(folder))
}
