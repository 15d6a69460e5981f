//! `qkvet snapshot record|check|diff|accept`: what the cases of a target came to, kept for later
//! runs.

mod last;
mod place;
mod review;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use qkvet_report::{
    AcceptedChanges, Upgrade, accept, compare, new_snapshot, plain, snapshot_diff, snapshot_line,
    snapshot_text, titles, upgrade, visible, write_snapshot,
};
use qkvet_run::adapters::other_names;
use qkvet_run::atomic_write::hold;
use qkvet_run::config::Home;
use qkvet_spec::{
    CaseChange, Change, SNAPSHOT_FORMAT, Snapshot, SnapshotOutcome, Summary, Unexpected, Verdict,
};

use self::last::{Run, last_run};
use self::place::snapshot_path;
use self::review::{Choice, Manner, review};
use super::check::run_check;
use super::expected::{Comparison, Expected, read_snapshot_file, refuse_under_ci, shown};
use super::merge::run_merge;
use super::reports::write_named;
use super::setup;
use crate::args::{
    MergeArgs, SnapshotAcceptArgs, SnapshotCheckArgs, SnapshotCommand, SnapshotDiffArgs,
    SnapshotFromArgs, SnapshotRecordArgs,
};
use crate::exit::{Ended, FINDINGS, Failure, HELD, INTERRUPTED, NOTHING, USAGE, code};
use crate::out::columns;
use crate::out::write_text;

pub(super) fn snapshot(command: &SnapshotCommand) -> Result<ExitCode, Failure> {
    match command {
        SnapshotCommand::Record(args) => record(args, false),
        SnapshotCommand::Upgrade(args) => record(args, true),
        SnapshotCommand::Check(args) => check(args),
        SnapshotCommand::Diff(args) => diff(args),
        SnapshotCommand::Accept(args) => take_over(args),
    }
}

/// `record`, and `upgrade`, which takes other versions of the suite out besides.
fn record(args: &SnapshotRecordArgs, upgrades: bool) -> Result<ExitCode, Failure> {
    refuse_under_ci(
        if upgrades { "snapshot upgrade" } else { "snapshot record" },
        "`qkvet snapshot check` compares there; record on a developer's machine and commit the file",
    )?;
    let target = &args.check.target;
    let home = setup::home(target, args.check.on.process.config.as_deref())?;
    let path = snapshot_path(args.place.snapshot.as_deref(), target, &home);
    let mut snapshot =
        if path.exists() { read_snapshot_file(&path)? } else { new_snapshot(target) };
    if path.exists() {
        refuse_other(&snapshot, &path, target, &home)?;
    }
    // Known deviations count here as they do in `qkvet check`.
    let known = Expected::known(&args.check.report, target, &home)?;
    let summary = match run_check(&args.check, &home, &known.and_snapshot(None, args.exact))? {
        Ended::Run(summary) => summary,
        Ended::Code(code) => return Ok(ExitCode::from(code)),
    };
    if summary.other_configuration {
        return Ok(ExitCode::from(USAGE));
    }
    // Another run may have written its formats in the meantime.
    let _held = hold(&path);
    if path.exists() {
        snapshot = read_snapshot_file(&path)?;
    }
    let outcome =
        compare(&snapshot, &summary, &shown(&path), args.place.device_name.as_deref(), args.exact);
    let mut written = accept(&mut snapshot, &summary, &outcome, args.prune, &|_| true);
    if !outcome.changes.is_empty() && outcome.compared > 0 {
        tell!("{}", plain(&snapshot_line(&outcome)));
    }
    if !summary.findings.is_empty() {
        let n = summary.findings.len();
        let what = if n == 1 { "1 finding is".to_owned() } else { format!("{n} findings are") };
        tell!("notice: {what} recorded; `qkvet snapshot check` fails on what is worse or new");
    }
    let mut forgets = false;
    if upgrades {
        let upgraded = upgrade(&mut snapshot, &summary, &outcome.device, args.prune);
        tell_upgrade(&upgraded, &summary.run.suite_name());
        written.removed += upgraded.removed;
        forgets = !upgraded.kept.is_empty();
    }
    save(&path, &snapshot, written, &outcome, args.prune)?;
    let checked = summary.records.iter().any(|record| record.verdict.is_checked());
    Ok(ExitCode::from(match (summary.interrupted, checked) {
        (true, _) => INTERRUPTED,
        (false, true) if forgets => FINDINGS,
        (false, true) => HELD,
        (false, false) => NOTHING,
    }))
}

/// Says what became of the parts of other versions of the suite, which has this name now.
fn tell_upgrade(Upgrade { gone, kept, unseen, .. }: &Upgrade, now: &str) {
    for name in gone {
        tell!("snapshot: cases of {now} in place of those of {name}");
    }
    if gone.is_empty() && kept.is_empty() {
        tell!("notice: the snapshot has no cases of another version of {now}");
    }
    for name in kept {
        let shown: Vec<&str> = unseen
            .iter()
            .map(|name| if name.is_empty() { "wrong results" } else { name.as_str() })
            .collect();
        tell!(
            "notice: {now} does not show what {name} showed: {}\nhint: `--suite {name}` runs those cases again; --prune removes them from the snapshot",
            shown.join(", ")
        );
    }
}

fn check(args: &SnapshotCheckArgs) -> Result<ExitCode, Failure> {
    let check = &args.check;
    let home = setup::home(&check.target, check.on.process.config.as_deref())?;
    let path = snapshot_path(args.place.snapshot.as_deref(), &check.target, &home);
    if !path.exists() {
        let hint = format!(
            "`qkvet snapshot record {}` writes it, with the same flags",
            visible(&check.target)
        );
        return Err(Unexpected::at_path("snapshot", shown(&path), "a readable file")
            .got("none")
            .hint(hint)
            .into());
    }
    let snapshot = read_snapshot_file(&path)?;
    tell_old(&path, &snapshot);
    if args.place.snapshot.is_none() {
        refuse_other(&snapshot, &path, &check.target, &home)?;
    } else if !is_of(&snapshot, &check.target, &home) {
        tell!("notice: the snapshot is of target {}", visible(&snapshot.target));
    }
    let comparison = Comparison { path, snapshot, device: args.place.device_name.clone() };
    let known = Expected::known(&check.report, &check.target, &home)?;
    let expected = known.and_snapshot(Some(comparison), args.exact);
    let ended = if args.from.is_empty() {
        run_check(check, &home, &expected)?
    } else {
        let merge = MergeArgs {
            paths: args.from.clone(),
            report: check.report.clone(),
            quiet: check.quiet,
            target: false,
            process: check.on.process.clone(),
        };
        let summary = run_merge(&merge, Some(&expected))?;
        expected.refuse_other_version(&summary.run.suite_name(), &check.target)?;
        Ended::Run(Box::new(summary))
    };
    Ok(ExitCode::from(match ended {
        Ended::Run(summary) => code(&summary, check.report.strict),
        Ended::Code(code) => code,
    }))
}

/// Whether a file is about the target, by any of its names.
fn is_of(snapshot: &Snapshot, target: &str, home: &Home) -> bool {
    let bare = |name: &str| name.trim_start_matches("python:").trim_start_matches("./").to_owned();
    let others = other_names(target, home);
    let mut names = others.iter().map(String::as_str).chain([target]);
    names.any(|name| bare(name) == bare(&snapshot.target))
}

/// Refuses the file of another target. One that is named may be compared all the same, but nothing
/// is written into it: two targets would overwrite each other.
fn refuse_other(
    snapshot: &Snapshot,
    path: &Path,
    target: &str,
    home: &Home,
) -> Result<(), Failure> {
    if is_of(snapshot, target, home) {
        return Ok(());
    }
    let hint = "--snapshot FILE names another one for this target; if it is the same one by a new name, say so in the file, at `target:`";
    let expected = format!("one of target {}", visible(target));
    Err(Unexpected::at_path("snapshot", shown(path), expected)
        .got(format!("one of {}", visible(&snapshot.target)))
        .hint(hint)
        .into())
}

/// Says that a file of the format before cannot be told from a part of it.
fn tell_old(path: &Path, snapshot: &Snapshot) {
    if snapshot.is_old() {
        let what = "it does not say how many cases it has: one that is cut off would not be told";
        let hint = format!(
            "hint: `qkvet snapshot accept`, on a developer's machine, writes it as {SNAPSHOT_FORMAT}"
        );
        tell!("notice: snapshot at {}: {what}\n{hint}", shown(path));
    }
}

fn diff(args: &SnapshotDiffArgs) -> Result<ExitCode, Failure> {
    let Found { run, outcome, path, snapshot, .. } = found(&args.from)?;
    tell_old(&path, &snapshot);
    write_text(&snapshot_diff(&outcome, &titles(&run.summary)))?;
    tell!("{}", plain(&snapshot_line(&outcome)));
    Ok(ExitCode::from(HELD))
}

fn take_over(args: &SnapshotAcceptArgs) -> Result<ExitCode, Failure> {
    refuse_under_ci(
        "snapshot accept",
        "keep .qkvet/last of the job as an artifact, and `qkvet snapshot accept --from` it on a developer's machine",
    )?;
    let Found { run, home, path, mut snapshot, outcome } = found(&args.from)?;
    if path.exists() {
        refuse_other(&snapshot, &path, &run.summary.run.target, &home)?;
    }
    let is_missing = |change: Change| change == Change::Missing;
    if outcome.count(|change| args.prune || !is_missing(change)) == 0 {
        let _held = snapshot.is_old().then(|| hold(&path));
        if snapshot.is_old() {
            snapshot = read_snapshot_file(&path)?;
        }
        save(&path, &snapshot, AcceptedChanges::default(), &outcome, args.prune)?;
        return Ok(ExitCode::from(HELD));
    }
    let chosen: Box<dyn Fn(&CaseChange) -> bool> = if args.all {
        Box::new(|_| true)
    } else if args.only.is_empty() {
        let (titles, columns) = (titles(&run.summary), columns());
        write_text(&snapshot_text(&outcome, &titles, columns))?;
        let manner = Manner { prune: args.prune, titles: &titles, columns: columns.unwrap_or(80) };
        let groups =
            review(&outcome, &manner, &mut std::io::stdin().lock(), &mut anstream::stderr())?;
        let taken: Vec<CaseChange> = groups
            .into_iter()
            .filter(|(_, choice)| *choice == Choice::Accept)
            .flat_map(|(group, _)| group.cases.into_iter().cloned())
            .collect();
        let taken: BTreeSet<(String, String)> =
            taken.into_iter().map(|one| (one.dtype, one.case)).collect();
        Box::new(move |one| taken.contains(&(one.dtype.clone(), one.case.clone())))
    } else {
        let fits =
            |one: &CaseChange| args.only.iter().any(|pattern| qkvet_report::is_about(one, pattern));
        if !outcome.changes.iter().any(fits) {
            let hint = "`qkvet snapshot diff` lists laws, cases and findings";
            return Err(Unexpected::at("--only", "a pattern of something that changed")
                .got(args.only.join(", "))
                .hint(hint)
                .into());
        }
        Box::new(fits)
    };
    // Another one may have written while this one was thought about.
    let _held = hold(&path);
    if path.exists() {
        snapshot = read_snapshot_file(&path)?;
    }
    let written = accept(&mut snapshot, &run.summary, &outcome, args.prune, &*chosen);
    save(&path, &snapshot, written, &outcome, args.prune)?;
    tell_worse(&outcome, &*chosen);
    tell_raised(&snapshot, &run.summary, &outcome);
    Ok(ExitCode::from(HELD))
}

/// Says how much of what was taken over is a regression, as a number of replaced cases does not
/// tell.
fn tell_worse(outcome: &SnapshotOutcome, is_accepted: &dyn Fn(&CaseChange) -> bool) {
    let is_worse = |one: &&CaseChange| one.change.is_regression() && is_accepted(one);
    match outcome.changes.iter().filter(is_worse).count() {
        0 => {}
        1 => tell!("notice: 1 of these is a regression, which no check will tell from now on"),
        n => tell!("notice: {n} of these are regressions, which no check will tell from now on"),
    }
}

/// Says that what was no regression is one now: the largest error of a law is what its other cases
/// are held against, and that was accepted to be smaller.
fn tell_raised(snapshot: &Snapshot, summary: &Summary, before: &SnapshotOutcome) {
    let after = compare(snapshot, summary, &before.file, Some(&before.device), before.exact);
    let regressed = |outcome: &SnapshotOutcome| -> BTreeSet<(String, String)> {
        let changes = outcome.changes.iter().filter(|one| one.change.is_regression());
        changes.map(|one| (one.dtype.clone(), one.case.clone())).collect()
    };
    let n = regressed(&after).difference(&regressed(before)).count();
    if n > 0 {
        let hint = "hint: `qkvet snapshot accept --only LAW` takes over a law as a whole";
        tell!(
            "notice: {n} cases that were within rounding are larger errors now: what their law had before was accepted to be smaller\n{hint}"
        );
    }
}

/// A run beside its snapshot.
struct Found {
    run: Run,
    home: Home,
    path: std::path::PathBuf,
    snapshot: Snapshot,
    outcome: SnapshotOutcome,
}

fn found(args: &SnapshotFromArgs) -> Result<Found, Failure> {
    let run = last_run(args)?;
    let before = run.summary.snapshot.as_ref();
    let target = &run.summary.run.target;
    let given =
        args.place.snapshot.clone().or_else(|| before.map(|outcome| outcome.file.clone().into()));
    let home = setup::home(target, args.process.config.as_deref())?;
    let path = snapshot_path(given.as_deref(), target, &home);
    let snapshot = if path.exists() { read_snapshot_file(&path)? } else { new_snapshot(target) };
    let device =
        args.place.device_name.clone().or_else(|| before.map(|outcome| outcome.device.clone()));
    let exact = has_digests(&run.summary);
    let outcome = compare(&snapshot, &run.summary, &shown(&path), device.as_deref(), exact);
    if let Some(why) = unfinished(&run.summary) {
        tell!("notice: {why}; what it left out is not compared, and stays");
    }
    Ok(Found { run, home, path, snapshot, outcome })
}

/// Why the run did not reach its end, if it did not.
fn unfinished(summary: &Summary) -> Option<String> {
    match (&summary.stopped, summary.count(Verdict::Skipped)) {
        (Some(why), _) => {
            Some(format!("the run was stopped early ({})", visible(&why.to_string())))
        }
        (None, 0) => None,
        (None, skipped) => Some(format!("the run left out {skipped} cases")),
    }
}

fn has_digests(summary: &Summary) -> bool {
    summary.records.iter().any(|record| record.digest.is_some())
}

/// Writes the file, if anything of it changed, and says so.
fn save(
    path: &Path,
    snapshot: &Snapshot,
    written: AcceptedChanges,
    outcome: &SnapshotOutcome,
    prune: bool,
) -> Result<(), Failure> {
    let AcceptedChanges { added, replaced, removed } = written;
    let shown = shown(path);
    if written == AcceptedChanges::default() && !snapshot.is_old() {
        tell!("snapshot at {shown}: nothing to change");
    } else {
        write_named("snapshot", Path::new(&shown), &write_snapshot(snapshot))?;
        tell!("snapshot at {shown}: {added} added, {replaced} replaced, {removed} removed");
    }
    if snapshot.is_old() {
        tell!("snapshot at {shown}: it says how many cases it has from now on ({SNAPSHOT_FORMAT})");
    }
    let missing = outcome.count(|change| change == Change::Missing);
    if missing > 0 && !prune {
        let what = if missing == 1 {
            "1 recorded case is".to_owned()
        } else {
            format!("{missing} recorded cases are")
        };
        tell!(
            "notice: {what} no more; --prune removes {}",
            if missing == 1 { "it" } else { "them" }
        );
    }
    Ok(())
}
