//! `cargo xtask wheel`: the Python package as one wheel, with the binary of the command line in it.

use std::fs;

use crate::python;
use crate::step::{self, Failure};

/// Where wheels take the command from.
const BINARIES: &str = "crates/py/python/qkvet/bin";

/// Writes the wheel into `target/wheels`.
pub(crate) fn run() -> Result<(), Failure> {
    let python = python::environment()?;
    step::run(&mut step::cargo(&["build", "--profile", "dist", "--package", "qkvet-cli"]))?;
    let binary = step::qkvet("dist")?;
    let folder = step::root().join(BINARIES);
    let failed = |error: std::io::Error| Failure::Setup(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::copy(&binary, folder.join(binary.file_name().unwrap_or_default())).map_err(failed)?;
    let wheels = step::target_dir()?.join("wheels");
    step::run(
        step::command(&python)
            .args([
                "-m",
                "maturin",
                "build",
                "--profile",
                "dist",
                "--locked",
                "--manifest-path",
                "crates/py/Cargo.toml",
            ])
            .arg("--interpreter")
            .arg(&python)
            .arg("--out")
            .arg(wheels),
    )
}
