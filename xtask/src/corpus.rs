//! `cargo xtask corpus`: the larger frozen cases as files. The repository holds only their hashes,
//! which are checked here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::step::{self, Failure};

/// The frozen suites, a folder each.
const SNAPSHOTS: &str = "snapshots";

/// Writes every frozen suite as a folder of safetensors files below `out`.
pub(crate) fn run(out: Option<&str>) -> Result<(), Failure> {
    step::run(&mut step::cargo(&["build", "--release", "--package", "qkvet-cli"]))?;
    let qkvet = step::qkvet("release")?;
    // A folder of the user is never emptied: `export` refuses one that holds something.
    let (out, is_ours) = match out {
        Some(out) => (PathBuf::from(out), false),
        None => (step::target_dir()?.join("corpus"), true),
    };
    for suite in suites()? {
        let name = suite.file_name().map(PathBuf::from).unwrap_or_default();
        let folder = out.join(&name);
        if is_ours && folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        }
        // Fails on the first larger case whose bytes are not those of the manifest.
        let cases = Path::new(SNAPSHOTS).join(&name);
        step::run(
            step::command(&qkvet)
                .arg("export")
                .arg(&cases)
                .args(["--larger", "--format", "safetensors", "--out"])
                .arg(&folder),
        )?;
        step::run(
            step::command(&qkvet)
                .args(["check", "builtin:flash", "--quiet", "--cases"])
                .arg(&folder),
        )?;
    }
    Ok(())
}

fn suites() -> Result<Vec<PathBuf>, Failure> {
    let folder = step::root().join(SNAPSHOTS);
    let entries = fs::read_dir(&folder).map_err(|error| failed(&folder, &error))?;
    let mut suites = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(&folder, &error))?.path();
        if path.join("manifest.snap").is_file() {
            suites.push(path);
        }
    }
    suites.sort();
    Ok(suites)
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Setup(format!("{}: {error}", path.display()))
}
