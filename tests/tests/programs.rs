//! Programs that speak the wire, through the command line: right verdicts beside a bad end, exit
//! codes, the doctor.
#![cfg(unix)]

use qkvet_tests::{
    Finished, Folder, Report, finish, has_python, in_one_process, interrupted, python, qkvet, root,
    temp, text,
};

fn program(mode: &str) -> String {
    let python = python().unwrap_or_else(|| "python3".to_owned());
    format!("exec:{python} {}/crates/run/tests/fixtures/program.py {mode}", root().display())
}

fn check(mode: &str, flags: &str) -> Finished {
    let words =
        format!("check '{}' --suite smoke --dtype float32 --format json {flags}", program(mode));
    finish(in_one_process(temp().path()).args(qkvet_tests::Words::words(words)))
}

/// One case has the verdict, all others pass or ask for an option that the program does not list,
/// and its evidence contains `expected`.
fn check_one(mode: &str, flags: &str, code: i32, verdict: &str, expected: &str) -> Report {
    let report = check(mode, flags).report(code);
    let records: Vec<_> = report.records().collect();
    let bad: Vec<_> = records.iter().filter(|record| !is_right_or_not_listed(record)).collect();
    assert!(bad.len() == 1 && bad[0]["verdict"] == verdict, "{mode}: {bad:#?}");
    assert!(records.len() > 20, "{mode}: {}", records.len());
    let evidence = bad[0]["evidence"].to_string();
    assert!(evidence.contains(expected), "{mode}: lacks {expected}\n{evidence}");
    let broke = bad[0]["evidence"]["broke_protocol"] == true;
    assert_eq!(broke, code == 3, "{mode}: {evidence}");
    report
}

fn is_right_or_not_listed(record: &serde_json::Value) -> bool {
    record["verdict"] == "PASS"
        || record["verdict"] == "INCONCLUSIVE"
        || record["verdict"] == "UNSUPPORTED"
            && text(&record["evidence"]["got"]["said"]).contains("programs that list it")
}

#[test]
fn a_right_program_passes_and_declines_what_it_does_not_list() {
    let report = check("good", "--dtype float64,float16").finds(&[]);
    assert!(report.declines("float16"), "{}", report["coverage"]);
    assert!(report["run"]["environment"].to_string().contains("fixture 1"), "{}", report["run"]);
    for record in report.records() {
        let right = if record["dtype"] == "float16" {
            record["verdict"] == "UNSUPPORTED"
        } else {
            is_right_or_not_listed(record)
        };
        assert!(right, "{record}");
    }
    assert!(report.count("PASS") > 90);
    assert!(report.get("warnings").is_none());
}

#[test]
fn a_bad_end_is_one_finding_and_the_rest_is_decided() {
    check_one("segfault 20", "", 1, "CRASH", "SIGSEGV");
    check_one("hang 20", "--timeout 1", 1, "TIMEOUT", "\"milliseconds\":1000");
    check_one("short 20", "", 3, "ERROR", "tensors.output.data");
    check_one("wrong-seq 20", "", 3, "ERROR", "999");
    check_one("abort 20", "", 1, "CRASH", "\"stderr\":\"free(): invalid pointer\"");
}

/// All that it answered was right, and it cannot be started again.
#[test]
fn a_program_that_is_gone_is_no_pass() {
    let report = check("gone 20", "").report(3);
    assert!(report["stopped"]["gone"].is_string(), "{}", report["stopped"]);
    assert!(report.names().is_empty() && report.count("PASS") > 0, "{}", report["counts"]);
    assert!(report.count("SKIPPED") > 0, "{}", report["counts"]);
}

#[test]
fn lines_that_are_no_messages_are_one_warning() {
    let finished = check("garbage 20", "");
    let warnings = |report: &Report| report["warnings"].as_array().map(Vec::len);
    assert_eq!(warnings(&finished.finds(&[])), Some(1));
    assert_eq!(finished.stderr.matches("\"loading kernels\"").count(), 1, "{}", finished.stderr);
    let report = check("prompt", "").finds(&[]);
    assert_eq!(warnings(&report), Some(1));
    assert!(report["warnings"].to_string().contains("ready"), "{}", report["warnings"]);
}

#[test]
fn programs_that_do_not_start_end_with_3() {
    check("declines", "").expect(3, &["cuda:7", "CUDA_VISIBLE_DEVICES"]);
    check("wire-2", "").expect(3, &["wire", " 1", " 2"]);
    let folder = temp();
    folder.run("check exec:./absent").expect(3, &["./absent"]);
    folder.run(&["check", "exec:./a 'b"]).expect(2, &["quotes"]);
    folder.run("check exec:").expect(2, &["exec:"]);
}

#[test]
fn an_entry_declares_for_a_program() {
    let folder = temp();
    folder.write("program.py", root().read("crates/run/tests/fixtures/program.py"));
    let python = python().unwrap_or_else(|| "python3".to_owned());
    let entry = format!("    target: \"exec:{python} program.py upper-left\"\n");
    let declared =
        "    conventions: {causal: upper-left}\n    contracts: [f64]\n    dtypes: [float64]\n";
    let yaml = format!(
        "targets:\n  mine:\n{entry}{declared}  undeclared:\n{entry}  odd:\n{entry}    layout: bnhd\n"
    );
    folder.write("qkvet.yaml", yaml);
    let deeper = folder.path().join("deeper");
    std::fs::create_dir(&deeper).expect("a folder");
    let is_declared = |finished: Finished| {
        let run = finished.finds(&[])["run"].clone();
        assert_eq!(run["conventions"], serde_json::json!(["causal=upper-left"]));
        assert_eq!(run["contracts"], serde_json::json!({ "float64": "f64" }));
    };
    // Found upwards; paths are those of the file.
    is_declared(deeper.run("check mine --suite smoke --format json"));
    folder
        .run("check undeclared --suite smoke --dtype float64 --format json")
        .finds(&["causal=upper-left"]);
    folder.run("check odd").expect(2, &["`layout`"]);
    // The same command, not by its name, takes the declarations of the first entry with it.
    let command = format!("exec:{python} program.py upper-left");
    is_declared(folder.run(format!("check '{command}' --suite smoke --format json")));
}

fn doctor(mode: &str) -> Finished {
    temp().run(&["doctor", &program(mode)])
}

#[test]
fn the_doctor_shows_every_message() {
    // A greeting for each process, eleven calls, and a word of farewell where somebody hears it.
    for (mode, greetings, sent, received) in
        [("good", 1, 13, 12), ("segfault", 2, 14, 12), ("two-answers", 2, 14, 14)]
    {
        let text = doctor(mode).stdout;
        assert_eq!(text.matches("→ {\"op\":\"hello\"").count(), greetings, "{text}");
        assert_eq!(text.matches("→ {").count(), sent, "{text}");
        assert_eq!(text.matches("← {").count(), received, "{text}");
    }
}

#[test]
fn the_doctor_says_what_is_wrong() {
    for (mode, code, parts) in [
        (
            "good",
            0,
            &["→ {\"op\":\"hello\"", "AACA…(48 bytes)", "right: 8 ", "6-key.bin", "same bits"][..],
        ),
        ("wrong", 1, &["WRONG   wrong: attention(Q, K, V) at [b=0, h="]),
        ("upper-left", 1, &["--convention causal=upper-left"]),
        ("int64", 3, &["^ tensors.output.dtype\n  BROKEN  tensors.output.dtype: ", "int64"]),
        ("ignores", 3, &["BROKEN  ", "unsupported, got ok"]),
        ("segfault", 1, &["signal 11", "same bits"]),
        ("two-answers 11", 3, &["BROKEN  ", " 11, got "]),
        ("late-second-answer 11", 3, &["BROKEN  ", "last answer"]),
        ("stays", 3, &[" 2 s"]),
        ("wire-2", 3, &["^ wire\n  BROKEN  wire: ", " 1", " 2"]),
        ("declines", 3, &["cuda:7", "CUDA_VISIBLE_DEVICES"]),
        ("inline", 0, &["inline"]),
        ("options", 0, &["causal"]),
    ] {
        doctor(mode).expect(code, parts);
    }
    root().run("doctor builtin:flash").expect(2, &["builtin:flash"]);
    if has_python() {
        let shown = root().run("doctor examples/numpy_attention.py:attention");
        shown.expect(0, &["numpy", "takes "]);
    }
}

#[test]
fn an_interrupt_ends_a_hanging_program_and_leaves_the_report() {
    let folder = temp();
    let mut command = qkvet(folder.path());
    let hangs = program("hang 20");
    command.args(["check", &hangs, "--suite", "smoke", "--dtype", "float32", "--format", "json"]);
    command.env("QKVET_TEST_HANGS", folder.path().join("hangs"));
    let finished = interrupted("a call that hangs", &mut command, || folder.has("hangs"));
    let report = finished.report(130);
    assert_eq!(report["stopped"], "interrupted");
    assert_eq!(report.names(), [""; 0]);
}
