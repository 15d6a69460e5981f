//! [`PythonTarget`]: the conversation with one worker, and a fresh worker after a bad end.

use std::process::Command;

use qkvet_spec::{Call, Response, Target};
use serde::{Deserialize, Serialize};

use super::child::{Child, Received, Strays};
use super::config::{Arrays, Layout, PythonConfig, PythonInfo, PythonSource};
use super::error::{LoadKind, StartError};
use crate::wire::{WIRE, line, parse_reply, quoted, run_request};

/// The worker, one source in three files.
const WORKER: &str = concat!(
    include_str!("../worker/load.py"),
    include_str!("../worker/arrays.py"),
    include_str!("../worker/worker.py")
);

#[derive(Serialize)]
struct Hello<'a> {
    op: &'static str,
    wire: u32,
    tool: &'static str,
    target: Source<'a>,
    function: &'a str,
    folder: Option<&'a str>,
    arrays: Option<Arrays>,
    device: Option<&'a str>,
    layout: Layout,
    supports: Option<&'a [String]>,
    mask_takes_bias: bool,
    max_payload: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Source<'a> {
    Module(&'a str),
    File(&'a str),
}

#[derive(Deserialize)]
struct Greeting {
    ok: bool,
    #[serde(default)]
    wire: u32,
}

#[derive(Deserialize)]
struct Refusal {
    kind: LoadKind,
    message: String,
    hint: Option<String>,
}

/// A function in Python, called in a child process.
///
/// A child that crashed, hung or broke the protocol is replaced at the next call, up to
/// [`max_restarts`](PythonConfig::max_restarts) times.
pub struct PythonTarget {
    config: PythonConfig,
    info: PythonInfo,
    child: Option<Child>,
    seq: u64,
    restarts: u32,
    strays: Strays,
    last_end: String,
}

impl PythonTarget {
    /// Starts the worker and loads the function.
    ///
    /// # Errors
    /// [`StartError`] if the interpreter does not run, the function cannot be loaded or called, or takes too long to.
    pub fn start(config: PythonConfig) -> Result<Self, StartError> {
        let (child, info) = greet(&config)?;
        let strays = child.strays().clone();
        Ok(Self { config, info, child: Some(child), seq: 0, restarts: 0, strays, last_end: String::new() })
    }

    /// What the target told when it was loaded.
    pub fn info(&self) -> &PythonInfo {
        &self.info
    }

    /// How often the child was replaced.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Number of lines on the protocol's pipe that were not of the protocol, with the first one quoted.
    pub fn stray_lines(&self) -> Option<(usize, &str)> {
        (self.strays.count > 0).then_some((self.strays.count, self.strays.first.as_str()))
    }

    fn live_child(&mut self) -> Result<Child, Response> {
        if let Some(child) = self.child.take() {
            return Ok(child);
        }
        if self.restarts >= self.config.max_restarts {
            let (times, end) = (self.restarts, &self.last_end);
            return Err(Response::Crash(format!("not restarted after {times} restarts; the last process {end}")));
        }
        self.restarts += 1;
        match greet(&self.config) {
            Ok((child, _)) => Ok(child),
            Err(error) => {
                self.last_end = "could not be started".to_owned();
                let told = error.to_string();
                Err(Response::Crash(format!("not restarted: {}", told.lines().next().unwrap_or_default())))
            }
        }
    }

    fn ask(&mut self, child: &mut Child, request: Vec<u8>, weights: bool) -> (Response, bool) {
        child.send(request);
        match child.receive(self.config.timeout, self.config.stop.as_deref()) {
            Received::Message(line) => match parse_reply(&line, self.seq, weights) {
                Ok(reply) => {
                    if reply.fatal {
                        self.last_end = "was ended after a fatal error of the device".to_owned();
                    }
                    (reply.response, reply.fatal)
                }
                Err(reason) => {
                    self.last_end = "was ended for breaking the protocol".to_owned();
                    (Response::Malformed(format!("broke the protocol: {reason}")), true)
                }
            },
            Received::TooLong => {
                self.last_end = "was ended for a reply that was too long".to_owned();
                let limit = self.config.max_line;
                let reason = format!("broke the protocol: expected a reply of up to {limit} bytes, got more");
                (Response::Malformed(reason), true)
            }
            Received::Ended(how) => {
                self.last_end.clone_from(&how);
                (Response::Crash(how), true)
            }
            Received::Late => {
                let limit = self.config.timeout.as_secs_f64();
                self.last_end = format!("was ended for not answering within {limit} s");
                child.kill();
                (Response::Timeout(format!("no answer within {limit} s{}", child.last_words())), true)
            }
        }
    }
}

impl Target for PythonTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.seq += 1;
        let request = match run_request(self.seq, call) {
            Ok(request) => request,
            Err(error) => return Response::Error(format!("the call could not be written: {error}")),
        };
        let mut child = match self.live_child() {
            Ok(child) => child,
            Err(response) => return response,
        };
        let before = child.strays().count;
        let (response, over) = self.ask(&mut child, request, call.return_weights);
        if self.strays.count == 0 {
            self.strays.first.clone_from(&child.strays().first);
        }
        self.strays.count += child.strays().count - before;
        if !over {
            self.child = Some(child);
        }
        response
    }
}

/// Starts a worker and has it load the function.
fn greet(config: &PythonConfig) -> Result<(Child, PythonInfo), StartError> {
    let target = config.target.to_string();
    let mut command = Command::new(&config.python);
    command.args(["-u", "-c", WORKER]).env("QKVET_WIRE", WIRE.to_string());
    let mut child = Child::spawn(command, config.max_line)
        .map_err(|source| StartError::Spawn { python: config.python.clone(), source })?;
    let protocol = |got: String| StartError::Protocol { target: target.clone(), got };

    child.send(line(&hello(config)).map_err(|e| protocol(format!("a target that cannot be named in JSON: {e}")))?);
    let message = match child.receive(config.start_timeout, config.stop.as_deref()) {
        Received::Message(message) => message,
        Received::TooLong => return Err(protocol(format!("more than {} bytes", config.max_line))),
        Received::Ended(how) => return Err(StartError::Died { target, how }),
        Received::Late => {
            child.kill();
            return Err(StartError::Timeout { target, limit: config.start_timeout, words: child.last_words() });
        }
    };
    let foreign = |e: serde_json::Error| protocol(format!("{}: {e}", quoted(&message)));
    let greeting: Greeting = serde_json::from_slice(&message).map_err(foreign)?;
    if !greeting.ok {
        let Refusal { kind, message, hint } = serde_json::from_slice(&message).map_err(foreign)?;
        return Err(StartError::Load { target, kind, message, hint });
    }
    if greeting.wire != WIRE {
        return Err(protocol(format!("wire {}", greeting.wire)));
    }
    let info = serde_json::from_slice(&message).map_err(foreign)?;
    Ok((child, info))
}

fn hello(config: &PythonConfig) -> Hello<'_> {
    Hello {
        op: "hello",
        wire: WIRE,
        tool: concat!("qkvet ", env!("CARGO_PKG_VERSION")),
        target: match &config.target.source {
            PythonSource::Module(name) => Source::Module(name),
            // A path that is not UTF-8 is reported by the worker as not found.
            PythonSource::File(path) => Source::File(path.to_str().unwrap_or_default()),
        },
        function: &config.target.function,
        folder: config.folder.as_deref().and_then(std::path::Path::to_str),
        arrays: config.arrays,
        device: config.device.as_deref(),
        layout: config.layout,
        supports: config.supports.as_deref(),
        mask_takes_bias: config.mask_takes_bias,
        // Two tensors in base64 with their frame fit into a line.
        max_payload: (config.max_line / 8 * 3).saturating_sub(1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_fits_a_command_line() {
        assert!(WORKER.len() < 30_000, "Windows takes 32,767 characters, got {}", WORKER.len());
    }
}
