//! What flags are that nobody wrote: their environment variables, else the profile of `qkvet.yaml`.
//!
//! The words are parsed once. A flag that was written stays, by the parser's own account of where a
//! value comes from, and excludes what it excludes; what is said elsewhere takes the place of a
//! default and excludes nothing.

#![allow(clippy::disallowed_methods, reason = "configuration is read here and nowhere else")]

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{BoolishValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use qkvet_report::ReportFormat;
use qkvet_run::config::{CALLING, DEFAULT_PROFILE, Home, PREFIX, SETTINGS, Said, Setting, said};
use qkvet_spec::{Unexpected, nearest};

use crate::args::{
    Args, CheckArgs, ChecksArgs, Command, CompareArgs, DoctorArgs, Onnx, OnnxRunArgs, ProbeArgs,
    ProcessArgs, ReplayArgs, ReportArgs, SnapshotAcceptArgs, SnapshotCheckArgs, SnapshotCommand,
    SnapshotDiffArgs, SnapshotRecordArgs, TargetArgs, current,
};
use crate::commands::setup::current_folder;
use crate::exit::Failure;
use crate::out::unwritten;

/// Variables that are no settings: they say where settings come from.
const ABOUT: [&str; 2] = ["CONFIG", "PROFILE"];

/// Reads the words of the command line, and what stands in place of those that are not there.
///
/// # Errors
/// A configuration file, profile or environment variable that does not fit. The parser itself ends
/// the program on wrong words, and on those that ask for help.
pub(crate) fn parse() -> Result<Args, Failure> {
    resolved(&matches()?, |name| std::env::var_os(name))
}

/// The words by the parser; help and wrong words end the program.
fn matches() -> Result<ArgMatches, Unexpected> {
    Args::command().try_get_matches().or_else(|error| {
        let printed = error.print();
        if !error.use_stderr()
            && let Err(lost) = printed
            && lost.kind() != std::io::ErrorKind::BrokenPipe
        {
            return Err(unwritten(lost));
        }
        #[expect(clippy::exit, reason = "help was asked for, or the words are wrong")]
        std::process::exit(error.exit_code())
    })
}

fn resolved(
    matches: &ArgMatches,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Args, Failure> {
    let mut args = Args::from_arg_matches(matches)
        .map_err(|error| Unexpected::within("command line", error))?;
    let (path, leaf) = leaf(matches);
    if !CALLING.contains(&path.as_str()) {
        return Ok(args);
    }
    // What has a variable of the parser's own is written too.
    let is_written = |setting: &Setting| {
        leaf.value_source(&setting.id()).is_some_and(|from| from != ValueSource::DefaultValue)
    };
    let said_of = |target: &str| -> Result<Vec<Said>, Failure> {
        Ok(said(&path, is_written, &variable, &profile(&path, leaf, target)?)?)
    };
    let mut told = Vec::new();
    let runs = match &mut args.command {
        Command::Check(checks) => Some((targets(checks)?, &checks.check, &mut checks.runs)),
        Command::Compare(CompareArgs { check, b, runs }) => {
            Some((vec![check.target.clone(), b.clone()], &*check, runs))
        }
        _ => None,
    };
    if let Some((targets, check, runs)) = runs {
        for target in targets {
            let mut run = CheckArgs { target, ..check.clone() };
            let said = said_of(&run.target)?;
            said.iter().try_for_each(|one| of_check(&mut run, one))?;
            told.extend(told_of(&said, run.quiet));
            runs.push(run);
        }
    } else {
        let flag = leaf.try_get_one::<bool>("quiet").ok().flatten();
        let mut is_quiet = flag.copied().unwrap_or(false);
        let said =
            said_of(leaf.try_get_one::<String>("target").ok().flatten().map_or("", |it| it))?;
        for one in &said {
            set(&mut args.command, one)?;
            if one.setting.key == "quiet" {
                switch(&mut is_quiet, one)?;
            }
        }
        told.extend(told_of(&said, is_quiet));
    }
    warn_of_strangers();
    told.dedup();
    told.iter().for_each(|line| tell!("{line}"));
    Ok(args)
}

/// The targets that `check` is to look at.
fn targets(checks: &ChecksArgs) -> Result<Vec<String>, Failure> {
    if !checks.all {
        return Ok([&checks.check.target].into_iter().chain(&checks.more).cloned().collect());
    }
    let folder = current_folder()?;
    let home = Home::of("", &folder, checks.check.on.process.config.as_deref());
    let names: Vec<String> = home.config()?.targets.keys().cloned().collect();
    if names.is_empty() {
        let got = match home.shown() {
            Some(path) => format!("none in {}", path.display()),
            None => "no qkvet.yaml here or above".to_owned(),
        };
        let wrong = Unexpected::at("--all", "a qkvet.yaml that names targets").got(got);
        return Err(wrong.hint("`qkvet init --target TARGET` writes one").into());
    }
    Ok(names)
}

/// A line of what is said in the place of flags.
fn told_of(said: &[Said], is_quiet: bool) -> Option<String> {
    let one = |one: &Said| format!("{}={} ({})", one.setting.key, one.values.join(","), one.origin);
    let all: Vec<String> = said.iter().map(one).collect();
    (!all.is_empty() && !is_quiet).then(|| format!("settings: {}", all.join(", ")))
}

/// The innermost command, and its name: `onnx run`.
fn leaf(matches: &ArgMatches) -> (String, &ArgMatches) {
    let mut path = Vec::new();
    let mut at = matches;
    while let Some((name, inner)) = at.subcommand() {
        path.push(name);
        at = inner;
    }
    (path.join(" "), at)
}

/// What the profile says that a flag or `QKVET_PROFILE` names, or else the one called `default`. An
/// empty name is none.
fn profile(path: &str, leaf: &ArgMatches, target: &str) -> Result<Vec<Said>, Failure> {
    let named = leaf.get_one::<String>("profile").map(String::as_str);
    if named == Some("") {
        return Ok(Vec::new());
    }
    let folder = current_folder()?;
    let home = Home::of(target, &folder, leaf.get_one::<PathBuf>("config").map(PathBuf::as_path));
    match (home.shown(), home.config(), named) {
        (None, _, None) => Ok(Vec::new()),
        (None, _, Some(name)) => {
            let expected = "a qkvet.yaml that has it";
            Err(Unexpected::at(format!("profile `{name}`"), expected)
                .got("none here or above")
                .hint("`qkvet init` writes one, --config names another")
                .into())
        }
        (Some(file), Ok(config), _) => Ok(config.settings(named.unwrap_or(DEFAULT_PROFILE), file)?),
        // A case that was stored may name another file, and a program that is gone has none.
        (_, Err(_), None) if path != "check" => Ok(Vec::new()),
        (_, Err(error), _) => Err(error.into()),
    }
}

/// Gives a setting of the command the value that is said.
fn set(command: &mut Command, said: &Said) -> Result<(), Unexpected> {
    match command {
        Command::Snapshot {
            what:
                SnapshotCommand::Record(SnapshotRecordArgs { check, .. })
                | SnapshotCommand::Upgrade(SnapshotRecordArgs { check, .. })
                | SnapshotCommand::Check(SnapshotCheckArgs { check, .. }),
        } => of_check(check, said),
        Command::Merge(args) => match said.setting.key {
            "quiet" => switch(&mut args.quiet, said),
            _ => of_report(&mut args.report, &mut args.process, said),
        },
        Command::Probe(ProbeArgs { on, .. })
        | Command::Replay(ReplayArgs { on, .. })
        | Command::Doctor(DoctorArgs { on, .. }) => of_target(on, said),
        Command::Onnx { what: Onnx::Run(OnnxRunArgs { process, .. }) } => of_process(process, said),
        Command::Snapshot {
            what:
                SnapshotCommand::Diff(SnapshotDiffArgs { from, .. })
                | SnapshotCommand::Accept(SnapshotAcceptArgs { from, .. }),
        } => of_process(&mut from.process, said),
        _ => Ok(()),
    }
}

fn of_check(args: &mut CheckArgs, said: &Said) -> Result<(), Unexpected> {
    match said.setting.key {
        "suite" => {
            Ok(args.suite) = current(&said.values[0]);
            Ok(())
        }
        "laws" => {
            Ok(args.law) = said.values.iter().map(|name| current(name)).collect();
            Ok(())
        }
        "dtypes" => {
            args.dtype.clone_from(&said.values);
            Ok(())
        }
        "seed" => read(&mut args.seed, said),
        "jobs" => read(args.jobs.insert(1), said),
        "fail_fast" => switch(&mut args.fail_fast, said),
        "quiet" => switch(&mut args.quiet, said),
        "device" => of_target(&mut args.on, said),
        _ => of_report(&mut args.report, &mut args.on.process, said),
    }
}

fn of_report(
    report: &mut ReportArgs,
    process: &mut ProcessArgs,
    said: &Said,
) -> Result<(), Unexpected> {
    match said.setting.key {
        "strict" => switch(&mut report.strict, said),
        "format" => {
            let all = ReportFormat::ALL.map(ReportFormat::name).join(", ");
            let found = ReportFormat::named(&said.values[0]);
            report.output.format =
                found.ok_or_else(|| wrong(said, format_args!("one of {all}")))?;
            Ok(())
        }
        "reports" => {
            report.output.report =
                said.values.iter().map(|text| parsed(text, said)).collect::<Result<_, _>>()?;
            Ok(())
        }
        _ => of_process(process, said),
    }
}

fn of_target(on: &mut TargetArgs, said: &Said) -> Result<(), Unexpected> {
    match said.setting.key {
        "device" => read(on.device.insert(String::new()), said),
        _ => of_process(&mut on.process, said),
    }
}

fn of_process(process: &mut ProcessArgs, said: &Said) -> Result<(), Unexpected> {
    match said.setting.key {
        "timeout" => read(&mut process.timeout, said),
        "start_timeout" => read(&mut process.start_timeout, said),
        "memory" => read(&mut process.memory, said),
        _ if said.values[0].is_empty() => Err(wrong(said, "a value of --python")),
        _ => read(process.python.insert(PathBuf::new()), said),
    }
}

fn read<T: FromStr<Err: Display>>(to: &mut T, said: &Said) -> Result<(), Unexpected> {
    *to = parsed(&said.values[0], said)?;
    Ok(())
}

fn switch(to: &mut bool, said: &Said) -> Result<(), Unexpected> {
    let (parser, command) = (BoolishValueParser::new(), clap::Command::default());
    *to = parser
        .parse_ref(&command, None, OsStr::new(&said.values[0]))
        .map_err(|_| of_flag(said, "value was not a boolean"))?;
    Ok(())
}

fn parsed<T: FromStr<Err: Display>>(text: &str, said: &Said) -> Result<T, Unexpected> {
    text.parse().map_err(|reason| of_flag(said, reason))
}

fn of_flag(said: &Said, reason: impl Display) -> Unexpected {
    wrong(said, format_args!("a value of --{} ({reason})", said.setting.flag))
}

/// What is said is no value of the setting; where it was said is the place.
fn wrong(said: &Said, expected: impl Display) -> Unexpected {
    let place = format!("{} of {}", said.setting.key, said.origin);
    Unexpected::at(place, expected).quoted(said.values.join(","))
}

/// Says that a variable which looks like a setting is none.
fn warn_of_strangers() {
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let known = known.iter().filter_map(|name| name.strip_prefix(PREFIX));
    let known: Vec<&str> = known.chain(ABOUT).collect();
    let mut names: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| Some(name.to_str()?.strip_prefix(PREFIX)?.to_owned()))
        .filter(|name| !known.contains(&name.as_str()))
        .collect();
    names.sort();
    for name in names {
        if let Some(near) = nearest(&name, known.iter().copied()) {
            tell!(
                "warning: {PREFIX}{name} in the environment says nothing\nhint: did you mean `{PREFIX}{near}`?"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command<'a>(all: &'a clap::Command, path: &str) -> &'a clap::Command {
        path.split(' ').fold(all, |at, name| at.find_subcommand(name).expect("a command"))
    }

    #[test]
    fn every_setting_is_a_flag_of_its_commands() {
        let all = Args::command();
        for setting in &SETTINGS {
            for path in setting.commands {
                let argument = command(&all, path)
                    .get_arguments()
                    .find(|one| one.get_id() == setting.id().as_str());
                let argument = argument.unwrap_or_else(|| panic!("{path} has no {}", setting.flag));
                assert_eq!(argument.get_long(), Some(setting.flag));
            }
        }
        for path in CALLING {
            for flag in ["profile", "config"] {
                assert!(
                    command(&all, path).get_arguments().any(|one| one.get_long() == Some(flag)),
                    "{path} {flag}"
                );
            }
        }
    }

    #[test]
    fn every_command_with_profiles_reads_them() {
        fn walk(at: &clap::Command, path: &str, found: &mut Vec<String>) {
            if at.get_arguments().any(|one| one.get_long() == Some("profile")) {
                found.push(path.trim().to_owned());
            }
            at.get_subcommands()
                .for_each(|inner| walk(inner, &format!("{path} {}", inner.get_name()), found));
        }
        let mut found = Vec::new();
        walk(&Args::command(), "", &mut found);
        let mut known: Vec<&str> = CALLING.to_vec();
        found.sort();
        known.sort_unstable();
        assert_eq!(found, known, "a command with --profile belongs to those of `CALLING`");
    }

    /// What every command needs to be parsed at all.
    const WORDS: &[&str] = &[
        "check x",
        "compare x y",
        "probe x",
        "replay x",
        "doctor x",
        "merge x",
        "onnx run --backend x",
        "snapshot record x",
        "snapshot upgrade x",
        "snapshot check x",
        "snapshot diff",
        "snapshot accept",
    ];

    fn with(words: &str, variables: &[(&str, &str)]) -> Result<Args, Failure> {
        let words = format!("qkvet {words} --profile=");
        let matches =
            Args::command().try_get_matches_from(words.split_whitespace()).expect("words");
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name);
        resolved(&matches, |name| Some(value(name)?.1.into()))
    }

    /// Every setting of every command: said by a variable, it is what the flag would make of it.
    #[test]
    fn a_variable_says_what_its_flag_does() {
        for (path, words) in CALLING.iter().zip(WORDS) {
            assert!(words.starts_with(path));
            for setting in SETTINGS.iter().filter(|setting| setting.commands.contains(path)) {
                let value = match setting.key {
                    "format" => "json",
                    "reports" => "junit,html=a,b.html",
                    "fail_fast" | "strict" | "quiet" => "on",
                    "timeout" | "start_timeout" => "1.5",
                    "dtypes" => "float16,float32",
                    // An old name leads to the one in use.
                    "suite" | "laws" => "raised-score",
                    _ => "7",
                };
                let by_flag = with(&format!("{words} --{}={value}", setting.flag), &[]);
                let by_variable = with(words, &[(&setting.variable(), value)]);
                let told = |args: Result<Args, Failure>| match args.expect("arguments").command {
                    Command::Check(checks) => format!("{:?}", checks.runs),
                    Command::Compare(compared) => format!("{:?}", compared.runs),
                    other => format!("{other:?}"),
                };
                assert_eq!(told(by_flag), told(by_variable), "{path} {}", setting.flag);
                assert_ne!(
                    told(with(words, &[])),
                    told(with(words, &[(&setting.variable(), value)]))
                );
            }
        }
    }

    #[test]
    fn a_flag_stays_and_excludes_no_variable() {
        let all = [("QKVET_SUITE", "long"), ("QKVET_STRICT", "true"), ("QKVET_DTYPE", "a,b")];
        let read = |words: &str| match with(&format!("check x {words}"), &all).expect("words") {
            Args { command: Command::Check(mut checks) } => checks.runs.remove(0),
            _ => unreachable!("it is `check`"),
        };
        let flags = read("--suite smoke --dtype float64 --strict=false");
        assert_eq!((flags.suite.as_str(), flags.report.strict), ("smoke", false));
        assert_eq!(flags.dtype, ["float64"]);
        assert!(read("--cases there").cases.is_some_and(|_| read("").suite == "long"));
    }

    #[test]
    fn what_is_no_value_is_told_with_its_place() {
        for (name, value, expected) in [
            ("SEED", "many", "seed of QKVET_SEED: expected a value of --seed (invalid digit"),
            ("FORMAT", "xml", "format of QKVET_FORMAT: expected one of human, "),
            ("REPORT", "pdf", "reports of QKVET_REPORT: expected a value of --report (expected a "),
            ("STRICT", "perhaps", "strict of QKVET_STRICT: expected a value of --strict (value "),
            ("TIMEOUT", "soon", "timeout of QKVET_TIMEOUT: expected a value of --timeout (inv"),
        ] {
            let error =
                with("check x", &[(&format!("QKVET_{name}"), value)]).expect_err(name).to_string();
            assert!(error.starts_with(expected), "{error}");
            assert!(error.contains(&format!("got `{value}`")), "{error}");
        }
    }
}
