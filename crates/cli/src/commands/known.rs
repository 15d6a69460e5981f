//! `qkvet known add|list|prune`: findings that were looked at and may stay for now.

#![allow(clippy::disallowed_methods, reason = "the file is read here")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_report::{
    add_known, apply_known, check_known, finding_name, is_day, is_of_no_suite, json_document,
    read_known, remove_known, visible, write_known,
};
use qkvet_run::adapters::{mistyped_target, other_names};
use qkvet_run::atomic_write::hold;
use qkvet_run::config::KNOWN_FILE;
use qkvet_spec::{
    CaseRecord, Chosen, KnownDeviation, KnownFile, KnownOutcome, KnownState, KnownStatus, Summary,
    Unexpected,
};

use super::expected::{read_known_file, read_text, refuse_under_ci, shown, today};
use super::report::read;
use super::reports::write_named;
use super::setup;
use crate::args::{
    DocumentFormat, KnownAddArgs, KnownCommand, KnownFileArgs, KnownListArgs, KnownPruneArgs,
};
use crate::exit::{Failure, HELD};
use crate::out::write_text;

pub(super) fn known(command: &KnownCommand) -> Result<ExitCode, Failure> {
    match command {
        KnownCommand::Add(args) => add(args),
        KnownCommand::List(args) => list(args),
        KnownCommand::Prune(args) => prune(args),
    }
}

/// Entries beyond this are nothing that anybody looked at one by one.
const MAX_ADDED: usize = 1000;

const CI_HINT: &str = "change the file on a developer's machine and commit it";

fn add(args: &KnownAddArgs) -> Result<ExitCode, Failure> {
    refuse_under_ci("known add", CI_HINT)?;
    check_day(args)?;
    let path = place(&args.file)?;
    let _held = hold(&path);
    let (text, known) = if path.exists() {
        (read_text("known deviations", &path, None)?, read_known_file(&path)?)
    } else {
        (write_known(&KnownFile::default()), KnownFile::default())
    };
    let (wanted, mut there) = wanted(args, &known)?;
    let scopes: Vec<KnownDeviation> = known.known.iter().map(scope).collect();
    let (same, new): (Vec<KnownDeviation>, Vec<KnownDeviation>) =
        wanted.into_iter().partition(|entry| scopes.contains(&scope(entry)));
    if new.len() > MAX_ADDED {
        let hint = "so many are a snapshot (`qkvet snapshot record`), or one entry with patterns (--law, --finding)";
        let expected = format!("at most {MAX_ADDED} entries to add at once");
        return Err(Unexpected::at("known add", expected).got(new.len()).hint(hint).into());
    }
    for entry in &new {
        check_known(entry).map_err(|error| error.inside("known add"))?;
    }
    let ran = read(&args.file.from).map(|summary| summary.run.target).unwrap_or_default();
    if let Some(what) = mistyped_target(&new, &path, &ran, &[]) {
        return Err(what.inside("known add").into());
    }
    there.extend(same.iter().map(KnownDeviation::describe));
    let added = new.len();
    if added > 0 {
        let text = add_known(&text, &known, &new);
        // What is written is what will be read.
        read_known(&shown(&path), &text)?;
        write_named("known deviations", &path, &text)?;
    }
    new.iter().for_each(|entry| say!("{}", entry.describe()));
    there.iter().for_each(|what| tell!("known already: {}", visible(what)));
    let n_there =
        if there.is_empty() { String::new() } else { format!(", {} known already", there.len()) };
    tell!("known deviations at {}: {added} added{n_there}", shown(&path));
    if !there.is_empty() {
        tell!("hint: a reason, a link or a day of an entry is changed in the file");
    }
    Ok(ExitCode::from(HELD))
}

/// What an entry is about, without what is said of it.
fn scope(entry: &KnownDeviation) -> KnownDeviation {
    KnownDeviation { reason: String::new(), link: None, expires: None, ..entry.clone() }
}

/// The entries that the flags ask for, and names of findings that entries of the file cover
/// already.
fn wanted(
    args: &KnownAddArgs,
    known: &KnownFile,
) -> Result<(Vec<KnownDeviation>, Vec<String>), Failure> {
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
        return Ok((vec![described], Vec::new()));
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
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if names.is_empty() {
        let what = args
            .finding
            .as_ref()
            .map_or_else(|| "one".to_owned(), |wanted| format!("{wanted} among them"));
        let got = format!("{}, on {}", found(&summary), summary.run.target);
        let hint = "`qkvet check` finds them; --law with --finding describes one by hand";
        return Err(Unexpected::at_path("findings", &args.file.from, what)
            .got(got)
            .hint(hint)
            .into());
    }
    // The run may have been before the entries.
    let mut now = summary.clone();
    let others = other_names(&summary.run.target, &setup::home(&summary.run.target, None)?);
    apply_known(&mut now, "", known, &others, &today(args.file.today.as_deref())?);
    let open: BTreeSet<String> =
        now.findings.iter().filter(|finding| !finding.is_known()).map(finding_name).collect();
    let (names, there): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| open.contains(name));
    let mut scopes = scopes(&summary);
    let entries = names.into_iter().flat_map(|name| {
        let scopes = scopes.remove(&name).unwrap_or_default();
        let entry = of_run(name);
        scopes.into_iter().map(move |Scope { law, option, dtype }| KnownDeviation {
            law,
            option,
            dtype,
            ..entry.clone()
        })
    });
    Ok((entries.collect(), there))
}

/// What an entry names of its cases.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    law: Option<String>,
    option: Option<String>,
    dtype: Option<String>,
}

/// What cases have in common.
#[derive(Default)]
struct Shared<'a> {
    dtypes: BTreeSet<&'a str>,
    /// Options that each of them uses; none before the first.
    options: Option<BTreeSet<&'a str>>,
}

impl<'a> Shared<'a> {
    fn add(&mut self, one: &'a CaseRecord) {
        self.dtypes.insert(&one.dtype);
        let own: BTreeSet<&str> = one.options.iter().map(|option| option.name()).collect();
        match &mut self.options {
            Some(options) => options.retain(|option| own.contains(option)),
            None => self.options = Some(own),
        }
    }

    fn options(&self) -> impl Iterator<Item = &'a str> {
        self.options.iter().flatten().copied()
    }
}

/// What entries name of the cases of each finding, by its name: law and format as far as the run
/// was of chosen ones, for nobody looked at the others. A finding without a cause may be anything
/// elsewhere: its laws are named in any case, its formats if others did not, and an option that all
/// its cases of the law use, if others do not.
fn scopes(summary: &Summary) -> BTreeMap<String, BTreeSet<Scope>> {
    let is_chosen = |what: Chosen| summary.run.chosen.contains(&what);
    let names: Vec<(String, bool)> = summary
        .findings
        .iter()
        .map(|finding| (finding_name(finding), finding.cause.is_named()))
        .collect();
    let mut laws: BTreeMap<&str, Shared<'_>> = BTreeMap::new();
    let mut shown: BTreeMap<(&(String, bool), &str), Shared<'_>> = BTreeMap::new();
    for one in &summary.records {
        if one.verdict.is_checked() {
            laws.entry(&one.law).or_default().add(one);
        }
        if let Some(name) = one.finding.and_then(|at| names.get(at)) {
            shown.entry((name, &one.law)).or_default().add(one);
        }
    }
    let mut scopes: BTreeMap<String, BTreeSet<Scope>> = BTreeMap::new();
    for (((name, has_cause), law), cases) in shown {
        let all = laws.get(law);
        let is_common =
            |option: &&str| all.is_some_and(|all| all.options().any(|other| other == *option));
        let option = cases.options().find(|option| !is_common(option)).filter(|_| !has_cause);
        let is_of_some = all.is_some_and(|all| all.dtypes.len() > cases.dtypes.len());
        let has_dtype = is_chosen(Chosen::Dtypes) || (!has_cause && is_of_some);
        let dtypes: BTreeSet<Option<&str>> =
            cases.dtypes.iter().map(|dtype| has_dtype.then_some(*dtype)).collect();
        let law = (is_chosen(Chosen::Laws) || !has_cause).then(|| law.to_owned());
        scopes.entry(name.clone()).or_default().extend(dtypes.into_iter().map(|dtype| Scope {
            law: law.clone(),
            option: option.map(str::to_owned),
            dtype: dtype.map(str::to_owned),
        }));
    }
    scopes
}

fn found(summary: &Summary) -> String {
    let names: Vec<String> =
        summary.findings.iter().filter(|finding| !finding.is_known()).map(finding_name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Whether the last day is one, and one to come, be there anything to add or not.
fn check_day(args: &KnownAddArgs) -> Result<(), Unexpected> {
    let today = today(args.file.today.as_deref())?;
    match &args.expires {
        Some(day) if !is_day(day) => {
            Err(Unexpected::at("--expires", "a day such as 2027-01-31").quoted(day))
        }
        Some(day) if *day < today => Err(Unexpected::at("--expires", "a day to come").got(day)),
        _ => Ok(()),
    }
}

fn list(args: &KnownListArgs) -> Result<ExitCode, Failure> {
    let path = place(&args.file)?;
    expect_there(&path)?;
    let known = read_known_file(&path)?;
    let today = today(args.file.today.as_deref())?;
    let last = read(&args.file.from).ok();
    // What is newer than the last run is held against it.
    let now = last.clone().map(|mut summary| {
        let others = other_names(&summary.run.target, &setup::home(&summary.run.target, None)?);
        apply_known(&mut summary, "", &known, &others, &today);
        Ok::<_, Failure>(summary)
    });
    let (last, now) = (last.and_then(|summary| summary.known), now.transpose()?);
    let states = [last, now.and_then(|summary| summary.known)];
    let status = |entry: KnownDeviation| {
        let mut entries = states.iter().flatten().flat_map(|known| &known.entries);
        let last = entries.find(|status| status.entry == entry);
        let (state, cases) = match last.map(|status| (status.state, status.cases)) {
            _ if entry.expires.as_ref().is_some_and(|day| *day < today) => (KnownState::Expired, 0),
            None | Some((KnownState::Expired, _)) => (KnownState::NotAsked, 0),
            Some(last) => last,
        };
        KnownStatus { entry, state, cases }
    };
    let entries: Vec<KnownStatus> = known.known.into_iter().map(status).collect();
    if args.format == DocumentFormat::Json {
        let list = KnownOutcome { file: shown(&path), names: Vec::new(), entries };
        write_text(&json_document(&list)?)?;
        return Ok(ExitCode::from(HELD));
    }
    for KnownStatus { entry, state, cases } in &entries {
        let said = match (state, cases) {
            (KnownState::Expired, _) => "expired".to_owned(),
            (KnownState::Holds, 1) => "holds, 1 case".to_owned(),
            (KnownState::Holds, n) => format!("holds, {n} cases"),
            (KnownState::Gone, _) => "gone".to_owned(),
            (KnownState::Unmatched, _) => "about nothing".to_owned(),
            (KnownState::NotAsked, _) => {
                let suite =
                    entry.suite.as_deref().filter(|_| is_of_no_suite(entry)).unwrap_or_default();
                let suite = if suite.is_empty() {
                    String::new()
                } else {
                    format!("; {suite} is no built-in suite")
                };
                format!("not asked in the last run{}", visible(&suite))
            }
        };
        say!("{}  ({said})", entry.describe());
        let until = entry.expires.as_ref().map(|day| format!("until {day}"));
        for text in [Some(entry.reason.clone()), entry.link.clone(), until].into_iter().flatten() {
            say!("  {}", text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\""));
        }
    }
    if entries.is_empty() {
        say!("no known deviations");
    }
    Ok(ExitCode::from(HELD))
}

fn prune(args: &KnownPruneArgs) -> Result<ExitCode, Failure> {
    refuse_under_ci("known prune", CI_HINT)?;
    let path = place(&args.file)?;
    expect_there(&path)?;
    let _held = hold(&path);
    let (text, known) = (read_text("known deviations", &path, None)?, read_known_file(&path)?);
    let summary = read(&args.file.from)?;
    let Some(outcome) = &summary.known else {
        let hint = "`qkvet check` reads the file and says which entries are gone";
        return Err(Unexpected::at("last run", "one with known deviations")
            .got("one without")
            .hint(hint)
            .into());
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

/// A file that has to be there.
fn expect_there(path: &Path) -> Result<(), Unexpected> {
    if path.symlink_metadata().is_err() {
        return Err(Unexpected::at_path("known deviations", shown(path), "a readable file")
            .got("none")
            .hint("`qkvet known add --reason WHY` begins it with what the last run found"));
    }
    Ok(())
}

/// The file of the flag, the one that is found, or else the one to begin here.
fn place(args: &KnownFileArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.known {
        return Ok(path.clone());
    }
    let target = read(&args.from).map(|summary| summary.run.target).unwrap_or_default();
    let home = setup::home(&target, None)?;
    let beside = home.file.as_deref().and_then(Path::parent).map(|folder| folder.join(KNOWN_FILE));
    Ok(home.known_file().or(beside).unwrap_or_else(|| PathBuf::from(KNOWN_FILE)))
}
