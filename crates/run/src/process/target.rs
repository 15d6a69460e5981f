//! [`ProcessTarget`]: a target behind a conversation, and a fresh child after a bad end.

use qkvet_spec::wire::{HelloAnswer, Request};
use qkvet_spec::{Call, Fit, Quoted, Response, Target, Threads};

use super::conversation::{Conversation, End, Exchange, Question};
use super::error::StartError;
use super::launch::{Launch, limits_threads};
use super::offers::{describe, offered, taken};
use crate::wire::{WorkerFields, line};

/// A target in a process of its own.
///
/// A child that crashed, hung or fell out of step is replaced at the next call, up to
/// [`max_restarts`](crate::adapters::Adapter::max_restarts) times in one case. Calls beyond are not
/// made: [`Response::NotAsked`].
pub struct ProcessTarget {
    launch: Launch,
    greeting: HelloAnswer,
    conversation: Option<Conversation>,
    /// On how many threads the next calls compute.
    threads: Threads,
    /// The process of the other number of threads, where one process has one number.
    other: Option<Result<Box<Self>, StartError>>,
    case: Option<String>,
    seq: u64,
    restarts: u32,
    /// Those since the case began.
    restarts_of_case: u32,
    /// Whether a process ended since the last time somebody asked.
    ended: bool,
    nanoseconds: u64,
    last_end: End,
}

impl ProcessTarget {
    pub(crate) fn start(launch: Launch) -> Result<Self, StartError> {
        let conversation = Conversation::start(&launch, &mut |_, _| ())?;
        conversation.warn_of_strays(&launch);
        Ok(Self {
            greeting: conversation.greeting.clone(),
            launch,
            conversation: Some(conversation),
            threads: Threads::default(),
            other: None,
            case: None,
            seq: 0,
            restarts: 0,
            restarts_of_case: 0,
            ended: false,
            nanoseconds: 0,
            last_end: End::NotStarted,
        })
    }

    /// The options that the program takes, unless it takes all.
    pub(crate) fn fit(&self) -> Option<Fit> {
        taken(self.greeting.supports.as_ref()).if_any()
    }

    /// What the program answered to `hello`.
    pub fn greeting(&self) -> &HelloAnswer {
        &self.greeting
    }

    /// Name, version, language and device, and what it says to support: one line each.
    pub fn describe(&self) -> Vec<Quoted> {
        describe(&self.greeting)
    }

    /// The device that it says it runs on.
    pub fn device(&self) -> Option<Quoted> {
        self.greeting.device.clone()
    }

    /// How often the child was replaced.
    pub fn restarts(&self) -> u32 {
        self.restarts + self.running_other().map_or(0, Self::restarts)
    }

    /// How long all calls took by the program's own account, in nanoseconds; 0 if it gives none.
    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds + self.running_other().map_or(0, Self::nanoseconds)
    }

    /// Puts a call to a worker of ours, which takes more than the wire says; `work` is done while
    /// it computes.
    pub(crate) fn call_with(
        &mut self,
        call: &Call,
        ours: WorkerFields<'_>,
        work: &mut dyn FnMut(),
    ) -> Response {
        if self.threads == Threads::Library && !self.launch.tells_threads() {
            return match self.other() {
                Ok(other) => other.call_with(call, ours, work),
                Err(error) => {
                    Response::NotAsked(format!("not started a second time: {error:#}").into())
                }
            };
        }
        self.seq += 1;
        let mut conversation = match self.live() {
            Ok(conversation) => conversation,
            Err(response) => return response,
        };
        let number = if self.threads == Threads::Library { "library" } else { "one" };
        let tells = self.launch.tells_threads() && limits_threads();
        let ours = WorkerFields { threads: tells.then_some(number), ..ours };
        let (seq, case) = (self.seq, self.case.as_deref());
        let question = Question { seq, case, call, ours, tweak: None };
        let Exchange { response, nanoseconds, over, .. } =
            conversation.ask(&self.launch, &question, &mut |_, _| (), work);
        self.nanoseconds += nanoseconds.unwrap_or(0);
        match over {
            Some(end) => {
                self.last_end = end;
                self.ended = true;
            }
            None => self.conversation = Some(conversation),
        }
        response
    }

    fn live(&mut self) -> Result<Conversation, Response> {
        if let Some(conversation) = self.conversation.take() {
            return Ok(conversation);
        }
        if self.restarts_of_case >= self.launch.max_restarts {
            let (times, end) = (self.restarts_of_case, &self.last_end);
            let reason = format!("not restarted after {times} restarts; the last process {end}");
            return Err(Response::NotAsked(reason.into()));
        }
        self.restarts += 1;
        self.restarts_of_case += 1;
        Conversation::start(&self.launch, &mut |_, _| ()).map_err(|error| {
            self.last_end = End::NotStarted;
            Response::NotAsked(format!("not restarted: {error:#}").into())
        })
    }

    /// The process whose libraries use as many threads as they choose. It is started at the first
    /// need, once: where that fails, its calls are not made.
    fn other(&mut self) -> &mut Result<Box<Self>, StartError> {
        let (launch, case) = (&self.launch, self.case.as_deref());
        self.other.get_or_insert_with(|| {
            let launch = Launch { threads: Threads::Library, ..launch.clone() };
            let mut other = Self::start(launch)?;
            other.begin(case.unwrap_or_default());
            Ok(Box::new(other))
        })
    }

    fn running_other(&self) -> Option<&Self> {
        self.other.as_ref()?.as_deref().ok()
    }
}

impl Target for ProcessTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.call_meanwhile(call, &mut || ())
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        match offered(self.greeting.supports.as_ref(), call) {
            Ok(()) => self.call_with(call, WorkerFields::default(), work),
            Err(missing) => Response::Unsupported(missing.to_string().into()),
        }
    }

    fn begin(&mut self, case: &str) {
        self.case = Some(case.to_owned());
        self.restarts_of_case = 0;
        if let Some(Ok(other)) = &mut self.other {
            other.begin(case);
        }
    }

    fn set_threads(&mut self, threads: Threads) {
        // A process of ours that was started for the other number has no choice.
        let is_free = self.launch.threads == Threads::One && limits_threads();
        self.threads = if is_free { threads } else { Threads::One };
    }

    fn take_ended(&mut self) -> bool {
        let other = match &mut self.other {
            Some(Ok(other)) => other.take_ended(),
            _ => false,
        };
        std::mem::take(&mut self.ended) || other
    }
}

impl Drop for ProcessTarget {
    fn drop(&mut self) {
        if let Some(conversation) = &mut self.conversation
            && !self.launch.limits.watch.is_stopped()
            && let Ok(stop) = line(&Request::Stop)
        {
            // It is ended anyway if it does not do so itself.
            let _ = conversation.child.farewell(stop);
        }
    }
}
