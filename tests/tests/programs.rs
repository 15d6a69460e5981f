//! Programs that speak the wire, through the command line: right verdicts beside a bad end, exit
//! codes, the doctor.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;

use qkvet_tests::{Finished, finish, in_one_process, python, qkvet, root, run, wait_until};
use tempfile::TempDir;

fn program(mode: &str) -> String {
    let python = python().unwrap_or_else(|| "python3".to_owned());
    format!("exec:{python} {}/crates/run/tests/fixtures/program.py {mode}", root().display())
}

fn check(mode: &str, args: &[&str]) -> Finished {
    let folder = TempDir::new().expect("a folder");
    let target = program(mode);
    let mut all =
        vec!["check", &target, "--suite", "smoke", "--dtype", "float32", "--format", "json"];
    all.extend(args);
    finish(in_one_process(folder.path()).args(all))
}

/// One case has the verdict, all others pass or ask for an option that the program does not list,
/// and its evidence contains `expected`.
fn check_one(mode: &str, args: &[&str], code: i32, verdict: &str, expected: &str) {
    let finished = check(mode, args);
    finished.expect(code, &[]);
    let report = finished.json();
    let records = report["records"].as_array().expect("records");
    let bad: Vec<_> = records.iter().filter(|record| !is_right_or_not_listed(record)).collect();
    assert!(bad.len() == 1 && bad[0]["verdict"] == verdict, "{mode}: {bad:#?}");
    assert!(records.len() > 20, "{mode}: {}", records.len());
    let text = bad[0]["evidence"].to_string();
    assert!(text.contains(expected), "{mode}: lacks {expected}\n{text}");
}

fn is_right_or_not_listed(record: &serde_json::Value) -> bool {
    let asked = "is asked only of programs that list it";
    record["verdict"] == "PASS"
        || record["verdict"] == "UNSUPPORTED"
            && record["evidence"]["got"]["said"].as_str().is_some_and(|got| got.contains(asked))
}

#[test]
fn a_right_program_passes_and_declines_what_it_does_not_list() {
    let finished = check("good", &["--dtype", "float64,float16"]);
    finished.expect(0, &["float16 is not among its dtypes", "fixture 1, python"]);
    let report = finished.json();
    for record in report["records"].as_array().expect("records") {
        let right = if record["dtype"] == "float16" {
            record["verdict"] == "UNSUPPORTED"
        } else {
            is_right_or_not_listed(record)
        };
        assert!(right, "{record}");
    }
    assert!(report["counts"]["PASS"].as_u64().is_some_and(|n| n > 90));
    assert!(report.get("warnings").is_none());
}

#[test]
fn a_bad_end_is_one_finding_and_the_rest_is_decided() {
    check_one("segfault 20", &[], 1, "CRASH", "signal 11 (SIGSEGV)");
    check_one("hang 20", &["--timeout", "1"], 1, "TIMEOUT", "no answer within 1 s");
    check_one("short 20", &[], 3, "ERROR", "tensors.output.data: expected ");
    check_one("short 20", &[], 3, "ERROR", "\"broke_protocol\":true");
    check_one("wrong-seq 20", &[], 3, "ERROR", "got 999");
    check_one("abort 20", &[], 1, "CRASH", "\"stderr\":\"free(): invalid pointer\"");
}

#[test]
fn lines_that_are_no_messages_are_one_warning() {
    let finished = check("garbage 20", &[]);
    finished.expect(0, &[]);
    let warnings = finished.json()["warnings"].as_array().expect("warnings").len();
    assert_eq!(warnings, 1);
    assert_eq!(finished.stderr.matches("are no messages").count(), 1, "{}", finished.stderr);
    let folder = TempDir::new().expect("a folder");
    run(
        folder.path(),
        &["check", &program("prompt"), "--suite", "smoke", "--dtype", "float32", "-q"],
    )
    .expect(0, &["warning   the target wrote lines", "\"ready\""]);
}

#[test]
fn programs_that_do_not_start_end_with_3() {
    check("declines", &[]).expect(3, &["no such device: cuda:7", "hint: set CUDA_VISIBLE_DEVICES"]);
    check("wire-2", &[]).expect(3, &["wire: expected 1, got 2"]);
    let folder = TempDir::new().expect("a folder");
    run(folder.path(), &["check", "exec:./absent"])
        .expect(3, &["expected a program", "no shell reads them"]);
    run(folder.path(), &["check", "exec:./a 'b"]).expect(2, &["quotes closed"]);
    run(folder.path(), &["check", "exec:"]).expect(2, &["expected a program"]);
}

#[test]
fn an_entry_declares_for_a_program() {
    let folder = TempDir::new().expect("a folder");
    let fixture = root().join("crates/run/tests/fixtures/program.py");
    std::fs::copy(fixture, folder.path().join("program.py")).expect("a copy");
    let python = python().unwrap_or_else(|| "python3".to_owned());
    let entry = format!("    target: \"exec:{python} program.py upper-left\"\n");
    let declared =
        "    conventions: {causal: upper-left}\n    contracts: [f64]\n    dtypes: [float64]\n";
    let yaml = format!(
        "targets:\n  mine:\n{entry}{declared}  undeclared:\n{entry}  odd:\n{entry}    layout: bnhd\n"
    );
    std::fs::write(folder.path().join("qkvet.yaml"), yaml).expect("a file");
    let deeper = folder.path().join("deeper");
    std::fs::create_dir(&deeper).expect("a folder");
    // Found upwards; paths are those of the file.
    run(&deeper, &["check", "mine", "--suite", "smoke"])
        .expect(0, &["declared  causal=upper-left", "float64"]);
    let upper_left = ["check", "undeclared", "--suite", "smoke", "--dtype", "float64", "-q"];
    run(folder.path(), &upper_left).expect(1, &["CONVENTION", "--convention causal=upper-left"]);
    run(folder.path(), &["check", "odd"]).expect(2, &["expected no `layout`"]);
    // The same command, not by its name, takes the declarations of the first entry with it.
    let command = format!("exec:{python} program.py upper-left");
    run(folder.path(), &["check", &command, "--suite", "smoke", "-q"])
        .expect(0, &["declared  causal=upper-left"]);
}

fn doctor(mode: &str, code: i32, parts: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    run(folder.path(), &["doctor", &program(mode)]).expect(code, parts);
}

#[test]
fn the_doctor_shows_every_message() {
    let folder = TempDir::new().expect("a folder");
    let shown = |mode: &str| run(folder.path(), &["doctor", &program(mode)]).stdout;
    // A greeting for each process, eleven calls, and a word of farewell where somebody hears it.
    for (mode, greetings, sent, received) in
        [("good", 1, 13, 12), ("segfault", 2, 14, 12), ("two-answers", 2, 14, 14)]
    {
        let text = shown(mode);
        assert_eq!(text.matches("→ {\"op\":\"hello\"").count(), greetings, "{text}");
        assert_eq!(text.matches("→ {").count(), sent, "{text}");
        assert_eq!(text.matches("← {").count(), received, "{text}");
    }
}

#[test]
fn the_doctor_says_what_is_wrong() {
    doctor(
        "good",
        0,
        &[
            "→ {\"op\":\"hello\"",
            "AACA…(48 bytes)",
            "ok      right: 8 numbers",
            "6-key.bin",
            "the same bits",
        ],
    );
    doctor("wrong", 1, &["WRONG   wrong: attention(Q, K, V) at [b=0, h=", "an answer is wrong"]);
    doctor("upper-left", 1, &["right under --convention causal=upper-left"]);
    doctor(
        "int64",
        3,
        &[
            "^ tensors.output.dtype\n  BROKEN  tensors.output.dtype: expected a floating-point format, got int64",
        ],
    );
    doctor("ignores", 3, &["BROKEN  expected status unsupported, got ok"]);
    doctor("segfault", 1, &["the process was killed by signal 11", "the same bits"]);
    doctor("two-answers 11", 3, &["BROKEN  expected one answer to request 11, got "]);
    doctor("late-second-answer 11", 3, &["BROKEN  expected nothing after the last answer, got "]);
    doctor("stays", 3, &["did not end within 2 s"]);
    doctor("wire-2", 3, &["^ wire\n  BROKEN  wire: expected 1, got 2"]);
    doctor("declines", 3, &["no such device: cuda:7", "hint    set CUDA_VISIBLE_DEVICES"]);
    doctor("inline", 0, &["tensors of every size come inline"]);
    doctor("options", 0, &["not asked: causal is not among its options"]);
    run(root(), &["doctor", "builtin:flash"]).expect(2, &["got one that is built in"]);
    if python().is_some() {
        let target = "examples/numpy_attention.py:attention";
        run(root(), &["doctor", target]).expect(0, &["numpy", "takes ", "all is well"]);
    }
}

#[test]
fn an_interrupt_ends_a_hanging_program_and_leaves_the_report() {
    use std::process::{Command, Stdio};
    let folder = TempDir::new().expect("a folder");
    let started = |folder: &Path| folder.join("hangs").exists();
    let mut command = qkvet(folder.path());
    command.args(["check", &program("hang 20"), "--suite", "smoke", "--dtype", "float32", "-q"]);
    command.env("QKVET_TEST_HANGS", folder.path().join("hangs"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("qkvet");
    wait_until("a call that hangs", &mut child, || started(folder.path()));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let output = child.wait_with_output().expect("an end");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{stdout}");
    assert!(
        stdout.contains("stopped early: interrupted") && stdout.contains("no finding in"),
        "{stdout}"
    );
}
