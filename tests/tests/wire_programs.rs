//! Programs in other languages over the wire: right ones pass, broken ones are named, and every
//! message fits the schema.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{
    Finished, Folder, Report, compiled, finish, has_program, has_python, in_one_process, node,
    python, root, temp,
};
use serde_json::{Value, json};

const EXAMPLE: &str = "examples/c/attention.c";
const FAULTY: &str = "tests/fixtures/c/faulty_attention.c";

/// No warning, whichever language the compiler takes it for.
const FLAGS: &str = "-Wall -Wextra -Wpedantic -Wconversion -Werror -O2";

/// The example in C; `cc` is what Rust links with.
fn c_program() -> PathBuf {
    compiled(&format!("cc -std=c99 {FLAGS}"), EXAMPLE, "attention")
}

/// The same with faults to choose from.
fn faulty_c_program() -> PathBuf {
    compiled(&format!("cc -std=c99 {FLAGS}"), FAULTY, "attention")
}

fn check(command: &str, flags: &str) -> Finished {
    temp().run(format!("check 'exec:{command}' --format json {flags}"))
}

fn c(flags: &str) -> Finished {
    check(&c_program().display().to_string(), flags)
}

fn faulty_c(fault: &str, flags: &str) -> Finished {
    let flags = format!("--suite smoke --dtype float32 {flags}");
    check(&format!("{} {fault}", faulty_c_program().display()), &flags)
}

fn is_named(report: &Report, name: &str) {
    assert!(report["run"]["environment"].to_string().contains(name), "{}", report["run"]);
}

#[test]
fn the_c_example_is_short() {
    let source = root().read(EXAMPLE);
    assert!(source.lines().count() <= 80);
}

#[test]
fn a_seq_of_64_bits_comes_back_from_c() {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = Command::new(c_program())
        .env("QKVET_WIRE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut requests = child.stdin.take().expect("a pipe");
    requests
        .write_all(b"{\"op\":\"run\",\"seq\":18446744073709551615}\n{\"op\":\"stop\"}\n")
        .expect("a request");
    let output = child.wait_with_output().expect("an end");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("one answer");
    assert_eq!(answer["seq"], u64::MAX, "{answer}");
}

#[test]
fn the_c_example_is_right() {
    is_named(&c("--suite smoke").finds(&[]), "example-c 1");
    c("--suite core --dtype float32").finds(&[]);
}

#[test]
fn what_breaks_in_c_is_named_and_the_run_goes_on() {
    for (fault, flags, code, verdict, said) in [
        ("segfault", "--law value", 1, "CRASH", "SIGSEGV"),
        ("hang", "--timeout 0.5", 1, "TIMEOUT", "{\"milliseconds\":500}"),
        ("short", "--law value", 3, "ERROR", "output"),
    ] {
        let report = faulty_c(fault, flags).report(code);
        assert_eq!(report.names(), [verdict]);
        assert!(report.first().how().contains(said), "{}", report.first().how());
        assert!(report.count("PASS") > 0 && report.count("FAIL") == 0, "{}", report["counts"]);
        assert!(report["stopped"].is_null(), "every case is decided: {}", report["stopped"]);
    }
}

/// More crashes than a run allows: the witness still is a call that crashes, and small.
#[test]
fn a_crash_is_shown_by_what_crashes_however_many_there_were() {
    let folder = temp();
    let target = format!("exec:{} segfault", faulty_c_program().display());
    let report = folder.run(format!("check '{target}' --suite core --format json")).report(1);
    assert_eq!((report.count("CRASH"), report.names()), (200, vec!["CRASH".to_owned()]));
    assert_eq!(report["stopped"], serde_json::json!({"ends": 200}));
    let finding = report.first();
    assert!(finding.got().contains("SIGSEGV"), "{finding:#?}");
    assert_eq!(finding.call(), "float64 n_q=1 n_k=1 causal");
    let replayed = folder.replay(&finding);
    assert!(replayed.expect(1, &["SIGSEGV"]).stdout.starts_with("CRASH"), "{}", replayed.stdout);
}

#[test]
fn what_a_function_prints_is_no_answer() {
    // The harness moves standard output away, so that nobody notices; without that, qkvet does, and
    // says so.
    let quiet = faulty_c("printf", "");
    quiet.finds(&[]);
    assert!(!format!("{}{}", quiet.stdout, quiet.stderr).contains("n_k = "), "{}", quiet.stdout);
    let noise = faulty_c("noise", "");
    noise.finds(&[]);
    noise.expect(0, &["n_k = "]);
}

#[test]
fn the_header_is_cpp_too() {
    if !has_program("c++", "--version") {
        return;
    }
    for source in [EXAMPLE, FAULTY] {
        let _ = compiled(&format!("c++ -x c++ -std=c++11 {FLAGS}"), source, "attention");
    }
}

#[test]
fn the_node_example_is_right() {
    let Some(node) = node() else { return };
    let program = format!("{node} {}", root().join("examples/node/attention.mjs").display());
    is_named(&check(&program, "--suite smoke").finds(&[]), "example-node 1");
}

/// A script that starts `program` and keeps both directions of its conversation.
fn recorder(folder: &Path, program: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("recorder.sh");
    let text = format!(
        "#!/bin/sh\ncd '{}'\ntee requests.jsonl | {program} \"$@\" | tee answers.jsonl\n",
        folder.display()
    );
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    script
}

/// The messages among the lines: what does not begin with a brace is none.
fn messages(path: &Path) -> Vec<Value> {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// A validator of one kind of message.
fn validator(kind: &str) -> jsonschema::Validator {
    let text = root().read("docs/schema/wire.json");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert!(schema["$defs"].get(kind).is_some(), "no definition of {kind}");
    let of_kind = json!({ "$ref": format!("#/$defs/{kind}"), "$defs": schema["$defs"] });
    jsonschema::validator_for(&of_kind).expect("a schema")
}

/// Both directions of a conversation fit the schema.
fn fits_the_schema(folder: &Path) {
    let check = |kind: &str, messages: &[Value]| {
        let validator = validator(kind);
        for message in messages {
            if let Err(error) = validator.validate(message) {
                panic!("{kind} at {}: {error}\n{message}", error.instance_path());
            }
        }
    };
    let (requests, answers) =
        (messages(&folder.join("requests.jsonl")), messages(&folder.join("answers.jsonl")));
    check("Request", &requests);
    check("HelloAnswer", &answers[..1]);
    check("RunAnswer", &answers[1..]);
    assert!(
        answers.len() > 20 && requests.len() >= answers.len(),
        "{} {}",
        requests.len(),
        answers.len()
    );
    assert!(answers.iter().any(|answer| answer["status"] == "ok"), "no call was answered");
}

#[test]
fn recorded_conversations_fit_the_schema() {
    let mut programs = vec![c_program().display().to_string()];
    programs
        .extend(node().map(|node| {
            format!("{node} {}", root().join("examples/node/attention.mjs").display())
        }));
    for program in programs {
        let folder = temp();
        let script = recorder(folder.path(), &program);
        let target = format!("exec:{}", script.display());
        let args = ["check", &target, "--suite", "smoke", "--dtype", "float32"];
        finish(in_one_process(folder.path()).args(args)).ends(0);
        fits_the_schema(folder.path());
    }
    if !has_python() {
        return;
    }
    let python = python().expect("an interpreter");
    let folder = temp();
    let script = recorder(folder.path(), &python);
    folder.write("target.py", root().read("examples/numpy_attention.py"));
    let flags = format!("--suite smoke --dtype float32 --python {}", script.display());
    folder.run(format!("check target.py:attention -q {flags}")).ends(0);
    fits_the_schema(folder.path());
}

#[test]
fn messages_that_do_not_fit_the_schema_are_seen() {
    let tensor = json!({"dtype": "float32", "shape": [1], "data": "AACAPw=="});
    let answer = json!({"seq": 1, "status": "ok", "tensors": {"output": tensor}});
    let seen = |kind: &str, message: &Value| validator(kind).is_valid(message);
    assert!(seen("RunAnswer", &answer));
    for (field, wrong) in [
        ("/seq", json!(-1)),
        ("/status", json!("fine")),
        ("/tensors/output/dtype", json!("int16")),
        ("/tensors/output/shape/0", json!(-1)),
        ("/tensors/output/data", json!(7)),
    ] {
        let mut spoiled = answer.clone();
        *spoiled.pointer_mut(field).expect("a field") = wrong;
        assert!(!seen("RunAnswer", &spoiled), "{spoiled}");
    }
    assert!(!seen("RunAnswer", &json!({"seq": 1, "status": "error"})));
    assert!(!seen("HelloAnswer", &json!({"ok": true})));
    assert!(!seen("Request", &json!({"op": "walk"})));
}
