//! `cargo xtask wild`: published packages checked with qkvet, each in an environment of its own,
//! against the table of what is found.

use crate::python;
use crate::step::{self, Failure};

/// Runs `tests/wild/run.py` with the release binary; without rows all of them, which takes hours of
/// downloads.
pub(crate) fn run(rows: &[&str]) -> Result<(), Failure> {
    step::run(&mut step::cargo(&["build", "--release", "--package", "qkvet-cli"]))?;
    let qkvet = step::qkvet("release")?;
    let python = python::environment()?;
    let mut script = step::command(&python);
    step::run(
        script
            .arg("tests/wild/run.py")
            .args(rows)
            .env("QKVET", qkvet)
            .env("QKVET_TEST_PYTHON", &python),
    )
}
