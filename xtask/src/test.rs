//! `cargo xtask test`: every test, from nothing but a Rust toolchain and a Python (a C compiler
//! comes with the first: it links).

use std::path::PathBuf;
use std::process::Command;

use crate::step::{self, Failure};
use crate::{libraries, node, python, tools};

/// Packages whose tests start the binary and the examples, from Python and Node.js too.
const NEED_ALL: [&str; 2] = ["qkvet-run", "qkvet-tests"];
/// A package whose tests compare with packages of Python.
const NEEDS_PYTHON: &str = "qkvet-engine";
/// What is compiled as one unit, so that tests compute fast: after an edit that unit takes longer
/// than they do.
const ENGINE_BY_PARTS: [&str; 2] =
    ["--config", "profile.dev.package.qkvet-engine.codegen-units=16"];
/// A package most of which other packages turn on.
const OF_FEATURES: (&str, &str) = ("qkvet-report", "qkvet-report/formats");

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Neither Python nor whole suites: between two edits.
    Fast,
    /// What every change has to pass.
    Standard,
    /// The slow tests as well.
    All,
}

pub(crate) fn run(tier: Tier) -> Result<(), Failure> {
    if tier == Tier::Fast {
        step::build()?;
        return step::run(&mut runner(tier, &["--workspace"])?);
    }
    // Packages are downloaded while others are compiled.
    let environment = std::thread::scope(|scope| {
        let environment = scope.spawn(|| Environment::make(tier));
        step::build()?;
        environment.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    // Both runs happen whatever the first one finds; the one with the summary is last, where people
    // look.
    let doc_tests = step::run(&mut step::cargo(&["test", "--workspace", "--doc"]));
    let tests = step::run(environment.tell(&mut runner(tier, &["--workspace"])?));
    doc_tests.and(tests)
}

/// The tests of one crate: `engine`, or `qkvet-engine`.
pub(crate) fn of_crate(name: &str) -> Result<(), Failure> {
    let folder = step::root().join("crates").join(name);
    let package = match name {
        "tests" => "qkvet-tests".to_owned(),
        "qkvet" | "xtask" => name.to_owned(),
        _ if folder.is_dir() => format!("qkvet-{name}"),
        _ => name.to_owned(),
    };
    let mut which = vec!["--package", &package, "--no-tests", "pass"];
    if package == NEEDS_PYTHON {
        which.extend(ENGINE_BY_PARTS);
    }
    if package == OF_FEATURES.0 {
        which.extend(["--features", OF_FEATURES.1]);
    }
    let needs_all = NEED_ALL.contains(&package.as_str());
    if !needs_all && package != NEEDS_PYTHON {
        return step::run(&mut runner(Tier::Fast, &which)?);
    }
    let environment = Environment::make(Tier::Standard)?;
    if needs_all {
        step::programs()?;
    }
    step::run(environment.tell(&mut runner(Tier::Standard, &which)?))
}

/// What tests find on the machine.
struct Environment {
    python: PathBuf,
    node: PathBuf,
    /// Of the slow tests.
    candle: Option<PathBuf>,
}

impl Environment {
    fn make(tier: Tier) -> Result<Self, Failure> {
        let candle = (tier == Tier::All).then(libraries::candle).transpose()?;
        Ok(Self { python: python::environment()?, node: node::program()?, candle })
    }

    fn tell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("QKVET_TEST_PYTHON", &self.python).env("QKVET_TEST_NODE", &self.node);
        command.envs(self.candle.iter().map(|candle| ("QKVET_TEST_CANDLE", candle)))
    }
}

impl Tier {
    /// The value of `QKVET_TEST_TIER`, which tests that take minutes look at, and the profile of
    /// nextest.
    fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Standard => "standard",
            Self::All => "all",
        }
    }
}

/// nextest for `which` tests. Doc tests are not its concern.
pub(crate) fn runner(tier: Tier, which: &[&str]) -> Result<Command, Failure> {
    let profile = if tier == Tier::Fast { "fast" } else { "default" };
    let mut command = step::command(tools::NEXTEST.program()?);
    // Some tests wait: for a call to time out, for a worker to start.
    let threads = std::thread::available_parallelism().map_or(2, |n| 2 * n.get()).to_string();
    command.args(["nextest", "run", "--profile", profile, "--test-threads", &threads]).args(which);
    command.env("QKVET_TEST_TIER", tier.name());
    if tier != Tier::All {
        // JAX compiles for each shape. The slow tests have it compile as users do.
        command.env("JAX_DISABLE_MOST_OPTIMIZATIONS", "1");
    }
    Ok(command)
}
