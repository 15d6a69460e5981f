//! A child process in a group of its own behind pipes: nothing it does, or leaves undone, makes
//! this process wait beyond a deadline, and nothing of its group outlives it. What a line means is
//! the wire's business.
#![expect(clippy::disallowed_methods, reason = "I/O, no arithmetic: deadlines need the clock")]

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use qkvet_spec::{Breakage, Pipe, Quoted, Trouble};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::launch::Limits;
use super::pipes::Pipes;
use super::registry;
use crate::wire::quoted;

/// How often a silent child is looked after.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a child that closed a pipe may take to end.
const GRACE: Duration = Duration::from_secs(1);
/// How long a child may take to end when it is asked to.
const FAREWELL: Duration = Duration::from_secs(2);
/// After so much silence a person is told.
const SILENCE: Duration = Duration::from_secs(5);

/// What came of waiting for a message.
#[derive(Debug)]
pub(crate) enum Received {
    /// A line that begins with `{`.
    Message(Vec<u8>),
    /// A line beyond the limit.
    TooLong,
    /// The process ended, or closed a pipe; how it did.
    Ended(Trouble),
    /// Nothing within the time; what there is instead of an answer.
    Late(Trouble),
}

/// A running child with its pipes. Dropping it ends its whole group.
pub(crate) struct Child {
    process: std::process::Child,
    group: Pid,
    gone: bool,
    pipes: Pipes,
}

impl Child {
    /// Starts `command` with all three streams piped; a line may have up to `limit` bytes.
    pub(crate) fn spawn(mut command: Command, limit: usize) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut process = command.spawn()?;
        let group = Pid::from_child(&process);
        registry::add(group);
        match Pipes::of(&mut process, limit) {
            Ok(pipes) => Ok(Self { process, group, gone: false, pipes }),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = process.wait();
                registry::remove(group);
                Err(error)
            }
        }
    }

    /// Hands a request over, whose answer may have up to `limit` bytes. A child that is gone is
    /// noticed when its answer is awaited.
    ///
    /// # Errors
    /// A message that the child sent before it was asked.
    pub(crate) fn send(&mut self, request: Vec<u8>, limit: usize) -> Result<(), Vec<u8>> {
        self.pipes.glance();
        if let Some(unasked) = self.pipes.lines.next() {
            return Err(unasked);
        }
        self.pipes.lines.limit(limit);
        self.pipes.send(request);
        Ok(())
    }

    /// The next message within `limit`; a user who wants to stop counts as the end of it. Five
    /// seconds of silence are told to `silent`. A child that holds too much memory is ended.
    pub(crate) fn receive(
        &mut self,
        limit: Duration,
        limits: &Limits,
        silent: &dyn Fn(),
    ) -> Received {
        let start = Instant::now();
        let mut told = false;
        loop {
            if let Some(message) = self.pipes.lines.next() {
                return Received::Message(message);
            }
            if self.pipes.lines.too_long() {
                return Received::TooLong;
            }
            if self.pipes.output_closed() || self.pipes.input_refused() {
                return self.ended();
            }
            let elapsed = start.elapsed();
            if elapsed >= limit || limits.watch.is_stopped() {
                return Received::Late(self.late(limit));
            }
            if elapsed >= SILENCE && !told {
                told = true;
                silent();
            }
            let is_silent = !self.pipes.turn(GLANCE.min(limit - elapsed));
            if is_silent && self.resident() > limits.memory {
                self.kill();
                let how = Breakage::Memory { mebibytes: limits.memory };
                let stderr = self.last_words();
                return Received::Ended(Trouble { how, detail: None, stderr });
            }
            if is_silent && self.has_exited() {
                // It may have answered before; a grandchild may keep the pipe open for ever.
                self.pipes.drain();
                return match self.pipes.lines.next() {
                    Some(message) => Received::Message(message),
                    None => self.ended(),
                };
            }
        }
    }

    /// Memory that the process holds, in MiB; 0 where the system does not say.
    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.group.as_raw_nonzero());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kibibytes.unwrap_or(0) / 1024
    }

    /// A message beyond the one that was asked for, if it is there already.
    pub(crate) fn surplus(&self) -> Option<&[u8]> {
        self.pipes.lines.peek()
    }

    fn ended(&mut self) -> Received {
        let closed = if self.pipes.output_closed() { Pipe::Output } else { Pipe::Input };
        let how = self.wait(GRACE).map_or(Breakage::Closed(closed), ending);
        let detail = self.begun();
        let stderr = self.last_words();
        self.kill();
        Received::Ended(Trouble { how, detail, stderr })
    }

    /// The beginning of a line that the child did not end.
    fn begun(&self) -> Option<Quoted> {
        self.pipes.lines.begun().map(quoted)
    }

    fn late(&mut self, limit: Duration) -> Trouble {
        let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let (how, detail) = (Breakage::Silent { milliseconds }, self.begun());
        self.kill();
        Trouble { how, detail, stderr: self.last_words() }
    }

    /// Whether the process has ended. It is left to be collected, so that its number stays its own.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        self.gone || !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Waits for the process to end, taking what it says meanwhile.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        while !self.has_exited() {
            let left = limit.checked_sub(start.elapsed())?;
            self.pipes.turn(left.min(Duration::from_millis(1)));
        }
        self.pipes.drain();
        self.kill();
        self.process.wait().ok()
    }

    /// Asks the child to end with a last message; whether it did in time, and how.
    pub(crate) fn farewell(&mut self, stop: Vec<u8>) -> Result<Breakage, Duration> {
        self.pipes.send(stop);
        let start = Instant::now();
        while self.pipes.turn(Duration::ZERO) && start.elapsed() < FAREWELL {}
        self.pipes.close_input();
        let status = self.wait(FAREWELL);
        self.kill();
        status.map(ending).ok_or(FAREWELL)
    }

    /// Ends the process and all that it started and that stayed in its group.
    pub(crate) fn kill(&mut self) {
        if std::mem::replace(&mut self.gone, true) {
            return;
        }
        // The leader is not collected yet, so the number of the group is still its own. An error
        // means that all have ended.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.process.wait();
        registry::remove(self.group);
        self.pipes.drain();
    }

    /// The telling part of what the process said last.
    pub(crate) fn last_words(&mut self) -> Option<Quoted> {
        self.pipes.drain();
        Some(summary(self.pipes.tail())).filter(|words| !words.is_empty()).map(Quoted::new)
    }

    /// The beginning of the first line on the output that was no message, quoted.
    pub(crate) fn first_stray(&self) -> Option<&Quoted> {
        self.pipes.lines.first_stray()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Signals that end a process, whose numbers differ between systems.
const SIGNALS: [(Signal, &str); 18] = [
    (Signal::ABORT, "SIGABRT"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::HUP, "SIGHUP"),
    (Signal::ILL, "SIGILL"),
    (Signal::INT, "SIGINT"),
    (Signal::KILL, "SIGKILL"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::SYS, "SIGSYS"),
    (Signal::TERM, "SIGTERM"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
];

/// How a process ended: a child that was waited for has an exit code or a signal.
fn ending(status: ExitStatus) -> Breakage {
    match status.signal() {
        Some(signal) => {
            let named = SIGNALS.iter().find(|(known, _)| known.as_raw() == signal);
            Breakage::Killed { signal, name: named.map(|(_, name)| (*name).to_owned()) }
        }
        None => Breakage::Exited(status.code().unwrap_or_default()),
    }
}

/// The telling part of the last standard error: the innermost frame of a fatal Python error, else
/// the last line.
fn summary(tail: &[u8]) -> String {
    let text = String::from_utf8_lossy(tail);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let fatal = lines.iter().rposition(|line| line.starts_with("Fatal Python error"));
    let told = match fatal {
        Some(at) => {
            let frame = lines[at..]
                .iter()
                .find(|line| line.starts_with("File \"") && !line.starts_with("File \"<"));
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
    fn ends_are_named() {
        let check = |wait_status, expected: &str| {
            assert_eq!(ending(ExitStatus::from_raw(wait_status)).display().to_string(), expected)
        };
        check(0, "exited with code 0");
        check(3 << 8, "exited with code 3");
        check(11, "was killed by signal 11 (SIGSEGV)");
        check(11 | 0x80, "was killed by signal 11 (SIGSEGV)");
        check(9, "was killed by signal 9 (SIGKILL, perhaps for lack of memory)");
    }

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
