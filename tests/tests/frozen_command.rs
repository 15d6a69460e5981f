//! Frozen cases on the command line: exported, checked against, judged elsewhere.

#![allow(clippy::disallowed_methods, reason = "tests compare the bytes of files")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{Finished, Folder, finish, has_python, python, root, temp, text};
use serde_json::Value;

const FORMATS: [&str; 3] = ["json", "npz", "safetensors"];

fn export(folder: &Path, format: &str, more: &str) -> Finished {
    folder.run(format!("export smoke --format {format} --out {format} {more}"))
}

fn check(folder: &Path, target: &str, flags: &str) -> Finished {
    folder.run(format!("check {target} --format json {flags}"))
}

#[test]
fn every_format_gives_the_same_verdicts_and_the_same_bytes_again() {
    let folder = temp();
    let folder = folder.path();
    let mut seen: Vec<Value> = Vec::new();
    for format in FORMATS {
        export(folder, format, "").ends(0);
        let report = check(folder, "builtin:flash", &format!("--cases {format}")).finds(&[]);
        seen.push(report["records"].clone());
        // Read and written again in every format: nothing is lost on the way.
        for other in FORMATS {
            let again = format!("{format}-{other}");
            folder.run(format!("export {format} --format {other} --out {again}")).ends(0);
            if format == FORMATS[0] {
                continue;
            }
            for path in folder.join(&again).files() {
                let name = path.file_name().expect("a name");
                let first = folder.join(format!("{}-{other}", FORMATS[0])).join(name);
                let bytes = [&path, &first].map(|path| std::fs::read(path).expect("a file"));
                assert!(bytes[0] == bytes[1], "{} differs", path.display());
            }
        }
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    assert!(seen[0].as_array().is_some_and(|records| records.len() >= 40));
}

/// Cases for a function of few options: from a suite, which is made to fit, and from a folder.
#[test]
fn what_is_exported_fits_the_options() {
    let folder = temp();
    let folder = folder.path();
    let options = |name: &str, known: &[&str]| -> Vec<String> {
        let calls = check(folder, "builtin:flash", &format!("--cases {name}")).finds(&[]);
        let lines = calls.records().map(|record| text(&record["call"]).to_owned());
        let words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        lines
            .flat_map(words)
            .filter(|word| known.iter().any(|one| word.split('=').next() == Some(one)))
            .collect()
    };
    let export = |words: &str| folder.run(format!("export {words} --format json --dtype float32"));
    export("core --out few --options scale,causal").ends(0);
    assert_eq!(options("few", &["mask", "bias"]), [""; 0]);
    for option in ["scale", "causal"] {
        assert!(!options("few", &[option]).is_empty(), "no call with {option}");
    }
    export("core --out all").ends(0);
    assert!(!options("all", &["mask"]).is_empty());
    export("all --out causal --options causal,softcap").ends(0);
    assert!(!options("causal", &["causal"]).is_empty());
    assert_eq!(options("causal", &["scale", "mask", "bias"]), [""; 0]);
    export("all --out plain --options none").ends(0);
    assert_eq!(options("plain", &["scale", "causal", "mask", "bias"]), [""; 0]);
    export("all --out other --options cusal").expect(2, &["causal"]);
    export("all --out other --options none,causal").expect(2, &["--options", "none"]);
}

#[test]
fn faults_and_conventions_are_named_from_frozen_cases_alone() {
    let folder = temp();
    let folder = folder.path();
    export(folder, "json", "").ends(0);
    for (fault, name) in [
        ("causal-upper-left", "causal=upper-left"),
        ("mask-inverted", "mask=true-hides"),
        ("gqa-modulo", "head-map=tiled"),
        ("scale-inverse-d", "QK101"),
        ("softmax-over-queries", "QK302"),
        ("not-repeatable", "nondeterministic"),
        ("query-overwritten", "QK601"),
    ] {
        check(folder, &format!("builtin:fault/{fault}"), "--cases json").finds(&[name]);
    }
    let declared = "--convention causal=upper-left --cases json";
    check(folder, "builtin:fault/causal-upper-left", declared).finds(&[]);
    let other = check(folder, "builtin:flash", declared).report(1);
    assert!(other.first().call().contains("causal"), "{}", other.first().call());
}

#[test]
fn a_tampered_case_is_refused() {
    let folder = temp();
    let folder = folder.path();
    for format in FORMATS {
        export(folder, format, "--dtype float32").ends(0);
        let victim = &folder.join(format).files()[0];
        let bytes = std::fs::read(victim).expect("a file");
        std::fs::write(victim, &bytes[..bytes.len() / 2]).expect("a file");
        let name = victim.file_name().expect("a name").to_string_lossy().into_owned();
        check(folder, "builtin:flash", &format!("--cases {format}")).expect(2, &[&name]);
    }
    check(folder, "builtin:flash", "--cases nowhere").expect(2, &["nowhere"]);
    std::fs::create_dir(folder.join("empty")).expect("a folder");
    check(folder, "builtin:flash", "--cases empty").expect(2, &["empty", "hint"]);
    export(folder, "json", "").expect(2, &["json"]);
    folder.run("export smok --out x").expect(2, &["smoke"]);
    check(folder, "builtin:flash", "--cases empty --suite core").expect(2, &["--cases", "--suite"]);
}

/// The faults that the cases of the frozen folder `suite` hunt.
fn hunted(suite: &str) -> BTreeSet<String> {
    let mut hunted = BTreeSet::new();
    for file in root().join("snapshots").join(suite).files() {
        let text = std::fs::read_to_string(&file).expect("a snapshot");
        let (_, content) = text.rsplit_once("\n---\n").expect("a header");
        let group: Value = serde_json::from_str(content).expect("JSON");
        let hunts = group["cases"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|case| case["hunts"].as_array());
        hunted.extend(hunts.flatten().map(|fault| fault.as_str().expect("an id").to_owned()));
    }
    hunted
}

#[test]
fn the_frozen_folders_of_the_repository_hold() {
    for suite in ["smoke", "core"] {
        let cases = format!("snapshots/{suite}");
        for target in ["builtin:flash", "builtin:standard"] {
            let report = check(root(), target, &format!("--cases {cases}")).finds(&[]);
            assert_eq!(report["run"]["suite"], format!("{suite} 1.3.0, frozen"));
        }
    }
    let hunted = hunted("core");
    assert!(hunted.len() > 25, "{hunted:?}");
    for fault in &hunted {
        check(root(), &format!("builtin:fault/{fault}"), "--cases snapshots/core -x").ends(1);
    }
}

#[test]
fn the_numpy_example_holds_and_each_faulty_one_is_found() {
    if !has_python() {
        return;
    }
    let check = |target: &str| check(root(), target, "--cases snapshots/core");
    check("examples/numpy_attention.py:attention").finds(&[]);
    let faulty = root().join("tests/fixtures/faulty").files();
    let faulty: Vec<&PathBuf> =
        faulty.iter().filter(|path| path.extension().is_some_and(|end| end == "py")).collect();
    assert!(faulty.len() >= 5, "{faulty:?}");
    for path in faulty {
        let found = check(&format!("{}:attention", path.display())).report(1);
        assert_eq!(found.first()["of"], 488, "{}", path.display());
    }
}

#[test]
fn outputs_computed_elsewhere_are_judged() {
    if !has_python() {
        return;
    }
    let python = python().expect("an interpreter");
    let folder = temp();
    let folder = folder.path();
    export(folder, "npz", "--dtype float64,float32,float16").ends(0);
    let job = |outputs: &str, target: &str| {
        let mut job = Command::new(&python);
        job.arg(root().join("examples/offline_job.py")).args(["npz", outputs, target]);
        finish(job.current_dir(folder)).ends(0);
    };
    let judge = |words: &str| folder.run(format!("judge npz {words} --format json"));
    let example = "examples/numpy_attention.py";
    let right = format!("{}/{example}:attention", root().display());
    job("right", &right);
    judge("right").finds(&[]);

    folder.write("wrong.py", root().read(example).replace("j <= position", "j <= i"));
    job("wrong", "wrong.py:attention");
    let found = judge("wrong").finds(&["causal=upper-left"]).first();
    let replay = |target: &str| folder.run(text(&found["replay"]).replace("TARGET", target));
    replay("wrong.py:attention").expect(1, &["FAIL", "wrong.py:attention"]);
    replay(&right).expect(0, &["PASS"]);
    judge("wrong --convention causal=upper-left").finds(&[]);

    // What is wrong throughout follows no convention.
    folder.write("zeros.py", "import numpy as np\ndef attention(query, key, value, scale=None, causal=False, mask=None, bias=None):\n    return np.zeros(query.shape[:3] + value.shape[3:], query.dtype)\n");
    let zeros = check(folder, "zeros.py:attention", "--cases npz").report(1);
    assert!(zeros.findings().all(|finding| finding["kind"] == "verdict"), "{:?}", zeros.names());

    // One output missing, one cut off, one of another case, one that belongs to nothing.
    let outputs = folder.join("right").files();
    std::fs::remove_file(&outputs[0]).expect("a file");
    let bytes = std::fs::read(&outputs[1]).expect("a file");
    std::fs::write(&outputs[1], &bytes[..bytes.len() / 2]).expect("a file");
    std::fs::copy(&outputs[3], &outputs[2]).expect("a copy");
    std::fs::copy(&outputs[3], folder.join("right/c-0123456789abcdef.npz")).expect("a copy");
    let judged = judge("right");
    judged.expect(1, &["1 of 30 ", "1 outputs ", "c-0123456789abcdef"]);
    let report = judged.report(1);
    assert_eq!((report.count("SKIPPED"), report.count("ERROR")), (1, 1), "{}", report["counts"]);
    assert!(report.count("FAIL") > 0, "{}", report["counts"]);
    judge("nowhere").expect(2, &["nowhere"]);
}
