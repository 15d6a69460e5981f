//! The worker: a process that loads a library and answers qkvet-wire/1 with what its function
//! computes.
#![allow(clippy::disallowed_methods, reason = "I/O, no arithmetic")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_spec::wire::{
    Hello, HelloAnswer, Request, Run, RunAnswer, Status, Supports, WIRE, WireTensor,
};
use qkvet_spec::{Dtype, Quoted, nearest};
use rustix::process::getpid;

use super::abi::{ATTENTION, ByStruct, INFO};
use super::arena::Arena;
use super::copy::{Children, end_copy};
use super::foreign::{Function, Loaded, StructFunction, capabilities, die_of_signals};
use super::interface::{ByPrototype, Interface, Taken, exchanged, payloads};
use super::prototype::Prototype;
use super::request::{DecodedRequest, NoAnswer, Room, known_names};
use crate::adapters::python::Layout;
use crate::wire::{Memory, line};

/// What a worker is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeWorker {
    /// The library.
    pub library: PathBuf,
    /// The prototype of its function; none: it takes the struct of ours.
    pub prototype: Option<String>,
    /// Order of axes.
    pub layout: Layout,
}

/// Memory is used for so many calls one after the other, and again after as many turns: the same
/// addresses then hold other numbers.
const CALLS: usize = 2;
const TURNS: usize = 3;

impl NativeWorker {
    /// Answers requests on standard input until there are no more. What the library prints goes to
    /// standard error.
    ///
    /// # Errors
    /// A pipe that is closed too early.
    pub fn serve(&self) -> io::Result<()> {
        die_of_signals();
        // Before anything of the library runs: the protocol's pipes are nobody else's.
        let requests = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
        let mut answers = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?);
        rustix::stdio::dup2_stdout(io::stderr())?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        let mut session = Session {
            worker: self,
            interface: None,
            room: Room::default(),
            arenas: Default::default(),
            turn: 0,
            children: Children::default(),
        };
        let mut requests = BufReader::new(requests);
        let mut message = Vec::new();
        loop {
            message.clear();
            if requests.read_until(b'\n', &mut message)? == 0 {
                // Without a farewell: qkvet was killed, and removes nothing.
                let _ = std::fs::remove_dir(&session.room.scratch);
                return Ok(());
            }
            let answer = match serde_json::from_slice(&message) {
                Ok(Request::Hello(hello)) => line(&session.hello(hello)),
                Ok(Request::Run(run)) => line(&session.run(&run, &message)),
                Ok(Request::Stop) => return Ok(()),
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            };
            answers.write_all(&answer?)?;
            answers.flush()?;
        }
    }

    fn open(&self) -> Result<Opened, NotReady> {
        let shown = self.library.display();
        if !self.library.is_file() {
            return Err(not_ready(
                format!("library at {shown}: expected a file, got none"),
                Some("the path is read from the current folder".to_owned()),
            ));
        }
        let loaded = Loaded::open(&self.library).map_err(|error| {
            let hint = "build it with -shared -fPIC, and link what it needs";
            let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            not_ready(
                format!("library at {shown}: expected a shared library, got: {error}"),
                Some(hint.to_owned()),
            )
        })?;
        let (interface, greeting) = match &self.prototype {
            Some(text) => self.by_prototype(&loaded, text)?,
            None => self.by_struct(&loaded)?,
        };
        // Its code has to stay for as long as this process.
        std::mem::forget(loaded);
        Ok((interface, greeting))
    }

    fn by_prototype(&self, loaded: &Loaded, text: &str) -> Result<Opened, NotReady> {
        let prototype =
            Prototype::parse(text).map_err(|error| not_ready(error.to_string(), None))?;
        let Some(code) = loaded.symbol(&prototype.symbol) else {
            return Err(lacks_symbol(&self.library, &prototype.symbol));
        };
        let kinds = prototype.parameters.iter().map(|parameter| parameter.kind);
        let function = Function::new(code, kinds, prototype.returns);
        let taken = Taken { prototype, layout: self.layout };
        Ok((Box::new(ByPrototype { taken, function }), HelloAnswer::default()))
    }

    fn by_struct(&self, loaded: &Loaded) -> Result<Opened, NotReady> {
        let Some(code) = loaded.symbol(ATTENTION) else {
            let NotReady { message, .. } = lacks_symbol(&self.library, ATTENTION);
            let hint = "say with --call 'C PROTOTYPE' what to call, or write the one function of qkvet_abi.h";
            return Err(not_ready(message, Some(hint.to_owned())));
        };
        if self.layout != Layout::default() {
            return Err(not_ready(
                format!("--layout: expected none, for {ATTENTION} is given strides"),
                None,
            ));
        }
        let told = match loaded.symbol(INFO).map(capabilities) {
            None => Default::default(),
            Some(Some(told)) => told,
            Some(None) => {
                let message = format!(
                    "{INFO}: expected a struct with struct_size = sizeof(struct qkvet_capabilities_v1)"
                );
                return Err(not_ready(message, None));
            }
        };
        let [name, version, device, dtypes, options, outputs] = told;
        let [name, version, device] = [name, version, device].map(|said| said.map(Quoted::new));
        let words = |list: Option<String>| {
            list.map(|list| list.split_whitespace().map(str::to_owned).collect())
        };
        let supports = Supports {
            dtypes: words(dtypes),
            options: words(options),
            outputs: words(outputs),
            payloads: None,
        };
        let greeting = HelloAnswer { name, version, device, ..HelloAnswer::default() };
        Ok((Box::new(ByStruct { function: StructFunction::new(code), supports }), greeting))
    }
}

/// A way into the library, and what it says of itself.
type Opened = (Box<dyn Interface>, HelloAnswer);

/// Why there is none.
struct NotReady {
    message: String,
    hint: Option<String>,
}

fn not_ready(message: String, hint: Option<String>) -> NotReady {
    NotReady { message, hint }
}

impl From<NotReady> for HelloAnswer {
    fn from(NotReady { message, hint }: NotReady) -> Self {
        Self {
            ok: false,
            message: Some(message.into()),
            hint: hint.map(Quoted::new),
            ..Self::default()
        }
    }
}

/// The hint names the symbol that is meant perhaps, or says what hides one.
fn lacks_symbol(library: &Path, symbol: &str) -> NotReady {
    let bytes = std::fs::read(library).unwrap_or_default();
    let is_name = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    let words = bytes.split(|c| !is_name(c)).filter_map(|word| std::str::from_utf8(word).ok());
    let (changed, plain): (Vec<&str>, Vec<&str>) = words
        .filter(|word| (3..200).contains(&word.len()))
        .partition(|word| word.starts_with("_Z") || word.starts_with("_R"));
    let part = format!("{}{symbol}", symbol.len());
    let hint = if changed.iter().any(|word| word.contains(&part)) {
        "C++ and Rust change names: declare it extern \"C\" (Rust: #[unsafe(no_mangle)] pub extern \"C\")".to_owned()
    } else if let Some(near) = nearest(symbol, plain).filter(|near| *near != symbol) {
        format!("did you mean `{near}`?")
    } else {
        "it must not be static; `nm -D` lists what a library offers".to_owned()
    };
    let shown = library.display();
    not_ready(
        format!("library at {shown}: expected a function `{symbol}`, got none of that name"),
        Some(hint),
    )
}

/// One conversation.
struct Session<'a> {
    worker: &'a NativeWorker,
    interface: Option<Box<dyn Interface>>,
    room: Room,
    arenas: [Arena; TURNS],
    turn: usize,
    children: Children,
}

impl Session<'_> {
    fn hello(&mut self, hello: Hello) -> HelloAnswer {
        let Hello { wire, scratch, memory, .. } = hello;
        if wire != WIRE {
            return not_ready(format!("wire: expected {WIRE}, got {wire}"), None).into();
        }
        self.room =
            Room { scratch: scratch.into(), memory: memory.and_then(|paths| Memory::open(&paths)) };
        let takes_memory = self.room.memory.is_some();
        match self.worker.open() {
            Ok((interface, greeting)) => {
                let name = self
                    .worker
                    .library
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let answer = HelloAnswer {
                    ok: true,
                    wire: Some(WIRE),
                    name: Some(greeting.name.unwrap_or_else(|| name.into())),
                    version: greeting.version,
                    device: greeting.device,
                    language: Some("shared library".into()),
                    supports: Some(Supports {
                        payloads: Some(payloads(takes_memory)),
                        ..interface.supports()
                    }),
                    ..HelloAnswer::default()
                };
                self.interface = Some(interface);
                answer
            }
            Err(reason) => reason.into(),
        }
    }

    fn run(&mut self, run: &Run, message: &[u8]) -> RunAnswer {
        self.answer(run, message).unwrap_or_else(|why| RunAnswer {
            seq: run.seq,
            status: why.status(),
            reason: Some(why.to_string().into()),
            tensors: BTreeMap::new(),
            fatal: false,
            inputs_unchanged: None,
            nanoseconds: None,
            python: None,
        })
    }

    fn answer(&mut self, run: &Run, message: &[u8]) -> Result<RunAnswer, NoAnswer> {
        known_names(message)?;
        let interface = self.interface.as_ref().ok_or(NoAnswer::RunBeforeHello)?;
        let call = DecodedRequest::read(run, &self.room)?;
        let prepared = interface.prepare(&call)?;
        let turn = self.turn / CALLS % TURNS;
        self.turn += 1;
        let arena = &mut self.arenas[turn];
        let places = arena.lay(&prepared.buffers, turn);
        let start = Instant::now();
        let process = getpid();
        let ended = interface.invoke(&call, &prepared, &places);
        if getpid() != process {
            end_copy();
        }
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).ok();
        if self.children.has_copy() {
            return Err(NoAnswer::Forked);
        }
        // Memory comes first: what was written where it does not belong may have spoiled all else.
        if let Some(overrun) = arena.overrun(&prepared.buffers) {
            return Err(NoAnswer::Overrun { overrun, heads_fit: call.heads_fit() });
        }
        ended?;
        if let Some(name) = arena.unwritten(&prepared.buffers) {
            return Err(NoAnswer::Unwritten { buffer: name.to_owned() });
        }
        let wanted = |name: &str| {
            name == "output"
                || (name == "weights" && call.wants_weights)
                || (name == "lse" && call.wants_lse)
        };
        let (mut end, memory) = (0, self.room.memory.as_ref());
        let tensors = prepared.results.iter().filter(|result| wanted(result.name)).map(|result| {
            let bytes = arena.bytes(&prepared.buffers, result.buffer);
            let size = result.dtype.dtype().map_or(1, Dtype::size);
            let bytes: Cow<'_, [u8]> = match (result.is_exchanged, result.shape.as_slice()) {
                (true, [b, h, n, d]) => exchanged(bytes, &[*b, *n, *h, *d], size).into(),
                _ => bytes.into(),
            };
            let offset = memory.and_then(|memory| memory.answer(&bytes, &mut end));
            let data = offset.is_none().then(|| BASE64.encode(&bytes));
            let tensor = WireTensor {
                dtype: result.dtype,
                shape: result.shape.clone(),
                data,
                file: None,
                offset,
            };
            (result.name.to_owned(), tensor)
        });
        Ok(RunAnswer {
            seq: run.seq,
            status: Status::Ok,
            reason: None,
            tensors: tensors.collect(),
            fatal: false,
            inputs_unchanged: Some(arena.inputs_unchanged(&prepared.buffers)),
            nanoseconds,
            python: None,
        })
    }
}
