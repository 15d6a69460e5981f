//! Multi-head layers as targets: what is right passes, and what is wrong in a projection, a split
//! or a join is named.

use std::path::Path;

use qkvet_spec::{Catalog, Dims};
use qkvet_tests::{Finished, Folder, has_module, has_python, is_thorough, root, temp};
use serde_json::Value;
use tempfile::TempDir;

const LAYER: &str = "examples/numpy_layer.py";

fn check(folder: &Path, target: &str, flags: &str) -> Finished {
    let suite = "--suite even --dtype float32 --format json";
    folder.run(format!("check {target} {suite} {flags}"))
}

/// The example with one text replaced.
fn changed(text: &str, by: &str) -> TempDir {
    let source = root().read(LAYER);
    assert!(source.contains(text), "{text}");
    let folder = temp();
    folder.write("layer.py", source.replace(text, by));
    folder
}

#[test]
fn right_layers_pass() {
    if !has_python() {
        return;
    }
    check(root(), &format!("{LAYER}:layer"), "").finds(&[]);
    check(root(), &format!("{LAYER}:packed"), "").finds(&[]);
    let formats = "--law value --dtype float64,bfloat16,float16 --suite even --format json";
    let report = root().run(format!("check {LAYER}:packed {formats}")).finds(&[]);
    for dtype in ["float16", "bfloat16", "float64"] {
        assert!(report["coverage"]["dtypes"][dtype].as_u64() > Some(0), "{dtype}");
    }
    check(root(), "examples/torch_multihead.py:layer", "--convention empty-row=nan").finds(&[]);
}

/// Layers of Flax and Keras: nothing is wrong with them once the two conventions that they follow
/// are declared. The rows of docs/implementations.md hold most of it in the standard tests.
#[test]
fn layers_on_jax_pass_under_two_conventions() {
    if !is_thorough() {
        return;
    }
    for (library, layer) in [
        ("flax", "examples/flax_multihead.py:layer"),
        ("keras", "examples/keras_multihead.py:layer"),
    ] {
        if !has_module(library) {
            continue;
        }
        // Each shape is compiled; a few laws see all of the layer.
        let few = "--law value --law causal-is-mask --law one-query-calls";
        let conventions = "--convention causal=upper-left --convention empty-row=mean";
        let report = check(root(), layer, &format!("{few} {conventions}")).finds(&[]);
        // Asked for its weights, Keras has zeros where a row sees no key, and else the mean.
        let weights = "--law weights-row-stochasticity";
        let report_of_weights = check(root(), layer, &format!("{weights} {conventions}"));
        let code = if library == "keras" { 1 } else { 0 };
        report_of_weights.ends(code);
        let takes = report["run"]["environment"].to_string();
        assert!(takes.contains("causal, mask, return_weights"), "{takes}");
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
        let found = check(folder.path(), "layer.py:layer", "").report(1);
        assert!(found.names().iter().any(|name| name.starts_with(code)), "{:?}", found.names());
    }
}

/// The shapes of most suites have more query heads than key heads, which no layer takes: they are
/// made to.
#[test]
fn the_smallest_suite_asks_a_layer_enough() {
    if !has_python() {
        return;
    }
    let smoke = |folder: &Path, target: &str| {
        folder.run(format!("check {target} --suite smoke --dtype float32 --format json"))
    };
    let right = smoke(root(), &format!("{LAYER}:layer"));
    let fit = "h_k=h_q, d_v=d_k, options causal mask";
    assert!(right.stderr.contains(fit), "{}", right.stderr);
    let report = right.finds(&[]);
    let passed = report.count("PASS");
    assert!(passed > 100 && passed > report.count("UNSUPPORTED"), "{}", report["counts"]);
    for (text, by, code) in [
        ("x_q @ w_q,", "x_q @ w_q.T,", "QK641"),
        ("out.swapaxes(1, 2).reshape", "out.reshape", "QK435"),
        ("/ np.sqrt(q.shape[3]).astype(work)", "/ work(q.shape[3])", "QK101"),
        ("n_k - n_q", "0", "causal=upper-left"),
    ] {
        let folder = changed(text, by);
        let names = smoke(folder.path(), "layer.py:layer").report(1).names();
        assert!(names.contains(&code.to_owned()), "{names:?}");
    }
    // The suite `even` has such shapes, and fewer options alone.
    let even = check(root(), &format!("{LAYER}:layer"), "--law value");
    assert!(even.stderr.contains(fit), "{}", even.stderr);
    let shapes = &Catalog::embedded().expect("a catalog").suites["even"].shapes;
    let is_of_suite = |record: &Value| {
        let dims: Dims = serde_json::from_value(record["dims"].clone()).expect("extents");
        shapes.contains(&dims)
    };
    assert!(even.report(0).records().all(is_of_suite));
}

/// Shards of a layer are made to fit as the whole run is, and so is what joins them.
#[test]
fn shards_of_a_layer_are_one_run() {
    if !has_python() {
        return;
    }
    let folder = changed(" @ w_o)", " @ w_o.T)");
    let smoke = "check layer.py:layer --suite smoke --dtype float32 --law value --format json";
    let whole = folder.run(smoke);
    whole.finds(&["QK642"]);
    for shard in ["1/2", "2/2"] {
        let part = folder.run(format!("{smoke} --shard {shard}"));
        assert!(matches!(part.code, Some(0 | 1)), "{}{}", part.stdout, part.stderr);
    }
    let merged = folder.run("merge .qkvet/shards --format json");
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
        check(folder.path(), "layer.py:packed", "--law value").ends(1);
    }
    let folder = changed(
        "k, v = np.split(x_kv @ w_qkv + b_qkv, at, axis=2)[1:]",
        "k = np.split(x_kv @ w_qkv, at, axis=2)[1]\n    v = np.split(x_kv @ w_qkv + b_qkv, at, axis=2)[2]",
    );
    check(folder.path(), "layer.py:packed", "--law value").finds(&[]);
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
    let finding = check(folder.path(), &target, "--law value").report(1).first();
    folder.play(&finding, "").ends(1);
    folder.play(&finding, root().join(LAYER).display().to_string()).ends(0);
}

#[test]
fn what_is_no_layer_is_told() {
    if !has_python() {
        return;
    }
    let folder = changed(" @ w_o)", " @ w_o[:, :1])");
    let found = check(folder.path(), "layer.py:layer", "").finds(&["form"]).first();
    assert!(found.got().contains("[1, 1, 2]"), "{}", found.got());
    let folder = changed("heads, causal", "heads, other, causal");
    check(folder.path(), "layer.py:layer", "").expect(3, &["`other`"]);
    check(root(), &format!("{LAYER}:layer"), "--layout bnhd").expect(3, &["layout"]);
}
