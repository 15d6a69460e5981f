//! The folder of one conversation, for tensors that are too large for a line, and its memory.
#![allow(clippy::disallowed_methods, reason = "I/O, no arithmetic")]

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::TempDir;

use super::error::WireError;
use super::memory::Memory;
use crate::process::StartError;
use crate::process::registry;

/// In memory where the system has such a folder.
const SHARED_MEMORY: &str = "/dev/shm";

/// A folder that goes with the conversation.
pub(crate) struct Scratch {
    folder: TempDir,
    /// Files of the request that is being answered.
    written: RefCell<Vec<PathBuf>>,
    /// Memory for tensors, where the system has some.
    pub(crate) memory: Option<Memory>,
}

impl Scratch {
    pub(crate) fn make() -> Result<Self, StartError> {
        let make = |parent: &Path| tempfile::Builder::new().prefix("qkvet-").tempdir_in(parent);
        let general = std::env::temp_dir();
        let folder = make(Path::new(SHARED_MEMORY))
            .or_else(|_| make(&general))
            .map_err(|source| StartError::Scratch { folder: general, source })?;
        registry::add_folder(folder.path().to_owned());
        Ok(Self { folder, written: RefCell::default(), memory: Memory::make() })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of a request and gives its name; `None` if there is no room for it.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Option<String> {
        let path = self.path().join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(bytes));
        self.written.borrow_mut().push(path);
        written.ok().map(|()| name.to_owned())
    }

    /// Removes the files of the request that was answered. They are never written over: the program
    /// may still have them mapped.
    pub(crate) fn forget_requests(&self) {
        if let Some(memory) = &self.memory {
            memory.shrink();
        }
        for path in self.written.borrow_mut().drain(..) {
            // The folder goes in the end, with what is left in it.
            let _ = std::fs::remove_file(path);
        }
    }

    /// `length` bytes of a file of the program, from `offset`: a plain file of this folder that is
    /// long enough.
    pub(super) fn read(
        &self,
        field: &str,
        name: &str,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, WireError> {
        let path = format!("{field}.file");
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            let expected = "the name of a file in the scratch folder, without folders";
            return Err(WireError::new(path, expected, format!("{name:?}")));
        }
        // Neither a link out of the folder nor a pipe that nobody writes to is followed.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
        let opened = File::options()
            .read(true)
            .custom_flags(flags.cast_signed())
            .open(self.path().join(name));
        let wrong = |expected: String, got: String| WireError::new(path.as_str(), expected, got);
        let readable = || format!("a plain file `{name}` in the scratch folder");
        let mut file = opened.map_err(|error| wrong(readable(), error.to_string()))?;
        let metadata = file.metadata().map_err(|error| wrong(readable(), error.to_string()))?;
        if !metadata.is_file() {
            return Err(wrong(
                readable(),
                (if metadata.is_dir() { "a folder" } else { "something else" }).to_owned(),
            ));
        }
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > metadata.len()) {
            let from = if offset == 0 { String::new() } else { format!(" from byte {offset}") };
            return Err(wrong(
                format!("{length} bytes{from} in `{name}`"),
                format!("{} bytes", metadata.len().saturating_sub(offset)),
            ));
        }
        let mut bytes = Vec::with_capacity(length);
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.take(length as u64).read_to_end(&mut bytes))
            .map_err(|error| wrong(readable(), error.to_string()))?;
        if bytes.len() != length {
            return Err(wrong(
                format!("{length} bytes in `{name}`"),
                format!("{} bytes", bytes.len()),
            ));
        }
        Ok(bytes)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        registry::remove_folder(self.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scratch: &Scratch, name: &str, offset: u64, expected: &str) {
        let told = scratch.read("tensors.output", name, offset, 4).unwrap_err().to_string();
        assert!(
            told.starts_with("tensors.output.file: expected ") && told.contains(expected),
            "{told}"
        );
    }

    #[test]
    fn files_are_read_from_the_folder_alone() {
        let scratch = Scratch::make().unwrap();
        std::fs::write(scratch.path().join("good"), b"12345678").unwrap();
        assert_eq!(scratch.read("", "good", 4, 4).unwrap(), b"5678");
        assert!(scratch.path().metadata().is_ok_and(|m| m.is_dir()));

        check(&scratch, "good", 5, "4 bytes from byte 5 in `good`, got 3 bytes");
        check(&scratch, "good", u64::MAX, "got 0 bytes");
        check(&scratch, "absent", 0, "No such file");
        for outside in ["../good", "/etc/passwd", "a/b", ".", "..", "", "a\0"] {
            check(&scratch, outside, 0, "without folders");
        }
        std::fs::create_dir(scratch.path().join("folder")).unwrap();
        check(&scratch, "folder", 0, "got a folder");
        std::os::unix::fs::symlink("/etc/passwd", scratch.path().join("link")).unwrap();
        check(&scratch, "link", 0, "a plain file `link`");
        let pipe = scratch.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        check(&scratch, "pipe", 0, "got something else");

        let folder = scratch.path().to_owned();
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    fn files_of_a_request_go_after_it() {
        let scratch = Scratch::make().unwrap();
        assert_eq!(scratch.write("1-key.bin", b"x").as_deref(), Some("1-key.bin"));
        assert_eq!(scratch.write("1-key.bin", b"x"), None);
        scratch.forget_requests();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
