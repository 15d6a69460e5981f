//! One child and what is said with it: hello, then requests and their answers in order.

use qkvet_spec::wire::{HelloAnswer, Payload, Request};
use std::fmt;
use std::time::Duration;

use qkvet_spec::{Breakage, Call, Handling, Quoted, Response, Trouble, Warning};
use serde_json::Value;

use super::child::{Child, Received};
use super::error::{Heard, LoadKind, StartError};
use super::launch::{Launch, Program};
use super::offers::unknown;
use crate::wire::{
    Asked, Changed, HELLO_LIMIT, Reply, RunLine, Scratch, WireError, WorkerFields, empty_run,
    hello, line, quoted, read_hello, read_reply, run_request,
};

/// How one exchange ended.
pub(crate) struct Exchange {
    pub(crate) response: Response,
    /// How long the call took, if the program says.
    pub(crate) nanoseconds: Option<u64>,
    /// Why the child can be asked nothing more: `was ended for ...`.
    pub(crate) over: Option<End>,
    /// What broke the protocol, field by field, beside the response that says so in words.
    pub(crate) fault: Option<WireError>,
}

/// Shown every message: whether it was sent, and its bytes.
pub(crate) type Trace<'a> = dyn FnMut(bool, &[u8]) + 'a;

/// What to do about a second answer.
const ONE_ANSWER: &str = "one answer to each request; if the program calls fork(), its child process must not come back to answer too";

/// One request.
pub(crate) struct Question<'a> {
    pub(crate) seq: u64,
    /// The case's id, for logs.
    pub(crate) case: Option<&'a str>,
    pub(crate) call: &'a Call,
    /// What it is told beyond what the wire says, if it is a worker of ours.
    pub(crate) ours: WorkerFields<'a>,
    /// Changes the message before it is sent.
    pub(crate) tweak: Option<&'a dyn Fn(&mut Value)>,
}

impl Question<'_> {
    fn line(&self, payload: Payload, scratch: &Scratch) -> Result<Vec<u8>, serde_json::Error> {
        let run = match self.ours.onnx {
            Some(_) => empty_run(self.seq, self.case),
            None => run_request(self.seq, self.case, self.call, Some((payload, scratch))),
        };
        let request = RunLine { op: "run", run, ours: self.ours };
        let Some(tweak) = self.tweak else {
            return line(&request);
        };
        let mut request = serde_json::to_value(request)?;
        tweak(&mut request);
        line(&Changed(&request))
    }
}

/// A child that answered hello.
pub(crate) struct Conversation {
    // Before the scratch folder, so that the child is gone when the folder goes.
    pub(crate) child: Child,
    pub(crate) scratch: Scratch,
    pub(crate) greeting: HelloAnswer,
    /// How tensors go to the program.
    pub(crate) payload: Payload,
}

impl Conversation {
    /// Starts the program and greets it; `trace` is shown what is sent (`true`) and what comes
    /// back.
    pub(crate) fn start(launch: &Launch, trace: &mut Trace<'_>) -> Result<Self, StartError> {
        let target = launch.name.clone();
        let scratch = Scratch::make()?;
        let mut child =
            Child::spawn(launch.command(), HELLO_LIMIT).map_err(|source| StartError::Spawn {
                what: if launch.whose == Program::Python {
                    "python".to_owned()
                } else {
                    target.clone()
                },
                program: launch.program.clone(),
                source,
                hint: launch.whose.spawn_hint(),
            })?;
        let protocol = |error: WireError, child: &Child| StartError::Protocol {
            target: target.clone(),
            error: Box::new(error),
            heard: heard(child, None),
        };
        let request =
            line(&Request::Hello(hello(&scratch, launch.python.clone()))).map_err(|error| {
                protocol(WireError::new("hello", "a target that JSON can name", error), &child)
            })?;
        trace(true, &request);
        // A message before the first question is read as its answer, and its mistakes are named.
        let received = match child.send(request, HELLO_LIMIT) {
            Ok(()) => receive(&mut child, launch, ("hello", launch.limits.start_timeout)),
            Err(early) => Received::Message(early),
        };
        let message = match received {
            Received::Message(message) => message,
            Received::TooLong => {
                let error =
                    WireError::new("", format!("a line of up to {HELLO_LIMIT} bytes"), "more");
                return Err(protocol(error, &child));
            }
            Received::Ended(_) | Received::Late(_) if launch.limits.watch.is_stopped() => {
                return Err(StartError::Interrupted { target });
            }
            Received::Ended(trouble) => {
                let (trouble, heard) = started_badly(&child, trouble);
                return Err(StartError::Died { target, trouble, heard });
            }
            Received::Late(trouble) => {
                let (limit, hint) = (launch.limits.start_timeout, launch.whose.timeout_hint());
                let (trouble, heard) = started_badly(&child, trouble);
                return Err(StartError::Timeout { target, limit, trouble, heard, hint });
            }
        };
        trace(false, &message);
        let mut greeting = read_hello(&message).map_err(|error| protocol(error, &child))?;
        if launch.whose != Program::Python {
            greeting.python = None;
        }
        if !greeting.ok {
            let kind = greeting.python.and_then(|python| python.get("kind").cloned());
            let kind = kind.and_then(|kind| serde_json::from_value::<LoadKind>(kind).ok());
            let message = greeting.message.unwrap_or_default();
            return Err(StartError::Load { target, kind, message, hint: greeting.hint });
        }
        if let Some(unknown) = greeting.supports.as_ref().and_then(unknown) {
            launch.limits.watch.warn(unknown);
        }
        let payloads = greeting.supports.as_ref().and_then(|supports| supports.payloads.as_ref());
        let takes = |name: &str| {
            payloads.is_some_and(|payloads| payloads.iter().any(|payload| payload == name))
        };
        let payload = match scratch.memory {
            Some(_) if takes("memory") => Payload::Memory,
            _ if takes("file") => Payload::File,
            _ => Payload::Inline,
        };
        Ok(Self { child, scratch, greeting, payload })
    }

    /// Puts one call to the child; `trace` is shown what is sent and what comes back. `work` is
    /// done while the child computes.
    pub(crate) fn ask(
        &mut self,
        launch: &Launch,
        question: &Question<'_>,
        trace: &mut Trace<'_>,
        work: &mut dyn FnMut(),
    ) -> Exchange {
        let request = match question.line(self.payload, &self.scratch) {
            Ok(request) => request,
            Err(error) => {
                let reason = format!("the call could not be written: {error}");
                return Exchange::going_on(Response::Error(reason.into()));
            }
        };
        trace(true, &request);
        let asked = Asked::by(question.seq, question.call);
        if let (Payload::Memory, Some(memory)) = (self.payload, &self.scratch.memory) {
            memory.poison(asked.results);
        }
        if let Err(early) = self.child.send(request, asked.line_limit()) {
            trace(false, &early);
            let expected = format!("no answer before request {}", asked.seq);
            return self
                .broken(WireError::new("", expected, quoted(&early).display()).hint(ONE_ANSWER));
        }
        work();
        let mut exchange =
            match receive(&mut self.child, launch, ("the request", launch.limits.timeout)) {
                Received::Message(line) => self.answered(&asked, &line, trace),
                Received::TooLong => {
                    let limit = asked.line_limit();
                    self.broken(WireError::new(
                        "",
                        format!("an answer of up to {limit} bytes"),
                        "more",
                    ))
                }
                Received::Ended(trouble) => {
                    let over = Some(End::Broke(trouble.how.clone()));
                    Exchange { over, ..Exchange::going_on(Response::Crash(trouble)) }
                }
                Received::Late(trouble) => {
                    let over = Some(End::Broke(trouble.how.clone()));
                    Exchange { over, ..Exchange::going_on(Response::Timeout(trouble)) }
                }
            };
        if launch.whose != Program::Python
            && let Response::Output(output) = &mut exchange.response
        {
            output.handling = Handling::default();
        }
        self.scratch.forget_requests();
        self.warn_of_strays(launch);
        exchange
    }

    fn answered(&mut self, asked: &Asked, line: &[u8], trace: &mut Trace<'_>) -> Exchange {
        trace(false, line);
        match read_reply(line, asked, &self.scratch) {
            Ok(Reply { response, fatal, nanoseconds }) => match self.child.surplus() {
                Some(second) => {
                    trace(false, second);
                    let error = WireError::new(
                        "",
                        format!("one answer to request {}", asked.seq),
                        quoted(second).display(),
                    );
                    self.broken(error.hint(ONE_ANSWER))
                }
                None => {
                    let over = fatal.then_some(End::Fatal);
                    Exchange { response, nanoseconds, over, fault: None }
                }
            },
            // The answer to this request, with something wrong in it: the next one will be in step.
            Err(error) if error.in_step => Exchange { over: None, ..self.broken(error) },
            Err(error) => self.broken(error),
        }
    }

    fn broken(&mut self, error: WireError) -> Exchange {
        let how = Breakage::Protocol { field: error.path.clone() };
        let over = Some(End::Broke(how.clone()));
        let detail = Some(error.to_string().into());
        let trouble = Trouble { how, detail, stderr: self.child.last_words() };
        Exchange {
            response: Response::Broken(trouble),
            nanoseconds: None,
            over,
            fault: Some(error),
        }
    }

    pub(crate) fn warn_of_strays(&self, launch: &Launch) {
        if let Some(first) = self.child.first_stray() {
            launch.limits.watch.warn(Warning::StrayLines { first: first.clone() });
        }
    }
}

/// Why a process takes no further call.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It broke.
    Broke(Breakage),
    /// It said that an error was fatal.
    Fatal,
    /// It was not started again.
    NotStarted,
}

impl fmt::Display for End {
    /// `exited with code 3`, behind "the last process".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broke(how @ Breakage::Silent { .. }) => write!(f, "was ended: {}", how.display()),
            Self::Broke(Breakage::Protocol { .. }) => {
                f.write_str("was ended for breaking the protocol")
            }
            Self::Broke(how) => write!(f, "{}", how.display()),
            Self::Fatal => f.write_str("was ended after a fatal error of its own"),
            Self::NotStarted => f.write_str("could not be started"),
        }
    }
}

impl Exchange {
    fn going_on(response: Response) -> Self {
        Self { response, nanoseconds: None, over: None, fault: None }
    }
}

/// Waits so long for the answer to something.
fn receive(
    child: &mut Child,
    launch: &Launch,
    (message, limit): (&'static str, Duration),
) -> Received {
    let limits = &launch.limits;
    let silent = || {
        if launch.whose == Program::User {
            limits.watch.warn(Warning::Silence { message });
        }
    };
    child.receive(limit, limits, &silent)
}

fn heard(child: &Child, stderr: Option<Quoted>) -> Box<Heard> {
    Box::new(Heard { stderr, stray: child.first_stray().cloned() })
}

fn started_badly(child: &Child, trouble: Trouble) -> (Box<Trouble>, Box<Heard>) {
    let heard = heard(child, trouble.stderr.clone());
    (Box::new(trouble), heard)
}
