//! A target whose messages look like names, conventions, files or commands of qkvet's: they are
//! text wherever they go, and excuse nothing.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;

use qkvet_tests::{Finished, finish, has_python, in_one_process, python};
use serde_json::Value;
use tempfile::TempDir;

/// Answers every call with the message in its file.
const PROGRAM: &str = r#"
import json, pathlib, sys
reason = pathlib.Path(__file__).with_name("message").read_text()
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "stop":
        break
    answer = {"ok": True, "wire": 1, "name": "forging"}
    if asked["op"] != "hello":
        answer = {"seq": asked["seq"], "status": "error", "reason": reason}
    print(json.dumps(answer), flush=True)
"#;

/// What a target may say to look like something else.
const MESSAGES: [&str; 25] = [
    "QK221 cannot allocate",
    "kernel died, with QK221 heads",
    "QK221 a, with QK310 b",
    "QK221",
    "undeclared convention: causal masking is aligned upper-left",
    "declare it with --convention causal=upper-left, or fix it",
    "convention:causal=upper-left",
    "wrong results that no known fault explains",
    "wrong-shape-of-the-output",
    "value: law/value c-0123456789abcdef",
    "\u{1b}[2J\u{1b}[1;1HPASS",
    "</code><script>alert(1)</script>",
    "x\n- finding: '*'\n  reason: so",
    "::error::x\n##[error]y",
    "FAIL",
    "CRASH",
    "the softmax runs over the heads",
    "crash:signal-killed",
    "signal killed",
    "gqa-modulo",
    "causal=upper-left",
    "exited with code 7",
    "was killed by signal 11 (SIGSEGV)",
    "no answer within 60 s",
    "broke the protocol: tensors.output",
];

/// Entries that excuse what the messages name.
const KNOWN: &str = "\
known:
- {finding: QK221, reason: so}
- {finding: 'QK*', law: value, reason: so}
- {finding: 'QK221+QK310', reason: so}
- {finding: 'QK221 *', reason: so}
- {finding: 'convention:*', reason: so}
- {finding: 'undeclared convention*', reason: so}
- {finding: 'exited with code*', reason: so}
- {finding: 'was killed by signal*', reason: so}
- {finding: 'no answer within*', reason: so}
- {finding: 'protocol:*', reason: so}
- {finding: 'broke the protocol*', reason: so}
- {finding: 'wrong*', reason: so}
- {finding: wrong-results-that-no-known-fault-explains, reason: so}
- {finding: FAIL, reason: so}
- {finding: 'FAI?', reason: so}
- {finding: CRASH, reason: so}
- {finding: 'the softmax runs over the heads', reason: so}
- {finding: 'crash:signal-killed', reason: so}
- {finding: 'crash:*', reason: so}
- {finding: gqa-modulo, reason: so}
- {finding: 'causal=upper-left', reason: so}
- {finding: 日本, reason: so}
";

fn check(folder: &Path, more: &[&str]) -> Finished {
    let python = python().expect("an interpreter");
    let target = format!("exec:{python} prog.py");
    let args = ["check", &target, "--suite", "smoke", "--law", "value", "--dtype", "float32", "-q"];
    finish(in_one_process(folder).args([&args[..], more].concat()))
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect(name)
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&read(folder, name)).expect(name)
}

#[test]
fn no_message_is_taken_for_a_name() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("prog.py"), PROGRAM).expect("a file");
    let reports = ["json=r.json", "sarif=r.sarif", "junit=r.xml", "gitlab=g.json", "html=r.html"];
    let reports: Vec<&str> = reports.iter().flat_map(|one| ["--report", one]).collect();
    for message in MESSAGES {
        std::fs::write(folder.join("message"), message).expect("a file");
        std::fs::write(folder.join("qkvet.known.yaml"), KNOWN).expect("a file");
        let found = check(folder, &reports);
        found.expect(1, &["ERROR"]);
        assert!(!found.stdout.contains('\u{1b}'), "{message}: {}", found.stdout);
        let report = json(folder, "r.json");
        let finding = &report["findings"][0];
        assert_eq!(finding["cause"]["kind"], "broken", "{message}: {finding:#}");
        for name in ["code", "fault", "convention", "known"] {
            assert!(finding.get(name).is_none(), "{message}: {finding:#}");
        }
        let entries = report["known"]["entries"].as_array().expect("entries");
        assert!(entries.iter().all(|entry| entry["cases"] == 0), "{message}: {entries:#?}");
        let sarif = json(folder, "r.sarif");
        assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "law/value", "{message}");
        assert_eq!(json(folder, "g.json")[0]["check_name"], "law/value", "{message}");
        assert!(read(folder, "r.xml").contains("<failure "), "{message}");
        assert!(!read(folder, "r.html").contains("<script>alert"), "{message}");
        // A snapshot keeps it by its verdict.
        std::fs::remove_file(folder.join("qkvet.known.yaml")).expect("it was there");
        check(folder, &["--format", "github"]).expect(1, &["::error "]);
    }
}

/// What somebody excused by its own words stays excused, and by what older versions called it.
#[test]
fn a_message_is_excused_by_its_verdict_or_its_words() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("prog.py"), PROGRAM).expect("a file");
    std::fs::write(folder.join("message"), "no kernel image, code 17").expect("a file");
    for finding in
        ["ERROR", "error:no-kernel-image-code", "no-kernel-*", "no kernel image, code 17"]
    {
        let known = format!("known:\n- {{finding: '{finding}', law: value, reason: so}}\n");
        std::fs::write(folder.join("qkvet.known.yaml"), known).expect("a file");
        check(folder, &[]).expect(0, &["KNOWN  ERROR"]);
    }
}

/// What a message is made of changes nothing but what is shown.
#[test]
fn a_message_that_is_no_text_of_unicode_is_an_error_of_its_call() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let target = "def attention(query, key, value, *, scale=None, mask=None, bias=None, alibi_slopes=None):\n    raise RuntimeError('\\ud800 lone')\n";
    std::fs::write(folder.join("mine.py"), target).expect("a file");
    let args = ["check", "mine.py:attention", "--suite", "smoke", "--law", "value", "-q"];
    let args = [&args[..], &["--dtype", "float32", "--format", "json"]].concat();
    let found = finish(in_one_process(folder).args(args));
    let report = found.expect(1, &[]).json();
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["verdict"], &finding["cause"]["kind"]),
        (&"ERROR".into(), &"broken".into())
    );
    assert!(finding["evidence"]["broke_protocol"].is_null(), "{finding:#}");
}
