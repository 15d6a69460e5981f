//! What the tests of Python targets share: an interpreter, fixture files, calls with reproducible
//! data.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests of an I/O crate; a skipped test says so"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use qkvet_engine::format::round;
use qkvet_run::adapters::python::{Layout, PythonConfig, PythonTarget, StartError};
pub use qkvet_run::process::Limits;
use qkvet_spec::{
    BoolTensor, Call, CallOptions, Dims, Dtype, Output, Packed, Response, Target, Tensor, Window,
};

/// Functions that misbehave, one each.
pub const FIXTURES: &str = include_str!("../fixtures/misbehaving.py");

pub fn python() -> PathBuf {
    std::env::var_os("QKVET_TEST_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
}

/// Whether the modules can be imported; says so if not, and fails under CI: a test that is skipped
/// there shows nothing.
pub fn has(modules: &str) -> bool {
    let found = imports(modules);
    if !found {
        let told = format!(
            "{} cannot import {modules}; QKVET_TEST_PYTHON names another",
            python().display()
        );
        assert!(std::env::var_os("CI").is_none(), "{told}");
        println!("skipped: {told}");
    }
    found
}

fn imports(modules: &str) -> bool {
    let mut command = Command::new(python());
    command.args(["-c", &format!("import {modules}")]).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).display().to_string()
}

pub fn config(target: &str) -> PythonConfig {
    PythonConfig {
        layout: Some(Layout::Bhnd),
        ..PythonConfig::new(python(), target.parse().expect(target))
    }
}

/// Waits this long for a call.
pub fn within(timeout: Duration) -> Limits {
    Limits { timeout, ..Limits::default() }
}

/// Waits this long for the start.
pub fn started_within(start_timeout: Duration) -> Limits {
    Limits { start_timeout, ..Limits::default() }
}

/// A fixture file with the function `function` in a folder that lives as long as the target is
/// used.
pub struct Fixture {
    pub folder: tempfile::TempDir,
}

impl Fixture {
    pub fn new(source: &str) -> Self {
        let fixture = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        fixture.file("fixture.py", source);
        fixture
    }

    pub fn file(&self, name: &str, source: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, source).expect("a fixture file");
    }

    pub fn config(&self, function: &str) -> PythonConfig {
        config(&format!("{}:{function}", self.folder.path().join("fixture.py").display()))
    }

    pub fn start(&self, function: &str) -> Result<PythonTarget, StartError> {
        PythonTarget::start(&self.config(function), &Limits::default())
    }
}

/// Reproducible numbers in (−2, 2) on a grid of 1/64, by a linear congruence.
pub struct Noise(pub u64);

impl Noise {
    pub fn word(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.word() as usize % n
    }

    pub fn tensor(&mut self, shape: &[usize], dtype: Dtype) -> Tensor {
        let data = (0..shape.iter().product())
            .map(|_| round((self.word() % 255) as f64 / 64.0 - 2.0, dtype))
            .collect();
        Tensor { dtype, shape: shape.to_vec(), data }
    }

    pub fn mask(&mut self, shape: &[usize]) -> BoolTensor {
        BoolTensor {
            shape: shape.to_vec(),
            data: (0..shape.iter().product()).map(|_| !self.word().is_multiple_of(4)).collect(),
        }
    }
}

pub fn random_call(dims: Dims, dtype: Dtype, seed: u64) -> Call {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = dims;
    let mut noise = Noise(seed);
    Call {
        query: noise.tensor(&[b, h_q, n_q, d_k], dtype),
        key: noise.tensor(&[b, h_k, n_k, d_k], dtype),
        value: noise.tensor(&[b, h_k, n_k, d_v], dtype),
        return_weights: false,
        return_lse: false,
        options: CallOptions::default(),
    }
}

pub fn small_call() -> Call {
    random_call(Dims { b: 1, h_q: 2, h_k: 1, n_q: 2, n_k: 3, d_k: 4, d_v: 4 }, Dtype::Float32, 1)
}

/// Calls that between them have each option that not every target is asked for, in numbers that
/// show every bit.
pub fn calls_of_later_options(dtype: Dtype) -> [Call; 2] {
    let call = random_call(Dims { b: 2, h_q: 2, h_k: 1, n_q: 3, n_k: 4, d_k: 4, d_v: 4 }, dtype, 1);
    let padded = CallOptions {
        softcap: Some(0.1),
        window: Some(Window { left: Some(2), right: None }),
        sinks: Some(Noise(2).tensor(&[2], dtype)),
        alibi_slopes: Some(Noise(3).tensor(&[2], dtype)),
        key_lengths: Some(vec![4, 0]),
        query_lengths: Some(vec![1, 3]),
        ..CallOptions::default()
    };
    let packed = CallOptions {
        window: Some(Window { left: None, right: Some(1) }),
        packed: Some(Packed { query_offsets: vec![0, 0, 2, 3], key_offsets: vec![0, 1, 4, 4] }),
        ..CallOptions::default()
    };
    [padded, packed].map(|options| Call { options, return_lse: true, ..call.clone() })
}

pub fn output(response: Response) -> Output {
    match response {
        Response::Output(output) => *output,
        other => panic!("expected an output, got {other:?}"),
    }
}

/// Largest difference of two tensors of one shape and format; not a number differs from everything.
pub fn distance(got: &Tensor, expected: &Tensor) -> f64 {
    assert_eq!((&got.shape, got.dtype), (&expected.shape, expected.dtype));
    let differences = got.data.iter().zip(&expected.data).map(|(x, y)| (x - y).abs());
    differences.fold(0.0, |worst, d| if d <= worst { worst } else { d })
}

/// `2^-k`, by precision of the format: loose enough for any order of summation at these sizes, far
/// below any fault.
pub fn allowance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float64 => 1e-13,
        Dtype::Float32 => 1e-5,
        Dtype::Float16 => 8e-3,
        Dtype::Bfloat16 => 6e-2,
        Dtype::Float8E4m3fn | Dtype::Float8E5m2 => 0.5,
    }
}

/// One answer of one function of a fixture.
pub fn answer(source: &str, function: &str) -> Response {
    let fixture = Fixture::new(source);
    let mut target = fixture.start(function).expect(function);
    target.call(&small_call())
}
