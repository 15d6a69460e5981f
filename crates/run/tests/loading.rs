//! Loading a Python function: what is wrong is said with a place and a way out; what it offers is
//! read from its signature.
#![allow(clippy::disallowed_methods, reason = "tests of an I/O crate")]

use crate::common;

use std::time::Duration;

use common::*;
use qkvet_run::adapters::python::{
    Arrays, Layout, LoadKind, PythonConfig, PythonTarget, StartError,
};
use qkvet_spec::{Dtype, Response, Target};

const FUNCTIONS: &str = r#"
CONSTANT = 3

def attention(query, key, value): return query
def two(query, key): return query
def by_name(*, query, key, value): return query
def extra(query, key, value, block_size): return query
def anything(*args, **kwargs): return args[0]
def keywords(q, k, v, **kwargs): return q * kwargs.get("softmax_scale", 5)
def triton_like(q, k, v, causal, sm_scale): return q * 0 + q.dtype.type(sm_scale + causal)
def varlen(q, k, v, *, cu_seqlens_q=None, cu_seqlens_k=None, window_size=None, softcap=None, alibi_slopes=None, sinks=None): return q
def padded(q, k, v, key_value_seq_lengths=None, query_seq_lengths=None, sliding_window=None, return_lse=False): return q
def shared(q, k, v, attn_mask=None): return q * 0 + (attn_mask.dtype == bool)

class Layers:
    def __call__(self, query, key, value, *, is_causal=False): return query
    @staticmethod
    def fused(query, key, value, softmax_scale=None): return query

layer = Layers()
"#;

fn refuse(config: PythonConfig, kind: LoadKind, parts: &[&str]) {
    let target = config.target.to_string();
    let Err(error) = PythonTarget::start(&config, &Limits::default()) else {
        panic!("{target} started")
    };
    let told = error.to_string();
    assert!(matches!(&error, StartError::Load { kind: k, .. } if *k == Some(kind)), "{error:?}");
    for part in parts {
        assert!(told.contains(part), "expected {part}\ngot {told}");
    }
}

#[test]
fn missing_files_modules_and_functions() {
    let fixture = Fixture::new(FUNCTIONS);
    fixture.file("pkg/inner.py", FUNCTIONS);
    let mut config = fixture.config("attention");
    config.target = fixture
        .folder
        .path()
        .join("fixtures.py:attention")
        .display()
        .to_string()
        .parse()
        .expect("a target");
    refuse(
        config,
        LoadKind::FileNotFound,
        &["fixtures.py:attention: no such file: ", "\nhint: did you mean `fixture.py`?"],
    );

    let module = |name: &str| config_in(&fixture, name);
    let not_found = LoadKind::ModuleNotFound;
    refuse(
        module("fixtur:attention"),
        not_found,
        &["no module named `fixtur` in ", "hint: did you mean `fixture`?"],
    );
    refuse(module("pkg.outer:attention"), not_found, &["no module named `pkg.outer`"]);
    refuse(
        module("attn_of_nobody:f"),
        not_found,
        &["hint: a file is given as path/file.py:function"],
    );
    refuse(
        fixture.config("atention"),
        LoadKind::FunctionNotFound,
        &[
            "no function `atention` in fixture; known: Layers, anything, attention",
            "hint: did you mean `attention`?",
        ],
    );
    refuse(fixture.config("Layers.fuse"), LoadKind::FunctionNotFound, &["did you mean `fused`?"]);
    refuse(
        fixture.config("CONSTANT"),
        LoadKind::NotCallable,
        &["expected `CONSTANT` to be a function, got int"],
    );
}

fn config_in(fixture: &Fixture, target: &str) -> PythonConfig {
    let mut config = config(target);
    config.folder = Some(fixture.folder.path().to_owned());
    config
}

#[test]
fn imports_that_raise() {
    let failing = |source: &str, parts: &[&str]| {
        let fixture = Fixture::new(source);
        refuse(fixture.config("attention"), LoadKind::ImportFailed, parts);
    };
    failing(
        "x = 1\ny = x.nothing\n",
        &["raised AttributeError: 'int' object has no attribute 'nothing' at ", "fixture.py:2"],
    );
    failing("import json\njson.loads('{')\n", &["raised JSONDecodeError", "fixture.py:2"]);
    failing("def attention(q, k v):\n  pass\n", &["raised SyntaxError", "fixture.py:1"]);
    failing(
        "import nonesuch_library\n",
        &["No module named 'nonesuch_library'", "hint: install `nonesuch_library` for "],
    );
    failing(
        "from . import sibling\n",
        &["hint: a file with relative imports is given as a module of its package"],
    );
    failing("import sys\nsys.exit(2)\n", &["raised SystemExit: 2 at "]);

    let fixture = Fixture::new("import os\nos._exit(9)\n");
    let error = fixture.start("attention").err().expect("dead").to_string();
    assert!(
        error.contains("expected to be loaded, got a process that exited with code 9"),
        "{error}"
    );

    let fixture = Fixture::new("print('starting', flush=True)\nwhile True: pass\n");
    let limits = started_within(Duration::from_secs(2));
    let error = PythonTarget::start(&fixture.config("attention"), &limits);
    let error = error.err().expect("late").to_string();
    assert!(
        error.contains(
            "expected to be loaded within 2 s, got no answer within 2 s; stderr: starting"
        ),
        "{error}"
    );
}

#[test]
fn interpreters_that_are_none() {
    let fixture = Fixture::new(FUNCTIONS);
    let mut config = fixture.config("attention");
    config.python = "/no/such/python".into();
    let error =
        PythonTarget::start(&config, &Limits::default()).err().expect("no python").to_string();
    assert!(error.starts_with("python at /no/such/python: expected a program, got: "), "{error}");
    assert!(error.ends_with("\nhint: choose another interpreter with --python"), "{error}");
    config.python = "cat".into();
    let error =
        PythonTarget::start(&config, &Limits::default()).err().expect("no python").to_string();
    assert!(
        error.contains("expected to be loaded, got a process that exited with code"),
        "{error}"
    );
}

#[test]
fn signatures_that_do_not_fit() {
    let fixture = Fixture::new(FUNCTIONS);
    let positional = "cannot take query, key, value by position\nhint: wrap it";
    refuse(fixture.config("two"), LoadKind::Signature, &["two(query, key) ", positional]);
    refuse(
        fixture.config("by_name"),
        LoadKind::Signature,
        &["by_name(query, key, value) ", positional],
    );
    refuse(
        fixture.config("extra"),
        LoadKind::Signature,
        &["needs an argument `block_size` that is not an option"],
    );

    let supports = |function, words: &[&str]| {
        let mut config = fixture.config(function);
        config.supports = Some(words.iter().map(|x| (*x).to_owned()).collect());
        config
    };
    let unknown = "supports: unknown option `casual`; known: scale, causal, mask, bias, softcap, window, sinks, alibi_slopes, key_lengths, query_lengths, query_offsets, key_offsets, return_weights, return_lse, packed\nhint: did you mean `causal`?";
    refuse(supports("anything", &["scale", "casual"]), LoadKind::Supports, &[unknown]);
    refuse(
        supports("attention", &["mask"]),
        LoadKind::Supports,
        &["supports lists `mask`, but attention has no argument"],
    );
}

fn arguments(fixture: &Fixture, function: &str, supports: &[&str]) -> String {
    let mut config = fixture.config(function);
    if !supports.is_empty() {
        config.supports = Some(supports.iter().map(|x| (*x).to_owned()).collect());
    }
    let target = PythonTarget::start(&config, &Limits::default()).expect(function);
    assert_eq!(target.info().arrays, Arrays::Numpy);
    let pairs: Vec<String> =
        target.info().arguments.iter().map(|(option, name)| format!("{option}={name}")).collect();
    pairs.join(" ")
}

#[test]
fn options_are_read_from_the_signature() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FUNCTIONS);
    assert_eq!(arguments(&fixture, "attention", &[]), "");
    assert_eq!(arguments(&fixture, "layer", &[]), "causal=is_causal");
    assert_eq!(arguments(&fixture, "Layers.fused", &[]), "scale=softmax_scale");
    assert_eq!(arguments(&fixture, "triton_like", &[]), "causal=causal scale=sm_scale");
    assert_eq!(arguments(&fixture, "keywords", &[]), "");
    assert_eq!(
        arguments(&fixture, "keywords", &["softmax_scale", "mask", "window"]),
        "mask=mask scale=softmax_scale window=window"
    );
    let packed = arguments(&fixture, "keywords", &["packed", "kv_seqlen", "return_softmax_lse"]);
    assert_eq!(
        packed,
        "key_lengths=kv_seqlen key_offsets=key_offsets query_offsets=query_offsets return_lse=return_softmax_lse"
    );
    assert_eq!(
        arguments(&fixture, "varlen", &[]),
        "alibi_slopes=alibi_slopes key_offsets=cu_seqlens_k query_offsets=cu_seqlens_q sinks=sinks softcap=softcap window=window_size"
    );
    assert_eq!(
        arguments(&fixture, "varlen", &["packed"]),
        "key_offsets=cu_seqlens_k query_offsets=cu_seqlens_q"
    );
    assert_eq!(
        arguments(&fixture, "padded", &[]),
        "key_lengths=key_value_seq_lengths query_lengths=query_seq_lengths return_lse=return_lse window=sliding_window"
    );
}

#[test]
fn options_are_passed_as_read() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FUNCTIONS);
    let mut call = small_call();
    call.options.causal = true;
    let mut target = fixture.start("attention").expect("starts");
    assert_eq!(target.call(&call), Response::Unsupported("no argument for causal".into()));

    // Required options get what absence means: d_k is 4, so the default scale is 1/2.
    let mut target = fixture.start("triton_like").expect("starts");
    assert_eq!(output(target.call(&small_call())).output.data[0].to_bits(), 0.5f64.to_bits());
    call.options.scale = Some(0.125);
    assert_eq!(output(target.call(&call)).output.data[0].to_bits(), 1.125f64.to_bits());

    let mut config = fixture.config("keywords");
    config.supports = Some(vec!["softmax_scale".to_owned()]);
    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    call.options.causal = false;
    let scaled = output(target.call(&call)).output;
    assert!(
        scaled.data.iter().zip(&call.query.data).all(|(x, q)| x.to_bits() == (q / 8.0).to_bits())
    );
}

#[test]
fn one_argument_for_mask_and_bias() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FUNCTIONS);
    let mut config = fixture.config("shared");
    let mut masked = small_call();
    masked.options.mask = Some(Noise(2).mask(&[2, 3]));
    let mut biased = small_call();
    biased.options.bias = Some(Noise(3).tensor(&[2, 3], biased.dtype()));

    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    assert_eq!(target.call(&biased), Response::Unsupported("no argument for bias".into()));
    config.mask_takes_bias = true;
    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    assert_eq!(output(target.call(&masked)).output.data[0].to_bits(), 1f64.to_bits());
    assert_eq!(output(target.call(&biased)).output.data[0].to_bits(), 0f64.to_bits());
    biased.options.mask = masked.options.mask;
    assert_eq!(
        target.call(&biased),
        Response::Unsupported("mask and bias share the argument attn_mask".into())
    );
}

#[test]
fn layouts_and_modules() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new("");
    fixture.file("pkg/__init__.py", "");
    fixture.file(
        "pkg/attn.py",
        "def attention(query, key, value):\n    assert query.shape == (1, 2, 2, 4) and key.shape == (1, 3, 1, 4), key.shape\n    \
         query.flags.writeable = False\n    return query\n",
    );
    let mut config = config_in(&fixture, "pkg.attn:attention");
    config.layout = Some(Layout::Bnhd);
    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    let call = small_call();
    let got = output(target.call(&call));
    assert_eq!((got.output, got.inputs_unchanged), (call.query, true));

    // A file beside the target that is named like a library of the worker is not taken for it.
    fixture.file("json.py", "raise RuntimeError('shadowed')");
    fixture.file("fixture.py", FUNCTIONS);
    output(fixture.start("attention").expect("starts").call(&small_call()));
}

#[test]
fn weights_that_were_promised() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut call = small_call();
    call.return_weights = true;
    let mut target = fixture.start("weights_missing").expect("starts");
    let expected = "expected a tuple (output, weights), got ndarray";
    assert_eq!(target.call(&call), Response::Malformed(expected.into()));
}

#[test]
fn arrays_and_devices_that_are_not_there() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FUNCTIONS);
    let mut config = fixture.config("attention");
    config.device = Some("cuda".to_owned());
    refuse(config.clone(), LoadKind::Device, &["numpy arrays have no device, got `cuda`"]);
    fixture.file("torch.py", "raise ImportError('broken wheel')");
    config.arrays = Some(Arrays::Torch);
    refuse(
        config,
        LoadKind::Arrays,
        &[
            "torch arrays are needed: importing torch raised ImportError: broken wheel",
            "pip install torch",
        ],
    );
}

#[test]
fn formats_that_the_library_lacks() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FUNCTIONS);
    fixture.file("ml_dtypes.py", "raise ImportError('not here')");
    let mut target = fixture.start("attention").expect("starts");
    let call = random_call(small_call().dims(), Dtype::Bfloat16, 1);
    let expected = "numpy has no bfloat16 (install ml_dtypes or use --arrays torch)";
    assert_eq!(target.call(&call), Response::Unsupported(expected.into()));
}

#[test]
fn torch_goes_before_jax() {
    let fixture =
        Fixture::new("import torch, jax\ndef attention(query, key, value): return query\n");
    fixture.file("torch.py", "__version__ = '9.9'\ndef zeros(*args, **kwargs): pass\n");
    fixture.file("jax.py", "");
    let target = fixture.start("attention").expect("starts");
    assert_eq!(target.info().arrays, Arrays::Torch);
    assert_eq!(target.info().versions["torch"], "9.9");
    let expected =
        "the module loads torch and jax: arrays are torch tensors; --arrays jax for the other";
    assert_eq!(target.info().notes, [expected.into()]);
}
