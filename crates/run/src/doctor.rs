//! The doctor: holds the whole conversation with a program once, shows every message and says what
//! each step showed.

mod calls;
mod judge;

use qkvet_spec::wire::{HelloAnswer, Payload, Request};
use qkvet_spec::{
    Breakage, Call, CallOption, CallOptions, Contract, Convention, Diagnosis, DoctorEvent, Dtype,
    Meaning, Output, Quoted, Response, Trouble,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

use crate::adapters::python::PythonInfo;
use crate::adapters::{NamedTarget, Peer};
use crate::process::{Conversation, Exchange, Launch, Question, StartError, describe};
use crate::wire::{WireError, WorkerFields, line, quoted};

/// By what the answers are judged.
#[derive(Clone, Debug)]
pub struct DoctorConfig<'a> {
    /// What the target claims to compute.
    pub meaning: Meaning,
    /// Contracts by format.
    pub contracts: BTreeMap<Dtype, &'a Contract>,
    /// Conventions that may explain a wrong answer.
    pub conventions: Vec<&'a Convention>,
}

/// Holds the conversation and tells about it; gives the worst of what was found.
///
/// # Errors
/// A target that is no program that speaks the wire, and what it is instead.
pub fn examine(
    target: &NamedTarget,
    config: &DoctorConfig<'_>,
    tell: &mut dyn FnMut(DoctorEvent),
) -> Result<Diagnosis, &'static str> {
    let launch = match target.adapter.peer(&target.limits) {
        Peer::Wire(launch) => launch,
        Peer::None(instead) => return Err(instead),
    };
    tell(DoctorEvent::Step("start and hello".to_owned()));
    let started = launch.and_then(|launch| {
        let conversation =
            Conversation::start(&launch, &mut |sent, line| tell(message(sent, line)))?;
        Ok((launch, conversation))
    });
    let (launch, conversation) = match started {
        Ok(started) => started,
        Err(error) => {
            tell_start_error(&error, tell);
            return Ok(Diagnosis::Broken);
        }
    };
    for (at, line) in environment(&conversation).into_iter().enumerate() {
        let diagnosis = if at == 0 { Diagnosis::Well } else { Diagnosis::NotOffered };
        tell(DoctorEvent::Shown { diagnosis, text: line, hint: None });
    }
    let mut doctor = Doctor {
        launch,
        config,
        tell,
        payload: conversation.payload,
        live: Some(conversation),
        seq: 0,
        worst: Diagnosis::Well,
    };
    doctor.steps();
    doctor.farewell();
    Ok(doctor.worst)
}

fn environment(conversation: &Conversation) -> Vec<Quoted> {
    let python = conversation.greeting.python.clone();
    match python.and_then(|python| serde_json::from_value::<PythonInfo>(python).ok()) {
        Some(info) => info.describe(),
        None => describe(&conversation.greeting),
    }
}

fn message(sent: bool, line: &[u8]) -> DoctorEvent {
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    if sent { DoctorEvent::Sent(text) } else { DoctorEvent::Received(text.into()) }
}

fn tell_start_error(error: &StartError, tell: &mut dyn FnMut(DoctorEvent)) {
    if let StartError::Protocol { error, heard, .. } = error {
        tell(bad_field(error));
        if let Some(stray) = &heard.stray {
            let stray = stray.display();
            let text = format!("before it came a line that does not begin with `{{`: {stray}");
            let (diagnosis, text) = (Diagnosis::NotOffered, text.into());
            tell(DoctorEvent::Shown { diagnosis, text, hint: None });
        }
        return;
    }
    let text = format!("{error:#}").into();
    tell(DoctorEvent::Shown { diagnosis: Diagnosis::Broken, text, hint: error.hint() });
}

fn bad_field(error: &WireError) -> DoctorEvent {
    let WireError { path, expected, got, hint, .. } = error.clone();
    DoctorEvent::BadField { path, expected, got, hint: hint.map(Quoted::new) }
}

struct Doctor<'a, 'c> {
    launch: Launch,
    config: &'a DoctorConfig<'c>,
    tell: &'a mut dyn FnMut(DoctorEvent),
    live: Option<Conversation>,
    seq: u64,
    worst: Diagnosis,
    payload: Payload,
}

impl Doctor<'_, '_> {
    fn steps(&mut self) {
        let Some(dtype) = self.dtype() else {
            return self.show(Diagnosis::Wrong, "none of its formats can be checked");
        };
        let plain = calls::plain(dtype);
        self.step("a plain call", &plain);
        self.step(
            "causal: 2 queries, 3 keys",
            &Call {
                options: CallOptions { causal: true, ..CallOptions::default() },
                ..plain.clone()
            },
        );
        self.step("a mask that hides some keys", &calls::masked(dtype));
        self.step("a bias added to the scores", &calls::biased(dtype));
        self.step(
            "an explicit scale",
            &Call {
                options: CallOptions { scale: Some(0.375), ..CallOptions::default() },
                ..plain.clone()
            },
        );
        let large = "keys and values too large for a line, ";
        match self.payload {
            Payload::File => self.step(&format!("{large}by file"), &calls::large(dtype)),
            Payload::Memory => self.step(&format!("{large}in memory"), &calls::large(dtype)),
            Payload::Inline => {
                (self.tell)(DoctorEvent::Step("tensors by file".to_owned()));
                let text =
                    "supports.payloads does not list `file`: tensors of every size come inline";
                self.show(Diagnosis::NotOffered, text);
            }
        }
        self.step("the weights beside the output", &Call { return_weights: true, ..plain.clone() });
        for option in CallOption::ALL {
            if let Some(call) =
                calls::declared(option, dtype).filter(|_| self.declares(option.name()))
            {
                self.step(&format!("the option {option}"), &call);
            }
        }
        if self.declares("lse") {
            self.step(
                "the log-sum-exp beside the output",
                &Call { return_lse: true, ..plain.clone() },
            );
        }
        self.unknown_param(&plain);
        self.unknown_field(&plain);
        self.twice(&plain);
    }

    /// The first format of query, key and value that is offered and can be judged, float32 if
    /// possible.
    fn dtype(&self) -> Option<Dtype> {
        let supports = self.live.as_ref()?.greeting.supports.as_ref();
        let listed = supports.and_then(|supports| supports.dtypes.as_ref());
        let offered =
            |dtype: &Dtype| listed.is_none_or(|list| list.iter().any(|name| name == dtype.name()));
        let known = self.config.contracts.keys().copied();
        std::iter::once(Dtype::Float32)
            .chain(known)
            .find(|dtype| offered(dtype) && self.config.contracts.contains_key(dtype))
    }

    /// Whether an option or a result is listed, and taken by the function behind it if that is one
    /// in Python.
    fn declares(&self, name: &str) -> bool {
        let Some(HelloAnswer { supports: Some(supports), python, .. }) =
            self.live.as_ref().map(|live| &live.greeting)
        else {
            return false;
        };
        let listed = [&supports.options, &supports.outputs]
            .into_iter()
            .flatten()
            .flatten()
            .any(|known| known == name);
        let argument = match name {
            "packed" => "query_offsets",
            "lse" => "return_lse",
            other => other,
        };
        let arguments = python.as_ref().and_then(|python| python.get("arguments"));
        listed && arguments.is_none_or(|arguments| arguments.get(argument).is_some())
    }

    fn show(&mut self, diagnosis: Diagnosis, text: impl Into<Quoted>) {
        self.show_with(diagnosis, text, None);
    }

    fn show_with(&mut self, diagnosis: Diagnosis, text: impl Into<Quoted>, hint: Option<Quoted>) {
        if diagnosis != Diagnosis::NotOffered {
            self.worst = self.worst.max(diagnosis);
        }
        (self.tell)(DoctorEvent::Shown { diagnosis, text: text.into(), hint });
    }

    /// One call that is judged.
    fn step(&mut self, title: &str, call: &Call) {
        (self.tell)(DoctorEvent::Step(title.to_owned()));
        let supports = self.live.as_ref().and_then(|live| live.greeting.supports.clone());
        if let Err(missing) = crate::process::offered(supports.as_ref(), call) {
            return self.show(Diagnosis::NotOffered, format!("not asked: {missing}"));
        }
        if let Some(output) = self.answer(call, None) {
            self.judge(call, &output);
        }
    }

    fn judge(&mut self, call: &Call, output: &Output) {
        let (diagnosis, text, hint) = judge::judge(self.config, call, output);
        self.show_with(diagnosis, text, hint);
    }

    /// A param that no version knows: to be declined.
    fn unknown_param(&mut self, call: &Call) {
        (self.tell)(DoctorEvent::Step(
            "a param that the program cannot know: to be declined, never ignored".to_owned(),
        ));
        let tweak = |run: &mut Value| run["params"]["qkvet_unknown"] = 1.into();
        match self.exchange(call, Some(&tweak)) {
            Some(Response::Unsupported(reason)) => {
                self.show(Diagnosis::Well, format!("declined: {}", reason.display()))
            }
            Some(other) => {
                let text = format!("expected status unsupported, got {}", status(&other));
                let hint = "answer `unsupported` to every name in params, tensors and want that is not known";
                self.show_with(Diagnosis::Broken, text, Some(hint.into()));
            }
            None => {}
        }
    }

    /// Fields that no version knows: to be passed over.
    fn unknown_field(&mut self, call: &Call) {
        (self.tell)(DoctorEvent::Step(
            "fields that the program cannot know: to be passed over".to_owned(),
        ));
        let strange = || serde_json::json!({"later": [1, "\u{e9}\"\\", null]});
        let tweak = |run: &mut Value| {
            run["qkvet_note"] = strange();
            run["tensors"]["query"]["qkvet_note"] = strange();
        };
        if let Some(output) = self.answer(call, Some(&tweak)) {
            self.judge(call, &output);
        }
    }

    fn twice(&mut self, call: &Call) {
        (self.tell)(DoctorEvent::Step("the same call twice".to_owned()));
        let Some(first) = self.answer(call, None) else { return };
        let Some(second) = self.answer(call, None) else { return };
        let bits =
            |output: &Output| output.output.data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        if bits(&first) == bits(&second) && first.output.shape == second.output.shape {
            self.show(Diagnosis::Well, "the same bits");
        } else {
            self.show(Diagnosis::Wrong, "other bits the second time");
        }
    }

    fn farewell(&mut self) {
        (self.tell)(DoctorEvent::Step("stop".to_owned()));
        let Some(mut live) = self.live.take() else {
            return self.show(Diagnosis::NotOffered, "the process has ended already");
        };
        let Ok(stop) = line(&Request::Stop) else { return };
        (self.tell)(message(true, &stop));
        #[expect(clippy::disallowed_methods, reason = "I/O: how long it took is what is shown")]
        let start = Instant::now();
        let ended = live.child.farewell(stop);
        if let Some(unasked) = live.child.surplus() {
            let error =
                WireError::new("", "nothing after the last answer", quoted(unasked).display());
            (self.tell)(message(false, unasked));
            self.broken(&error.hint("one answer to each request, none to stop"));
        }
        match ended {
            Ok(how) => {
                let took = start.elapsed().as_millis();
                let hint = (how != Breakage::Exited(0)).then_some("exit with code 0 after stop");
                let text = format!("{} after {took} ms", how.display());
                self.show_with(Diagnosis::Well, text, hint.map(Quoted::new));
            }
            Err(limit) => {
                let hint = "end the program on `stop` and at the end of standard input";
                let text = format!("did not end within {} s", limit.as_secs());
                self.show_with(Diagnosis::Broken, text, Some(hint.into()));
            }
        }
        live.warn_of_strays(&self.launch);
    }

    /// The output of a call; what is there instead is shown.
    fn answer(&mut self, call: &Call, tweak: Option<&dyn Fn(&mut Value)>) -> Option<Output> {
        match self.exchange(call, tweak)? {
            Response::Output(output) => Some(*output),
            Response::Unsupported(reason) => {
                self.show(Diagnosis::NotOffered, format!("declined: {}", reason.display()));
                None
            }
            other => {
                self.show(Diagnosis::Wrong, format!("expected status ok, got {}", status(&other)));
                None
            }
        }
    }

    /// Puts a call, changed by `tweak`, to a live process; `None` if there was no answer of the
    /// protocol.
    fn exchange(&mut self, call: &Call, tweak: Option<&dyn Fn(&mut Value)>) -> Option<Response> {
        let tell = &mut *self.tell;
        let mut trace = |sent: bool, line: &[u8]| tell(message(sent, line));
        let started =
            self.live.take().map_or_else(|| Conversation::start(&self.launch, &mut trace), Ok);
        let mut live = match started {
            Ok(live) => live,
            Err(error) => {
                self.worst = Diagnosis::Broken;
                tell_start_error(&error, self.tell);
                return None;
            }
        };
        self.seq += 1;
        let ours = WorkerFields::default();
        let question = Question { seq: self.seq, case: Some("doctor"), call, ours, tweak };
        let Exchange { response, over, fault, .. } =
            live.ask(&self.launch, &question, &mut trace, &mut || ());
        self.live = over.is_none().then_some(live);
        if let Some(error) = fault {
            self.broken(&error);
            return None;
        }
        match response {
            Response::Crash(trouble) => self.gone("the process ", &trouble),
            Response::Timeout(trouble) => self.gone("", &trouble),
            other => Some(other),
        }
    }

    fn broken(&mut self, error: &WireError) {
        self.worst = Diagnosis::Broken;
        (self.tell)(bad_field(error));
    }

    fn gone(&mut self, who: &str, trouble: &Trouble) -> Option<Response> {
        let stderr = trouble
            .stderr
            .as_ref()
            .map(|words| format!("; stderr: {}", words.display()))
            .unwrap_or_default();
        self.show(Diagnosis::Wrong, format!("{who}{}{stderr}", trouble.display()));
        None
    }
}

fn status(response: &Response) -> String {
    match response {
        Response::Output(_) => "ok".to_owned(),
        Response::Unsupported(reason) => format!("unsupported: {}", reason.display()),
        Response::Refused(reason) => format!("refused: {}", reason.display()),
        Response::Error(reason) => format!("error: {}", reason.display()),
        Response::Malformed(reason) => format!("malformed: {}", reason.display()),
        Response::NotAsked(reason) => format!("not asked: {}", reason.display()),
        Response::Crash(trouble) | Response::Timeout(trouble) | Response::Broken(trouble) => {
            trouble.display().to_string()
        }
    }
}
