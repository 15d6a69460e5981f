//! Tensors in memory without a name: two files that no folder lists and that end with the processes
//! that hold them, one for what is asked and one for what is answered.
#![allow(clippy::disallowed_methods, reason = "I/O, no arithmetic")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use qkvet_spec::wire::MemoryPaths;

/// Tensors begin at multiples of this, so that they can be used where they are mapped.
const ALIGNMENT: u64 = 64;
/// Larger memory is given back after the call.
const MAX_KEPT: u64 = 16 << 20;
/// What is in the place of a result before it is written: NaN in every floating-point format.
const POISON: u8 = 0xff;

/// The two files, in qkvet or in a worker of its own.
pub(crate) struct Memory {
    requests: File,
    answers: File,
}

impl Memory {
    /// New ones; `None` where the system has none.
    #[cfg(target_os = "linux")]
    pub(crate) fn make() -> Option<Self> {
        use rustix::fs::{MemfdFlags, memfd_create};
        let make = |name| memfd_create(name, MemfdFlags::CLOEXEC).map(File::from).ok();
        Some(Self { requests: make("qkvet-requests")?, answers: make("qkvet-answers")? })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn make() -> Option<Self> {
        None
    }

    /// Where another process opens them.
    pub(crate) fn paths(&self) -> MemoryPaths {
        let path = |file: &File| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        MemoryPaths { requests: path(&self.requests), answers: path(&self.answers) }
    }

    /// Those of another process; `None` where they cannot be opened.
    pub(crate) fn open(paths: &MemoryPaths) -> Option<Self> {
        let requests = File::open(&paths.requests).ok()?;
        let answers = File::options().read(true).write(true).open(&paths.answers).ok()?;
        Some(Self { requests, answers })
    }

    /// Puts the bits of a tensor of a request behind `end`; gives where they begin and sets the new
    /// end. `None` if there is no room.
    pub(super) fn ask(&self, bits: &[u8], end: &mut u64) -> Option<u64> {
        write(&self.requests, bits, end)
    }

    /// The same of an answer.
    pub(crate) fn answer(&self, bits: &[u8], end: &mut u64) -> Option<u64> {
        write(&self.answers, bits, end)
    }

    /// `length` bytes of a request.
    pub(crate) fn asked(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        read(&self.requests, offset, length)
    }

    /// `length` bytes of an answer.
    pub(super) fn answered(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        read(&self.answers, offset, length)
    }

    /// Fills so many bytes for answers with what is no number: what a program says that it wrote
    /// there, and did not, is not the answer to the call before.
    pub(crate) fn poison(&self, length: usize) {
        // What cannot be written cannot be read either.
        let _ = self.answers.write_all_at(&vec![POISON; length], 0);
    }

    /// Gives large memory back.
    pub(super) fn shrink(&self) {
        for file in [&self.requests, &self.answers] {
            if file.metadata().is_ok_and(|metadata| metadata.len() > MAX_KEPT) {
                let _ = file.set_len(0);
            }
        }
    }
}

fn write(file: &File, bits: &[u8], end: &mut u64) -> Option<u64> {
    let offset = end.next_multiple_of(ALIGNMENT);
    file.write_all_at(bits, offset).ok()?;
    *end = offset + bits.len() as u64;
    Some(offset)
}

fn read(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    // No room is made for bytes that are not there.
    let is_there = |end: u64| file.metadata().map(|metadata| end <= metadata.len());
    match offset.checked_add(length as u64).map(is_there) {
        Some(Ok(true)) => {}
        Some(Err(error)) => return Err(error),
        _ => return Err(io::ErrorKind::UnexpectedEof.into()),
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
