//! Helpers of the end-to-end tests: the binary, the interpreter, the report.

pub mod changed;
mod compiled;
mod folder;
pub mod functions;
pub mod implementations;
pub mod libraries;
pub mod markup;
pub mod package;
mod report;

pub use compiled::{compile, compiled};
pub use folder::{Folder, Words, temp};
pub use report::{Finding, Report, text};

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The problem sets of `specs/exams`.
pub const PROBLEM_SETS: [&str; 6] = [
    "cs189-discussion-10",
    "cs114b-written-4",
    "csci5922-problem-set-4",
    "transformer-worksheet",
    "tiny-head",
    "attention-in-depth",
];

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The binary under test, built into the folder above this test's own.
///
/// # Panics
/// When it is not there: `cargo xtask test` builds it first.
#[must_use]
pub fn binary() -> PathBuf {
    let test =
        std::env::current_exe().unwrap_or_else(|error| panic!("current executable: {error}"));
    let folder = test.ancestors().nth(2).unwrap_or(Path::new("."));
    let binary = folder.join(format!("qkvet{}", std::env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "no binary at {}: run `cargo xtask test`, or `cargo build` first",
        binary.display()
    );
    binary
}

/// An example program of the workspace, built below this test's own folder.
///
/// # Panics
/// When it is not there: `cargo xtask test` builds it first.
#[must_use]
pub fn example(name: &str) -> PathBuf {
    let program = format!("examples/{name}{}", std::env::consts::EXE_SUFFIX);
    let program = binary().with_file_name(program);
    assert!(program.is_file(), "no program at {}: run `cargo xtask test`", program.display());
    program
}

/// A command in `folder`, with a clean environment of its own.
#[must_use]
pub fn qkvet(folder: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .current_dir(folder)
        .env_remove("QKVET_PYTHON")
        .env_remove("GITHUB_STEP_SUMMARY")
        .env("NO_COLOR", "1");
    if let Some(python) = python() {
        command.env("QKVET_PYTHON", python);
    }
    command
}

/// A command as of [`qkvet`] whose target is one process: a chosen number of threads needs no
/// second.
#[must_use]
pub fn in_one_process(folder: &Path) -> Command {
    let mut command = qkvet(folder);
    command.env("OMP_NUM_THREADS", "1");
    command
}

/// Whether the slow tests run as a whole: `cargo xtask test --all`.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the test runner says how much is run")]
pub fn is_thorough() -> bool {
    std::env::var("QKVET_TEST_TIER").as_deref() == Ok("all")
}

/// The interpreter that `cargo xtask test` prepared, with numpy, torch, jax and onnxruntime.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the test runner says where its interpreter is")]
pub fn python() -> Option<String> {
    std::env::var("QKVET_TEST_PYTHON").ok()
}

/// What a test needs, where it is. Under CI its absence is a failure, not a silent pass.
///
/// # Panics
/// Under CI, when there is none: `missing` says what, and how to get it.
#[must_use]
pub fn needed<T>(found: Option<T>, missing: &str) -> Option<T> {
    needed_where(std::env::var_os("CI").is_some(), found, missing)
}

#[expect(clippy::print_stdout, reason = "a test that is passed over says so")]
fn needed_where<T>(is_ci: bool, found: Option<T>, missing: &str) -> Option<T> {
    if found.is_none() {
        assert!(!is_ci, "{missing}");
        println!("passed over: {missing}");
    }
    found
}

/// Whether there is an interpreter.
///
/// # Panics
/// Under CI, when there is none.
#[must_use]
pub fn has_python() -> bool {
    needed(python(), "no QKVET_TEST_PYTHON: run `cargo xtask test`").is_some()
}

/// Whether the interpreter of the tests imports a module.
///
/// # Panics
/// Under CI, when it does not.
#[must_use]
pub fn has_module(name: &str) -> bool {
    let Some(python) = python().filter(|_| has_python()) else { return false };
    let mut import = Command::new(python);
    import.args(["-c", &format!("import {name}")]).env("KERAS_BACKEND", "jax");
    let imported = finish(&mut import);
    let missing = format!("the Python of the tests has no {name}: {}", imported.stderr);
    needed((imported.code == Some(0)).then_some(()), &missing).is_some()
}

/// Whether a program of the system starts; `words` make it end at once.
///
/// # Panics
/// Under CI, when it does not.
#[must_use]
pub fn has_program(name: &str, words: &str) -> bool {
    let started = Command::new(name).arg(words).output().ok();
    needed(started, &format!("no {name} in PATH")).is_some()
}

/// The Node.js that `cargo xtask test` found.
///
/// # Panics
/// Under CI, when there is none.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the test runner says where its Node.js is")]
pub fn node() -> Option<String> {
    needed(std::env::var("QKVET_TEST_NODE").ok(), "no QKVET_TEST_NODE: run `cargo xtask test`")
}

/// A Chromium of this machine.
///
/// # Panics
/// Under CI, when there is none.
#[must_use]
pub fn browser() -> Option<PathBuf> {
    needed(installed_browser(), "no Chromium: install the package `chromium` of the system")
}

fn installed_browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders = ["/usr/bin", "/usr/local/bin"];
    let mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
    names
        .iter()
        .flat_map(|name| folders.map(|folder| Path::new(folder).join(name)))
        .chain([PathBuf::from(mac)])
        .find(|path| path.is_file())
}

/// Where `cargo xtask pictures` wants pictures of pages.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the test runner says where pictures go")]
pub fn pictures() -> Option<String> {
    std::env::var("QKVET_TEST_PICTURES").ok()
}

/// The text of a function of NumPy that takes scale and mask, and `more`; `capped` are lines behind
/// the scores, and the weights are divided by `sum`, made of `sums`. Its `def` is in line 4.
#[must_use]
pub fn numpy_attention(more: &str, capped: &str, sum: &str) -> String {
    format!(
        "import numpy as np


def attention(query, key, value, scale=None, mask=None{more}):
    b, h_q, n_q, d_k = query.shape
    h_k, n_k = key.shape[1:3]
    scale = d_k ** -0.5 if scale is None else scale
    heads = [h // (h_q // h_k) for h in range(h_q)]
    wide = [np.asarray(x, np.float64) for x in (query, key[:, heads], value[:, heads])]
    s = wide[0] @ np.swapaxes(wide[1], -1, -2) * scale
{capped}    if mask is not None: s = np.where(mask, s, -np.inf)
    top = s.max(-1, keepdims=True)
    w = np.exp(s - np.where(np.isfinite(top), top, 0))
    sums = w.sum(-1, keepdims=True)
    return (w / {sum} @ wide[2]).astype(query.dtype)
"
    )
}

/// What a finished command came to.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// The report of `--format json`.
    ///
    /// # Panics
    /// When standard output is not one JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }

    /// Asserts the exit code; the report of `--format json`.
    ///
    /// # Panics
    /// When it does not hold, or standard output is not one JSON document.
    pub fn report(&self, code: i32) -> Report {
        Report(self.ends(code).json())
    }

    /// Asserts that a report of `--format json` names these failing findings, and the exit code
    /// that follows.
    ///
    /// # Panics
    /// When it does not hold; everything printed is shown.
    pub fn finds(&self, names: &[&str]) -> Report {
        let report = self.report(i32::from(!names.is_empty()));
        assert_eq!(report.failing(), names, "{:#}", report["findings"]);
        report
    }

    /// Asserts the exit code.
    ///
    /// # Panics
    /// When it does not hold; everything printed is shown.
    pub fn ends(&self, code: i32) -> &Self {
        self.expect(code, &[])
    }

    /// Asserts the exit code and that each part occurs in either stream.
    ///
    /// # Panics
    /// When it does not hold; everything printed is shown.
    pub fn expect(&self, code: i32, parts: &[&str]) -> &Self {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        assert_eq!(self.code, Some(code), "exit code\n{all}");
        for part in parts {
            assert!(all.contains(part), "lacks {part:?}\n{all}");
        }
        assert!(!all.contains("panicked"), "{all}");
        self
    }
}

/// Runs `qkvet` in `folder`.
///
/// # Panics
/// When the binary cannot be started.
#[must_use]
pub fn run(folder: &Path, words: impl Words) -> Finished {
    finish(qkvet(folder).args(words.words()))
}

/// Lines for a shell in `folder`, with the binary under test in front of the path.
///
/// # Panics
/// When there is no shell.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the path is the shell's")]
pub fn shell(folder: &Path, lines: &str) -> Finished {
    let own = binary().parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", lines]).current_dir(folder).env("PATH", path).env("NO_COLOR", "1");
    finish(&mut command)
}

/// Runs the script of a finding in a folder of its own: without words it has to find the target by
/// itself.
///
/// # Panics
/// When there is no Python, or no folder can be made.
#[must_use]
pub fn play(script: &Path, words: impl Words) -> Finished {
    let elsewhere = tempfile::tempdir().unwrap_or_else(|error| panic!("a folder: {error}"));
    let python = python().unwrap_or_else(|| panic!("no interpreter"));
    finish(Command::new(python).arg(script).args(words.words()).current_dir(elsewhere.path()))
}

/// Runs a command to its end.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn finish(command: &mut Command) -> Finished {
    let output = command.output();
    finished(output.unwrap_or_else(|error| panic!("{}: {error}", command.get_program().display())))
}

/// What a command came to.
#[must_use]
pub fn finished(Output { status, stdout, stderr }: Output) -> Finished {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Finished { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Waits until `is_so`, as a test does before it interrupts a run.
///
/// # Panics
/// After half a minute, or when `child` ended without; `what` says what was waited for.
#[expect(clippy::disallowed_methods, reason = "a deadline needs the clock")]
pub fn wait_until(what: &str, child: &mut Child, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        let ended = child.try_wait().unwrap_or_else(|error| panic!("{what}: {error}"));
        // It may have come just before the end.
        assert!(ended.is_none() || is_so(), "{what}: the process ended before, with {ended:?}");
        if start.elapsed() > Duration::from_secs(30) {
            let _ = child.kill();
            panic!("{what}: not within 30 s");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a command, interrupts it as soon as `is_so`, and waits for its end.
///
/// # Panics
/// When it cannot be started or interrupted, and as [`wait_until`] does.
#[must_use]
pub fn interrupted(what: &str, command: &mut Command, is_so: impl Fn() -> bool) -> Finished {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    wait_until(what, &mut child, is_so);
    finish(Command::new("kill").args(["-INT", &child.id().to_string()])).ends(0);
    finished(child.wait_with_output().unwrap_or_else(|error| panic!("{what}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no cobol")]
    fn what_is_missing_under_ci_is_a_failure() {
        assert_eq!(needed_where(true, Some(1), ""), Some(1));
        assert_eq!(needed_where::<u8>(false, None, "no cobol"), None);
        needed_where::<u8>(true, None, "no cobol");
    }

    #[test]
    #[cfg(unix)]
    #[should_panic(expected = "a file: the process ended before")]
    fn waiting_ends_with_the_process() {
        let mut child = Command::new("true").spawn().expect("a process");
        wait_until("a file", &mut child, || false);
    }
}
