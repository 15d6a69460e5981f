//! What a check costs beside its target: `cargo bench -p qkvet-cli --bench check -- SUITE DTYPE
//! PYTHON TARGET...`. Numbers, never a verdict. The program is the worker of libraries, too.
//!
//! Each target is checked once, and its calls are noted. They are put again, alone, to a target
//! that was opened anew: what that takes is the target's own, with the way there and back.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that measures"
)]

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use qkvet_run::adapters::library::{NativeWorker, WORKER_COMMAND};
use qkvet_run::adapters::{Adapter, CallSettings, Finder, NamedTarget, OpenTarget, StoredCall};
use qkvet_run::config::{CaseSource, Home, RunConfig};
use qkvet_run::process::{Limits, StartError};
use qkvet_run::run::run;
use qkvet_spec::{Call, Catalog, Dtype, Event, Meaning, Response, Suite, Target, Unexpected};

/// Calls in the order in which they were put.
type Calls = Arc<Mutex<Vec<Call>>>;

/// A kind of target that notes its calls.
#[derive(Debug)]
struct Noted {
    adapter: Box<dyn Adapter>,
    calls: Calls,
}

impl Adapter for Noted {
    fn open(&self, declared: &Meaning, limits: &Limits) -> Result<OpenTarget, StartError> {
        let open = self.adapter.open(declared, limits)?;
        let target = Box::new(Noting { inner: open.target, calls: Arc::clone(&self.calls) });
        Ok(OpenTarget { target, ..open })
    }

    fn max_restarts(&self) -> Option<u32> {
        self.adapter.max_restarts()
    }

    fn stored_call(&self) -> StoredCall {
        self.adapter.stored_call()
    }

    fn fills_masks(&self) -> bool {
        self.adapter.fills_masks()
    }
}

struct Noting {
    inner: Box<dyn Target + Send>,
    calls: Calls,
}

impl Noting {
    fn note(&self, call: &Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone());
    }
}

impl Target for Noting {
    fn call(&mut self, call: &Call) -> Response {
        self.note(call);
        self.inner.call(call)
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        self.note(call);
        self.inner.call_meanwhile(call, work)
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.note(call);
        self.inner.call_contiguous(call)
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        self.note(call);
        self.inner.call_transposed(call)
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.inner.puts_views(call)
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(&mut *self.inner)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [WORKER_COMMAND, words @ ..] = &words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let worker = NativeWorker::from_arguments(&words).ok_or("a library, as it is started")?;
        return Ok(worker.serve()?);
    }
    let [suite, dtype, python, targets @ ..] = words.as_slice() else {
        println!("check: no target to measure; give SUITE DTYPE PYTHON TARGET... after `--`");
        return Ok(());
    };
    let catalog = Catalog::embedded()?;
    let suite = Catalog::find("suite", &catalog.suites, suite)?;
    let dtypes = match dtype.as_str() {
        "all" => suite.dtypes.clone(),
        name => vec![Dtype::from_name(name).ok_or("DTYPE: expected a format, or all")?],
    };
    let columns = ["check", "calls", "beside", "proposed", "final"];
    columns.iter().for_each(|column| print!("{column:>9} "));
    println!(" target");
    targets.iter().try_for_each(|target| measure(&catalog, suite, &dtypes, python, target))
}

/// Prints what a check takes, what its calls take alone, what it takes beside them, and when
/// findings are first proposed and final, in seconds.
fn measure(
    catalog: &Catalog,
    suite: &Suite,
    dtypes: &[Dtype],
    python: &str,
    name: &str,
) -> Result<(), Box<dyn Error>> {
    let home = Home::of(name, &std::env::current_dir()?, None);
    let finder = Finder {
        home: &home,
        python: Path::new(python),
        catalog,
        flags: CallSettings::default(),
        stored: CallSettings::default(),
        dtypes,
    };
    let found = finder.find(name)?;
    let calls = Calls::default();
    let NamedTarget { name, adapter, .. } = found;
    let target = NamedTarget::new(name, Noted { adapter, calls: Arc::clone(&calls) });
    let (cases, stop) = (CaseSource::Suite { suite, seed: 0 }, AtomicBool::new(false));
    let contract = |dtype: &Dtype| Ok((*dtype, catalog.default_contract(*dtype)?));
    let config = RunConfig {
        laws: catalog.suite_laws(suite)?,
        dtypes: dtypes.to_vec(),
        contracts: dtypes.iter().map(contract).collect::<Result<_, Unexpected>>()?,
        proposes: true,
        ..RunConfig::of(&qkvet_report::English, catalog, &target, cases, &stop)
    };
    let start = Instant::now();
    let (mut proposed, mut last) = (None, None);
    run(&config, &mut |event| {
        let now = start.elapsed().as_secs_f64();
        match event {
            Event::Proposal(_) => drop(proposed.get_or_insert(now)),
            Event::Finished(summary) if !summary.findings.is_empty() => last = Some(now),
            _ => {}
        }
    })?;
    let check = start.elapsed().as_secs_f64();
    let noted = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
    let start = Instant::now();
    let mut open = target.open(&Meaning::standard())?;
    for call in &noted {
        open.target.call(call);
    }
    let own = start.elapsed().as_secs_f64();
    let shown = |at: Option<f64>| at.map_or_else(|| "none".to_owned(), |at| format!("{at:.2}"));
    let [proposed, last] = [proposed, last].map(shown);
    let beside = check - own;
    println!("{check:9.2} {own:9.2} {beside:9.2} {proposed:>9} {last:>9}  {}", target.name);
    Ok(())
}
