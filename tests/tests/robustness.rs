//! What goes wrong around a run: full disks, closed pipes, folders that cannot be written, broken
//! files, two runs at once, an interrupt, and names that would be something else in a terminal or a
//! document.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use qkvet_tests::markup::elements;
use qkvet_tests::{Finished, qkvet, run, wait_until};
use serde_json::Value;
use tempfile::TempDir;

const FAULT: &str = "builtin:fault/padding-counted";
const CHECK: [&str; 7] = ["check", FAULT, "--suite", "smoke", "--dtype", "float32", "-q"];

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

/// What a command came to whose streams were chosen before.
fn ended(command: &mut Command) -> Finished {
    let output = command.spawn().and_then(Child::wait_with_output).expect("a command");
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Commands that print much, and the exit code that they end with where they can.
const PRINTING: [(&[&str], i32); 14] = [
    (&["list", "laws"], 0),
    (&["list", "faults"], 0),
    (&["explain", "QK221"], 0),
    (&["explain", "language"], 0),
    (&["explain", "config"], 0),
    (&["schema", "--list"], 0),
    (&["schema", "report"], 0),
    (&["completions", "bash"], 0),
    (&["exam", "list"], 0),
    (&["prove", "single-key", "--steps"], 0),
    (&CHECK, 1),
    (&["check", FAULT, "--suite", "smoke", "-q", "--format", "ndjson"], 1),
    (&["probe", "builtin:flash"], 0),
    (&["--help"], 0),
];

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    let folder = folder();
    for (args, code) in PRINTING {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let finished = ended(qkvet(folder.path()).args(args).stdout(writer).stderr(Stdio::piped()));
        finished.expect(code, &[]);
        assert!(!finished.stderr.contains("error"), "{args:?}: {}", finished.stderr);
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let out = folder.path().join("cases").display().to_string();
    let export = ["export", "smoke", "--dtype", "float32", "--format", "json", "--out", &out];
    ended(qkvet(folder.path()).args(export).stdout(writer).stderr(Stdio::piped())).expect(0, &[]);
    assert!(fs::read_dir(&out).expect("a folder").count() > 1);
}

#[test]
fn a_full_disk_is_an_error_that_is_said() {
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let folder = folder();
    for (args, _) in PRINTING {
        let full = full.try_clone().expect("a file");
        let finished = ended(qkvet(folder.path()).args(args).stdout(full).stderr(Stdio::piped()));
        finished.expect(
            2,
            &["error: standard output: expected to be written, got: No space left on device"],
        );
    }
    let out = folder.path().join("cases").display().to_string();
    let export = ["export", "smoke", "--dtype", "float32", "--format", "json", "--out", &out];
    let on = full.try_clone().expect("a file");
    ended(qkvet(folder.path()).args(export).stdout(on).stderr(Stdio::piped()))
        .expect(2, &["No space left"]);
    // Notices are not worth an exit code.
    for (args, code) in
        [(&CHECK[..6], 1), (&["check", "builtin:nothing"], 2), (&["replay", "c-0000"], 2)]
    {
        let full = full.try_clone().expect("a file");
        ended(qkvet(folder.path()).args(args).stdout(Stdio::null()).stderr(full)).expect(code, &[]);
    }
    // Files, not streams.
    let report = |wish: &str| run(folder.path(), &[&CHECK[..], &["--report", wish]].concat());
    report("junit=/dev/full")
        .expect(2, &["report at /dev/full: expected to be written, got: No space left"]);
}

/// A folder in which nobody can write: the system's own where this test runs as root.
fn read_only() -> (PathBuf, Option<TempDir>) {
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).expect("a mode");
    if fs::write(folder.path().join("x"), "").is_err() {
        return (folder.path().to_owned(), Some(folder));
    }
    (PathBuf::from("/proc"), None)
}

#[test]
fn a_folder_that_is_read_only_loses_files_and_no_verdict() {
    let (at, _kept) = read_only();
    let lost = run(&at, &CHECK);
    lost.expect(
        1,
        &["QK312", "warning: `qkvet replay` will not find the cases of this run", "qk1:"],
    );
    let usual = folder();
    let json = |at: &Path| run(at, &[&CHECK[..], &["--format", "json"]].concat()).json();
    assert_eq!(json(&at)["counts"], json(usual.path())["counts"]);
    // What was asked for by name and cannot be written is an error.
    run(&at, &[&CHECK[..], &["--report", "junit"]].concat()).expect(2, &["report at .qkvet/last"]);
    run(&at, &[&CHECK[..], &["--report", "junit=out.xml"]].concat())
        .expect(2, &["report at out.xml"]);
    run(&at, &[&CHECK[..], &["--shard", "1/2"]].concat())
        .expect(2, &["shard at .qkvet/shards/1-of-2.jsonl"]);
    run(&at, &["init"]).expect(2, &["file at qkvet.yaml: expected to be written"]);
    run(&at, &["export", "smoke", "--out", "cases"]).expect(2, &["cases"]);
    run(&at, &["report"]).expect(2, &["report at .qkvet/last"]);
}

/// Texts that are not what they were: empty, cut, of another kind, deep, with bytes changed by a
/// fixed rule.
fn broken(text: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![
        Vec::new(),
        b"{}".to_vec(),
        b"null".to_vec(),
        b"[1, 2".to_vec(),
        b"\xff\xfe\x00binary".to_vec(),
        vec![0; 4096],
        b"[".repeat(100_000),
        b"{\"a\":".repeat(100_000),
        text[..text.len() / 3].to_vec(),
        text[..text.len() - 1 - usize::from(text.ends_with(b"\n"))].to_vec(),
    ];
    let mut state = 0x9e37_79b9_u64;
    for _ in 0..12 {
        let mut changed = text.to_vec();
        for _ in 0..2 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).expect("an index") % changed.len();
            changed[at] = state.to_le_bytes()[1];
        }
        all.push(changed);
    }
    all
}

/// What was broken on purpose is an error of usage; what may have stayed readable ends as any run
/// does.
fn assert_told(finished: &Finished, at: usize, place: &str) {
    if at < 10 {
        finished.expect(2, &["error: ", place, "expected"]);
    } else {
        assert!(matches!(finished.code, Some(0..=4)), "{:?}\n{}", finished.code, finished.stderr);
    }
    assert!(
        !finished.stderr.contains("panicked") && finished.stderr.len() < 4_000,
        "{}",
        finished.stderr
    );
}

#[test]
fn a_case_that_is_broken_is_said_to_be() {
    let folder = folder();
    let report = run(folder.path(), &[&CHECK[..], &["--format", "json"]].concat()).json();
    let id = report["findings"][0]["witness"]["case"].as_str().expect("an id").to_owned();
    let path = folder.path().join(format!(".qkvet/cases/{id}.json"));
    let text = fs::read(&path).expect("a case");
    for (at, broken) in broken(&text).into_iter().enumerate() {
        fs::write(&path, broken).expect("a file");
        assert_told(&run(folder.path(), &["replay", &id]), at, "case at");
    }
    // No file at all: a folder, and a pipe that nobody writes to.
    fs::remove_file(&path).expect("a file");
    fs::create_dir(&path).expect("a folder");
    run(folder.path(), &["replay", path.to_str().expect("text")]).expect(2, &["case at"]);
    fs::remove_dir(&path).expect("a folder");
    pipe(&path);
    run(folder.path(), &["replay", path.to_str().expect("text")])
        .expect(2, &["case at", "no file"]);
    // The next run puts it right.
    fs::remove_file(&path).expect("a pipe");
    run(folder.path(), &CHECK).expect(1, &[&id]);
    run(folder.path(), &["replay", &id]).expect(1, &["FAIL"]);
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

#[test]
fn a_report_that_is_broken_is_said_to_be() {
    let folder = folder();
    run(folder.path(), &CHECK).expect(1, &[]);
    let path = folder.path().join(".qkvet/last/report.json");
    let text = fs::read(&path).expect("a report");
    for (at, broken) in broken(&text).into_iter().enumerate() {
        fs::write(&path, broken).expect("a file");
        assert_told(&run(folder.path(), &["report", "--format", "html"]), at, "report at");
    }
    fs::remove_file(&path).expect("a file");
    pipe(&path);
    run(folder.path(), &["report"]).expect(2, &["report at", "no file"]);
}

#[test]
fn a_shard_that_is_broken_is_said_to_be() {
    let folder = folder();
    let shard = |number: u8| {
        let args = ["--law", "value", "--shard", &format!("{number}/2")];
        let _ = run(folder.path(), &[&CHECK[..], &args].concat());
    };
    shard(1);
    shard(2);
    let merged = run(folder.path(), &["merge", ".qkvet/shards", "-q"]);
    merged.expect(1, &["QK312"]);
    let path = folder.path().join(".qkvet/shards/2-of-2.jsonl");
    let text = fs::read(&path).expect("a shard");
    for (at, broken) in broken(&text).into_iter().enumerate() {
        fs::write(&path, broken).expect("a file");
        assert_told(&run(folder.path(), &["merge", ".qkvet/shards", "-q"]), at, "shard at");
    }
    fs::remove_file(&path).expect("a file");
    pipe(&path);
    run(folder.path(), &["merge", ".qkvet/shards/2-of-2.jsonl", "-q"])
        .expect(2, &["shard at", "something else"]);
}

/// Files of a folder and those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Every JSON file of the store is one; the names of temporary files.
fn assert_whole(folder: &Path) -> Vec<PathBuf> {
    let all = files(&folder.join(".qkvet"));
    for path in
        all.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"))
    {
        let text = fs::read_to_string(path).expect("text");
        serde_json::from_str::<Value>(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    all.into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "tmp"))
        .collect()
}

#[test]
fn runs_at_once_in_one_folder_leave_each_other_whole() {
    let folder = folder();
    let faults =
        ["negative-values-lost", "causal-upper-left", "scale-inverse-d", "padding-counted"];
    let started: Vec<Child> = [faults, faults]
        .concat()
        .iter()
        .map(|fault| {
            let target = format!("builtin:fault/{fault}");
            let args = [
                "check",
                &target,
                "--suite",
                "smoke",
                "--dtype",
                "float32",
                "-q",
                "--report",
                "junit,html",
            ];
            qkvet(folder.path())
                .args(args)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("qkvet")
        })
        .collect();
    let outputs: Vec<String> = started
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("an end");
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(!stderr.contains("warning"), "{stderr}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
        .collect();
    assert!(assert_whole(folder.path()).is_empty());
    let junit = fs::read_to_string(folder.path().join(".qkvet/last/junit.xml")).expect("a report");
    elements(&junit, false).unwrap_or_else(|error| panic!("{error}"));
    run(folder.path(), &["report"]).expect(0, &["FAIL"]);
    for (output, again) in outputs[..4].iter().zip(&outputs[4..]) {
        let found = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.contains("qkvet replay")).map(str::to_owned).collect()
        };
        assert_eq!(found(output), found(again));
        let line = found(output).into_iter().next().expect("a line");
        let id = line.split_whitespace().find(|word| word.starts_with("c-")).expect("an id");
        run(folder.path(), &["replay", id]).expect(1, &["FAIL"]);
    }
}

#[test]
fn a_run_that_is_killed_leaves_no_half_of_a_file() {
    let folder = folder();
    let mut was_killed = 0;
    for delay in [5, 20, 40, 60, 90, 130, 180, 250] {
        let mut child = qkvet(folder.path())
            .args(CHECK)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("qkvet");
        std::thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        was_killed += usize::from(child.wait().expect("an end").code().is_none());
        if folder.path().join(".qkvet").is_dir() {
            assert_whole(folder.path());
        }
    }
    assert!(was_killed > 0);
    run(folder.path(), &CHECK).expect(1, &["QK312"]);
    run(folder.path(), &["report"]).expect(0, &["QK312"]);
}

#[test]
fn an_interrupt_leaves_a_partial_report_in_every_format_that_was_asked_for() {
    let folder = folder();
    let args = ["check", "builtin:flash", "-q", "-j1", "--report", "junit,json,html"];
    let mut child = qkvet(folder.path())
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("qkvet");
    wait_until("the folder of the run", &mut child, || {
        folder.path().join(".qkvet/.gitignore").exists()
    });
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let output = child.wait_with_output().expect("an end");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{stdout}");
    assert!(stdout.contains("stopped early: interrupted"), "{stdout}");
    assert!(assert_whole(folder.path()).is_empty());
    for name in ["junit.xml", "report.html", "report.json"] {
        assert!(folder.path().join(".qkvet/last").join(name).is_file(), "{name}");
    }
    let report = run(folder.path(), &["report", "--format", "json"]).json();
    assert_eq!(report["interrupted"], true);
    let junit = fs::read_to_string(folder.path().join(".qkvet/last/junit.xml")).expect("a report");
    assert!(
        junit.contains("<failure type=\"INCOMPLETE\"")
            && junit.contains("stopped early: interrupted"),
        "{junit}"
    );
}

/// A name that is a command to a terminal, a tag, an end of a section, a key of YAML and a workflow
/// command.
const HOSTILE: &str =
    "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{9b}31m]]>&\"'`|: {#}\n::error::x%0A\u{202e}";

#[test]
fn hostile_names_of_targets_and_laws_are_text_in_every_format() {
    let folder = folder();
    // YAML wants what JSON leaves as it is escaped as well.
    let escaped = |c: char| {
        if c.is_control() || c == '\u{202e}' {
            format!("\\u{:04x}", u32::from(c))
        } else {
            c.to_string()
        }
    };
    let name: String = Value::from(HOSTILE).to_string().chars().map(escaped).collect();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(
        "qkvet.yaml",
        &format!(
            "specs: mine\ntargets:\n  {name}: {{target: builtin:fault/negative-values-lost}}\nprofiles:\n  {name}: {{quiet: true}}\n"
        ),
    );
    let law = format!(
        "law: doubled\ntitle: {name}\nproof: rewrite\ncatches: []\nsources: [{name}]\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n"
    );
    write("mine/laws/doubled.yaml", &law);
    let formats = qkvet_report::ReportFormat::ALL.map(qkvet_report::ReportFormat::name);
    let visible = |text: &str| {
        let is_hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!text.contains(is_hidden), "{:?}", text.chars().find(|c| is_hidden(*c)));
    };
    let args = ["check", HOSTILE, "--law", "doubled", "--suite", "smoke"];
    for format in formats {
        let finished = run(folder.path(), &[&args[..], &["--format", format]].concat());
        finished.expect(1, &["QK421"]);
        visible(&finished.stderr);
        let text = finished.stdout;
        visible(&text);
        match format {
            "html" => {
                let all = elements(&text, true).unwrap_or_else(|error| panic!("{error}"));
                assert!(!all.iter().any(|element| element.name() == "img"));
                assert_eq!(all.iter().filter(|element| element.name() == "script").count(), 1);
            }
            "junit" => drop(elements(&text, false).unwrap_or_else(|error| panic!("{error}"))),
            "json" => {
                let report: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(report["run"]["target"], HOSTILE);
            }
            "gitlab" | "sarif" | "verdict" => {
                drop(serde_json::from_str::<Value>(&text).expect("JSON"))
            }
            "ndjson" => text
                .lines()
                .for_each(|line| drop(serde_json::from_str::<Value>(line).expect("JSON"))),
            "github" => assert!(
                text.lines()
                    .all(|line| line.starts_with("::error ") || line.starts_with("::warning ")),
                "{text}"
            ),
            "markdown" => {
                let outside: String = text
                    .split("```")
                    .step_by(2)
                    .flat_map(|text| text.split("``").step_by(2))
                    .collect();
                assert!(!outside.contains("<img"), "{outside}");
            }
            _ => assert!(
                !text.lines().any(|line| line.trim_start().starts_with("::error")),
                "{text}"
            ),
        }
    }
    for args in [
        &["list", "laws"][..],
        &["explain", "doubled"],
        &["explain", "config"],
        &["report"],
        &["check", "nothing"],
        &["check", HOSTILE, "--profile", "no"],
        &["init", "ci", "--github"],
        &["replay", HOSTILE],
        &["explain", HOSTILE],
        &["check", HOSTILE, "--suite", HOSTILE],
    ] {
        let finished = run(folder.path(), args);
        assert!(finished.code.is_some_and(|code| code <= 2), "{args:?} {:?}", finished.code);
        visible(&finished.stdout);
        visible(&finished.stderr);
    }
    let probed = run(folder.path(), &["probe", HOSTILE, "--format", "yaml"]).stdout;
    visible(&probed);
    let value: Value = qkvet_spec::parse_yaml("probe", &probed)
        .unwrap_or_else(|error| panic!("{error}\n{probed}"));
    assert!(
        value
            .as_object()
            .is_some_and(|keys| keys.keys().all(|key| key == "conventions" || key == "meaning")),
        "{probed}"
    );
}

#[test]
fn a_report_that_cannot_be_written_costs_no_other() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("taken")).expect("a folder");
    fs::write(at.join("mine.py"), "def attention(): ...\n").expect("a file");
    // What can be known before a run is said before it.
    for (wish, expected) in [
        ("html=taken", "expected a file, got a folder"),
        ("html=mine.py", "expected a file that may be written over, got one that is no report"),
    ] {
        let told = run(at, &[&CHECK[..], &["--report", wish]].concat());
        told.expect(2, &[expected, "hint:"]);
        assert!(told.stdout.is_empty() && !at.join(".qkvet").exists(), "{}", told.stdout);
    }
    assert_eq!(fs::read_to_string(at.join("mine.py")).expect("a file"), "def attention(): ...\n");
    // What cannot is said in the end, and the others are there, in folders that are made.
    let wishes = [
        "--report",
        "html=/dev/full",
        "--report",
        "junit=new/folder/junit.xml",
        "--report",
        "github",
    ];
    run(at, &[&CHECK[..], &wishes].concat())
        .expect(2, &["report at /dev/full: expected to be written", "::error "]);
    assert!(at.join("new/folder/junit.xml").is_file());
}
