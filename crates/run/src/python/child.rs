//! A child process behind pipes: nothing it does, or leaves undone, makes this process wait beyond a deadline.
//!
//! Three threads of its own move the bytes, so that a full or an idle pipe, or one that a grandchild keeps open, blocks
//! only them. What a line means is the wire's business.
#![expect(clippy::disallowed_methods, reason = "I/O, no arithmetic: deadlines need the clock")]

use std::io::{self, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::lines::{Line, next_line};
use crate::wire::quoted;

/// How much of the standard error is kept.
const TAIL: usize = 4096;
/// How often a silent child is looked after.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the pipes of a child that ended may still bring something.
const GRACE: Duration = Duration::from_millis(200);

/// What came of waiting for a message.
#[derive(Debug)]
pub(crate) enum Received {
    /// A line that begins with `{`.
    Message(Vec<u8>),
    /// A line beyond the limit.
    TooLong,
    /// The process ended, or closed its output; how it did.
    Ended(String),
    /// Nothing within the time.
    Late,
}

/// A running child with its pipes. Dropping it kills it.
pub(crate) struct Child {
    process: std::process::Child,
    requests: Sender<Vec<u8>>,
    lines: Receiver<Line>,
    words: Arc<LastWords>,
    strays: Strays,
}

/// Lines that were no messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strays {
    /// How many.
    pub(crate) count: usize,
    /// The beginning of the first, quoted.
    pub(crate) first: String,
}

#[derive(Default)]
struct LastWords {
    tail: Mutex<Vec<u8>>,
    complete: AtomicBool,
}

impl Child {
    /// Starts `command` with all three streams piped; a line may have up to `max_line` bytes.
    pub(crate) fn spawn(mut command: Command, max_line: usize) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let missing = || io::Error::other("no pipe");
        let mut stdin = process.stdin.take().ok_or_else(missing)?;
        let mut stdout = BufReader::new(process.stdout.take().ok_or_else(missing)?);
        let mut stderr = process.stderr.take().ok_or_else(missing)?;

        let (requests, to_send) = channel::<Vec<u8>>();
        let (found, lines) = sync_channel(4);
        let words = Arc::new(LastWords::default());
        let child = Self { process, requests, lines, words: Arc::clone(&words), strays: Strays::default() };
        spawn_thread("qkvet-stdin", move || {
            for request in to_send {
                if stdin.write_all(&request).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        })?;
        spawn_thread("qkvet-stdout", move || read_lines(&mut stdout, max_line, &found))?;
        spawn_thread("qkvet-stderr", move || words.listen(&mut stderr))?;
        Ok(child)
    }

    /// Hands a request over; a child that is gone is noticed when its answer is awaited.
    pub(crate) fn send(&self, request: Vec<u8>) {
        // An error means that the pipe is closed, which `receive` reports with its cause.
        drop(self.requests.send(request));
    }

    /// The next message within `limit`; a `stop` that is set counts as the end of it.
    pub(crate) fn receive(&mut self, limit: Duration, stop: Option<&AtomicBool>) -> Received {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            match self.lines.recv_timeout(left.min(GLANCE)) {
                Ok(Line::Message(line)) => return Received::Message(line),
                Ok(Line::TooLong) => return Received::TooLong,
                Ok(Line::Stray(line)) => self.note(&line),
                Err(RecvTimeoutError::Disconnected) => return self.ended(),
                Err(RecvTimeoutError::Timeout) => {
                    if !matches!(self.process.try_wait(), Ok(None)) {
                        return self.last_message();
                    }
                }
            }
            if start.elapsed() >= limit || stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Received::Late;
            }
        }
    }

    /// A process that has ended may have answered before; a grandchild may keep the pipe open for ever.
    fn last_message(&mut self) -> Received {
        let start = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(GRACE.saturating_sub(start.elapsed())) {
            match line {
                Line::Message(line) => return Received::Message(line),
                Line::TooLong => return Received::TooLong,
                Line::Stray(line) => self.note(&line),
            }
        }
        self.ended()
    }

    fn note(&mut self, line: &[u8]) {
        if self.strays.count == 0 {
            self.strays.first = quoted(line);
        }
        self.strays.count += 1;
    }

    fn ended(&mut self) -> Received {
        let how = match self.wait(Duration::from_secs(1)) {
            Some(status) => describe(status),
            None => {
                self.kill();
                "closed its output and went on".to_owned()
            }
        };
        Received::Ended(how + &self.last_words())
    }

    /// Ends the process, at the latest after two seconds of waiting for it.
    pub(crate) fn kill(&mut self) {
        // An error means that it ended already.
        drop(self.process.kill());
        self.wait(Duration::from_secs(2));
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(status);
            }
            if start.elapsed() >= limit {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// `; stderr: ...` with what the process said last, or nothing.
    pub(crate) fn last_words(&self) -> String {
        let start = Instant::now();
        while !self.words.complete.load(Ordering::Acquire) && start.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(2));
        }
        let words = summary(&self.words.tail.lock().unwrap_or_else(PoisonError::into_inner));
        if words.is_empty() { words } else { format!("; stderr: {words}") }
    }

    /// Lines on the output that were no messages.
    pub(crate) fn strays(&self) -> &Strays {
        &self.strays
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn read_lines(pipe: &mut impl io::BufRead, max_line: usize, found: &SyncSender<Line>) {
    while let Ok(Some(line)) = next_line(pipe, max_line) {
        let last = line == Line::TooLong;
        if found.send(line).is_err() || last {
            break;
        }
    }
}

impl LastWords {
    fn listen(&self, pipe: &mut impl Read) {
        let mut buffer = [0; TAIL];
        while let Ok(n @ 1..) = pipe.read(&mut buffer) {
            let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend_from_slice(&buffer[..n]);
            let excess = tail.len().saturating_sub(TAIL);
            tail.drain(..excess);
        }
        self.complete.store(true, Ordering::Release);
    }
}

/// `exited with code 3`, `was killed by signal 11 (SIGSEGV)`.
fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " (SIGILL)",
            6 => " (SIGABRT)",
            8 => " (SIGFPE)",
            9 => " (SIGKILL, perhaps for lack of memory)",
            11 => " (SIGSEGV)",
            15 => " (SIGTERM)",
            7 if cfg!(target_os = "linux") => " (SIGBUS)",
            10 if cfg!(target_os = "macos") => " (SIGBUS)",
            _ => "",
        };
        return format!("was killed by signal {signal}{name}");
    }
    match status.code() {
        Some(code) => format!("exited with code {code}"),
        None => "ended".to_owned(),
    }
}

/// The telling part of the last standard error: the innermost frame of a fatal Python error, else the last line.
fn summary(tail: &[u8]) -> String {
    let text = String::from_utf8_lossy(tail);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let fatal = lines.iter().rposition(|line| line.starts_with("Fatal Python error"));
    let told = match fatal {
        Some(at) => {
            let frame = lines[at..].iter().find(|line| line.starts_with("File \"") && !line.starts_with("File \"<"));
            format!("{} {}", lines[at], frame.unwrap_or(&""))
        }
        None => lines.last().copied().unwrap_or_default().to_owned(),
    };
    told.trim_end().chars().take(240).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        assert_eq!(summary(b""), "");
        assert_eq!(summary(b"warning: a\nfree(): invalid pointer\n\n"), "free(): invalid pointer");
        let fatal = "noise\nFatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  \
                     File \"<string>\", line 2 in x\n  File \"a.py\", line 5 in attention\n  File \"<string>\", line 9 in run\n";
        let expected = "Fatal Python error: Segmentation fault File \"a.py\", line 5 in attention";
        assert_eq!(summary(fatal.as_bytes()), expected);
    }
}
