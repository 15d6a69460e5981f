//! ONNX: models and backends as targets, and frozen cases as node tests. Skipped without
//! `QKVET_TEST_PYTHON`.

use std::path::Path;
use std::process::Command;

use qkvet_tests::{
    Finding, Finished, Folder, Report, Words, finish, has_python, python, qkvet, root, temp, text,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with the models of `tests/fixtures/onnx/models.py`.
fn models() -> TempDir {
    let folder = temp();
    python_in(folder.path(), &root().join("tests/fixtures/onnx/models.py"), "").ends(0);
    folder
}

fn python_in(folder: &Path, script: &Path, words: &str) -> Finished {
    let mut command = Command::new(python().expect("a Python"));
    finish(command.current_dir(folder).arg(script).args(words.words()))
}

/// Runs the script of a finding in the folder of its model.
fn play(folder: &TempDir, finding: &Finding, words: &str) -> Finished {
    python_in(folder.path(), Path::new(text(&finding["script"])), words)
}

/// `model` is a file, or a target.
fn check(folder: &TempDir, model: &str, words: &str) -> Finished {
    check_suite(folder, model, "smoke", words)
}

fn check_suite(folder: &TempDir, model: &str, suite: &str, words: &str) -> Finished {
    let flags = format!("--suite {suite} --dtype float32 --format json {words}");
    let target = if model.contains(':') { model.to_owned() } else { format!("onnx:{model}.onnx") };
    folder.run(format!("check {target} {flags}"))
}

fn environment(report: &Report) -> String {
    report["run"]["environment"].to_string()
}

/// A model of fixed extents is asked what it takes.
#[test]
fn cases_fit_the_model() {
    if !has_python() {
        return;
    }
    let folder = models();
    let finished = check(&folder, "fixed", "");
    finished.expect(0, &["h_q=4 h_k=4 d_k=16 d_v=16"]);
    let report = finished.finds(&[]);
    assert!(report.count("PASS") > 100, "{}", report["counts"]);
    assert_eq!(report["coverage"]["sizes"]["d_k"], json!([16, 16]));
    check(&folder, "fixed_wrong", "").ends(1);
}

#[test]
fn right_models_pass() {
    if !has_python() {
        return;
    }
    let folder = models();
    for model in ["right", "masked"] {
        let report = check(&folder, model, "").finds(&[]);
        assert!(report.count("PASS") > 30, "{model}: {}", report["counts"]);
        assert!(report.declines("the model has no input"), "{model}: {}", report["coverage"]);
        let environment = environment(&report);
        assert!(
            environment.contains("onnxruntime 1.") && environment.contains("node Attention"),
            "{environment}"
        );
        assert!(model == "right" || report.option("mask") > 5, "{}", report["coverage"]);
    }
}

#[test]
fn three_axes_are_heads_side_by_side() {
    if !has_python() {
        return;
    }
    let folder = models();
    let report = check_suite(&folder, "heads", "core", "--law value").finds(&[]);
    assert!(report.count("PASS") > 0, "{}", report["coverage"]);
    assert_eq!(report["coverage"]["sizes"]["h_q"], json!([6, 6]));
    // No case of the suite has seven heads, and all are made to.
    let seven = check(&folder, "seven", "--law value").finds(&[]);
    assert_eq!(seven["coverage"]["sizes"]["h_k"], json!([7, 7]));
}

#[test]
fn a_causal_model_is_asked_causal_calls_and_its_corner_is_named() {
    if !has_python() {
        return;
    }
    let folder = models();
    let report = check(&folder, "causal", "").report(1);
    assert!(report.has("causal=upper-left"), "{:?}", report.names());
    assert!(report.declines("without causal"), "{}", report["coverage"]);
    let declared = check(&folder, "causal", "--convention causal=upper-left");
    // Every case that may be causal is.
    declared.expect(0, &["options causal, always causal"]);
    let report = declared.finds(&[]);
    let passed = report.count("PASS");
    assert!(
        passed > 70 && report.option("causal") == passed + report.count("INCONCLUSIVE"),
        "{}",
        report["counts"]
    );
    // With a past the operator aligns it as the standard does.
    assert!(check_suite(&folder, "past", "core", "").finds(&[]).option("causal") > 5);
}

#[test]
fn a_wrong_scale_in_a_graph_of_plain_nodes_is_named() {
    if !has_python() {
        return;
    }
    let folder = models();
    check_suite(&folder, "plain", "core", "--law value").finds(&[]);
    let finding = check_suite(&folder, "inverse", "core", "--law value").report(1).first();
    assert_eq!(finding["fault"], "scale-inverse-d");
    // What it shows can be shown again, from the command line alone.
    let again = text(&finding["replay_anywhere"]);
    assert!(again.ends_with("--target onnx:inverse.onnx"), "{again}");
    folder.run(again).expect(1, &["FAIL"]);
}

#[test]
fn what_a_graph_does_not_tell_can_be_declared() {
    if !has_python() {
        return;
    }
    let folder = models();
    let declared = check(&folder, "plain", "--law value --constant scale=0.5");
    let environment = environment(&Report(declared.json()));
    assert!(environment.contains("scale 0.5"), "{environment}");
    folder
        .run("check onnx:plain.onnx --constant scale")
        .expect(2, &["--constant", "`scale`", "causal, scale=NUMBER"]);
    folder
        .run("check builtin:flash --constant causal")
        .expect(2, &["--constant", "`builtin:flash`"]);
    let entry = "targets:\n  mine:\n    target: onnx:causal.onnx\n    dtypes: [float32]\n    conventions: {causal: upper-left}\n";
    folder.write("qkvet.yaml", entry);
    folder.run("check mine --suite smoke --format json").finds(&[]);
}

#[test]
fn what_cannot_be_started_says_why() {
    if !has_python() {
        return;
    }
    let folder = models();
    folder.write("text.onnx", "no model");
    for (target, code, parts) in [
        ("onnx:none.onnx", 3, &["onnx:none.onnx: "][..]),
        ("onnx:text.onnx", 3, &["onnx:text.onnx: "]),
        ("onnx:unknown.onnx", 3, &["hidden_state", "query, key, value", "query, q"]),
        ("onnx:identity.onnx", 3, &["attn_mask", "Not"]),
        ("onnx:twice.onnx", 3, &["query and q"]),
        ("onnx-backend:nosuch", 3, &["`nosuch`"]),
        ("onnx-backend:x@22", 2, &["23", "24", "`22`"]),
        ("onnx:", 2, &["onnx:"]),
    ] {
        folder.run(format!("check {target}")).expect(code, parts);
    }
    // A Python without ONNX Runtime.
    folder.write("hidden/onnxruntime.py", "raise ImportError('not installed')");
    let mut command = qkvet(folder.path());
    command.args(["check", "onnx:right.onnx"]).env("PYTHONPATH", folder.path().join("hidden"));
    finish(&mut command).expect(3, &["ImportError: not installed", "pip install onnxruntime"]);
}

/// Calls without a mask hide nothing, whatever true means in the mask that the model takes in every
/// call.
#[test]
fn a_mask_that_hides_hides_nothing_where_there_is_none() {
    if !has_python() {
        return;
    }
    let folder = models();
    let declared = "--convention mask=true-hides";
    for model in ["hides", "inverted"] {
        let report = check(&folder, model, declared).finds(&[]);
        let of_mask = report.option("mask");
        assert!(of_mask > 5 && report.count("PASS") > of_mask + 5, "{model}: {}", report["counts"]);
        // Not declared it is one finding.
        check(&folder, model, "").finds(&["mask=true-hides"]);
    }
    check(&folder, "twice_inverted", "").ends(0);
    // What else is wrong is found, and its script hides nothing either where the call has no mask.
    let wrong = check(&folder, "hides_wrong", &format!("{declared} --law value"));
    let finding = wrong.report(1).first();
    assert_eq!(finding["fault"], "scale-inverse-d");
    play(&folder, &finding, "").expect(1, &["FAIL"]);
    play(&folder, &finding, "hides.onnx").expect(0, &["FIXED"]);
    folder.replay(&finding).expect(1, &["FAIL"]);
    let right = format!("replay {} --target onnx:hides.onnx {declared}", finding.case());
    folder.run(right).expect(0, &["PASS"]);
    folder.run(format!("probe onnx:hides.onnx {declared}")).expect(0, &["mask"]);
}

/// Which of several outputs is taken, and what goes before where names and places differ.
#[test]
fn what_a_model_leaves_open_is_told() {
    if !has_python() {
        return;
    }
    let folder = models();
    let takes = |model: &str| environment(&check(&folder, model, "").finds(&[]));
    let several = takes("several");
    assert!(several.contains("weights from weights; not looked at: scores"), "{several}");
    let crossed = takes("crossed");
    assert!(crossed.contains("key as query float32 (*, *, *, *)"), "{crossed}");
}

/// `qkvet onnx run` with the frozen cases of float32.
fn backend(name: &str) -> Finished {
    let root = root().display();
    let name = name.replace("backends.py", &format!("{root}/tests/fixtures/onnx/backends.py"));
    let flags = "--dtype float32 --format json";
    temp().run(format!("onnx run {root}/snapshots/core --backend {name} {flags}"))
}

#[test]
fn backends_are_split_five_ways() {
    if !has_python() {
        return;
    }
    for name in ["onnxruntime", "onnx.reference", "backends.py:Right"] {
        let finished = backend(name);
        let report = Report(finished.json());
        let cases = report["cases"].as_array().expect("cases");
        let sum: u64 =
            report["counts"].as_object().expect("counts").values().filter_map(Value::as_u64).sum();
        assert_eq!(sum, cases.len() as u64, "{name}");
        assert!(report.count("ok") > 60, "{name}: {}", report["counts"]);
        assert!(cases.iter().all(|case| text(&case["test"]).starts_with("test_attention_")));
        let left_out = report["left_out"].to_string();
        assert!(left_out.contains("causal"), "{left_out}");
        let disagrees = report.count("disagrees");
        let bad = disagrees + report.count("within-allowance") + report.count("broke");
        finished.ends(i32::from(bad > 0));
        assert_eq!(disagrees == 0, report.names().is_empty(), "{name}: {:?}", report.names());
    }
}

#[test]
fn a_lying_backend_is_named_and_a_rough_one_is_told_apart() {
    if !has_python() {
        return;
    }
    let lying = backend("backends.py:Lying").report(1);
    assert!(lying.count("disagrees") > 20 && lying.count("ok") > 0, "{}", lying["counts"]);
    assert!(lying["findings"].to_string().contains("scale-inverse-d"), "{:?}", lying.names());
    // Outside the bound is outside.
    let rough = backend("backends.py:Rough").report(1);
    assert!(rough.count("within-allowance") > 60, "{}", rough["counts"]);
    // What the reference evaluator, which this one stands on, has wrong itself: causal masking with
    // a bias of one row, and cancellation.
    assert!(rough.count("disagrees") < 6, "{}", rough["counts"]);
}

#[test]
fn a_backend_that_declines_is_not_wrong() {
    if !has_python() {
        return;
    }
    let declining = backend("backends.py:Declining").report(4);
    let cases = declining["cases"].as_array().map_or(0, Vec::len);
    assert_eq!(declining.count("unsupported"), cases as u64);
    let reasons = declining["reasons"]["unsupported"].to_string();
    assert!(reasons.contains("no Attention here"), "{reasons}");
    let strict = backend("backends.py:Strict").report(0);
    assert!(strict.count("refused") > 10 && strict.count("ok") > 10, "{}", strict["counts"]);
    assert_eq!(strict.count("disagrees"), 0);
    let reasons = strict["reasons"]["refused"].to_string();
    assert!(reasons.contains("attn_mask"), "{reasons}");
    // The class of an exception says what it is; its words say nothing.
    let wordy = backend("backends.py:Wordy").report(1);
    assert_eq!(wordy.count("broke"), wordy["cases"].as_array().map_or(0, Vec::len) as u64);
}

#[test]
fn every_law_can_be_put_to_a_backend() {
    if !has_python() {
        return;
    }
    let laws = "--law value --law key-value-permutation-invariance";
    let finished = check_suite(&temp(), "onnx-backend:onnxruntime@24", "core", laws);
    let report = Report(finished.json());
    assert!(report.count("PASS") > 20, "{}\n{}", report["counts"], finished.stderr);
    assert!(report.option("softcap") > 0, "{}", report["coverage"]);
    assert!(report.declines("sinks: "), "{}", report["coverage"]);
}

#[test]
fn exported_node_tests_are_eaten_by_the_runner_of_onnx() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let export = |opset: &str, more: &str| {
        let cases = root().join("snapshots/core").display().to_string();
        let format = "--format onnx-node-tests --opset";
        folder.run(format!("export {cases} {format} {opset} --out {opset} {more}"))
    };
    for opset in ["23", "24"] {
        export(opset, "--dtype float32,float16").expect(0, &[opset]);
    }
    export("22", "").expect(2, &["--opset", "23", "24", "22"]);
    let tests = folder.path().join("23");
    let names = tests.files();
    assert!(names.len() > 120, "{}", names.len());
    for test in &names {
        let data = test.join("test_data_set_0");
        assert!(test.has("model.onnx") && data.has("input_2.pb"), "{}", test.display());
        let bounds: Value = serde_json::from_str(&data.read("bounds.json")).expect("JSON");
        let answer = bounds["answer"].as_array().expect("answers").len();
        let shape = bounds["shape"].as_array().expect("a shape");
        assert_eq!(answer as u64, shape.iter().filter_map(Value::as_u64).product::<u64>());
        let default = text(&bounds["default_contract"]);
        assert_eq!(bounds["bounds"][default].as_array().map(Vec::len), Some(answer));
    }
    let eat = root().join("tests/fixtures/onnx/eat.py");
    let eaten = |backend: &str| {
        let finished = python_in(folder.path(), &eat, &format!("{} {backend}", tests.display()));
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
}

/// A script with ONNX Runtime alone shows what is wrong with a model, and that another one is
/// right.
#[test]
fn a_finding_of_a_model_has_a_script() {
    if !has_python() {
        return;
    }
    let folder = models();
    let finding = check(&folder, "fixed_wrong", "--law value").report(1).first();
    let script = text(&finding["script_text"]);
    assert!(
        script.contains("needs numpy (and ml_dtypes for bfloat16), onnxruntime and")
            && !script.contains("import qkvet"),
        "{script}"
    );
    play(&folder, &finding, "").expect(1, &["FAIL", &finding.place()]);
    play(&folder, &finding, "fixed.onnx").expect(0, &["FIXED"]);
    play(&folder, &finding, "nowhere.onnx").expect(2, &["nowhere.onnx"]);
}

/// Masks of which true hides, in models that leave rows without a key to the softmax: either
/// convention is named, and nothing else.
#[test]
fn two_conventions_of_one_model_are_named_together() {
    if !has_python() {
        return;
    }
    let folder = models();
    for (model, rows) in [("hides_nan", "empty-row=nan"), ("hides_mean", "empty-row=mean")] {
        let report = check(&folder, model, "").report(1);
        let mut names = report.failing();
        names.sort_unstable();
        assert_eq!(names, [rows, "mask=true-hides"]);
        for finding in report.findings() {
            folder.replay(&finding).expect(1, &["FAIL"]);
        }
    }
    let probe = folder.run("probe onnx:hides_nan.onnx --format json").report(0);
    let field = |name: &str| {
        let found = probe["fields"].as_array().expect("fields").iter();
        let mut fields = found.filter(|field| field["field"] == name);
        fields.next().unwrap_or_else(|| panic!("no field {name}"))
    };
    assert_eq!(field("mask")["values"], json!(["true-hides"]));
    assert_eq!(field("mask")["certainty"], "decided");
    assert_eq!(field("empty_row")["values"][0], "nan");
    assert_eq!(field("default_scale")["values"][0], "1/sqrt(d_k)");
}

/// What is found once masks are known to hide is replayed as it was found.
#[test]
fn a_finding_under_an_undeclared_convention_is_replayed_under_it() {
    if !has_python() {
        return;
    }
    let folder = models();
    let whole = check(&folder, "hides_wrong", "");
    // Shards ask the same, and keep apart what was put with either mask.
    for shard in ["1/2", "2/2"] {
        check(&folder, "hides_wrong", &format!("--shard {shard}")).ends(1);
    }
    let joined = folder.run("merge --format json .qkvet/shards");
    assert_eq!(joined.stdout, whole.stdout, "{}", joined.stderr);
    let report = whole.report(1);
    let others: Vec<Finding> =
        report.findings().filter(|finding| finding["kind"] != "convention").collect();
    assert!(!others.is_empty(), "{:?}", report.names());
    for finding in others {
        folder.replay(&finding).expect(1, &["FAIL"]);
        play(&folder, &finding, "").expect(1, &["FAIL"]);
        play(&folder, &finding, "hides.onnx").expect(0, &["FIXED"]);
    }
}

/// Masks with one row of keys for each item, of truth values and of whole numbers.
#[test]
fn masks_of_keys_are_put_as_the_model_takes_them() {
    if !has_python() {
        return;
    }
    let folder = models();
    let declared = "--convention empty-row=nan";
    for model in ["keys", "padding"] {
        let finished = check(&folder, model, declared);
        let report = finished.finds(&[]);
        assert!(
            report.option("mask") > 5 && report.count("PASS") > 50,
            "{model}: {}",
            report["counts"]
        );
        assert_eq!(report.count("REFUSED"), 0, "{model}");
        if model == "padding" {
            finished.expect(0, &["masks b 1 1 j"]);
            let takes = environment(&report);
            assert!(takes.contains("attention_mask int64 (*, *)"), "{takes}");
        }
    }
    check(&folder, "padding_wrong", declared).ends(1);
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
        let finished = check(&folder, model, "--convention causal=upper-left");
        finished.expect(0, &[always]);
        let report = finished.finds(&[]);
        assert!(report.count("PASS") > 20, "{model}: {}", report["counts"]);
    }
}
