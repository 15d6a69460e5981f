//! Multi-head layers as targets: what is right passes, and what is wrong in a projection, a split
//! or a join is named.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;
use std::process::Command;

use qkvet_tests::{has_python, is_thorough, python, root, run};
use tempfile::TempDir;

const LAYER: &str = "examples/numpy_layer.py";

fn check(folder: &Path, target: &str, more: &[&str]) -> qkvet_tests::Finished {
    run(folder, &[&["check", target, "--suite", "even", "--dtype", "float32", "-q"], more].concat())
}

/// The example with one text replaced.
fn changed(text: &str, by: &str) -> TempDir {
    let source = std::fs::read_to_string(root().join(LAYER)).expect("the example");
    assert!(source.contains(text), "{text}");
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("layer.py"), source.replace(text, by)).expect("a file");
    folder
}

#[test]
fn right_layers_pass() {
    if !has_python() {
        return;
    }
    check(root(), &format!("{LAYER}:layer"), &[]).expect(0, &["no finding in"]);
    check(root(), &format!("{LAYER}:packed"), &[]).expect(0, &["no finding in"]);
    let formats = ["--law", "value", "--dtype", "float64,bfloat16,float16"];
    let all = run(
        root(),
        &[&["check", &format!("{LAYER}:packed"), "--suite", "even"], &formats[..]].concat(),
    );
    all.expect(0, &["no finding in", "float16 ", "bfloat16 ", "float64 "]);
    let torch = "examples/torch_multihead.py:layer";
    check(root(), torch, &["--convention", "empty-row=nan"]).expect(0, &["no finding in"]);
}

/// Layers of Flax and Keras: nothing is wrong with them once the two conventions that they follow
/// are declared. The rows of docs/implementations.md hold most of it in the standard tests.
#[test]
fn layers_on_jax_pass_under_two_conventions() {
    if !is_thorough() || !has_python() {
        return;
    }
    for (library, layer) in [
        ("flax", "examples/flax_multihead.py:layer"),
        ("keras", "examples/keras_multihead.py:layer"),
    ] {
        let python = python().expect("an interpreter");
        let found = Command::new(&python)
            .args(["-c", &format!("import {library}")])
            .env("KERAS_BACKEND", "jax")
            .output();
        if !found.expect("python runs").status.success() {
            println!("passed over: the tests' Python has no {library}");
            continue;
        }
        // Each shape is compiled; a few laws see all of the layer.
        let few = [
            "--law",
            "value",
            "--law",
            "causal-is-mask",
            "--law",
            "one-query-calls",
            "--law",
            "weights-row-stochasticity",
        ];
        let conventions = ["--convention", "causal=upper-left", "--convention", "empty-row=mean"];
        let all = ["no finding in", "takes causal, mask, return_weights"];
        check(root(), layer, &[&few[..], &conventions].concat()).expect(0, &all);
    }
}

#[test]
fn what_is_wrong_around_the_heads_is_named() {
    if !has_python() {
        return;
    }
    for (text, by, code) in [
        ("x_q @ w_q,", "x_q @ w_q.T,", "QK641"),
        (" @ w_o)", " @ w_o.T)", "QK642"),
        (
            "heads, -1).swapaxes(1, 2)",
            "heads, -1).reshape(x.shape[0], heads, x.shape[1], -1)",
            "QK434",
        ),
        ("out.swapaxes(1, 2).reshape", "out.reshape", "QK435"),
        ("/ np.sqrt(q.shape[3])", "/ np.sqrt(q.shape[1] * q.shape[3])", "QK1"),
        (
            "    return (heads_of(q, k, v, causal, mask).astype(x_q.dtype) @ w_o)",
            "    x_q *= 2\n    return (heads_of(q, k, v, causal, mask).astype(x_q.dtype) @ w_o)",
            "QK601",
        ),
    ] {
        let folder = changed(text, by);
        check(folder.path(), "layer.py:layer", &[]).expect(1, &[code]);
    }
}

/// The shapes of most suites have more query heads than key heads, which no layer takes: they are
/// made to.
#[test]
fn the_smallest_suite_asks_a_layer_enough() {
    if !has_python() {
        return;
    }
    let smoke = |folder: &Path, target: &str, more: &[&str]| {
        run(folder, &[&["check", target, "--suite", "smoke", "--dtype", "float32"], more].concat())
    };
    let right = smoke(root(), &format!("{LAYER}:layer"), &["--format", "json"]);
    let report = right.json();
    assert_eq!(right.code, Some(0), "{}", right.stderr);
    let notice =
        "suite smoke is made to fit what the target takes: h_k=h_q, d_v=d_k, options causal mask";
    assert!(right.stderr.contains(notice), "{}", right.stderr);
    let n = |word: &str| report["counts"][word].as_u64().unwrap_or(0);
    assert!(n("PASS") > 100 && n("PASS") > n("UNSUPPORTED"), "{}", report["counts"]);
    for (text, by, code) in [
        ("x_q @ w_q,", "x_q @ w_q.T,", "QK641"),
        ("out.swapaxes(1, 2).reshape", "out.reshape", "QK435"),
        ("/ np.sqrt(q.shape[3]).astype(work)", "/ work(q.shape[3])", "QK101"),
        ("n_k - n_q", "0", "aligned upper-left"),
    ] {
        let folder = changed(text, by);
        smoke(folder.path(), "layer.py:layer", &["-q"]).expect(1, &[code]);
    }
    // The suite `even` has such shapes, and is what it was.
    let even = check(root(), &format!("{LAYER}:layer"), &["--law", "value"]);
    assert!(!even.stderr.contains("made to fit"), "{}", even.stderr);
}

/// Shards of a layer are made to fit as the whole run is, and so is what joins them.
#[test]
fn shards_of_a_layer_are_one_run() {
    if !has_python() {
        return;
    }
    let folder = changed(" @ w_o)", " @ w_o.T)");
    let smoke = [
        "check",
        "layer.py:layer",
        "--suite",
        "smoke",
        "--dtype",
        "float32",
        "--law",
        "value",
        "-q",
    ];
    let whole = run(folder.path(), &smoke);
    whole.expect(1, &["QK642"]);
    for shard in ["1/2", "2/2"] {
        let part = run(folder.path(), &[&smoke[..], &["--shard", shard]].concat());
        assert!(matches!(part.code, Some(0 | 1)), "{}{}", part.stdout, part.stderr);
    }
    let merged = run(folder.path(), &["merge", ".qkvet/shards", "-q"]);
    assert_eq!((merged.code, &merged.stdout), (whole.code, &whole.stdout), "{}", merged.stderr);
}

/// A bias of keys is the only one that may be left out: it adds the same to every score of a query.
#[test]
fn biases_and_the_order_of_a_packed_projection_are_seen() {
    if !has_python() {
        return;
    }
    let by_head = "q = (x_q @ w_qkv + b_qkv).reshape(*x_q.shape[:2], heads, 3, -1)[..., 0, :].reshape(*x_q.shape[:2], -1)";
    for (text, by) in [
        ("q = np.split(x_q @ w_qkv + b_qkv", "q = np.split(x_q @ w_qkv"),
        ("k, v = np.split(x_kv @ w_qkv + b_qkv", "k, v = np.split(x_kv @ w_qkv"),
        ("k, v = np.split(x_kv @ w_qkv + b_qkv", "k, v = np.split(x_kv @ w_qkv - b_qkv"),
        ("@ w_o + b_o", "@ w_o"),
        ("@ w_o + b_o", "@ w_o + b_o[::-1]"),
        (
            "q = np.split(x_q @ w_qkv + b_qkv, at, axis=2)[0]",
            "q = np.split(x_q @ w_qkv + b_qkv, at, axis=2)[1]",
        ),
        ("q = np.split(x_q @ w_qkv + b_qkv, at, axis=2)[0]", by_head),
    ] {
        let folder = changed(text, by);
        check(folder.path(), "layer.py:packed", &["--law", "value"]).expect(1, &[]);
    }
    let folder = changed(
        "k, v = np.split(x_kv @ w_qkv + b_qkv, at, axis=2)[1:]",
        "k = np.split(x_kv @ w_qkv, at, axis=2)[1]\n    v = np.split(x_kv @ w_qkv + b_qkv, at, axis=2)[2]",
    );
    check(folder.path(), "layer.py:packed", &["--law", "value"]).expect(0, &["no finding in"]);
}

#[test]
fn a_script_asks_the_layer_again() {
    if !has_python() {
        return;
    }
    for (text, by, name) in [
        (" @ w_o)", " @ w_o.T)", "layer"),
        ("@ w_o + b_o", "@ w_o", "packed"),
        ("q = np.split(x_q @ w_qkv + b_qkv", "q = np.split(x_q @ w_qkv", "packed"),
    ] {
        asked_again(&changed(text, by), name);
    }
}

fn asked_again(folder: &TempDir, name: &str) {
    let target = format!("layer.py:{name}");
    let report = check(folder.path(), &target, &["--law", "value", "--format", "json"]).json();
    let script = report["findings"][0]["script"].as_str().expect("a script").to_owned();
    let python = python().expect("an interpreter");
    let ended = |target: &Path| {
        let output =
            Command::new(&python).arg(&script).arg(target).current_dir(folder.path()).output();
        output.expect("python runs").status.code()
    };
    assert_eq!(ended(&folder.path().join("layer.py")), Some(1));
    assert_eq!(ended(&root().join(LAYER)), Some(0));
}

#[test]
fn what_is_no_layer_is_told() {
    if !has_python() {
        return;
    }
    let folder = changed(" @ w_o)", " @ w_o[:, :1])");
    check(folder.path(), "layer.py:layer", &[])
        .expect(1, &["output: expected the shape", "of a layer"]);
    let folder = changed("heads, causal", "heads, other, causal");
    check(folder.path(), "layer.py:layer", &[]).expect(3, &["`other`"]);
    let right = format!("{LAYER}:layer");
    check(root(), &right, &["--layout", "bnhd"]).expect(3, &["a layer has no axis of heads"]);
}
