//! `cargo xtask libraries`: the tables of `docs/libraries.md`, made of what `qkvet probe` says of public libraries.

use std::fs;
use std::path::PathBuf;

use crate::regen::with_tables;
use crate::step::{self, Failure};
use crate::{python, test};

/// The page; its tables lie between markers, its words are written by hand.
const PAGE: &str = "docs/libraries.md";
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
    step::run(&mut step::cargo(&["build", "--workspace", "--examples"]))?;
    let program = step::target_dir()?.join(format!("debug/examples/libraries{}", std::env::consts::EXE_SUFFIX));
    let mut command = step::command(program);
    command.env("QKVET_TEST_PYTHON", &python);
    let marker = match which {
        Which::Wheels => {
            command.arg("wheels");
            WHEELS
        }
        Which::Candle => {
            command.arg("candle").env("QKVET_TEST_CANDLE", candle()?);
            CANDLE
        }
    };
    let tables = step::output(&mut command)?;
    let path = step::root().join(PAGE);
    let failed = |error: std::io::Error| Failure::Setup(format!("{PAGE}: {error}"));
    let page = fs::read_to_string(&path).map_err(failed)?;
    let page = with_tables(PAGE, &page, marker, &String::from_utf8_lossy(&tables))?;
    fs::write(&path, page).map_err(failed)?;
    eprintln!("==> wrote {PAGE}");
    match which {
        Which::Wheels => Ok(()),
        Which::Candle => {
            let tests = ["-p", "qkvet-tests", "--test", "libraries", "--test", "facade", "candle"];
            step::run(test::runner(&tests).env("QKVET_TEST_CANDLE", candle()?))
        }
    }
}

/// The program of `tests/libraries/candle`, built: a workspace of its own, with its own lock file.
fn candle() -> Result<PathBuf, Failure> {
    let folder = step::target_dir()?.join("candle");
    let manifest = ["build", "--release", "--locked", "--manifest-path", "tests/libraries/candle/Cargo.toml"];
    step::run(step::cargo(&manifest).arg("--target-dir").arg(&folder))?;
    Ok(folder.join("release").join(format!("candle-attention{}", std::env::consts::EXE_SUFFIX)))
}
