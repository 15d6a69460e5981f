//! `qkvet init`: a configuration file, the file of a CI service, a program to fill in. Each is
//! commented and works as it is written.

mod ci;
mod config;
mod harness;

pub(super) use ci::ci;
pub(super) use config::config;
pub(super) use harness::harness;

use std::path::Path;

use qkvet_run::whole::write_whole;

use crate::exit::Failure;

/// Writes a file of the user's. One that is there stays, unless it is to be written over.
fn begin(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::Usage(format!("file at {}: expected to be written, got: {error}", path.display()))
    };
    if !force && path.symlink_metadata().is_ok() {
        return Err(Failure::Usage(format!(
            "file at {}: expected none yet, and nothing is written over\nhint: --force does it nevertheless",
            path.display()
        )));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    write_whole(path, text.as_bytes()).map_err(failed)?;
    say!("wrote {}", path.display());
    Ok(())
}
