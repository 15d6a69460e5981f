//! The Node.js of the tests: that of the machine if it is recent enough, else a pinned wheel.

use std::path::PathBuf;
use std::process::Command;

use crate::step::Failure;
use crate::tools;

/// The oldest major version that the tests run on.
const OLDEST: u32 = 18;

/// The program, which is installed where there is none.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let own = PathBuf::from("node");
    if is_recent(&own) { Ok(own) } else { tools::NODE.program() }
}

fn is_recent(program: &std::path::Path) -> bool {
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
