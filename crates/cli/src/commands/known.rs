//! `qkvet known add|list|prune`: findings that were looked at and may stay for now.

#![allow(clippy::disallowed_methods, reason = "the file is read here")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_report::{add_known, check_known, finding_name, read_known, remove_known, write_known};
use qkvet_run::target::KNOWN_FILE;
use qkvet_run::whole::hold;
use qkvet_spec::{CaseRecord, Chosen, KnownDeviation, KnownFile, KnownState, Summary};

use super::expected::{find_known, read_known_file, read_text, refuse_under_ci, shown, today};
use super::report::read;
use super::reports::write_named;
use super::setup;
use crate::args::{KnownAddArgs, KnownCommand, KnownFileArgs, KnownListArgs, KnownPruneArgs};
use crate::exit::{Failure, HELD};

pub(super) fn known(command: &KnownCommand) -> Result<ExitCode, Failure> {
    match command {
        KnownCommand::Add(args) => add(args),
        KnownCommand::List(args) => list(args),
        KnownCommand::Prune(args) => prune(args),
    }
}

const CI_HINT: &str = "change the file on a developer's machine and commit it";

fn add(args: &KnownAddArgs) -> Result<ExitCode, Failure> {
    refuse_under_ci("known add", CI_HINT)?;
    let path = place(&args.file)?;
    let _held = hold(&path);
    let (mut text, mut known) = if path.exists() {
        (read_text("known deviations", &path, None)?, read_known_file(&path)?)
    } else {
        (write_known(&KnownFile::default()), KnownFile::default())
    };
    let wanted = wanted(args)?;
    let (mut added, mut there) = (0, 0);
    for entry in wanted {
        check(&entry, args)?;
        if known.known.contains(&entry) {
            there += 1;
            continue;
        }
        text = add_known(&text, &known, &entry);
        known.known.push(entry.clone());
        say!("{}", entry.describe());
        added += 1;
    }
    if added > 0 {
        // What is written is what will be read.
        read_known(&shown(&path), &text)?;
        write_named("known deviations", &path, &text)?;
    }
    let there = if there > 0 { format!(", {there} there before") } else { String::new() };
    tell!("known deviations at {}: {added} added{there}", shown(&path));
    Ok(ExitCode::from(HELD))
}

/// The entries that the flags ask for.
fn wanted(args: &KnownAddArgs) -> Result<Vec<KnownDeviation>, Failure> {
    let described = KnownDeviation {
        target: args.target.clone(),
        suite: None,
        law: args.law.clone(),
        case: args.case.clone(),
        option: args.option.clone(),
        dtype: args.dtype.clone(),
        finding: args.finding.clone().unwrap_or_default(),
        reason: args.reason.clone(),
        link: args.link.clone(),
        expires: args.expires.clone(),
    };
    if [&args.law, &args.case, &args.option, &args.dtype].iter().any(|pattern| pattern.is_some()) {
        return Ok(vec![described]);
    }
    let summary = read(&args.file.from)?;
    let of_run = |finding: String| KnownDeviation {
        target: args.target.clone().or_else(|| Some(summary.run.target.clone())),
        suite: Some(summary.run.suite.clone()),
        finding,
        ..described.clone()
    };
    let mut names: Vec<String> =
        summary.findings.iter().filter(|finding| !finding.is_known()).map(finding_name).collect();
    if let Some(wanted) = &args.finding {
        names.retain(|name| name == wanted || name.split('+').any(|code| code == wanted));
    }
    names.dedup();
    if names.is_empty() {
        let what = args.finding.as_ref().map_or_else(|| "one".to_owned(), |wanted| format!("{wanted} among them"));
        let (place, target) = (args.file.from.display(), &summary.run.target);
        let hint = "hint: `qkvet check` finds them; --law with --finding describes one by hand";
        return Err(Failure::Usage(format!(
            "findings at {place}: expected {what}, got {}, on {target}\n{hint}",
            found(&summary)
        )));
    }
    let entries = names.into_iter().flat_map(|name| {
        let scopes = scopes(&summary, &name);
        let entry = of_run(name);
        scopes.into_iter().map(move |(law, dtype)| KnownDeviation { law, dtype, ..entry.clone() })
    });
    Ok(entries.collect())
}

/// Law and format of the cases of a finding, as far as the run was of chosen ones: nobody looked at the others.
fn scopes(summary: &Summary, name: &str) -> BTreeSet<(Option<String>, Option<String>)> {
    let chosen = |what: Chosen, text: &str| summary.run.chosen.contains(&what).then(|| text.to_owned());
    let of = |record: &&CaseRecord| record.finding.is_some_and(|at| finding_name(&summary.findings[at]) == name);
    let records = summary.records.iter().filter(of);
    records.map(|one| (chosen(Chosen::Laws, &one.law), chosen(Chosen::Dtypes, &one.dtype))).collect()
}

fn found(summary: &Summary) -> String {
    let names: Vec<String> = summary.findings.iter().filter(|finding| !finding.is_known()).map(finding_name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn check(entry: &KnownDeviation, args: &KnownAddArgs) -> Result<(), Failure> {
    check_known(entry).map_err(|message| Failure::Usage(format!("known add: {message}")))?;
    let today = today(args.file.today.as_deref())?;
    match &entry.expires {
        Some(day) if *day < today => Err(Failure::Usage(format!("--expires: expected a day to come, got {day}"))),
        _ => Ok(()),
    }
}

fn list(args: &KnownListArgs) -> Result<ExitCode, Failure> {
    let path = place(&args.file)?;
    let known = read_known_file(&path)?;
    let today = today(args.file.today.as_deref())?;
    let last = read(&args.file.from).ok().and_then(|summary| summary.known);
    for entry in &known.known {
        let asked = last.iter().flat_map(|known| &known.entries).find(|status| status.entry == *entry);
        let is_over = entry.expires.as_ref().is_some_and(|day| *day < today);
        let said = match asked.map(|status| (status.state, status.cases)) {
            _ if is_over => "expired".to_owned(),
            Some((KnownState::Holds, 1)) => "holds, 1 case".to_owned(),
            Some((KnownState::Holds, n)) => format!("holds, {n} cases"),
            Some((KnownState::Gone, _)) => "gone".to_owned(),
            Some((KnownState::Unmatched, _)) => "about nothing".to_owned(),
            Some((KnownState::Expired | KnownState::NotAsked, _)) | None => "not asked in the last run".to_owned(),
        };
        say!("{}  ({said})", entry.describe());
        let until = entry.expires.as_ref().map(|day| format!("until {day}"));
        for text in [Some(entry.reason.clone()), entry.link.clone(), until].into_iter().flatten() {
            say!("  {}", text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\""));
        }
    }
    if known.known.is_empty() {
        say!("no known deviations");
    }
    Ok(ExitCode::from(HELD))
}

fn prune(args: &KnownPruneArgs) -> Result<ExitCode, Failure> {
    refuse_under_ci("known prune", CI_HINT)?;
    let path = place(&args.file)?;
    let _held = hold(&path);
    let (text, known) = (read_text("known deviations", &path, None)?, read_known_file(&path)?);
    let summary = read(&args.file.from)?;
    let Some(outcome) = &summary.known else {
        let hint = "hint: `qkvet check` reads the file and says which entries are gone";
        return Err(Failure::Usage(format!("last run: expected one with known deviations, got one without\n{hint}")));
    };
    // What is expired and still found is for a person to decide.
    let is_gone = |at: usize| {
        let status = outcome.entries.iter().find(|status| status.entry == known.known[at]);
        status.is_some_and(|status| match status.state {
            KnownState::Gone | KnownState::Unmatched => true,
            KnownState::Expired | KnownState::Holds | KnownState::NotAsked => false,
        })
    };
    let gone: Vec<usize> = (0..known.known.len()).filter(|at| is_gone(*at)).collect();
    for at in &gone {
        say!("{}", known.known[*at].describe());
    }
    if !gone.is_empty() {
        write_named("known deviations", &path, &remove_known(&text, &known, &is_gone))?;
    }
    tell!("known deviations at {}: {} removed", shown(&path), gone.len());
    Ok(ExitCode::from(HELD))
}

/// The file of the flag, the one that is found, or else the one to begin here.
fn place(args: &KnownFileArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.known {
        return Ok(path.clone());
    }
    let target = read(&args.from).map(|summary| summary.run.target).unwrap_or_default();
    let found = find_known(&target, None)?;
    let beside = qkvet_run::target::config_of(&target, &setup::current_folder()?, None);
    let beside = beside.as_deref().and_then(Path::parent).map(|folder| folder.join(KNOWN_FILE));
    Ok(found.or(beside).unwrap_or_else(|| PathBuf::from(KNOWN_FILE)))
}
