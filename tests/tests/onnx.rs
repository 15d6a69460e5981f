//! ONNX: models and backends as targets, and frozen cases as node tests. Skipped without
//! `QKVET_TEST_PYTHON`.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;

use qkvet_tests::{Finished, has_python, python, qkvet, root, run};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with the models of `tests/fixtures/onnx/models.py`.
fn models() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let script = root().join("tests/fixtures/onnx/models.py");
    let made = python_in(folder.path(), &script, &[]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    folder
}

fn python_in(folder: &Path, script: &Path, words: &[&str]) -> Finished {
    let mut command = std::process::Command::new(python().expect("a Python"));
    finished(
        &command.current_dir(folder).arg(script).args(words).output().expect("a script that runs"),
    )
}

fn finished(output: &std::process::Output) -> Finished {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Finished {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

fn check(folder: &Path, target: &str, more: &[&str]) -> Finished {
    check_suite(folder, target, "smoke", more)
}

fn check_suite(folder: &Path, target: &str, suite: &str, more: &[&str]) -> Finished {
    let words =
        ["check", target, "--suite", suite, "--dtype", "float32", "--format", "json", "--quiet"];
    run(folder, &[&words[..], more].concat())
}

fn count(report: &Value, word: &str) -> u64 {
    report["counts"][word].as_u64().unwrap_or(0)
}

fn titles(report: &Value) -> Vec<String> {
    let all = report["findings"].as_array().expect("findings");
    all.iter()
        .filter_map(|finding| finding["sentences"]["title"].as_str().map(str::to_owned))
        .collect()
}

fn declined(report: &Value, part: &str) -> bool {
    report["coverage"]["declined"].as_array().is_some_and(|all| {
        all.iter().any(|one| one["reason"].as_str().is_some_and(|text| text.contains(part)))
    })
}

/// A model of fixed extents is asked what it takes.
#[test]
fn cases_fit_the_model() {
    if !has_python() {
        return;
    }
    let folder = models();
    let finished = check(folder.path(), "onnx:fixed.onnx", &[]);
    let report = finished.json();
    assert_eq!(finished.code, Some(0), "{:?}\n{}", titles(&report), finished.stderr);
    let notice =
        "suite smoke is made to fit what the target takes: h_q=4 h_k=4 d_k=16 d_v=16, no options";
    assert!(finished.stderr.contains(notice), "{}", finished.stderr);
    assert!(count(&report, "PASS") > 100, "{}", report["counts"]);
    assert_eq!(report["coverage"]["sizes"]["d_k"], serde_json::json!([16, 16]));
    let wrong = check(folder.path(), "onnx:fixed_wrong.onnx", &[]);
    assert_eq!(wrong.code, Some(1), "{}", wrong.stderr);
}

#[test]
fn right_models_pass() {
    if !has_python() {
        return;
    }
    let folder = models();
    let told = "the model has no input for it, and its own is the default";
    for model in ["right.onnx", "masked.onnx"] {
        let finished = check(folder.path(), &format!("onnx:{model}"), &[]);
        let report = finished.json();
        assert_eq!(finished.code, Some(0), "{model}: {:?}\n{}", titles(&report), finished.stderr);
        assert!(count(&report, "PASS") > 30, "{model}: {}", report["counts"]);
        assert!(declined(&report, told), "{model}: {}", report["coverage"]);
        let environment = report["run"]["environment"].to_string();
        assert!(
            environment.contains("onnxruntime 1.") && environment.contains("one node Attention"),
            "{environment}"
        );
    }
    let masked = check(folder.path(), "onnx:masked.onnx", &[]).json();
    assert!(masked["coverage"]["options"]["mask"].as_u64() > Some(5), "{}", masked["coverage"]);
}

#[test]
fn three_axes_are_heads_side_by_side() {
    if !has_python() {
        return;
    }
    let folder = models();
    let finished = check_suite(folder.path(), "onnx:heads.onnx", "core", &["--law", "value"]);
    let report = finished.json();
    assert_eq!(finished.code, Some(0), "{:?}", titles(&report));
    assert!(count(&report, "PASS") > 0, "{}", report["coverage"]);
    assert_eq!(report["coverage"]["sizes"]["h_q"], serde_json::json!([6, 6]));
    // No case of the suite has seven heads, and all are made to.
    let seven = check(folder.path(), "onnx:seven.onnx", &["--law", "value"]);
    assert_eq!(seven.code, Some(0), "{}", seven.stdout);
    assert_eq!(seven.json()["coverage"]["sizes"]["h_k"], serde_json::json!([7, 7]));
}

#[test]
fn a_causal_model_is_asked_causal_calls_and_its_corner_is_named() {
    if !has_python() {
        return;
    }
    let folder = models();
    let finished = check(folder.path(), "onnx:causal.onnx", &[]);
    let report = finished.json();
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(
        titles(&report).iter().any(|title| title.contains("aligned upper-left")),
        "{:?}",
        titles(&report)
    );
    assert!(declined(&report, "without causal: the model always is"), "{}", report["coverage"]);
    let declared = check(folder.path(), "onnx:causal.onnx", &["--convention", "causal=upper-left"]);
    assert_eq!(declared.code, Some(0), "{:?}", titles(&declared.json()));
    // Every case that may be causal is.
    assert!(
        declared.stderr.contains("takes: options causal, always causal"),
        "{}",
        declared.stderr
    );
    let report = declared.json();
    let (asked, passed) =
        (report["coverage"]["options"]["causal"].as_u64(), count(&report, "PASS"));
    assert!(
        passed > 70 && asked == Some(passed + count(&report, "INCONCLUSIVE")),
        "{}",
        report["counts"]
    );
    // With a past the operator aligns it as the standard does.
    let past = check_suite(folder.path(), "onnx:past.onnx", "core", &[]);
    assert_eq!(past.code, Some(0), "{:?}", titles(&past.json()));
    assert!(past.json()["coverage"]["options"]["causal"].as_u64() > Some(5), "{}", past.stdout);
}

#[test]
fn a_wrong_scale_in_a_graph_of_plain_nodes_is_named() {
    if !has_python() {
        return;
    }
    let folder = models();
    let plain = check_suite(folder.path(), "onnx:plain.onnx", "core", &["--law", "value"]);
    assert_eq!(plain.code, Some(0), "{:?}", titles(&plain.json()));
    let finished = check_suite(folder.path(), "onnx:inverse.onnx", "core", &["--law", "value"]);
    let report = finished.json();
    assert_eq!(finished.code, Some(1));
    let cause = report["findings"].to_string();
    assert!(cause.contains("scale-inverse-d"), "{cause}");
    // What it shows can be shown again, from the command line alone.
    let replay = report["findings"][0]["replay_anywhere"].as_str().expect("a token").to_owned();
    assert!(replay.contains("--target onnx:inverse.onnx"), "{replay}");
    let token = replay.split('\'').nth(1).expect("a token in quotes");
    run(folder.path(), &["replay", token, "--target", "onnx:inverse.onnx"]).expect(1, &["FAIL"]);
}

#[test]
fn what_a_graph_does_not_tell_can_be_declared() {
    if !has_python() {
        return;
    }
    let folder = models();
    let declared =
        check(folder.path(), "onnx:plain.onnx", &["--law", "value", "--constant", "scale=0.5"]);
    let report = declared.json();
    assert!(
        report["run"]["environment"].to_string().contains("constants: scale 0.5"),
        "{}",
        report["run"]
    );
    run(folder.path(), &["check", "onnx:plain.onnx", "--constant", "scale"])
        .expect(2, &["--constant: constant `scale`: expected causal, scale=NUMBER"]);
    run(folder.path(), &["check", "builtin:flash", "--constant", "causal"])
        .expect(2, &["--constant: expected with a model, got the target `builtin:flash`"]);
    let entry = "targets:\n  mine:\n    target: onnx:causal.onnx\n    dtypes: [float32]\n    conventions: {causal: upper-left}\n";
    std::fs::write(folder.path().join("qkvet.yaml"), entry).expect("a file");
    run(folder.path(), &["check", "mine", "--suite", "smoke"]).expect(0, &["no finding"]);
}

#[test]
fn what_cannot_be_started_says_why() {
    if !has_python() {
        return;
    }
    let folder = models();
    std::fs::write(folder.path().join("text.onnx"), "no model").expect("a file");
    let check = |target: &str, expected: &[&str]| {
        run(folder.path(), &["check", target]).expect(3, expected);
    };
    check("onnx:none.onnx", &["onnx:none.onnx: expected a readable file, got"]);
    check("onnx:text.onnx", &["onnx:text.onnx: expected"]);
    check(
        "onnx:unknown.onnx",
        &["input hidden_state: expected a name of query, key, value", "hint: known: query, q"],
    );
    check(
        "onnx:identity.onnx",
        &[
            "input attn_mask: expected one that Attention takes itself, got one of another node",
            "only Not of a mask",
        ],
    );
    check("onnx-backend:nosuch", &["no module named `nosuch`"]);
    run(folder.path(), &["check", "onnx-backend:x@22"])
        .expect(2, &["expected opset 23 or 24, got `22`"]);
    run(folder.path(), &["check", "onnx:"]).expect(2, &["expected the file of a model"]);
    // A Python without ONNX Runtime.
    let hidden = folder.path().join("hidden");
    std::fs::create_dir(&hidden).expect("a folder");
    std::fs::write(hidden.join("onnxruntime.py"), "raise ImportError('not installed')")
        .expect("a file");
    let output =
        qkvet(folder.path()).args(["check", "onnx:right.onnx"]).env("PYTHONPATH", &hidden).output();
    finished(&output.expect("qkvet that runs")).expect(
        3,
        &[
            "onnxruntime is needed: importing it raised ImportError: not installed",
            "pip install onnxruntime",
        ],
    );
}

/// Calls without a mask hide nothing, whatever true means in the mask that the model takes in every
/// call.
#[test]
fn a_mask_that_hides_hides_nothing_where_there_is_none() {
    if !has_python() {
        return;
    }
    let folder = models();
    let declared = ["--convention", "mask=true-hides"];
    for model in ["hides", "inverted"] {
        let finished = check(folder.path(), &format!("onnx:{model}.onnx"), &declared);
        let report = finished.json();
        assert_eq!(finished.code, Some(0), "{model}: {:?}", titles(&report));
        let of_mask = report["coverage"]["options"]["mask"].as_u64();
        assert!(
            of_mask > Some(5) && count(&report, "PASS") > of_mask.unwrap_or(0) + 5,
            "{model}: {}",
            report["counts"]
        );
        // Not declared it is one finding.
        let finished = check(folder.path(), &format!("onnx:{model}.onnx"), &[]);
        assert_eq!(
            titles(&finished.json()),
            ["undeclared convention: true in the boolean mask hides the key"],
            "{model}"
        );
    }
    let told = run(
        folder.path(),
        &["check", "onnx:inverted.onnx", "--suite", "smoke", "--dtype", "float32"],
    );
    told.expect(1, &["attn_mask bool (*, *, *, *) (true hides)"]);
    check(folder.path(), "onnx:twice_inverted.onnx", &[]).expect(0, &[]);
    // What else is wrong is found, and its script hides nothing either where the call has no mask.
    let wrong = check(
        folder.path(),
        "onnx:hides_wrong.onnx",
        &[&declared[..], &["--law", "value"]].concat(),
    );
    let report = wrong.json();
    assert!(
        wrong.code == Some(1) && report["findings"].to_string().contains("scale-inverse-d"),
        "{:?}",
        titles(&report)
    );
    let finding = &report["findings"][0];
    let script = folder.path().join(finding["script"].as_str().expect("a script"));
    python_in(folder.path(), &script, &[]).expect(1, &["FAIL"]);
    python_in(folder.path(), &script, &["hides.onnx"]).expect(0, &["FIXED"]);
    let case = finding["witness"]["case"].as_str().expect("a case");
    run(folder.path(), &["replay", case]).expect(1, &["FAIL"]);
    run(
        folder.path(),
        &["replay", case, "--target", "onnx:hides.onnx", "--convention", "mask=true-hides"],
    )
    .expect(0, &["PASS"]);
    run(folder.path(), &["probe", "onnx:hides.onnx", "--convention", "mask=true-hides"])
        .expect(0, &["mask"]);
}

/// Which of several outputs is taken, and what goes before where names and places differ.
#[test]
fn what_a_model_leaves_open_is_told() {
    if !has_python() {
        return;
    }
    let folder = models();
    let told = |target: &str| {
        run(folder.path(), &["check", target, "--suite", "smoke", "--dtype", "float32", "-q"])
    };
    told("onnx:several.onnx")
        .expect(0, &["gives its result as output, weights from weights; not looked at: scores"]);
    let crossed = told("onnx:crossed.onnx");
    crossed.expect(0, &["key as query float32 (*, *, *, *) (by its place, not its name)"]);
    let twice = run(folder.path(), &["check", "onnx:twice.onnx"]);
    twice.expect(
        3,
        &[
            "inputs query and q: expected one for the query, got two names of it",
            "hint: rename the one",
        ],
    );
}

/// `qkvet onnx run` with the frozen cases of float32.
fn backend(name: &str) -> Finished {
    let file = root().join("tests/fixtures/onnx/backends.py").display().to_string();
    let name = name.replace("backends.py", &file);
    let cases = root().join("snapshots/core").display().to_string();
    let store = TempDir::new().expect("a folder");
    let words = [
        "onnx",
        "run",
        &cases,
        "--backend",
        &name,
        "--dtype",
        "float32",
        "--format",
        "json",
        "--quiet",
    ];
    run(store.path(), &words)
}

#[test]
fn backends_are_split_five_ways() {
    if !has_python() {
        return;
    }
    for name in ["onnxruntime", "onnx.reference", "backends.py:Right"] {
        let finished = backend(name);
        let report = finished.json();
        let cases = report["cases"].as_array().expect("cases");
        let sum: u64 =
            report["counts"].as_object().expect("counts").values().filter_map(Value::as_u64).sum();
        assert_eq!(sum, cases.len() as u64, "{name}");
        assert!(count(&report, "ok") > 60, "{name}: {}", report["counts"]);
        assert!(cases.iter().all(|case| {
            case["test"].as_str().is_some_and(|test| test.starts_with("test_attention_"))
        }));
        let left_out = report["left_out"].to_string();
        assert!(left_out.contains("causal with more queries than keys"), "{left_out}");
        let bad = count(&report, "disagrees")
            + count(&report, "within-allowance")
            + count(&report, "broke");
        assert_eq!(finished.code, Some(i32::from(bad > 0)), "{name}: {}", report["counts"]);
        assert_eq!(
            count(&report, "disagrees") == 0,
            titles(&report).is_empty(),
            "{name}: {:?}",
            titles(&report)
        );
    }
}

#[test]
fn a_lying_backend_is_named_and_a_rough_one_is_told_apart() {
    if !has_python() {
        return;
    }
    let lying = backend("backends.py:Lying");
    let report = lying.json();
    assert_eq!(lying.code, Some(1));
    assert!(count(&report, "disagrees") > 20 && count(&report, "ok") > 0, "{}", report["counts"]);
    assert!(report["findings"].to_string().contains("scale-inverse-d"), "{:?}", titles(&report));
    let rough = backend("backends.py:Rough");
    let report = rough.json();
    assert_eq!(rough.code, Some(1), "outside the bound is outside");
    assert!(count(&report, "within-allowance") > 60, "{}", report["counts"]);
    // What the reference evaluator, which this one stands on, has wrong itself: causal masking with
    // a bias of one row, and cancellation.
    assert!(count(&report, "disagrees") < 6, "{}", report["counts"]);
}

#[test]
fn a_backend_that_declines_is_not_wrong() {
    if !has_python() {
        return;
    }
    let declining = backend("backends.py:Declining");
    let report = declining.json();
    assert_eq!(declining.code, Some(4));
    assert_eq!(
        count(&report, "unsupported"),
        report["cases"].as_array().map_or(0, Vec::len) as u64
    );
    assert!(
        report["reasons"]["unsupported"].to_string().contains("no Attention here"),
        "{}",
        report["reasons"]
    );
    let strict = backend("backends.py:Strict");
    let report = strict.json();
    assert_eq!((strict.code, count(&report, "disagrees")), (Some(0), 0), "{:?}", titles(&report));
    assert!(count(&report, "refused") > 10 && count(&report, "ok") > 10, "{}", report["counts"]);
    assert!(
        report["reasons"]["refused"].to_string().contains("attn_mask is not understood"),
        "{}",
        report["reasons"]
    );
}

#[test]
fn every_law_can_be_put_to_a_backend() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let laws = ["--law", "value", "--law", "key-value-permutation-invariance"];
    let finished = check_suite(folder.path(), "onnx-backend:onnxruntime@24", "core", &laws);
    let report = finished.json();
    assert!(count(&report, "PASS") > 20, "{}\n{}", report["counts"], finished.stderr);
    assert!(report["coverage"]["options"]["softcap"].as_u64() > Some(0), "{}", report["coverage"]);
    assert!(
        declined(&report, "sinks: the operator Attention has no sinks"),
        "{}",
        report["coverage"]
    );
}

#[test]
fn exported_node_tests_are_eaten_by_the_runner_of_onnx() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let cases = root().join("snapshots/core").display().to_string();
    for opset in ["23", "24"] {
        let out = folder.path().join(opset).display().to_string();
        let words = [
            "export",
            &cases,
            "--format",
            "onnx-node-tests",
            "--opset",
            opset,
            "--out",
            &out,
            "--dtype",
            "float32,float16",
        ];
        run(folder.path(), &words)
            .expect(0, &[&format!("node tests of opset {opset}"), "left out"]);
    }
    let tests = folder.path().join("23");
    let names: Vec<_> = std::fs::read_dir(&tests)
        .expect("tests")
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    assert!(names.len() > 120, "{}", names.len());
    for test in &names {
        let data = test.join("test_data_set_0");
        assert!(
            test.join("model.onnx").is_file() && data.join("input_2.pb").is_file(),
            "{}",
            test.display()
        );
        let text = std::fs::read_to_string(data.join("bounds.json")).expect("bounds");
        let bounds: Value = serde_json::from_str(&text).expect("JSON");
        let answer = bounds["answer"].as_array().expect("answers").len();
        let size: u64 =
            bounds["shape"].as_array().expect("a shape").iter().filter_map(Value::as_u64).product();
        assert_eq!(answer as u64, size);
        let default = bounds["default_contract"].as_str().expect("a contract");
        assert_eq!(bounds["bounds"][default].as_array().map(Vec::len), Some(answer));
    }
    let eat = root().join("tests/fixtures/onnx/eat.py");
    let eaten = |backend: &str| {
        let finished = python_in(folder.path(), &eat, &[&tests.display().to_string(), backend]);
        let last = finished.stdout.lines().last().unwrap_or_default().to_owned();
        assert!(last.starts_with("ran "), "{}\n{}", finished.stdout, finished.stderr);
        let number = |word: &str| {
            let rest = last.split(word).nth(1).unwrap_or_default();
            rest.trim()
                .split([',', ' '])
                .next()
                .and_then(|n| n.parse::<usize>().ok())
                .unwrap_or(usize::MAX)
        };
        ([number("ran "), number("refused "), number("failed ")], finished.stdout)
    };
    // ONNX Runtime refuses masks with one row for all queries, and scales that are not positive.
    let ([ran, refused, failed], told) = eaten("onnxruntime.backend");
    assert_eq!((ran, failed), (names.len(), 0), "{told}");
    assert!(refused < ran / 4, "{refused} of {ran}\n{told}");
    let ([ran, _, failed], told) = eaten("backends:Lying");
    assert!(ran == names.len() && failed > 20, "{ran} {failed}\n{told}");
    run(
        folder.path(),
        &["export", &cases, "--format", "onnx-node-tests", "--opset", "22", "--out", "x"],
    )
    .expect(2, &["--opset: expected 23 or 24, got 22"]);
}

/// A script with ONNX Runtime alone shows what is wrong with a model, and that another one is
/// right.
#[test]
fn a_finding_of_a_model_has_a_script() {
    if !has_python() {
        return;
    }
    let folder = models();
    let report = check(folder.path(), "onnx:fixed_wrong.onnx", &["--law", "value"]).json();
    let finding = &report["findings"][0];
    let text = finding["script_text"].as_str().expect("the text of a script");
    assert!(text.contains("import onnxruntime") && !text.contains("import qkvet"), "{text}");
    let script = folder.path().join(finding["script"].as_str().expect("a script"));
    let play = |words: &[&str]| python_in(folder.path(), &script, words);
    play(&[]).expect(1, &["FAIL", "expected", "got"]);
    play(&["fixed.onnx"]).expect(0, &["FIXED"]);
    play(&["nowhere.onnx"]).expect(2, &[]);
    assert!(play(&["nowhere.onnx"]).stderr.contains("the target cannot be loaded"));
}

/// Masks of which true hides, in models that leave rows without a key to the softmax: either
/// convention is named, and nothing else.
#[test]
fn two_conventions_of_one_model_are_named_together() {
    if !has_python() {
        return;
    }
    let folder = models();
    for (model, rows) in [("hides_nan", "gets NaN"), ("hides_mean", "gets the mean of all values")]
    {
        let target = format!("onnx:{model}.onnx");
        let report = check(folder.path(), &target, &[]).expect(1, &[]).json();
        let titles = titles(&report);
        assert!(
            titles.len() == 2 && titles.iter().all(|title| title.contains("undeclared convention")),
            "{titles:?}"
        );
        assert!(
            titles.iter().any(|title| title.contains("true in the boolean mask hides the key")),
            "{titles:?}"
        );
        assert!(titles.iter().any(|title| title.ends_with(rows)), "{titles:?}");
        for finding in report["findings"].as_array().expect("findings") {
            let case = finding["witness"]["case"].as_str().expect("a case");
            run(folder.path(), &["replay", case]).expect(1, &["FAIL"]);
        }
    }
    let probed = run(folder.path(), &["probe", "onnx:hides_nan.onnx"]);
    probed.expect(
        0,
        &["true-hides (standard: true-attends) decided", "nan (standard: zero)", "default_scale"],
    );
    assert!(!probed.stdout.contains("needs 0.5, got NaN"), "{}", probed.stdout);
}

/// What is found once masks are known to hide is replayed as it was found.
#[test]
fn a_finding_under_an_undeclared_convention_is_replayed_under_it() {
    if !has_python() {
        return;
    }
    let folder = models();
    let whole = check(folder.path(), "onnx:hides_wrong.onnx", &[]);
    // Shards ask the same, and keep apart what was put with either mask.
    for shard in ["1/2", "2/2"] {
        check(folder.path(), "onnx:hides_wrong.onnx", &["--shard", shard]).expect(1, &[]);
    }
    let joined = run(folder.path(), &["merge", "-q", "--format", "json", ".qkvet/shards"]);
    assert_eq!(joined.stdout, whole.stdout, "{}", joined.stderr);
    let report = whole.expect(1, &[]).json();
    let is_other = |finding: &&Value| finding["kind"] != "convention";
    let others: Vec<&Value> =
        report["findings"].as_array().expect("findings").iter().filter(is_other).collect();
    assert!(!others.is_empty(), "{:?}", titles(&report));
    for finding in others {
        run(folder.path(), &["replay", finding["witness"]["case"].as_str().expect("a case")])
            .expect(1, &["FAIL"]);
        let script = folder.path().join(finding["script"].as_str().expect("a script"));
        python_in(folder.path(), &script, &[]).expect(1, &["FAIL"]);
        python_in(folder.path(), &script, &["hides.onnx"]).expect(0, &["FIXED"]);
    }
}

/// Masks with one row of keys for each item, of truth values and of whole numbers.
#[test]
fn masks_of_keys_are_put_as_the_model_takes_them() {
    if !has_python() {
        return;
    }
    let folder = models();
    let declared = ["--convention", "empty-row=nan"];
    for model in ["keys", "padding"] {
        let report =
            check(folder.path(), &format!("onnx:{model}.onnx"), &declared).expect(0, &[]).json();
        let of_mask = report["coverage"]["options"]["mask"].as_u64();
        assert!(
            of_mask > Some(5) && count(&report, "PASS") > 50,
            "{model} {of_mask:?}: {}",
            report["counts"]
        );
        assert_eq!(count(&report, "REFUSED"), 0, "{model}");
    }
    let wrong = check(folder.path(), "onnx:padding_wrong.onnx", &declared).expect(1, &[]).json();
    assert!(!titles(&wrong).is_empty());
    let told = run(
        folder.path(),
        &["check", "onnx:padding.onnx", "--suite", "smoke", "--dtype", "float32"],
    );
    told.expect(1, &["mask as attention_mask int64 (*, *)", "masks b 1 1 j"]);
}

/// A softcap and a scale that are constants of the model are those of every case that can have
/// them.
#[test]
fn cases_have_the_constants_of_the_model() {
    if !has_python() {
        return;
    }
    let folder = models();
    for (model, always) in [
        ("capped", "always softcap=5"),
        ("scaled", "always scale=0.3"),
        ("causal", "always causal"),
    ] {
        let target = format!("onnx:{model}.onnx");
        let finished = check(folder.path(), &target, &["--convention", "causal=upper-left"]);
        let report = finished.expect(0, &[]).json();
        assert!(count(&report, "PASS") > 20, "{model}: {}", report["counts"]);
        let told =
            run(folder.path(), &["check", &target, "--suite", "smoke", "--dtype", "float32"]);
        assert!(format!("{}{}", told.stdout, told.stderr).contains(always), "{}", told.stderr);
    }
}
