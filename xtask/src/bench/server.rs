//! A program that measures on request, one line of words for one line of numbers.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::step::Failure;

/// What is run: `n` queries on `n` keys of width `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) n: usize,
    pub(super) heads: usize,
    pub(super) d: usize,
    pub(super) causal: bool,
}

impl Shape {
    /// Fused operations of both products, over the keys that rows see.
    pub(super) fn fused(self) -> f64 {
        let n = self.n as f64;
        let pairs = if self.causal { n * (n + 1.0) / 2.0 } else { n * n };
        pairs * (2 * self.d * self.heads) as f64
    }
}

/// `n2048_h8`, with `_d128` or `_causal` behind it where it is not 64 and not.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}_h{}", self.n, self.heads)?;
        if self.d != 64 {
            write!(f, "_d{}", self.d)?;
        }
        f.write_str(if self.causal { "_causal" } else { "" })
    }
}

/// Seconds of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seconds {
    pub(super) clock: f64,
    pub(super) processor: f64,
}

/// The running program.
pub(super) struct Server {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    pub(super) fn start(name: &'static str, command: &mut Command) -> Result<Self, Failure> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            child.map_err(|error| Failure::Setup(format!("{name} did not start: {error}")))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, answers) =
            pipes.ok_or_else(|| Failure::Setup(format!("{name} has no pipes")))?;
        Ok(Self { name, child, requests, answers: BufReader::new(answers) })
    }

    /// The next line that the program writes.
    pub(super) fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => Ok(line.trim_end().to_owned()),
            Ok(0) => Err(Failure::Step(format!("{} ended early", self.name))),
            Err(error) => Err(Failure::Step(format!("{}: {error}", self.name))),
        }
    }

    /// Measures one run.
    pub(super) fn ask(
        &mut self,
        kind: &str,
        shape: Shape,
        threads: usize,
    ) -> Result<Seconds, Failure> {
        let Shape { n, heads, d, causal } = shape;
        let sent = writeln!(self.requests, "{kind} {n} {heads} {d} {causal} {threads}");
        sent.and_then(|()| self.requests.flush())
            .map_err(|error| Failure::Step(format!("{}: {error}", self.name)))?;
        let line = self.line()?;
        parse(&line).ok_or_else(|| {
            Failure::Step(format!("{}: expected two numbers, got {line:?}", self.name))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(line: &str) -> Option<Seconds> {
    let numbers: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers?[..] {
        [clock, processor] => Some(Seconds { clock, processor }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_two_numbers() {
        assert_eq!(parse("1.5e-1 0.25"), Some(Seconds { clock: 0.15, processor: 0.25 }));
        for line in ["", "1", "1 x", "1 2 3"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn shapes_have_short_names() {
        let shape = Shape { n: 2048, heads: 8, d: 64, causal: false };
        assert_eq!(shape.to_string(), "n2048_h8");
        assert_eq!(Shape { d: 128, causal: true, ..shape }.to_string(), "n2048_h8_d128_causal");
    }
}
