//! `qkvet probe` through the command line: built-in targets, Python, exit codes, its three formats.

#![allow(clippy::disallowed_methods, reason = "tests write the files they probe")]

use qkvet_tests::{has_python, root, run};
use serde_json::Value;
use tempfile::TempDir;

fn field<'a>(probe: &'a Value, name: &str) -> &'a Value {
    let fields = probe["fields"].as_array().expect("fields");
    fields.iter().find(|field| field["field"] == name).unwrap_or_else(|| panic!("no field {name}"))
}

/// What is decided otherwise than the standard has it, or not decided although it was answered.
fn others(probe: &Value) -> Vec<String> {
    let is_other = |field: &&Value| match field["certainty"].as_str() {
        Some("decided") => field["values"][0] != field["standard"],
        Some("estimate" | "declined") => false,
        _ => true,
    };
    let fields = probe["fields"].as_array().expect("fields").iter().filter(is_other);
    fields
        .map(|field| format!("{} {} {}", field["field"], field["certainty"], field["values"]))
        .collect()
}

#[test]
fn built_in_targets_are_standard_throughout() {
    for dtype in ["float32", "float64"] {
        let finished =
            run(root(), &["probe", "builtin:flash", "--dtype", dtype, "--format", "json"]);
        finished.expect(0, &[]);
        let probe = finished.json();
        assert_eq!(others(&probe), [""; 0], "{dtype}");
        assert!(probe["calls"].as_u64().is_some_and(|calls| calls <= 200));
        assert!(
            probe["fields"]
                .as_array()
                .expect("fields")
                .iter()
                .all(|field| field["certainty"] != "declined")
        );
    }
    run(root(), &["probe", "builtin:standard"])
        .expect(0, &["causal", "lower-right", "0 of them not standard", "meaning: {}"]);
}

#[test]
fn a_convention_is_a_line_to_paste_and_a_fault_is_a_patch() {
    let folder = TempDir::new().expect("a folder");
    run(folder.path(), &["probe", "builtin:fault/causal-upper-left", "--format", "yaml"]).expect(
        0,
        &[
            "conventions:\n  causal: \"upper-left\"  # causal: decided, lower-right is refuted:",
            "meaning: {}",
        ],
    );
    run(folder.path(), &["probe", "builtin:fault/scale-inverse-d", "--format", "yaml"]).expect(
        0,
        &["conventions: {}", "meaning:\n  default_scale: \"inverse\"  # default_scale: decided"],
    );
    run(folder.path(), &["probe", "builtin:fault/causal-upper-left"])
        .expect(0, &["* causal", "upper-left (standard: lower-right)"]);
    run(folder.path(), &["probe", "builtin:fault/last-tile-dropped"])
        .expect(1, &["* keys", "mixed", "1 mixed"]);
}

#[test]
fn usage_and_start_errors_have_their_codes() {
    let folder = TempDir::new().expect("a folder");
    run(folder.path(), &["probe", "builtin:flash", "--dtype", "float12"])
        .expect(2, &["--dtype float12"]);
    run(folder.path(), &["probe", "builtin:flahs"]).expect(2, &["builtin:flahs"]);
    run(folder.path(), &["probe", "exec:./not-there"]).expect(3, &[]);
}

#[test]
fn pytorch_is_recovered() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    std::fs::copy(root().join("examples/torch_sdpa.py"), folder.path().join("torch_sdpa.py"))
        .expect("a copy");
    let finished = run(folder.path(), &["probe", "torch_sdpa.py:attention", "--format", "json"]);
    finished.expect(0, &[]);
    let probe = finished.json();
    assert_eq!(field(&probe, "causal")["values"][0], "upper-left");
    assert_eq!(
        field(&probe, "empty_row")["certainty"],
        "decided",
        "{}",
        field(&probe, "empty_row")
    );
    assert_eq!(field(&probe, "head_map")["values"][0], "h / (h_q / h_k)");
    assert_eq!(field(&probe, "default_scale")["values"][0], "1/sqrt(d_k)");
    assert_eq!(field(&probe, "softcap")["certainty"], "declined");
    assert_eq!(probe["conventions"][0]["value"], "upper-left");
}

#[test]
fn a_function_of_one_head_that_declines_and_one_that_fails() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("target.py");
    let body = "import numpy as np\ndef attention(query, key, value, causal=False):\n    s = query @ np.swapaxes(key, -1, -2) / query.shape[-1]\n    if causal:\n        s = np.where(np.tri(*s.shape[-2:], k=query.shape[2] % 2, dtype=bool), s, -np.inf)\n    w = np.exp(s - s.max(-1, keepdims=True))\n    return ((w / w.sum(-1, keepdims=True)) @ value).astype(query.dtype)\n";
    std::fs::write(&file, body).expect("a file");
    let finished = run(folder.path(), &["probe", "target.py:attention", "--format", "json"]);
    finished.expect(1, &[]);
    let probe = finished.json();
    assert_eq!(field(&probe, "head_map")["certainty"], "declined");
    assert_eq!(field(&probe, "default_scale")["values"][0], "1/d_k");
    assert_eq!(field(&probe, "causal")["certainty"], "mixed", "{}", field(&probe, "causal"));
    std::fs::write(&file, "def attention(query, key, value):\n    raise ValueError('never')\n")
        .expect("a file");
    run(folder.path(), &["probe", "target.py:attention"]).expect(4, &["refused: ", "never"]);
    std::fs::write(&file, "def attention(query, key, value):\n    raise RuntimeError('always')\n")
        .expect("a file");
    run(folder.path(), &["probe", "target.py:attention"]).expect(1, &["broken", "always"]);
}
