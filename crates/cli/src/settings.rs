//! What a flag is when nobody wrote it: its environment variable, else the profile of `qkvet.yaml`,
//! else its default.
//!
//! The words are read twice: first to learn the command, the configuration file and the profile,
//! then with what those say in place of the defaults. A flag that was written wins by that alone,
//! and what is wrong is said by the same parser.

#![allow(clippy::disallowed_methods, reason = "configuration is read here and nowhere else")]

use std::error::Error as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::OsStr;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use qkvet_run::adapters::config_of;
use qkvet_run::config::{Config, DEFAULT_PROFILE};
use qkvet_spec::{Unexpected, nearest};

use crate::args::Args;
use crate::exit::Failure;
use crate::out::unwritten;

/// A flag that has an environment variable and a key in profiles.
pub(crate) struct Setting {
    /// The key in a profile.
    pub(crate) key: &'static str,
    /// The flag without its dashes.
    pub(crate) flag: &'static str,
    /// The commands whose flag it is.
    pub(crate) commands: &'static [&'static str],
}

/// Commands whose targets run in a process of their own, and what their flag `--profile` is for.
const CALLING: &[&str] = &[
    "check",
    "probe",
    "replay",
    "doctor",
    "merge",
    "onnx run",
    "snapshot record",
    "snapshot check",
    "snapshot diff",
    "snapshot accept",
];
const TARGET: &[&str] =
    &["check", "probe", "replay", "doctor", "snapshot record", "snapshot check"];
const CHECK: &[&str] = &["check", "snapshot record", "snapshot check"];
const JUDGING: &[&str] = &["check", "merge", "snapshot record", "snapshot check"];

/// All of them.
pub(crate) const SETTINGS: [Setting; 14] = [
    Setting { key: "suite", flag: "suite", commands: CHECK },
    Setting { key: "laws", flag: "law", commands: CHECK },
    Setting { key: "dtypes", flag: "dtype", commands: CHECK },
    Setting { key: "seed", flag: "seed", commands: CHECK },
    Setting { key: "jobs", flag: "jobs", commands: CHECK },
    Setting { key: "timeout", flag: "timeout", commands: CALLING },
    Setting { key: "start_timeout", flag: "start-timeout", commands: CALLING },
    Setting { key: "python", flag: "python", commands: CALLING },
    Setting { key: "device", flag: "device", commands: TARGET },
    Setting { key: "fail_fast", flag: "fail-fast", commands: CHECK },
    Setting { key: "strict", flag: "strict", commands: JUDGING },
    Setting { key: "quiet", flag: "quiet", commands: JUDGING },
    Setting { key: "format", flag: "format", commands: JUDGING },
    Setting { key: "reports", flag: "report", commands: JUDGING },
];

/// Variables that are no settings: they say where settings come from.
pub(crate) const ABOUT: [&str; 2] = ["QKVET_CONFIG", "QKVET_PROFILE"];

impl Setting {
    /// `QKVET_START_TIMEOUT` of `start-timeout`.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.flag.to_uppercase().replace('-', "_"))
    }

    /// The name of the field.
    fn id(&self) -> String {
        self.flag.replace('-', "_")
    }
}

/// What stands in place of a default.
struct Laid {
    setting: &'static Setting,
    values: Vec<String>,
    /// Where it was said.
    from: String,
}

/// Reads the words of the command line.
///
/// # Errors
/// A configuration file, profile or environment variable that does not fit. The parser itself ends
/// the program on wrong words, and on those that ask for help.
pub(crate) fn parse() -> Result<Args, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let matches = read(Args::command(), &words)?;
    let (path, leaf) = leaf(&matches);
    let laid = laid(&path, leaf)?;
    let matches =
        if laid.is_empty() { matches } else { read(with(Args::command(), &path, &laid), &words)? };
    tell_of(&laid, &matches);
    Ok(Args::from_arg_matches(&matches)
        .map_err(|error| Unexpected::within("command line", error))?)
}

/// Says what was laid and by whom, unless notices are not wanted.
fn tell_of(laid: &[Laid], matches: &ArgMatches) {
    let (_, leaf) = leaf(matches);
    if laid.is_empty()
        || leaf.try_get_one::<bool>("quiet").ok().flatten().is_some_and(|is_quiet| *is_quiet)
    {
        return;
    }
    let all: Vec<String> = laid
        .iter()
        .map(|one| format!("{}={} ({})", one.setting.key, one.values.join(","), one.from))
        .collect();
    tell!("settings: {}", all.join(", "));
}

/// The words by a parser; help and wrong words end the program.
fn read(command: Command, words: &[OsString]) -> Result<ArgMatches, Unexpected> {
    command.try_get_matches_from(words).or_else(|error| {
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

/// What is to stand in place of defaults of a command.
fn laid(path: &str, leaf: &ArgMatches) -> Result<Vec<Laid>, Failure> {
    if !CALLING.contains(&path) {
        return Ok(Vec::new());
    }
    let profile = profile(path, leaf)?;
    let mut laid = Vec::new();
    for setting in SETTINGS.iter().filter(|setting| setting.commands.contains(&path)) {
        // What was written, or has a variable of the parser's own, stays.
        if !matches!(leaf.value_source(&setting.id()), None | Some(ValueSource::DefaultValue)) {
            continue;
        }
        let variable = setting.variable();
        let told = std::env::var_os(&variable).filter(|value| !value.is_empty());
        let one = match told {
            Some(value) => {
                let value = value
                    .into_string()
                    .map_err(|value| Unexpected::at(&variable, "text").quoted(value.display()))?;
                let is_list = setting.key == "laws" || setting.key == "dtypes";
                let values = if is_list {
                    value.split(',').map(str::to_owned).collect()
                } else {
                    vec![value]
                };
                Some(Laid { setting, values, from: variable })
            }
            None => profile.iter().find(|one| one.key == setting.key).map(|one| Laid {
                setting,
                values: one.values.clone(),
                from: format!("profile {}", one.profile),
            }),
        };
        let Some(one) = one else { continue };
        fits(path, &one)?;
        laid.push(one);
    }
    warn_of_strangers();
    Ok(laid)
}

/// What the profile says that a flag or `QKVET_PROFILE` names, or else the one called `default`. An
/// empty name is none.
fn profile(path: &str, leaf: &ArgMatches) -> Result<Vec<qkvet_run::config::Setting>, Failure> {
    let named = leaf.get_one::<String>("profile").map(String::as_str);
    if named == Some("") {
        return Ok(Vec::new());
    }
    let folder =
        std::env::current_dir().map_err(|error| Unexpected::within("current folder", error))?;
    let target = leaf.try_get_one::<String>("target").ok().flatten().map_or("", String::as_str);
    let explicit = leaf.get_one::<PathBuf>("config").map(PathBuf::as_path);
    let Some(file) = config_of(target, &folder, explicit) else {
        return match named {
            Some(name) => {
                let expected = "a qkvet.yaml that has it";
                Err(Unexpected::at(format!("profile `{name}`"), expected)
                    .got("none here or above")
                    .hint("`qkvet init` writes one, --config names another")
                    .into())
            }
            None => Ok(Vec::new()),
        };
    };
    // A case that was stored may name another file, and a program that is gone has none.
    let config = match Config::read(&file) {
        Err(error) if named.is_some() || path == "check" => return Err(error.into()),
        Err(_) => return Ok(Vec::new()),
        Ok(config) => config,
    };
    let shown = file.strip_prefix(&folder).unwrap_or(&file);
    Ok(config.settings(named.unwrap_or(DEFAULT_PROFILE), shown)?)
}

/// Sees that a value fits its flag, so that the error can say where it was said.
fn fits(path: &str, one: &Laid) -> Result<(), Unexpected> {
    let flag = one.setting.flag;
    let words = path
        .split(' ')
        .map(str::to_owned)
        .chain(one.values.iter().map(|value| format!("--{flag}={value}")));
    let all = ["qkvet".to_owned()].into_iter().chain(words);
    match Args::command().try_get_matches_from(all) {
        // The other words are not there, which is no matter of this one.
        Err(error)
            if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) =>
        {
            let told = |kind| error.get(kind).map(ToString::to_string).filter(|it| !it.is_empty());
            let place = format!("{} of {}", one.setting.key, one.from);
            let expected = match (told(ContextKind::ValidValue), error.source()) {
                (Some(valid), _) => format!("one of {valid}"),
                (None, Some(reason)) => format!("a value of --{flag} ({reason})"),
                (None, None) => format!("a value of --{flag}"),
            };
            Err(Unexpected::at(place, expected).quoted(one.values.join(",")))
        }
        _ => Ok(()),
    }
}

/// The parser with other defaults for the command at `path`.
fn with(command: Command, path: &str, laid: &[Laid]) -> Command {
    let (name, rest) = path.split_once(' ').map_or((path, ""), |(name, rest)| (name, rest));
    command.mut_subcommand(name, |command| {
        if !rest.is_empty() {
            return with(command, rest, laid);
        }
        laid.iter().fold(command, |command, one| {
            let values: Vec<OsStr> =
                one.values.iter().map(|value| OsStr::from(value.clone())).collect();
            command.mut_arg(one.setting.id(), |arg| arg.default_values(values))
        })
    })
}

/// How the variables begin.
const PREFIX: &str = "QKVET_";

/// Says that a variable which looks like a setting is none.
fn warn_of_strangers() {
    let known: Vec<String> =
        SETTINGS.iter().map(Setting::variable).chain(ABOUT.map(str::to_owned)).collect();
    let known: Vec<&str> = known.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
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

/// The configuration file of the current folder, its profiles and what each says in the end.
pub(crate) fn here(folder: &Path) -> Result<Option<(PathBuf, Config)>, Failure> {
    let Some(file) = config_of("", folder, None) else { return Ok(None) };
    let config = Config::read(&file)?;
    let shown = file.strip_prefix(folder).unwrap_or(&file).to_owned();
    Ok(Some((shown, config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command<'a>(all: &'a Command, path: &str) -> &'a Command {
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
        fn walk(at: &Command, path: &str, found: &mut Vec<String>) {
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
        assert_eq!(found, known, "a command with --profile belongs to those of `settings.rs`");
    }

    #[test]
    fn what_is_laid_is_a_default_and_no_more() {
        let one = |key: &str, values: &[&str]| Laid {
            setting: SETTINGS.iter().find(|setting| setting.key == key).expect("a setting"),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            from: "here".to_owned(),
        };
        let laid = [
            one("suite", &["long"]),
            one("dtypes", &["float32", "float16"]),
            one("reports", &["junit", "html=a,b.html"]),
            one("strict", &["true"]),
            one("jobs", &["3"]),
        ];
        let read = |words: &[&str]| {
            let words = [&["qkvet", "check", "x"], words].concat();
            let matches =
                with(Args::command(), "check", &laid).try_get_matches_from(words).expect("words");
            match Args::from_arg_matches(&matches).expect("arguments").command {
                crate::args::Command::Check(args) => args,
                _ => unreachable!("it is `check`"),
            }
        };
        let plain = read(&[]);
        assert_eq!(
            (plain.suite.as_str(), plain.jobs, plain.report.strict),
            ("long", Some(3), true)
        );
        assert_eq!(plain.dtype, ["float32", "float16"]);
        assert_eq!(plain.report.output.report.len(), 2);
        let flags = read(&[
            "--suite",
            "smoke",
            "--dtype",
            "float64",
            "--report",
            "sarif",
            "--strict=false",
            "-j1",
        ]);
        assert_eq!(
            (flags.suite.as_str(), flags.jobs, flags.report.strict),
            ("smoke", Some(1), false)
        );
        assert_eq!(flags.dtype, ["float64"]);
        assert_eq!(flags.report.output.report.len(), 1);
        // What excludes a flag does not exclude what stands in its place.
        assert!(read(&["--cases", "there"]).cases.is_some());
        assert!(read(&["-q", "--strict"]).quiet);
    }
}
