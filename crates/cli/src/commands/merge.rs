//! `qkvet merge PATH...`: joins shards and judges all cases on what they recorded.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use qkvet_report::{English, Progress};
use qkvet_run::adapters::{NamedTarget, Recorded};
use qkvet_run::config::{CaseSource, Declared, FailFast, Home, RunConfig, Seen, TargetEntry};
use qkvet_run::process::{Limits, Watch};
use qkvet_run::record::{ChangedFile, Header, read_shards};
use qkvet_run::run::run;
use qkvet_spec::{Catalog, Chosen, Stopped, StoppedShard, Summary, Unexpected, Verdict};

use super::expected::Expected;
use super::launch::stop_on_interrupt;
use super::reports::{Clock, Kept, Live, Place, check_wishes, write_reports};
use super::setup;
use crate::args::{DeclaredArgs, MergeArgs, TargetArgs};
use crate::exit::{Failure, code};
use crate::out::is_live;

pub(super) fn merge(args: &MergeArgs) -> Result<ExitCode, Failure> {
    Ok(ExitCode::from(code(&run_merge(args, None)?, args.report.strict)))
}

/// Joins the shards and prints the report. Known deviations are looked for where none are
/// `expected`.
pub(super) fn run_merge(args: &MergeArgs, expected: Option<&Expected>) -> Result<Summary, Failure> {
    check_wishes(&args.report.output)?;
    let clock = Clock::start();
    let mut live = Live::new(args.report.output.format);
    let judged = judge(args, args.target, &stop_on_interrupt(), &mut live, expected)?;
    let kept = Kept::new(Place::Last, &args.report, args.quiet, clock, &judged.summary);
    write_reports(&judged.summary, &judged.catalog, &args.report.output, live, kept)?;
    if judged.unanswered > 0 {
        judged.tell_unanswered("hint: --target asks the target itself");
    }
    Ok(judged.summary)
}

/// What joined shards came to.
pub(super) struct Judged {
    pub(super) summary: Summary,
    /// With the laws that the shards brought.
    pub(super) catalog: Catalog,
    /// Files of the target that are not here any more.
    pub(super) gone: Vec<String>,
    /// Calls that nobody answered, though every shard ran to its end.
    pub(super) unanswered: usize,
}

impl Judged {
    pub(super) fn tell_unanswered(&self, hint: &str) {
        tell!(
            "notice: no shard asked {} of the calls that look for smaller witnesses: one may be larger than need be\n{hint}",
            self.unanswered
        );
    }
}

/// Joins the shards and judges all cases, which `tell` says on standard output. What no known
/// fault explains is identified where `identifies` says so, by calls that no shard asked.
pub(super) fn judge(
    args: &MergeArgs,
    identifies: bool,
    stop: &Arc<AtomicBool>,
    tell: &mut Live,
    expected: Option<&Expected>,
) -> Result<Judged, Failure> {
    let joined = read_shards(&args.paths)?;
    let header = joined.header.clone();
    let gone = header.gone_files();
    is_still_what_ran(&header, args.target)?;
    let home = setup::home(&header.target, args.process.config.as_deref())?;
    let mut catalog = home.catalog()?;
    let nothing = Expected::default();
    let expected = expected.unwrap_or(&nothing);
    let found = if expected.has_known() {
        Expected::default()
    } else {
        Expected::known(&args.report, &header.target, &home)?
    };
    let laws = header.checked_laws(env!("CARGO_PKG_VERSION"))?;
    catalog.law_files.extend(header.law_files);
    let mut progress = Progress::new(is_live(), args.quiet);
    let live =
        args.target.then(|| live_target(args, &home, &joined.header, &catalog)).transpose()?;
    let (live, limits) = live.map(|live| (live.adapter, live.limits)).unzip();
    let mut limits: Limits = limits.unwrap_or_default();
    limits.watch = Watch::new(Arc::clone(stop), progress.teller());
    let cut_short = joined.stopped.clone();
    let recorded = Arc::new(Recorded::new(joined, live));
    let target = NamedTarget {
        // Formats that were chosen are not those that there are.
        entry: TargetEntry {
            dtypes: (!header.chosen.contains(&Chosen::Dtypes)).then(|| header.dtypes.clone()),
            ..TargetEntry::default()
        },
        limits,
        ..NamedTarget::new(header.target, Arc::clone(&recorded))
    };
    let declared = Declared::of(&target.entry, &header.conventions, &[], &[], &catalog)?;
    let may_settle = |seen: &Seen<'_>| {
        [&found, expected].into_iter().any(|expected| expected.may_settle(&target.name, seen))
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cases = CaseSource::Suite { suite: &header.suite, seed: header.seed };
    let config = RunConfig {
        laws: laws.iter().collect(),
        dtypes: header.dtypes,
        configuration: home.hashes(args.report.known.as_deref()),
        // Nothing is asked beyond the case that stops a run.
        jobs: if recorded.has_broken() { 1 } else { cores },
        conventions: declared.conventions,
        contracts: header.contracts.iter().map(|(dtype, contract)| (*dtype, contract)).collect(),
        fail_fast: if header.fail_fast { FailFast::FirstBut(&may_settle) } else { FailFast::Off },
        store: Some(PathBuf::from(setup::STORE)),
        digests: expected.exact,
        identifies,
        ..RunConfig::of(&English, &catalog, &target, cases, stop)
    };
    let mut summary = run(&config, &mut |event| {
        tell.event(&event);
        progress.event(&event);
    })?;
    if let Some(trouble) = recorded.trouble() {
        return Err(Failure::Target(trouble));
    }
    let is_partial = mark_partial(&mut summary, &cut_short);
    found.apply(&mut summary);
    expected.apply(&mut summary);
    let unanswered = if is_partial { 0 } else { recorded.unanswered() };
    Ok(Judged { summary, catalog, gone, unanswered })
}

/// Tells which files of the target hold something else by now. Where the target is asked for the
/// rest, that is an error, as is a file that is gone: two versions would answer, or none.
fn is_still_what_ran(header: &Header, asks_target: bool) -> Result<(), Failure> {
    if let Some(name) = header.gone_files().first().filter(|_| asks_target) {
        let hint = "run it where the file is, or without --target";
        return Err(Failure::Target(
            Unexpected::at(name, "what the shards ran").got("no file").hint(hint),
        ));
    }
    for ChangedFile { name, before, now } in header.changed_files() {
        let wrong = Unexpected::at(name, format!("what the shards ran ({before})"))
            .got(format!("something else ({now})"))
            .hint("it was changed since: run the shards again for a report of what it is now");
        if asks_target {
            return Err(Failure::Target(wrong));
        }
        tell!("notice: {wrong}");
    }
    Ok(())
}

/// Says which shards ended before their cases did, if that left cases undecided.
fn mark_partial(summary: &mut Summary, cut_short: &[StoppedShard]) -> bool {
    let is_partial =
        summary.stopped.is_none() && summary.count(Verdict::Skipped) > 0 && !cut_short.is_empty();
    if is_partial {
        summary.stopped = Some(Stopped::Shards(cut_short.to_vec()));
        summary.interrupted = true;
    }
    is_partial
}

/// The target of the shards, called as they called it.
fn live_target(
    args: &MergeArgs,
    home: &Home,
    header: &Header,
    catalog: &Catalog,
) -> Result<NamedTarget, Failure> {
    let on = TargetArgs {
        declared: DeclaredArgs { convention: Vec::new(), contract: Vec::new() },
        arrays: None,
        layout: None,
        device: None,
        call: None,
        constant: Vec::new(),
        process: args.process.clone(),
    };
    let stored = Some(&header.call);
    setup::target(home, &header.target, &on, stored, &header.dtypes, catalog)
}
