//! Frozen cases on the command line: exported, checked against, judged elsewhere.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{Finished, has_python, python, root, run};
use serde_json::Value;
use tempfile::TempDir;

const FORMATS: [&str; 3] = ["json", "npz", "safetensors"];

fn export(folder: &Path, format: &str, more: &[&str]) -> Finished {
    let mut args = vec!["export", "smoke", "--format", format, "--out", format];
    args.extend(more);
    run(folder, &args)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The report without the name of the folder.
fn records(finished: &Finished) -> Value {
    finished.json()["records"].clone()
}

#[test]
fn every_format_gives_the_same_verdicts_and_the_same_bytes_again() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let mut seen: Vec<Value> = Vec::new();
    for format in FORMATS {
        export(folder, format, &[]).expect(0, &["cases as"]);
        let finished =
            run(folder, &["check", "builtin:flash", "--cases", format, "--format", "json", "-q"]);
        finished.expect(0, &[]);
        seen.push(records(&finished));
        // Read and written again in every format: nothing is lost on the way.
        for other in FORMATS {
            let again = format!("{format}-{other}");
            run(folder, &["export", format, "--format", other, "--out", &again]).expect(0, &[]);
            if format == FORMATS[0] {
                continue;
            }
            for path in files(&folder.join(&again)) {
                let name = path.file_name().expect("a name");
                let first =
                    std::fs::read(folder.join(format!("{}-{other}", FORMATS[0])).join(name))
                        .expect("a file");
                assert!(
                    std::fs::read(&path).expect("a file") == first,
                    "{} differs",
                    path.display()
                );
            }
        }
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    assert!(seen[0].as_array().is_some_and(|records| records.len() >= 40));
}

#[test]
fn faults_and_conventions_are_named_from_frozen_cases_alone() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    export(folder, "json", &[]).expect(0, &[]);
    for (fault, title) in [
        ("causal-upper-left", "undeclared convention: causal"),
        ("mask-inverted", "undeclared convention: true in the boolean mask"),
        ("gqa-modulo", "undeclared convention: query head h reads"),
        ("scale-inverse-d", "FAIL  QK"),
        ("softmax-over-queries", "FAIL  QK"),
        ("not-repeatable", "NONDET"),
        ("query-overwritten", "the same bits after the call"),
    ] {
        run(folder, &["check", &format!("builtin:fault/{fault}"), "--cases", "json", "-q"])
            .expect(1, &[title]);
    }
    let declared = ["--convention", "causal=upper-left", "--cases", "json", "-q"];
    let mut args = vec!["check", "builtin:fault/causal-upper-left"];
    args.extend(declared);
    run(folder, &args).expect(0, &["no finding in"]);
    let mut args = vec!["check", "builtin:flash"];
    args.extend(declared);
    run(folder, &args).expect(1, &["causal"]);
}

#[test]
fn a_tampered_case_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    for format in FORMATS {
        export(folder, format, &["--dtype", "float32"]).expect(0, &[]);
        let victim = &files(&folder.join(format))[0];
        let mut bytes = std::fs::read(victim).expect("a file");
        let half = bytes.len() / 2;
        bytes.truncate(half);
        std::fs::write(victim, &bytes).expect("a file");
        run(folder, &["check", "builtin:flash", "--cases", format])
            .expect(2, &["case at", "expected"]);
    }
    let check = |cases: &str| run(folder, &["check", "builtin:flash", "--cases", cases]);
    check("nowhere").expect(2, &["folder at nowhere"]);
    std::fs::create_dir(folder.join("empty")).expect("a folder");
    check("empty").expect(2, &["expected a folder of frozen cases", "hint"]);
    export(folder, "json", &[]).expect(2, &["expected an empty one"]);
    run(folder, &["export", "smok", "--out", "x"]).expect(2, &["smoke"]);
    run(folder, &["check", "builtin:flash", "--cases", "empty", "--suite", "core"])
        .expect(2, &["cannot be used with"]);
}

/// The faults that the cases of the frozen folder `suite` hunt.
fn hunted(suite: &str) -> BTreeSet<String> {
    let mut hunted = BTreeSet::new();
    for file in files(&root().join("snapshots").join(suite)) {
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
            run(root(), &["check", target, "--cases", &cases, "-q"])
                .expect(0, &["no finding in", "frozen"]);
        }
    }
    let hunted = hunted("core");
    assert!(hunted.len() > 25, "{hunted:?}");
    for fault in &hunted {
        let args = ["check", &format!("builtin:fault/{fault}"), "--cases", "snapshots/core", "-q"];
        let finished = run(root(), &args);
        assert_eq!(finished.code, Some(1), "{fault}\n{}", finished.stdout);
    }
}

#[test]
fn the_numpy_example_holds_and_each_faulty_one_is_found() {
    if !has_python() {
        return;
    }
    let check = |target: &str| run(root(), &["check", target, "--cases", "snapshots/core", "-q"]);
    check("examples/numpy_attention.py:attention")
        .expect(0, &["no finding in", "core 1.0.0, frozen"]);
    let faulty = files(&root().join("tests/fixtures/faulty"));
    let faulty: Vec<&PathBuf> =
        faulty.iter().filter(|path| path.extension().is_some_and(|end| end == "py")).collect();
    assert!(faulty.len() >= 5, "{faulty:?}");
    for path in faulty {
        check(&format!("{}:attention", path.display())).expect(1, &[" of 488 "]);
    }
}

#[test]
fn outputs_computed_elsewhere_are_judged() {
    if !has_python() {
        return;
    }
    let python = python().expect("an interpreter");
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    export(folder, "npz", &["--dtype", "float64,float32,float16"]).expect(0, &[]);
    let job = |outputs: &str, target: &str| {
        let script = root().join("examples/offline_job.py");
        let status = Command::new(&python)
            .arg(script)
            .args(["npz", outputs, target])
            .current_dir(folder)
            .output();
        let status = status.expect("python runs");
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    };
    let right = root().join("examples/numpy_attention.py").display().to_string();
    job("right", &format!("{right}:attention"));
    run(folder, &["judge", "npz", "right"]).expect(0, &["no finding in"]);

    let wrong =
        std::fs::read_to_string(&right).expect("the example").replace("j <= position", "j <= i");
    std::fs::write(folder.join("wrong.py"), wrong).expect("a file");
    job("wrong", "wrong.py:attention");
    let judged = run(folder, &["judge", "npz", "wrong"]);
    judged.expect(1, &["CONVENTION", "causal=upper-left"]);
    let line = judged
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("replay"))
        .expect("a command");
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let replay = |target: &str| {
        run(
            folder,
            &words
                .iter()
                .map(|word| if *word == "TARGET" { target } else { word })
                .collect::<Vec<_>>(),
        )
    };
    replay("wrong.py:attention").expect(1, &["FAIL", "on wrong.py:attention"]);
    replay(&format!("{right}:attention")).expect(0, &["PASS"]);
    run(folder, &["judge", "npz", "wrong", "--convention", "causal=upper-left"])
        .expect(0, &["no finding in"]);

    // What is wrong throughout follows no convention.
    std::fs::write(folder.join("zeros.py"), "import numpy as np\ndef attention(query, key, value, scale=None, causal=False, mask=None, bias=None):\n    return np.zeros(query.shape[:3] + value.shape[3:], query.dtype)\n").expect("a file");
    let zeros = run(folder, &["check", "zeros.py:attention", "--cases", "npz", "-q"]);
    zeros.expect(1, &["FAIL"]);
    assert!(!zeros.stdout.contains("CONVENTION"), "{}", zeros.stdout);

    // One output missing, one cut off, one of another case, one that belongs to nothing.
    let outputs = files(&folder.join("right"));
    std::fs::remove_file(&outputs[0]).expect("a file");
    let bytes = std::fs::read(&outputs[1]).expect("a file");
    std::fs::write(&outputs[1], &bytes[..bytes.len() / 2]).expect("a file");
    std::fs::copy(&outputs[3], &outputs[2]).expect("a copy");
    std::fs::copy(&outputs[3], folder.join("right/c-0123456789abcdef.npz")).expect("a copy");
    run(folder, &["judge", "npz", "right"]).expect(
        1,
        &[
            "SKIPPED 1",
            "1 of 30 cases have no output",
            "1 not run",
            "ERROR",
            "1 outputs belong to no case",
            "FAIL",
        ],
    );
    run(folder, &["judge", "npz", "nowhere"]).expect(2, &["folder at nowhere"]);
}
