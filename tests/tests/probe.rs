//! `qkvet probe` through the command line: built-in targets, Python, exit codes, its three formats.

use qkvet_tests::{Folder, has_python, root, temp};
use serde_json::Value;

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
        let probe =
            root().run(format!("probe builtin:flash --dtype {dtype} --format json")).report(0);
        assert_eq!(others(&probe), [""; 0], "{dtype}");
        assert!(probe["calls"].as_u64().is_some_and(|calls| calls <= 200));
        let mut fields = probe["fields"].as_array().expect("fields").iter();
        assert!(fields.all(|field| field["certainty"] != "declined"));
    }
    root().run("probe builtin:standard").expect(0, &["causal", "lower-right", "meaning: {}"]);
}

#[test]
fn a_convention_is_a_line_to_paste_and_a_fault_is_a_patch() {
    let probe = |fault: &str, format: &str| {
        temp().run(format!("probe builtin:fault/{fault} --format {format}"))
    };
    probe("causal-upper-left", "yaml")
        .expect(0, &["conventions:\n  causal: \"upper-left\"  # ", "meaning: {}"]);
    probe("scale-inverse-d", "yaml")
        .expect(0, &["conventions: {}", "meaning:\n  default_scale: \"inverse\"  # "]);
    probe("causal-upper-left", "human").expect(0, &["* causal", "upper-left", "lower-right"]);
    let mixed = probe("last-tile-dropped", "json").report(1);
    assert_eq!(field(&mixed, "keys")["certainty"], "mixed");
    assert_eq!(others(&mixed).len(), 1, "{:?}", others(&mixed));
}

#[test]
fn usage_and_start_errors_have_their_codes() {
    let folder = temp();
    folder.run("probe builtin:flash --dtype float12").expect(2, &["--dtype", "float12"]);
    folder.run("probe builtin:flahs").expect(2, &["builtin:flahs"]);
    folder.run("probe exec:./not-there").ends(3);
}

#[test]
fn pytorch_is_recovered() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("torch_sdpa.py", root().read("examples/torch_sdpa.py"));
    let probe = folder.run("probe torch_sdpa.py:attention --format json").report(0);
    for (name, value) in [
        ("causal", "upper-left"),
        ("head_map", "h / (h_q / h_k)"),
        ("default_scale", "1/sqrt(d_k)"),
    ] {
        assert_eq!(field(&probe, name)["values"][0], value);
    }
    assert_eq!(field(&probe, "empty_row")["certainty"], "decided");
    assert_eq!(field(&probe, "softcap")["certainty"], "declined");
    assert_eq!(probe["conventions"][0]["value"], "upper-left");
}

#[test]
fn a_function_of_one_head_that_declines_and_one_that_fails() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let body = "import numpy as np\ndef attention(query, key, value, causal=False):\n    s = query @ np.swapaxes(key, -1, -2) / query.shape[-1]\n    if causal:\n        s = np.where(np.tri(*s.shape[-2:], k=query.shape[2] % 2, dtype=bool), s, -np.inf)\n    w = np.exp(s - s.max(-1, keepdims=True))\n    return ((w / w.sum(-1, keepdims=True)) @ value).astype(query.dtype)\n";
    folder.write("target.py", body);
    let probe = folder.run("probe target.py:attention --format json").report(1);
    assert_eq!(field(&probe, "head_map")["certainty"], "declined");
    assert_eq!(field(&probe, "default_scale")["values"][0], "1/d_k");
    assert_eq!(field(&probe, "causal")["certainty"], "mixed", "{}", field(&probe, "causal"));
    for (error, code, word) in [("ValueError", 4, "refused"), ("RuntimeError", 1, "broken")] {
        let body = format!("def attention(query, key, value):\n    raise {error}('never')\n");
        folder.write("target.py", body);
        folder.run("probe target.py:attention").expect(code, &[word, "never"]);
    }
}
