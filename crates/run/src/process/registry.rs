//! What must not outlive this program: groups of processes and scratch folders.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(super) fn add(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).push(group);
}

pub(super) fn remove(group: Pid) {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != group);
}

pub(crate) fn add_folder(folder: PathBuf) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
}

pub(crate) fn remove_folder(folder: &std::path::Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != folder);
}

/// Ends every target process and removes every scratch folder of this program, for one that is
/// about to exit at once.
pub fn end_all() {
    for group in GROUPS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // An error means that it has ended already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // Best effort: the system clears its temporary folders in the end.
        let _ = std::fs::remove_dir_all(folder);
    }
}
