//! `cargo xtask test`: every test, from nothing but a Rust toolchain and a Python (a C compiler
//! comes with the first: it links).

use std::process::Command;

use crate::step::{self, Failure};
use crate::{node, python};

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// What every change has to pass.
    Standard,
    /// The slow tests as well.
    All,
}

pub(crate) fn run(tier: Tier) -> Result<(), Failure> {
    let python = python::environment()?;
    let node = node::program(&python)?;
    step::build()?;
    // Both runs happen whatever the first one finds; the one with the summary is last, where people
    // look.
    let doc_tests = step::run(&mut step::cargo(&["test", "--workspace", "--doc"]));
    let tests = step::run(
        runner(&["--workspace"])
            .env("QKVET_TEST_PYTHON", &python)
            .env("QKVET_TEST_NODE", &node)
            .env("QKVET_TEST_TIER", tier.name()),
    );
    doc_tests.and(tests)?;
    match tier {
        Tier::Standard => Ok(()),
        Tier::All => heavy(),
    }
}

impl Tier {
    /// The value of `QKVET_TEST_TIER`, which tests that take minutes look at.
    fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::All => "all",
        }
    }
}

/// nextest where it is installed, else cargo's own runner, for `which` tests. Doc tests are
/// neither's concern.
pub(crate) fn runner(which: &[&str]) -> Command {
    let args: &[&str] = if step::succeeds(&mut step::cargo(&["nextest", "--version"])) {
        &["nextest", "run"]
    } else {
        &["test", "--tests", "--no-fail-fast"]
    };
    step::cargo(&[args, which].concat())
}

/// The tiers that are packages of their own, outside the workspace. There are none yet.
fn heavy() -> Result<(), Failure> {
    Ok(())
}
