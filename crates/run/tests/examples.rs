//! The example targets of `examples/`, through the worker, against the built-in kernel.

#![allow(clippy::disallowed_methods, reason = "tests of an I/O crate")]

use crate::common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::*;
use qkvet_engine::flash::Flash;
use qkvet_run::adapters::ExecConfig;
use qkvet_run::adapters::python::{Arrays, PythonInfo, PythonTarget};
use qkvet_spec::{Call, CallOptions, Dims, Dtype, Packed, Response, Target, Window};
use serde_json::{Value, json};

const DIMS: Dims = Dims { b: 2, h_q: 6, h_k: 3, n_q: 5, n_k: 7, d_k: 40, d_v: 24 };

/// Calls that between them use every option, on plain, one-query and more-queries-than-keys shapes.
fn calls(dtype: Dtype, square: bool) -> Vec<Call> {
    let mut calls = Vec::new();
    for (n_q, n_k, d_v) in [(5, 7, 24), (1, 130, 40), (9, 4, 40), (6, 6, 40)] {
        let base = random_call(Dims { n_q, n_k, d_v, ..DIMS }, dtype, n_k as u64);
        let mask = Some(Noise(3).mask(&[2, 1, n_q, n_k]));
        let bias = Some(Noise(4).tensor(&[6, 1, n_k], dtype));
        calls.push(base.clone());
        calls.push(Call {
            options: CallOptions { scale: Some(0.25), ..CallOptions::default() },
            ..base.clone()
        });
        calls.push(Call {
            options: CallOptions { mask: mask.clone(), ..CallOptions::default() },
            ..base.clone()
        });
        calls.push(Call {
            options: CallOptions { mask: Some(Noise(5).mask(&[n_k])), ..CallOptions::default() },
            ..base.clone()
        });
        calls.push(Call {
            options: CallOptions { bias: bias.clone(), ..CallOptions::default() },
            ..base.clone()
        });
        calls.push(Call {
            return_weights: true,
            options: CallOptions { mask, bias, ..CallOptions::default() },
            ..base.clone()
        });
        if !square || n_q == n_k {
            calls.push(Call {
                options: CallOptions { causal: true, ..CallOptions::default() },
                ..base
            });
        }
    }
    calls
}

/// How many calls agreed and how many were unsupported.
fn compare(target: &mut PythonTarget, dtype: Dtype, square: bool) -> (usize, usize) {
    let mut counts = (0, 0);
    for call in calls(dtype, square) {
        let response = target.call(&call);
        if let Response::Unsupported(_) = response {
            counts.1 += 1;
            continue;
        }
        let (got, expected) = (output(response), output(Flash.call(&call)));
        assert!(got.inputs_unchanged);
        assert!(
            distance(&got.output, &expected.output) <= allowance(dtype),
            "{:?} {dtype}",
            call.dims()
        );
        if let (Some(got), Some(expected)) = (got.weights, expected.weights) {
            assert!(
                distance(&got, &expected) <= allowance(dtype),
                "weights of {:?} {dtype}",
                call.dims()
            );
        }
        counts.0 += 1;
    }
    counts
}

fn start(file: &str, arrays: Option<Arrays>) -> (PythonTarget, PythonInfo) {
    let mut config = config(&format!("{}:attention", example(file)));
    config.arrays = arrays;
    let target = PythonTarget::start(&config, &Limits::default()).expect(file);
    let info = target.info().clone();
    (target, info)
}

#[test]
fn numpy_attention() {
    if !has("numpy") {
        return;
    }
    let (mut target, info) = start("numpy_attention.py", None);
    assert_eq!(info.arrays, Arrays::Numpy);
    for dtype in [Dtype::Float64, Dtype::Float32, Dtype::Float16] {
        assert_eq!(compare(&mut target, dtype, false), (28, 0), "{dtype}");
    }
    let expected = if has("ml_dtypes") { (28, 0) } else { (0, 28) };
    assert_eq!(compare(&mut target, Dtype::Bfloat16, false), expected);
}

/// Options beyond those that every library has, each alone and all together.
fn later_calls(dtype: Dtype) -> Vec<Call> {
    let mut calls = Vec::new();
    for (n_q, n_k) in [(5, 7), (9, 4), (6, 6)] {
        let base =
            Call { return_lse: true, ..random_call(Dims { n_q, n_k, ..DIMS }, dtype, n_k as u64) };
        let options = CallOptions {
            causal: true,
            mask: Some(Noise(3).mask(&[n_q, n_k])),
            bias: Some(Noise(4).tensor(&[1, 6, 1, n_k], dtype)),
            softcap: Some(1.5),
            window: Some(Window { left: Some(3), right: None }),
            sinks: Some(Noise(5).tensor(&[6], dtype)),
            alibi_slopes: Some(Noise(6).tensor(&[6], dtype)),
            key_lengths: Some(vec![n_k, 2]),
            query_lengths: Some(vec![3, n_q]),
            ..CallOptions::default()
        };
        let packed =
            Some(Packed { query_offsets: vec![0, 2, 2, n_q], key_offsets: vec![0, 1, 3, n_k] });
        let off = CallOptions::default;
        let alone = [
            CallOptions { softcap: options.softcap, ..off() },
            CallOptions { window: options.window, ..off() },
            CallOptions { window: Some(Window { left: None, right: Some(1) }), ..off() },
            CallOptions { sinks: options.sinks.clone(), ..off() },
            CallOptions { alibi_slopes: options.alibi_slopes.clone(), ..off() },
            CallOptions { key_lengths: options.key_lengths.clone(), ..off() },
            CallOptions {
                key_lengths: Some(vec![0, n_k]),
                query_lengths: options.query_lengths.clone(),
                ..off()
            },
            CallOptions { packed: packed.clone(), ..off() },
            CallOptions { packed, key_lengths: None, query_lengths: None, ..options.clone() },
            options,
        ];
        calls.extend(alone.map(|options| Call { options, ..base.clone() }));
    }
    calls
}

/// Agrees with the built-in kernel on every option.
fn knows_every_option(target: &mut dyn Target, dtypes: &[Dtype]) {
    for dtype in dtypes.iter().copied() {
        for call in later_calls(dtype) {
            let (got, expected) = (output(target.call(&call)), output(Flash.call(&call)));
            let about = || format!("{:?} {dtype} {:?}", call.dims(), call.options);
            assert!(distance(&got.output, &expected.output) <= allowance(dtype), "{}", about());
            let (got, expected) = (got.lse.expect("asked for"), expected.lse.expect("asked for"));
            assert_eq!((&got.shape, got.dtype), (&expected.shape, expected.dtype));
            let near = |x: f64, y: f64| {
                x.to_bits() == y.to_bits() || (x - y).abs() <= 10.0 * allowance(got.dtype)
            };
            assert!(
                got.data.iter().zip(&expected.data).all(|(x, y)| near(*x, *y)),
                "lse of {}",
                about()
            );
        }
    }
}

#[test]
fn numpy_attention_knows_every_option() {
    if has("numpy") {
        let (mut target, _) = start("numpy_attention.py", None);
        knows_every_option(&mut target, &[Dtype::Float64, Dtype::Float32, Dtype::Float16]);
    }
}

/// Compiles `source`, which may include the header.
#[cfg(unix)]
fn compiled(folder: &Path, source: &Path) -> PathBuf {
    let program = folder.join("program");
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-I", &example("c"), "-o"]);
    let status = command.arg(&program).arg(source).arg("-lm").status();
    assert!(status.expect("Rust needs a C compiler too, to link").success());
    program
}

#[test]
#[cfg(unix)]
fn the_program_in_c_knows_every_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), Path::new(&example("c/attention.c")));
    let config = ExecConfig::new(&program.display().to_string(), folder.path()).expect("a command");
    knows_every_option(&mut config.start(&Limits::default()).expect("starts"), &Dtype::CHECKED);
}

/// The answers of a program to requests that qkvet would not put to it: each has one name more than
/// a plain one.
#[cfg(unix)]
fn answers_to_names(command: &mut Command, names: &[(&str, &str, Value)]) -> Vec<Value> {
    let mut child = command
        .env("QKVET_WIRE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut requests = child.stdin.take().expect("a pipe");
    let tensor = json!({"dtype": "float32", "shape": [1, 1, 1, 1], "data": "AACAPw=="});
    for (seq, (field, name, value)) in names.iter().enumerate() {
        let mut request =
            json!({"op": "run", "seq": seq, "params": {}, "want": ["output"], "tensors": {}});
        for input in ["query", "key", "value"] {
            request["tensors"][input] = tensor.clone();
        }
        match *field {
            "want" => request["want"] = json!(["output", name]),
            "" => {}
            field => request[field][name] = value.clone(),
        }
        writeln!(requests, "{request}").expect("a request");
    }
    drop(requests);
    let output = child.wait_with_output().expect("an end");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an answer"))
        .collect()
}

/// A program that never heard of an option declines it, whoever asks.
#[cfg(unix)]
fn declines_what_it_does_not_know(command: &mut Command) {
    let of_heads = json!({"dtype": "float32", "shape": [1], "data": "AACAPw=="});
    let lengths = json!({"dtype": "int64", "shape": [1], "data": "AQAAAAAAAAA="});
    let names = [
        ("", "", Value::Null),
        ("params", "softcap", json!(2.0)),
        ("params", "softcap_hex", json!("0x1p+1")),
        ("params", "window", json!({"left": 1, "right": null})),
        ("tensors", "sinks", of_heads.clone()),
        ("tensors", "alibi_slopes", of_heads),
        ("tensors", "key_lengths", lengths.clone()),
        ("tensors", "query_lengths", lengths.clone()),
        ("tensors", "query_offsets", lengths.clone()),
        ("tensors", "key_offsets", lengths),
        ("want", "lse", Value::Null),
    ];
    let answers = answers_to_names(command, &names);
    assert_eq!(answers.len(), names.len());
    assert_eq!(answers[0]["status"], "ok", "{}", answers[0]);
    for ((_, name, _), answer) in names.iter().zip(&answers).skip(1) {
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(answer["status"] == "unsupported" && reason.contains(name), "{name}: {answer}");
    }
}

#[test]
#[cfg(unix)]
fn programs_decline_what_they_do_not_know() {
    // A program that fills in no lists, written when there were four options.
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("mine.c");
    let text = "#include \"qkvet_harness.h\"
static int attention(const qkvet_call *call, qkvet_output *out) {
    (void)call;
    qkvet_set(&out->output, 0, 1);
    return QKVET_OK;
}
int main(void) {
    qkvet_program program = {0};
    program.name = \"mine\";
    program.attention = attention;
    return qkvet_main(&program);
}
";
    std::fs::write(&source, text).expect("a file");
    declines_what_it_does_not_know(&mut Command::new(compiled(folder.path(), &source)));
    if let Some(node) = std::env::var_os("QKVET_TEST_NODE") {
        declines_what_it_does_not_know(Command::new(node).arg(example("node/attention.mjs")));
    }
}

#[test]
fn torch_sdpa() {
    if !has("torch") {
        return;
    }
    let (mut target, info) = start("torch_sdpa.py", None);
    assert_eq!(info.arrays, Arrays::Torch);
    for dtype in Dtype::CHECKED {
        assert_eq!(compare(&mut target, dtype, true), (21, 4), "{dtype}"); // weights are not returned
    }
}

#[test]
fn jax_attention() {
    if !has("jax") {
        return;
    }
    let (mut target, info) = start("jax_attention.py", None);
    assert_eq!(info.arrays, Arrays::Jax);
    for dtype in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16] {
        assert_eq!(compare(&mut target, dtype, true), (16, 9), "{dtype}"); // nor is d_v ≠ d_k taken
    }
    // Its windows count from the first key, which is the same where there are as many queries as
    // keys.
    let call = random_call(Dims { n_q: 6, n_k: 6, d_v: 40, ..DIMS }, Dtype::Float32, 3);
    for options in [
        CallOptions {
            window: Some(Window { left: Some(2), right: None }),
            ..CallOptions::default()
        },
        CallOptions {
            window: Some(Window { left: None, right: Some(0) }),
            causal: true,
            ..CallOptions::default()
        },
        CallOptions { key_lengths: Some(vec![6, 3]), ..CallOptions::default() },
    ] {
        let call = Call { options, ..call.clone() };
        let (got, expected) = (output(target.call(&call)), output(Flash.call(&call)));
        assert!(
            distance(&got.output, &expected.output) <= allowance(Dtype::Float32),
            "{:?}",
            call.options
        );
    }
    let mut call = random_call(Dims { d_v: 40, ..DIMS }, Dtype::Float32, 3);
    call.options.window = Some(Window { left: Some(2), right: None });
    let expected = "a window that counts from the last key".to_owned();
    assert_eq!(target.call(&call), Response::Unsupported(expected.into()));
    let x64_off = Response::Unsupported("jax_enable_x64 is off".into());
    assert_eq!(target.call(&random_call(DIMS, Dtype::Float64, 1)), x64_off);
}
