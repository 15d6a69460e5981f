//! `qkvet init`: a configuration file, the file of a CI service, a program to fill in. Each is
//! commented and works as it is written.

mod ci;
mod config;
mod harness;

pub(super) use ci::ci;
pub(super) use config::config;
pub(super) use harness::harness;

use std::path::Path;

use qkvet_run::atomic_write::atomic_write;
use qkvet_spec::Unexpected;

/// Writes a file of the user's. One that is there stays, unless it is to be written over.
fn begin(path: &Path, text: &str, force: bool) -> Result<(), Unexpected> {
    let failed = |error| Unexpected::at_path("file", path, "to be written").error(error);
    if !force && path.symlink_metadata().is_ok() {
        return Err(Unexpected::at_path("file", path, "none yet, and nothing is written over")
            .hint("--force does it nevertheless"));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    atomic_write(path, text.as_bytes()).map_err(failed)?;
    say!("wrote {}", path.display());
    Ok(())
}
