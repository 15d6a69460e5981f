//! Scripts with every option, run against targets that know every option.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that runs scripts; a skipped one says so"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_engine::ball::Ball;
use qkvet_engine::interpret::interpret;
use qkvet_spec::{
    Aspect, Call, CallOptions, Catalog, Dtype, Evidence, Expectation, Got, Meaning, Packed, Place,
    Response, Strides, Target, Tensor, Verdict, Window,
};

use super::calls::{JudgedCall, JudgedResult};
use super::literal::Style;
use super::*;
use crate::adapters::Called;
use crate::adapters::ExecConfig;
use crate::adapters::library::LibraryConfig;
use crate::adapters::python::{PythonConfig, PythonTarget};
use crate::process::Limits;
use qkvet_engine::flash::Flash;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn tensor(shape: &[usize], step: usize) -> Tensor {
    let data = (0..shape.iter().product())
        .map(|at: usize| ((at * step) % 17) as f64 / 8.0 - 1.0)
        .collect();
    Tensor { dtype: Dtype::Float32, shape: shape.to_vec(), data }
}

/// Two calls that have every option between them; the last query of the second sees no key.
fn calls() -> [Call; 2] {
    let padded = CallOptions {
        scale: Some(0.75),
        causal: true,
        bias: Some(tensor(&[3, 4], 3)),
        softcap: Some(0.7),
        window: Some(Window { left: Some(1), right: None }),
        sinks: Some(tensor(&[2], 5)),
        alibi_slopes: Some(tensor(&[2], 7)),
        key_lengths: Some(vec![4, 3]),
        query_lengths: Some(vec![2, 3]),
        ..CallOptions::default()
    };
    let packed = Packed { query_offsets: vec![0, 0, 2, 3], key_offsets: vec![0, 1, 4, 4] };
    let packed = CallOptions { packed: Some(packed), ..CallOptions::default() };
    [padded, packed].map(|options| Call {
        query: tensor(&[2, 2, 3, 4], 3),
        key: tensor(&[2, 1, 4, 4], 5),
        value: tensor(&[2, 1, 4, 2], 7),
        options,
        return_weights: false,
        return_lse: true,
    })
}

/// What the built-in kernel gives, `off` added to its log-sum-exp.
fn judged(call: &Call, contract: &Contract, off: f64) -> JudgedCall {
    let Response::Output(output) = Flash.call(call) else { panic!("no output") };
    let result = |want: ResultName, off: f64| {
        let got = want.of(&output).expect("asked for").clone();
        let mut expected = interpret(&Meaning::standard(), call, contract, want);
        expected.exact = got.data.iter().map(|x| Ball::exact(x + off)).collect();
        JudgedResult {
            want,
            label: want.name().to_owned(),
            allowed: vec![1e-5; got.data.len()],
            expected,
            got: Some(got),
        }
    };
    let results = vec![result(ResultName::Lse, off), result(ResultName::Output, 0.0)];
    JudgedCall {
        label: "lse(Q, K)".to_owned(),
        call: call.clone(),
        strided: false,
        holds: false,
        results,
    }
}

/// Runs the scripts of right and of wrong expectations.
fn check(python: &Path, called: &Called) {
    let catalog = Catalog::embedded().expect("a catalog");
    let contract = catalog.default_contract(Dtype::Float32).expect("a contract");
    let law = catalog.asking_laws().next().expect("a law");
    let folder = tempfile::tempdir().expect("a folder");
    let cases = folder.path().join(".qkvet/cases");
    std::fs::create_dir_all(&cases).expect("a folder");
    let caller =
        called.caller(Ground { current: folder.path(), root: folder.path() }).expect("a caller");
    for (off, style) in [(0.0, Style::Decimals), (0.0, Style::Packed), (1e-3, Style::Packed)] {
        let story = Story {
            case: "c-1",
            summary: String::new(),
            law,
            verdict: Verdict::Fail,
            title: "none".to_owned(),
            is_fleeting: false,
            target: "a target",
            conventions: Vec::new(),
            contract,
            evidence: &Evidence::new(
                Place { of: String::new(), its_output: false, what: Aspect::Whole },
                Expectation::Result,
                Got::One,
            ),
            calls: &calls().map(|call| judged(&call, contract, off)),
            limit_s: 30.0,
        };
        let path = cases.join("c-1.py");
        std::fs::write(&path, written(&story, caller.as_ref(), style)).expect("written");
        let ran = Command::new(python).arg(&path).output().expect("python");
        let told = String::from_utf8_lossy(&ran.stdout).into_owned()
            + &String::from_utf8_lossy(&ran.stderr);
        if off == 0.0 {
            assert!(ran.status.code() == Some(0) && told.starts_with("FIXED"), "{style:?} {told}");
        } else {
            // A place without a column: one number a query.
            assert!(
                ran.status.code() == Some(1) && told.contains("at        lse at [b="),
                "{told}"
            );
            assert!(!told.contains("c="), "{told}");
        }
    }
}

/// The interpreter, if it has numpy; says so if not, and fails under CI.
fn python() -> Option<PathBuf> {
    let python =
        std::env::var_os("QKVET_TEST_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let found = Command::new(&python)
        .args(["-c", "import numpy"])
        .status()
        .is_ok_and(|status| status.success());
    assert!(found || std::env::var_os("CI").is_none(), "{} cannot import numpy", python.display());
    if !found {
        println!("skipped: {} cannot import numpy", python.display());
    }
    found.then_some(python)
}

#[test]
fn a_function_is_given_every_option_again() {
    let Some(python) = python() else { return };
    let target = format!("{EXAMPLES}/numpy_attention.py:attention");
    let config = PythonConfig::new(&python, target.parse().expect("a target"));
    let info = PythonTarget::start(&config, &Limits::default()).expect("starts").info().clone();
    check(&python, &config.called(info, &Limits::default()));
}

/// The rule is written in two languages.
#[test]
fn what_is_put_as_views_is_known_beforehand() {
    let Some(python) = python() else { return };
    let target = format!("{EXAMPLES}/numpy_attention.py:attention");
    let config = PythonConfig::new(&python, target.parse().expect("a target"));
    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    let called = config.called(target.info().clone(), &Limits::default());
    let mut n_views = 0;
    for (b, heads) in (1..=12).flat_map(|b| [(b, 1), (b, 2)]) {
        let call = Call {
            query: tensor(&[b, heads, 3, 4], 3),
            key: tensor(&[b, heads, 2, 4], 5),
            value: tensor(&[b, heads, 2, 5], 7),
            return_weights: false,
            return_lse: false,
            options: CallOptions::default(),
        };
        let Response::Output(output) = target.call(&call) else { panic!("no output") };
        let is_views = output.handling.strides == Strides::Transposed;
        assert_eq!(called.gets_views(&call), is_views, "{b} {heads}");
        n_views += usize::from(is_views);
    }
    assert!((2..=10).contains(&n_views), "{n_views}");
}

#[test]
#[cfg(unix)]
fn a_program_is_given_every_option_again() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("attention");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-O1", "-o"])
        .arg(&program)
        .args([&format!("{EXAMPLES}/c/attention.c"), "-lm"])
        .status();
    assert!(compiled.expect("cc").success());
    let config = ExecConfig::new(&program.display().to_string(), folder.path()).expect("a command");
    check(&python, &config.called(&Limits::default()));
}

/// Builds `source` of the test fixtures as a shared library in the folder.
#[cfg(unix)]
fn library(folder: &Path, source: &str) -> LibraryConfig {
    let fixture = format!("{EXAMPLES}/../tests/fixtures/native/{source}");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-O1", "-shared", "-fPIC", "-o"])
        .arg(folder.join("libx.so"))
        .args([&fixture, "-lm"])
        .status();
    assert!(compiled.expect("cc").success());
    LibraryConfig::new("libx.so", folder, "qkvet".into())
}

#[test]
#[cfg(unix)]
fn a_library_is_given_every_option_again() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    check(&python, &library(folder.path(), "abi.c").called(&Limits::default()));
}
