//! The three pipes of a child, moved by one thread: nothing blocks, whatever the child leaves full
//! or idle.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::lines::Lines;

/// How much of the standard error is kept.
const TAIL: usize = 4096;
/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// The pipes, what is still to be sent and what has come.
pub(crate) struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    outgoing: Vec<u8>,
    sent: usize,
    chunk: Vec<u8>,
    tail: Vec<u8>,
    pub(crate) lines: Lines,
}

impl Pipes {
    /// Takes the pipes of a child that was started with all three.
    pub(crate) fn of(process: &mut std::process::Child, limit: usize) -> io::Result<Self> {
        let missing = || io::Error::other("no pipe");
        let stdin = process.stdin.take().ok_or_else(missing)?;
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let stderr = process.stderr.take().ok_or_else(missing)?;
        for pipe in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            outgoing: Vec::new(),
            sent: 0,
            chunk: vec![0; CHUNK],
            tail: Vec::new(),
            lines: Lines::new(limit),
        })
    }

    /// Hands over a message. What the pipe does not take at once is sent while waiting.
    pub(crate) fn send(&mut self, message: Vec<u8>) {
        self.outgoing = message;
        self.sent = 0;
        self.write();
    }

    /// Ends the child's standard input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Whether the child will say nothing more.
    pub(crate) fn output_closed(&self) -> bool {
        self.stdout.is_none()
    }

    /// Whether the child closed its input before it had taken everything.
    pub(crate) fn input_refused(&self) -> bool {
        self.stdin.is_none() && self.sent < self.outgoing.len()
    }

    /// Moves bytes until some have moved or `wait` is over; says whether some have.
    pub(crate) fn turn(&mut self, wait: Duration) -> bool {
        let (mut writable, mut readable) = (false, false);
        let mut heard = false;
        {
            let mut pipes = Vec::with_capacity(3);
            let stdin = self.stdin.as_ref().filter(|_| self.sent < self.outgoing.len());
            pipes.extend(stdin.map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
            pipes.extend(self.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            pipes.extend(self.stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            let wait = Timespec::try_from(wait).ok();
            // An interrupted wait is a wait that ended early.
            if pipes.is_empty() {
                std::thread::sleep(
                    wait.map_or(Duration::ZERO, |wait| {
                        Duration::try_from(wait).unwrap_or_default()
                    }),
                );
                return false;
            }
            if !matches!(poll(&mut pipes, wait.as_ref()), Ok(1..)) {
                return false;
            }
            let mut ready = pipes.iter().map(|pipe| !pipe.revents().is_empty());
            if stdin.is_some() {
                writable = ready.next().unwrap_or(false);
            }
            if self.stdout.is_some() {
                readable = ready.next().unwrap_or(false);
            }
            if self.stderr.is_some() {
                heard = ready.next().unwrap_or(false);
            }
        }
        if writable {
            self.write();
        }
        if readable {
            self.read();
        }
        if heard {
            self.listen();
        }
        true
    }

    /// Takes what lies in the pipes, and nothing that is still to come.
    pub(crate) fn drain(&mut self) {
        const MAX: usize = 1 << 20;
        for _ in 0..MAX / CHUNK {
            let more = self.read();
            if !(self.listen() | more) {
                break;
            }
        }
    }

    /// Takes what has come unasked.
    pub(crate) fn glance(&mut self) {
        self.read();
    }

    /// The end of the standard error.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.tail
    }

    fn write(&mut self) {
        while let Some(stdin) = &mut self.stdin
            && self.sent < self.outgoing.len()
        {
            match stdin.write(&self.outgoing[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stdin = None,
            }
        }
    }

    /// Reads once from the output; whether something came.
    fn read(&mut self) -> bool {
        let Some(stdout) = &mut self.stdout else { return false };
        match stdout.read(&mut self.chunk) {
            Ok(n @ 1..) => {
                self.lines.push(&self.chunk[..n]);
                true
            }
            Err(error) if is_later(&error) => false,
            _ => {
                self.stdout = None;
                self.lines.finish();
                false
            }
        }
    }

    /// Reads once from the standard error; whether something came.
    fn listen(&mut self) -> bool {
        let Some(stderr) = &mut self.stderr else { return false };
        match stderr.read(&mut self.chunk) {
            Ok(n @ 1..) => {
                self.tail.extend_from_slice(&self.chunk[n.saturating_sub(TAIL)..n]);
                let excess = self.tail.len().saturating_sub(TAIL);
                self.tail.drain(..excess);
                true
            }
            Err(error) if is_later(&error) => false,
            _ => {
                self.stderr = None;
                false
            }
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
