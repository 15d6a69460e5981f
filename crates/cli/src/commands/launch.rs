//! One run from what was chosen to the report.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use qkvet_report::{English, Progress, ReportFormat, visible};
use qkvet_run::adapters::NamedTarget;
use qkvet_run::config::{CaseSource, Declared, FailFast, NamedClaim, RunConfig, Seen};
use qkvet_run::process::{Watch, end_all};
use qkvet_run::record::{Dropped, Journal, Recording, Shard, Sharding, write_shard};
use qkvet_run::run::run;
use qkvet_spec::{Catalog, CheckedLaw, Dtype, Required, Summary, Warning};

use super::configured::Configuration;
use super::expected::Expected;
use super::reports::{Clock, Kept, Live, Place, write_reports};
use super::setup;
use crate::args::ReportArgs;
use crate::exit::Failure;
use crate::out::is_live;

/// What is judged.
pub(super) struct Subject<'a> {
    pub(super) cases: CaseSource<'a>,
    pub(super) laws: Vec<&'a CheckedLaw>,
    pub(super) dtypes: Vec<Dtype>,
    pub(super) declared: Declared<'a>,
}

/// By what and how it is judged.
pub(super) struct Manner<'a> {
    pub(super) target: NamedTarget,
    pub(super) jobs: Option<usize>,
    pub(super) fail_fast: bool,
    /// Begin no case after so long.
    pub(super) time: Option<Duration>,
    /// Run the first so many cases alone.
    pub(super) until: Option<usize>,
    /// Run the cases of these ids alone.
    pub(super) only: Option<BTreeSet<String>>,
    pub(super) identifies: bool,
    /// Calls that the target is required to answer.
    pub(super) required: Required,
    /// What the target is said to compute instead.
    pub(super) claim: Option<&'a NamedClaim>,
    /// Folder for cases.
    pub(super) store: Option<PathBuf>,
    /// What the file is called that keeps what the target answers, for a run that continues this
    /// one.
    pub(super) journal: Option<PathBuf>,
    /// Run only this part of the cases, and write what `merge` needs.
    pub(super) shard: Option<Shard>,
    /// Where to write it.
    pub(super) shard_file: Option<PathBuf>,
    /// Standard output has findings alone.
    pub(super) quiet: bool,
    /// Nothing is said of progress.
    pub(super) silent: bool,
    /// The files that the run is configured by, if they are looked at.
    pub(super) configuration: Option<&'a Configuration<'a>>,
    /// The report is left to the caller.
    pub(super) unreported: bool,
    pub(super) report: &'a ReportArgs,
}

/// Says what is to be known before a run, one line each, whether quiet or not.
pub(super) fn tell_first(notices: &[String], declared: &Declared<'_>) {
    notices.iter().for_each(|notice| tell!("{notice}"));
    declared.unused.iter().for_each(|line| tell!("warning: {line}"));
}

/// Runs it, holds it against what is expected and prints the report.
pub(super) fn launch(
    catalog: &Catalog,
    subject: Subject<'_>,
    manner: Manner<'_>,
    expected: &Expected,
) -> Result<Summary, Failure> {
    let clock = Clock::start();
    let mut target = manner.target;
    let stop = stop_on_interrupt();
    let mut progress = Progress::new(is_live(), manner.silent);
    target.limits.watch = Watch::new(Arc::clone(&stop), progress.teller());
    let is_foreign = target.adapter.max_restarts().is_some();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let name = target.name.clone();
    let may_settle = |seen: &Seen<'_>| expected.may_settle(&name, seen);
    let config = RunConfig {
        laws: subject.laws,
        conventions: subject.declared.conventions.clone(),
        contracts: subject.declared.by_dtype(),
        configuration: manner.configuration.map(|one| one.hashes.clone()).unwrap_or_default(),
        dtypes: subject.dtypes,
        jobs: manner.jobs.unwrap_or(if is_foreign { 1 } else { cores }).max(1),
        fail_fast: if manner.fail_fast { FailFast::FirstBut(&may_settle) } else { FailFast::Off },
        time: manner.time,
        until: manner.until,
        only: manner.only,
        store: manner.store,
        journal: manner.journal.map(|path| Journal::of(&name, &path, Arc::clone(&stop))),
        sharding: manner
            .shard
            .map(|shard| Sharding { shard, recording: Recording::until(Arc::clone(&stop)) }),
        digests: expected.exact,
        identifies: manner.identifies,
        required: manner.required,
        claim: manner.claim,
        proposes: !manner.silent || manner.report.output.format == ReportFormat::Ndjson,
        ..RunConfig::of(&English, catalog, &target, subject.cases, &stop)
    };
    if is_foreign {
        progress.note(&format!("loading {}", target.name));
    }
    let mut live = Live::new(manner.report.output.format);
    let mut summary = run(&config, &mut |event| {
        live.event(&event);
        progress.event(&event);
    })?;
    config.journal.iter().for_each(|journal| tell_journal(journal, &summary));
    if let Some(sharding) = &config.sharding {
        let path = manner.shard_file.unwrap_or_else(|| shard_file(sharding.shard));
        write_shard(&path, &config, sharding, &summary)?;
        if !manner.quiet {
            tell!("shard {} is at {}; `qkvet merge` joins them", sharding.shard, path.display());
        }
    }
    let place = if config.store.is_some() { Place::Last } else { Place::Nowhere };
    expected.apply(&mut summary);
    manner.configuration.iter().for_each(|one| one.look_again(&mut summary));
    if manner.unreported {
        return Ok(summary);
    }
    let kept = Kept::new(place, manner.report, manner.quiet, clock, &summary);
    write_reports(&summary, catalog, &manner.report.output, live, kept)?;
    Ok(summary)
}

/// Says what became of the journal. That of a run that came to its end is removed.
fn tell_journal(journal: &Journal, summary: &Summary) {
    if let Some(trouble) = journal.trouble() {
        tell!("warning: this run cannot be continued: {trouble}");
        return;
    }
    if let Some(dropped) = journal.dropped() {
        let why = match dropped {
            Dropped::File(file) => format!("{} is another file now", visible(&file)),
            Dropped::Settings => "the environment or a declaration changed".to_owned(),
            Dropped::Unreadable => "it cannot be read".to_owned(),
        };
        tell!("notice: the journal of the run that was cut off was dropped: {why}");
    }
    match journal.used() {
        0 => {}
        n => tell!("notice: {n} answers are those of the run that was cut off"),
    }
    let is_cut = |warning: &Warning| matches!(warning, Warning::Cut { .. });
    let is_partial = summary.warnings.iter().any(is_cut);
    if is_partial || summary.interrupted || summary.stopped.is_some() {
        tell!("notice: the same command with `--resume` goes on from here");
    } else {
        journal.remove();
    }
}

fn shard_file(shard: Shard) -> PathBuf {
    PathBuf::from(setup::STORE).join("shards").join(format!(
        "{}-of-{}.jsonl",
        shard.number(),
        shard.count()
    ))
}

/// Signals this near to the first are the same wish.
const SAME_MOMENT: Duration = Duration::from_millis(500);

/// An interrupt ends the program at once. The flag is set before what it has started is ended, so
/// that nobody takes this for a fault of a target.
pub(super) fn end_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let _ = ctrlc::set_handler(move || {
        flag.store(true, Ordering::SeqCst);
        end_all();
        #[expect(clippy::exit, reason = "asked for")]
        std::process::exit(i32::from(crate::exit::INTERRUPTED));
    });
    stop
}

/// A flag that the first interrupt sets; a second one, not of the same moment, ends the program at
/// once. What ends a process and its group, as `timeout` does, sends the same signal twice.
pub(super) fn stop_on_interrupt() -> Arc<AtomicBool> {
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    Arc::clone(STOP.get_or_init(until_interrupt))
}

fn until_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let first = OnceLock::new();
    let _ = ctrlc::set_handler(move || {
        #[expect(
            clippy::disallowed_methods,
            reason = "how a person stops a program is no result of it"
        )]
        let now = Instant::now();
        let is_later = now.duration_since(*first.get_or_init(|| now)) > SAME_MOMENT;
        let is_first = !flag.swap(true, Ordering::Relaxed);
        if is_first {
            tell!(
                "\nstopping: what is being worked on is ended and told; Ctrl-C again ends at once, without a report"
            );
        }
        if !is_first && is_later {
            end_all();
            #[expect(clippy::exit, reason = "asked for twice")]
            std::process::exit(i32::from(crate::exit::INTERRUPTED));
        }
    });
    stop
}
