//! `cargo xtask check`: everything about the tree that is not a test.

use std::path::PathBuf;

use crate::regen;
use crate::step::{self, Failure};

const CARGO_DENY: &str = "0.20.2";

/// A named check.
type Check = (&'static str, fn() -> Result<(), Failure>);

const CHECKS: [Check; 6] = [
    ("format", format),
    ("clippy", clippy),
    ("docs", docs),
    ("dependencies", dependencies),
    ("advisories", advisories),
    ("generated files", generated_files),
];

/// Runs all checks, whatever the earlier ones found.
pub(crate) fn run() -> Result<(), Failure> {
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        if let Err(failure) = check() {
            eprintln!("error: {failure}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        eprintln!("==> check: all {} passed", CHECKS.len());
        Ok(())
    } else {
        Err(Failure::Step(format!("check failed: {}", failed.join(", "))))
    }
}

fn format() -> Result<(), Failure> {
    step::run(&mut step::cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Result<(), Failure> {
    step::run(&mut step::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn docs() -> Result<(), Failure> {
    step::run(step::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Licenses, bans and sources: needs nothing but the lock file and the packages.
fn dependencies() -> Result<(), Failure> {
    step::run(step::command(cargo_deny()?).args([
        "--color=never",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// Known vulnerabilities: needs a database that not every network reaches, which is no fault of the
/// tree.
fn advisories() -> Result<(), Failure> {
    let tool = cargo_deny()?;
    if !step::succeeds(step::command(&tool).args(["fetch", "db"])) {
        eprintln!("==> advisories: skipped, the advisory database cannot be fetched from here");
        return Ok(());
    }
    step::run(step::command(&tool).args([
        "--color=never",
        "check",
        "--disable-fetch",
        "advisories",
    ]))
}

/// The pinned cargo-deny, built from source on first use.
fn cargo_deny() -> Result<PathBuf, Failure> {
    let tools = step::target_dir()?.join("tools");
    let program = tools.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    let wanted = format!("cargo-deny {CARGO_DENY}");
    let found = step::command(&program).arg("--version").output();
    if found.is_ok_and(|found| String::from_utf8_lossy(&found.stdout).trim() == wanted) {
        return Ok(program);
    }
    let package = format!("cargo-deny@{CARGO_DENY}");
    step::run(step::cargo(&["install", "--locked", "--force", &package, "--root"]).arg(&tools))?;
    Ok(program)
}

fn generated_files() -> Result<(), Failure> {
    let stale = regen::stale()?;
    if stale.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
    Err(Failure::Step(format!("out of date, run `cargo xtask regen`: {}", names.join(", "))))
}
