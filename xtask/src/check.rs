//! `cargo xtask check`: everything about the tree that is not a test.

use crate::prose;
use crate::regen;
use crate::step::{self, Failure};
use crate::tools;

/// A named check.
type Check = (&'static str, fn() -> Result<(), Failure>);

const CHECKS: [Check; 8] = [
    ("format", format),
    ("clippy", clippy),
    ("packages alone", packages_alone),
    ("docs", docs),
    ("dependencies", dependencies),
    ("advisories", advisories),
    ("generated files", generated_files),
    ("prose", prose::check),
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

/// What others build has the features that it turns on itself, and none of the workspace's.
fn packages_alone() -> Result<(), Failure> {
    for package in ["qkvet", "qkvet-cli", "qkvet-py"] {
        step::run(&mut step::cargo(&["clippy", "--package", package, "--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn docs() -> Result<(), Failure> {
    step::run(step::cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Licenses, bans and sources: needs nothing but the lock file and the packages.
fn dependencies() -> Result<(), Failure> {
    step::run(step::command(tools::DENY.program()?).args([
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
    let tool = tools::DENY.program()?;
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

fn generated_files() -> Result<(), Failure> {
    let stale = regen::stale()?;
    if stale.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
    Err(Failure::Step(format!("out of date, run `cargo xtask regen`: {}", names.join(", "))))
}
