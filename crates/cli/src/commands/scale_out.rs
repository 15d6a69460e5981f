//! `qkvet check --engine ray`: the shards of one run on a cluster, joined here. Python asks Ray,
//! and this program is what runs on each node.

#![allow(clippy::disallowed_methods, reason = "processes and files are started and kept here")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use qkvet_spec::{Finding, Unexpected, Verdict};
use serde_json::Value;

use super::configured::Configuration;
use super::expected::Expected;
use super::launch::stop_on_interrupt;
use super::merge::judge;
use super::reports::{Clock, Kept, Live, Place, write_reports};
use super::setup;
use crate::args::{CheckArgs, DeclaredArgs, MergeArgs, ProcessArgs, TargetArgs};
use crate::exit::{Ended, Failure, INTERRUPTED, USAGE};

/// What starts the driver; with `-P` nothing of the current folder can stand for the package.
const DRIVER: &str = r#"
import sys
try:
    from qkvet.ray.__main__ import main
except ModuleNotFoundError as error:
    if error.name not in ("qkvet", "qkvet.ray", "qkvet._native"):
        raise
    print("error: engine ray: expected the Python package qkvet at %s, got none" % sys.executable, file=sys.stderr)
    print("hint: pip install qkvet ray, there and on every node; --python names another interpreter", file=sys.stderr)
    sys.exit(2)
sys.exit(main())
"#;

/// An interrupt is looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs the shards, joins them and prints the report.
pub(super) fn scale_out(
    args: &CheckArgs,
    expected: &Expected,
    configuration: &Configuration<'_>,
) -> Result<Ended, Failure> {
    let clock = Clock::start();
    let stop = stop_on_interrupt();
    let folder = Folder::new()?;
    if let Some(ended) = drive(args, &folder.path, &stop)? {
        return Ok(Ended::Code(ended));
    }
    let merge = |target| MergeArgs {
        paths: vec![folder.path.clone()],
        report: args.report.clone(),
        quiet: args.quiet,
        target,
        process: args.on.process.clone(),
    };
    let mut live = Live::silent(args.report.output.format);
    let mut judged = judge(&merge(false), false, &stop, &mut live, Some(expected))?;
    // What looks for smaller witnesses, and for formulas, asks what no shard did.
    let identifies = !args.no_identify;
    let is_wrong = |finding: &Finding| finding.verdict == Verdict::Fail;
    if judged.unanswered > 0 || identifies && judged.summary.findings.iter().any(is_wrong) {
        match judge(&merge(true), identifies, &stop, &mut live, Some(expected)) {
            Ok(complete) => judged = complete,
            Err(Failure::Target(why)) => {
                judged.tell_unanswered(&format!("hint: the target cannot be asked here: {why}"))
            }
            Err(failure) => return Err(failure),
        }
    }
    judged.summary.run.configuration.clone_from(&configuration.hashes);
    configuration.look_again(&mut judged.summary);
    let kept = Kept::new(Place::Last, &args.report, args.quiet, clock, &judged.summary);
    write_reports(&judged.summary, &judged.catalog, &args.report.output, live, kept)?;
    Ok(Ended::Run(Box::new(judged.summary)))
}

/// The folder that the shards come to, gone with the run.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Result<Self, Unexpected> {
        let path = Path::new(setup::STORE).join("engine").join(std::process::id().to_string());
        let fail =
            |error| Unexpected::at_path("shards", &path, "a folder to write to").error(error);
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(fail)?;
        }
        std::fs::create_dir_all(&path).map_err(fail)?;
        qkvet_run::atomic_write::atomic_write(&Path::new(setup::STORE).join(".gitignore"), b"*\n")
            .map_err(fail)?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Has the driver run every shard into `folder`; the exit code if it could not, which has said why.
fn drive(
    args: &CheckArgs,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<u8>, Unexpected> {
    let python = setup::python(&args.on.process);
    let fail = |error: std::io::Error| {
        let hint = "--python names the interpreter that has the packages qkvet and ray";
        let expected = format!("a Python at {}", python.display());
        Unexpected::at("engine ray", expected).error(error).hint(hint)
    };
    let mut command = Command::new(&python);
    command
        .args(["-P", "-c", DRIVER])
        .args(driver_words(args, folder))
        .arg("--")
        .args(check_words(args));
    // It ends when its standard input does: with this process, or as soon as this one wishes so.
    // Standard output is the report's.
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().map_err(fail)?;
    let ended = wait(&mut child, stop).map_err(fail)?;
    if stop.load(Ordering::Relaxed) {
        tell!("interrupted: no report, for shards are missing");
        return Ok(Some(INTERRUPTED));
    }
    // A traceback of the interpreter is no finding.
    Ok((ended != Some(0)).then(|| {
        ended.and_then(|code| u8::try_from(code).ok()).filter(|code| *code > 1).unwrap_or(USAGE)
    }))
}

fn wait(child: &mut Child, stop: &AtomicBool) -> std::io::Result<Option<i32>> {
    let mut stdin = child.stdin.take();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if stop.load(Ordering::Relaxed) {
            drop(stdin.take());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What the driver is told.
fn driver_words(args: &CheckArgs, folder: &Path) -> Vec<OsString> {
    let on = &args.scale_out;
    let mut words: Vec<OsString> =
        vec!["--version".into(), env!("CARGO_PKG_VERSION").into(), "--into".into()];
    words.push(folder.into());
    let mut say = |flag: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [OsString::from(flag), value.into()]));
    };
    say("--workers", on.workers.map(|n| n.to_string()));
    say("--shards", on.shards.map(|n| n.to_string()));
    say("--patience", on.patience.map(|seconds| seconds.to_string()));
    on.resources.iter().for_each(|one| say("--resource", Some(one.clone())));
    if args.quiet {
        words.push("--quiet".into());
    }
    words
}

/// The words after `qkvet check` that a shard is run with: all that decides which cases there are
/// and how they are called. A test sees that no flag is forgotten.
fn check_words(args: &CheckArgs) -> Vec<OsString> {
    let CheckArgs { target, suite, law, dtype, seed, fail_fast, on, .. } = args;
    // How it is reported and scaled out is decided here: what is left out is `report`, `quiet` and
    // what cannot stand beside an engine.
    let TargetArgs { declared, arrays, layout, device, call, constant, process } = on;
    let DeclaredArgs { convention, contract } = declared;
    // The interpreter is that of the node.
    let ProcessArgs { python: _, timeout, start_timeout, memory, config, profile: _ } = process;
    let mut words: Vec<OsString> = Vec::new();
    let mut say =
        |flag: &str, value: OsString| words.push([OsString::from(flag), value].join("=".as_ref()));
    say("--suite", suite.into());
    law.iter().for_each(|one| say("--law", one.into()));
    if !dtype.is_empty() {
        say("--dtype", dtype.join(",").into());
    }
    say("--seed", seed.to_string().into());
    convention.iter().for_each(|one| say("--convention", one.into()));
    contract.iter().for_each(|one| say("--contract", one.into()));
    let word = |value: serde_json::Result<Value>| value.ok()?.as_str().map(str::to_owned);
    let texts = [
        ("--arrays", word(serde_json::to_value(arrays))),
        ("--layout", word(serde_json::to_value(layout))),
        ("--device", device.clone()),
        ("--call", call.clone()),
    ];
    for (flag, value) in texts {
        value.into_iter().for_each(|value| say(flag, value.into()));
    }
    constant.iter().for_each(|one| say("--constant", one.into()));
    say("--timeout", timeout.to_string().into());
    say("--start-timeout", start_timeout.to_string().into());
    say("--memory", memory.to_string().into());
    config.iter().for_each(|path| say("--config", path.into()));
    // What a profile says is in the words already.
    say("--profile", "".into());
    if *fail_fast {
        words.push("--fail-fast".into());
    }
    words.extend(["--".into(), target.into()]);
    words
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, CommandFactory, Parser};

    use super::*;
    use crate::args::{Args, Command, ReportArgs, ScaleOutArgs};

    fn parsed(words: &[OsString]) -> CheckArgs {
        let all = ["qkvet".into(), "check".into()].into_iter().chain(words.iter().cloned());
        match Args::try_parse_from::<_, OsString>(all).expect("arguments").command {
            Command::Check(checks) => checks.check,
            _ => unreachable!("it is `check`"),
        }
    }

    /// A shard is told all that decides cases and calls, and nothing of the report.
    #[test]
    fn a_shard_is_run_as_the_whole_would_be() {
        let mut words: Vec<OsString> = Vec::new();
        let mut flags = Vec::new();
        let command = Args::command();
        let check = command.find_subcommand("check").expect("a command");
        let of = |command: clap::Command| -> Vec<String> {
            command.get_arguments().map(|one| one.get_id().as_str().to_owned()).collect()
        };
        let report = of(ReportArgs::augment_args(clap::Command::new("")));
        let own = of(ScaleOutArgs::augment_args(clap::Command::new("")));
        let left_out = [
            "all",
            "watch",
            "quiet",
            "jobs",
            "time",
            "until",
            "shapes",
            "at",
            "rows",
            "require",
            "no_identify",
            "lf",
            "resume",
            "save_fault",
            "claim",
            "shard",
            "shard_file",
            "cases",
            "inputs",
            "python",
            "profile",
            "help",
        ];
        for argument in check.get_arguments().filter(|one| one.get_long().is_some()) {
            let id = argument.get_id().as_str();
            if [&report, &own].iter().any(|ids| ids.iter().any(|one| one == id))
                || left_out.contains(&id)
            {
                continue;
            }
            let flag = argument.get_long().expect("a flag");
            let value = match id {
                "fail_fast" => None,
                "seed" | "memory" => Some("7".to_owned()),
                "timeout" => Some("1.25".to_owned()),
                "start_timeout" => Some("0.1".to_owned()),
                _ => argument
                    .get_possible_values()
                    .last()
                    .map(|value| value.get_name().to_owned())
                    .or(Some(id.to_owned())),
            };
            words.push(
                value.map_or(format!("--{flag}"), |value| format!("--{flag}={value}")).into(),
            );
            flags.push(flag);
        }
        words.extend(["--profile=", "target.py:attention"].map(OsString::from));
        let whole = parsed(&words);
        let shard = parsed(&check_words(&whole));
        assert_eq!(format!("{whole:?}"), format!("{shard:?}"), "{flags:?}");
        assert!(flags.len() >= 12, "{flags:?}");
    }

    #[test]
    fn the_driver_is_told_how_to_scale_out() {
        let words = [
            "--engine",
            "ray",
            "--workers",
            "2",
            "--resources",
            "CPU=1,GPU=0.5",
            "--shards",
            "9",
            "x",
        ];
        let args = parsed(&words.map(OsString::from));
        let words = driver_words(&args, Path::new("here")).join(" ".as_ref());
        let words = words.to_string_lossy();
        assert!(
            words.ends_with(
                "--into here --workers 2 --shards 9 --resource CPU=1 --resource GPU=0.5"
            ),
            "{words}"
        );
    }
}
