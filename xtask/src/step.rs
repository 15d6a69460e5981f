//! One step of a task: a command that is announced, run with its output left alone, and judged by
//! its exit status.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Why a task stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A step ran and found something: exit code 1.
    Step(String),
    /// A step could not run (wrong usage, something missing on the machine): exit code 2.
    Setup(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Step(_) => ExitCode::from(1),
            Self::Setup(_) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(text) | Self::Setup(text) => f.write_str(text),
        }
    }
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one folder below the root")
}

/// The folder of build outputs: wherever cargo put this program, two levels up.
pub(crate) fn target_dir() -> Result<PathBuf, Failure> {
    let program =
        std::env::current_exe().map_err(|error| Failure::Setup(format!("own path: {error}")))?;
    program
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::Setup(format!("no target folder above {}", program.display())))
}

/// The `qkvet` binary of a profile (`debug`, `release`).
pub(crate) fn qkvet(profile: &str) -> Result<PathBuf, Failure> {
    let name = format!("qkvet{}", std::env::consts::EXE_SUFFIX);
    Ok(target_dir()?.join(profile).join(name))
}

/// An example program of the workspace.
pub(crate) fn example(name: &str) -> Result<PathBuf, Failure> {
    let program = format!("debug/examples/{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(target_dir()?.join(program))
}

/// A command that starts in the root of the workspace.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs this task, with `args`.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(program);
    command.args(args);
    command
}

/// Builds what the tests run: all libraries, binaries, examples and test programs.
///
/// Every task uses this one command, so that features are resolved once and no dependency is built
/// twice: a narrower selection (`-p qkvet-cli`) may resolve other features and build half of the
/// tree again.
pub(crate) fn build() -> Result<(), Failure> {
    run(&mut cargo(&["build", "--workspace", "--bins", "--examples", "--tests"]))
}

/// Builds the programs that tests start, with the features of [`build`].
pub(crate) fn programs() -> Result<(), Failure> {
    run(&mut cargo(&["build", "--workspace", "--bins", "--examples"]))
}

/// Announces and runs a command; its output goes where this program's output goes.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let line = line(command);
    eprintln!("==> {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Step(format!("`{line}`: {status}"))),
        Err(error) => Err(Failure::Setup(format!("`{line}` did not start: {error}"))),
    }
}

/// Runs a command quietly and returns what it wrote to stdout.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let line = line(command);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| Failure::Setup(format!("`{line}` did not start: {error}")))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Failure::Step(format!("`{line}`: {}", output.status)))
    }
}

/// Whether a command starts and succeeds; all output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command as a person would type it: program by its file name, then the arguments.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}
