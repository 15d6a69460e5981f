//! `cargo xtask libraries`: the tables of `docs/libraries.md`, made of what `qkvet probe` says of
//! public libraries, and that of `docs/implementations.md`, made of what `qkvet check` says.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::regen::with_tables;
use crate::step::{self, Failure};
use crate::{python, test};

/// The pages; their tables lie between markers, their words are written by hand.
const PAGE: &str = "docs/libraries.md";
const IMPLEMENTATIONS: &str = "docs/implementations.md";
const WHEELS: &str = "<!-- written by `cargo xtask libraries` -->\n";
const CANDLE: &str = "<!-- written by `cargo xtask libraries --candle` -->\n";

/// Which libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that `tests/requirements.txt` pins.
    Wheels,
    /// candle, whose program is built first, and whose tests are run.
    Candle,
}

pub(crate) fn run(which: Which) -> Result<(), Failure> {
    let python = python::environment()?;
    step::build()?;
    let program = step::example("libraries")?;
    let print = |words: &str| {
        let mut command = step::command(&program);
        command.arg(words).env("QKVET_TEST_PYTHON", &python);
        command
    };
    match which {
        Which::Wheels => {
            write(PAGE, WHEELS, &mut print("wheels"))?;
            write(IMPLEMENTATIONS, WHEELS, &mut print("implementations"))
        }
        Which::Candle => {
            write(PAGE, CANDLE, print("candle").env("QKVET_TEST_CANDLE", candle()?))?;
            let tests = ["-p", "qkvet-tests", "-E", "test(/^(libraries|facade)::.*candle/)"];
            step::run(test::runner(test::Tier::All, &tests)?.env("QKVET_TEST_CANDLE", candle()?))
        }
    }
}

/// Puts what the program prints behind the marker of the page.
fn write(name: &str, marker: &str, program: &mut Command) -> Result<(), Failure> {
    let tables = step::output(program)?;
    let path = step::root().join(name);
    let failed = |error: std::io::Error| Failure::Setup(format!("{name}: {error}"));
    let page = fs::read_to_string(&path).map_err(failed)?;
    let page = with_tables(name, &page, marker, &String::from_utf8_lossy(&tables))?;
    fs::write(&path, page).map_err(failed)?;
    eprintln!("==> wrote {name}");
    Ok(())
}

/// The program of `tests/libraries/candle`, built: a workspace of its own, with its own lock file.
pub(crate) fn candle() -> Result<PathBuf, Failure> {
    let folder = step::target_dir()?.join("candle");
    let manifest =
        ["build", "--release", "--locked", "--manifest-path", "tests/libraries/candle/Cargo.toml"];
    step::run(step::cargo(&manifest).arg("--target-dir").arg(&folder))?;
    Ok(folder.join("release").join(format!("candle-attention{}", std::env::consts::EXE_SUFFIX)))
}
