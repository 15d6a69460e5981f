//! The Python of the tests: a virtual environment under `target/` with the wheels that
//! `tests/requirements.txt` pins.
//!
//! It is made again when the pins or the interpreter change, and left alone otherwise.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::schemas;
use crate::step::{self, Failure};

/// Minor versions of Python 3 for which all pinned wheels exist.
const MINORS: std::ops::RangeInclusive<u32> = 11..=14;

const CANDIDATES: [&str; 6] =
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];

const GET_PYTHON: &str = if cfg!(target_os = "macos") {
    "brew install python@3.13"
} else {
    "apt-get install python3 python3-venv"
};

const REQUIREMENTS: &str = "tests/requirements.txt";

/// What installs them.
const UV: &str = "uv==0.13.9";

const GET_VENV: &str = "apt-get install python3-venv";

/// The interpreter of the environment, which is made first if need be.
pub(crate) fn environment() -> Result<PathBuf, Failure> {
    let folder = step::target_dir()?.join("venv");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let requirements = step::root().join(REQUIREMENTS);
    let pins = fs::read_to_string(&requirements)
        .map_err(|error| Failure::Setup(format!("{}: {error}", requirements.display())))?;

    let base = find()?;
    let stamp = folder.join("qkvet-stamp.txt");
    let wanted = format!("Python 3.{}\n{pins}compiled: {IMPORTED}\n", base.minor);
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        schemas::fetch(&python, &folder)?;
        return Ok(python);
    }

    eprintln!("==> Python environment of the tests: up to 6 GB and a few minutes, once");
    step::run(step::command(base.program).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = |what: &[&str]| {
        // Compiling all of torch takes longer than the tests need: what they import is compiled
        // below.
        let options = ["--disable-pip-version-check", "--no-input", "--no-compile"];
        let mut command = step::command(&python);
        command.args(["-m", "pip", "install", "--progress-bar", "off"]).args(options).args(what);
        step::run(&mut command)
    };
    // uv unpacks in a quarter of the time; pip knows mirrors that uv was not told of.
    let uv = || {
        pip(&[UV])?;
        let mut command = step::command(&python);
        command.args(["-m", "uv", "pip", "install", "--quiet", "--python"]).arg(&python);
        step::run(command.args(["--requirement", REQUIREMENTS]))
    };
    uv().or_else(|_| pip(&["--requirement", REQUIREMENTS]))?;
    compile(&python)?;
    fs::write(&stamp, wanted)
        .map_err(|error| Failure::Setup(format!("{}: {error}", stamp.display())))?;
    schemas::fetch(&python, &folder)?;
    Ok(python)
}

/// Writes the byte code of what the tests import: without it each of their processes would compile
/// NumPy, torch and JAX again, which takes longer than most checks.
fn compile(python: &Path) -> Result<(), Failure> {
    let imports = format!(
        "import importlib\nfor name in {IMPORTED:?}.split():\n    importlib.import_module(name)"
    );
    let mut command = step::command(python);
    command.env_remove("PYTHONDONTWRITEBYTECODE").env("KERAS_BACKEND", "jax");
    step::run(command.args(["-W", "ignore", "-c", &imports]))
}

/// Modules that the tests import, each on all systems.
const IMPORTED: &str = "numpy torch torch.nn.attention.flex_attention jax.numpy flax.nnx flax.linen \
                        keras onnx.reference onnx.backend.test.runner onnxruntime pytest \
                        xdist.plugin hypothesis";

/// An interpreter of the machine that can make the environment.
pub(crate) struct Base {
    pub(crate) program: &'static str,
    minor: u32,
}

/// What one candidate answered.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    major: u32,
    minor: u32,
    has_ensurepip: bool,
}

/// The first interpreter that serves.
pub(crate) fn find() -> Result<Base, Failure> {
    let mut lacks_ensurepip = false;
    let mut unsuitable = Vec::new();
    for program in CANDIDATES {
        let Some(answer) = ask(program) else {
            continue;
        };
        if answer.major != 3 || !MINORS.contains(&answer.minor) {
            unsuitable.push(format!("{program} is {}.{}", answer.major, answer.minor));
        } else if answer.has_ensurepip {
            return Ok(Base { program, minor: answer.minor });
        } else {
            lacks_ensurepip = true;
        }
    }
    Err(Failure::Setup(missing(lacks_ensurepip, &unsuitable)))
}

/// The one line that says what is missing and how to get it.
fn missing(lacks_ensurepip: bool, unsuitable: &[String]) -> String {
    if lacks_ensurepip {
        return format!(
            "this Python cannot make virtual environments (no ensurepip); get it with: {GET_VENV}"
        );
    }
    let found = if unsuitable.is_empty() { "none found".to_owned() } else { unsuitable.join(", ") };
    format!(
        "the tests need Python 3.{} to 3.{} ({found}); get it with: {GET_PYTHON}",
        MINORS.start(),
        MINORS.end()
    )
}

fn ask(program: impl AsRef<OsStr>) -> Option<Answer> {
    let question = "import sys, importlib.util as u; \
                    print(*sys.version_info[:2], int(u.find_spec('ensurepip') is not None))";
    let output = Command::new(program).args(["-c", question]).output().ok()?;
    parse(std::str::from_utf8(&output.stdout).ok()?)
}

fn parse(answer: &str) -> Option<Answer> {
    let numbers: Vec<u32> =
        answer.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [major, minor, ensurepip] = numbers[..] else {
        return None;
    };
    Some(Answer { major, minor, has_ensurepip: ensurepip == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let answer = Answer { major: 3, minor: 12, has_ensurepip: true };
        assert_eq!(parse("3 12 1\n"), Some(answer));
        assert_eq!(parse("3 12\n"), None);
        assert_eq!(parse("Python was not found\n"), None);
    }

    #[test]
    fn what_is_missing_is_one_line_with_a_command() {
        let old = ["python3 is 3.9".to_owned()];
        for text in [missing(true, &[]), missing(false, &old), missing(false, &[])] {
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.contains("install python"), "{text}");
        }
        assert!(missing(false, &old).contains("python3 is 3.9"));
    }
}
