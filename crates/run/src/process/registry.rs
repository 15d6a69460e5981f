//! What must not outlive this program: groups of processes and scratch folders.
//!
//! A program that is killed ends nothing itself. So another process is told of each of them through
//! a pipe, and does it when the pipe ends.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

/// Everything that there is, and who is told.
#[derive(Default)]
struct Registry {
    groups: BTreeSet<i32>,
    folders: BTreeSet<PathBuf>,
    guard: Guard,
}

/// The process that ends what this one leaves behind.
#[derive(Default)]
enum Guard {
    /// None is wanted.
    #[default]
    None,
    /// It is started with the first thing to be told.
    Wanted(PathBuf, Vec<OsString>),
    /// Its standard input.
    Told(ChildStdin),
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { groups: BTreeSet::new(), folders: BTreeSet::new(), guard: Guard::None });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has what this program leaves behind when it is killed ended by a process of its own: `program`
/// with these arguments calls [`guard`].
pub fn guard_by(program: PathBuf, arguments: Vec<OsString>) {
    registry().guard = Guard::Wanted(program, arguments);
}

/// Reads on standard input what there is, to its end, and ends what is left then: what the process
/// of [`guard_by`] does.
///
/// # Errors
/// An input that cannot be read.
pub fn guard(input: &mut dyn Read) -> std::io::Result<()> {
    let mut told = Vec::new();
    input.read_to_end(&mut told)?;
    let mut left = Registry::default();
    for record in told.split(|byte| *byte == 0) {
        let text = || std::str::from_utf8(record.get(1..)?).ok()?.parse::<i32>().ok();
        let folder = || PathBuf::from(OsString::from_vec(record[1..].to_vec()));
        match record.first() {
            Some(b'+') => left.groups.extend(text()),
            Some(b'-') => left.groups.retain(|group| Some(*group) != text()),
            Some(b'f') => _ = left.folders.insert(folder()),
            Some(b'r') => _ = left.folders.remove(&folder()),
            _ => {}
        }
    }
    left.end();
    Ok(())
}

impl Registry {
    /// Tells the guard; without one nothing can be done about a kill.
    fn tell(&mut self, kind: u8, what: &[u8]) {
        if let Guard::Wanted(program, arguments) = &self.guard {
            // In a group of its own, so that Ctrl-C does not end it before this program.
            let mut command = Command::new(program);
            command.args(arguments).process_group(0).stdin(Stdio::piped());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let input = command.spawn().ok().and_then(|mut guard| guard.stdin.take());
            self.guard = input.map_or(Guard::None, Guard::Told);
        }
        if let Guard::Told(input) = &mut self.guard
            && input.write_all(&[&[kind], what, &[0]].concat()).is_err()
        {
            self.guard = Guard::None;
        }
    }

    fn end(&mut self) {
        for group in std::mem::take(&mut self.groups) {
            // An error means that it has ended already.
            let _ = Pid::from_raw(group).map(|group| kill_process_group(group, Signal::KILL));
        }
        for folder in std::mem::take(&mut self.folders) {
            // Best effort: the system clears its temporary folders in the end.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

pub(super) fn add(group: Pid) {
    let (mut registry, group) = (registry(), group.as_raw_nonzero().get());
    registry.groups.insert(group);
    registry.tell(b'+', group.to_string().as_bytes());
}

pub(super) fn remove(group: Pid) {
    let (mut registry, group) = (registry(), group.as_raw_nonzero().get());
    registry.groups.remove(&group);
    registry.tell(b'-', group.to_string().as_bytes());
}

pub(crate) fn add_folder(folder: PathBuf) {
    let mut registry = registry();
    registry.tell(b'f', folder.as_os_str().as_bytes());
    registry.folders.insert(folder);
}

pub(crate) fn remove_folder(folder: &Path) {
    let mut registry = registry();
    registry.folders.remove(folder);
    registry.tell(b'r', folder.as_os_str().as_bytes());
}

/// Ends every target process and removes every scratch folder of this program, for one that is
/// about to exit at once.
pub fn end_all() {
    registry().end();
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "I/O, no arithmetic")]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn what_is_left_is_ended_and_nothing_else() {
        let sleeper = || {
            Command::new("sleep")
                .arg("1000")
                .process_group(0)
                .spawn()
                .expect("a process that waits")
        };
        let [mut left, mut ended] = [sleeper(), sleeper()];
        let (kept, gone) = (tempfile::tempdir().expect("kept"), tempfile::tempdir().expect("gone"));
        std::fs::write(gone.path().join("a"), "b").expect("a file");
        let paths = [gone.path(), kept.path()].map(|path| path.display().to_string());
        let told = format!(
            "+{}\0f{}\0+{}\0f{}\0-{}\0r{}\0",
            left.id(),
            paths[0],
            ended.id(),
            paths[1],
            ended.id(),
            paths[1],
        );
        guard(&mut told.as_bytes()).expect("it reads");
        assert_eq!(left.wait().expect("an end").signal(), Some(9));
        assert!(ended.try_wait().expect("its state").is_none());
        assert!(!gone.path().exists() && kept.path().exists());
        ended.kill().and_then(|()| ended.wait()).expect("an end");
    }
}
