//! `cargo xtask bench doors`: what the doors cost beside what is behind them, of the release wheel
//! in a folder of its own.

use crate::step::{self, Failure};
use crate::{python, wheel};

const PROGRAM: &str = "xtask/src/bench/doors.py";

pub(super) fn run() -> Result<(), Failure> {
    let environment = python::environment()?;
    wheel::run()?;
    let (wheels, folder) =
        (step::target_dir()?.join("wheels"), step::target_dir()?.join("bench-doors"));
    step::run(
        step::command(&environment)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--no-index",
                "--upgrade",
                "qkvet",
                "--find-links",
            ])
            .arg(&wheels)
            .arg("--target")
            .arg(&folder),
    )?;
    // One thread each, so that processor time is what is compared.
    step::run(
        step::command(&environment)
            .arg(PROGRAM)
            .env("PYTHONPATH", &folder)
            .env("RAYON_NUM_THREADS", "1"),
    )?;
    super::wire()
}
