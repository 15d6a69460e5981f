//! What goes wrong around a run: full disks, closed pipes, folders that cannot be written, broken
//! files, two runs at once, an interrupt, and names that would be something else in a terminal or a
//! document.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use qkvet_tests::markup::elements;
use qkvet_tests::{Finding, Finished, Folder, Words, finished, interrupted, qkvet, temp, text};
use serde_json::Value;
use tempfile::TempDir;

const CHECK: &str = "check builtin:fault/causal-off-by-one --suite smoke --dtype float32 -q";

/// Commands that print much, and the exit code that they end with where they can.
const PRINTING: [(&str, i32); 14] = [
    ("list laws", 0),
    ("list faults", 0),
    ("explain QK221", 0),
    ("explain language", 0),
    ("explain config", 0),
    ("schema --list", 0),
    ("schema report", 0),
    ("completions bash", 0),
    ("exam list", 0),
    ("prove single-key --steps", 0),
    (CHECK, 1),
    ("check builtin:fault/causal-off-by-one --suite smoke -q --format ndjson", 1),
    ("probe builtin:flash", 0),
    ("--help", 0),
];

/// What a command came to whose streams are chosen.
fn ended(
    folder: &Path,
    words: &str,
    stdout: impl Into<Stdio>,
    stderr: impl Into<Stdio>,
) -> Finished {
    let mut command = qkvet(folder);
    command.args(words.words()).stdout(stdout).stderr(stderr);
    finished(command.spawn().and_then(Child::wait_with_output).expect("a command"))
}

const EXPORT: &str = "export smoke --dtype float32 --format json --out";

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    let folder = temp();
    for (words, code) in PRINTING.into_iter().chain([(&format!("{EXPORT} cases")[..], 0)]) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let finished = ended(folder.path(), words, writer, Stdio::piped());
        finished.ends(code);
        assert!(!finished.stderr.contains("error"), "{words}: {}", finished.stderr);
    }
    assert!(folder.path().join("cases").files().len() > 1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_that_is_said() {
    let full = fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let full = || full.try_clone().expect("a file");
    let folder = temp();
    for (words, _) in PRINTING.into_iter().chain([(&format!("{EXPORT} cases")[..], 0)]) {
        ended(folder.path(), words, full(), Stdio::piped())
            .expect(2, &["error: standard output", "No space left on device"]);
    }
    // Notices are not worth an exit code.
    let loud = CHECK.strip_suffix(" -q").expect("a check");
    for (words, code) in [(loud, 1), ("check builtin:nothing", 2), ("replay c-0000", 2)] {
        ended(folder.path(), words, Stdio::null(), full()).ends(code);
    }
    // Files, not streams.
    folder
        .run(format!("{CHECK} --report junit=/dev/full"))
        .expect(2, &["/dev/full", "No space left"]);
}

/// A folder in which nobody can write: the system's own where this test runs as root.
fn read_only() -> (PathBuf, Option<TempDir>) {
    let folder = temp();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).expect("a mode");
    if fs::write(folder.path().join("x"), "").is_err() {
        return (folder.path().to_owned(), Some(folder));
    }
    (PathBuf::from("/proc"), None)
}

#[test]
fn a_folder_that_is_read_only_loses_files_and_no_verdict() {
    let (at, _kept) = read_only();
    let json = |at: &Path| at.run(format!("{CHECK} --format json"));
    let lost = json(&at);
    lost.expect(1, &["warning: `qkvet replay`"]);
    let report = lost.finds(&["QK202"]);
    assert!(text(&report.first()["witness"]["token"]).starts_with("qk1:"));
    assert_eq!(json(temp().path()).report(1)["counts"], report["counts"]);
    // What was asked for by name and cannot be written is an error.
    for (words, part) in [
        (format!("{CHECK} --report junit"), ".qkvet/last"),
        (format!("{CHECK} --report junit=out.xml"), "out.xml"),
        (format!("{CHECK} --shard 1/2"), ".qkvet/shards/1-of-2.jsonl"),
        ("init".to_owned(), "qkvet.yaml"),
        ("export smoke --out cases".to_owned(), "cases"),
        ("report".to_owned(), ".qkvet/last"),
    ] {
        at.run(words).expect(2, &["error: ", part]);
    }
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
        finished.expect(2, &["error: ", place]);
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
    let folder = temp();
    let finding = folder.run(format!("{CHECK} --format json")).report(1).first();
    let id = finding.case();
    let stored = format!(".qkvet/cases/{id}.json");
    let path = folder.path().join(&stored);
    let text = fs::read(&path).expect("a case");
    for (at, broken) in broken(&text).into_iter().enumerate() {
        fs::write(&path, broken).expect("a file");
        assert_told(&folder.replay(&finding), at, id);
    }
    // No file at all: a folder, and a pipe that nobody writes to.
    let by_path = || {
        folder.run(format!("replay {stored}")).expect(2, &[&stored]);
    };
    fs::remove_file(&path).expect("a file");
    fs::create_dir(&path).expect("a folder");
    by_path();
    fs::remove_dir(&path).expect("a folder");
    pipe(&path);
    by_path();
    // The next run puts it right.
    fs::remove_file(&path).expect("a pipe");
    folder.run(CHECK).expect(1, &[id]);
    folder.replay(&finding).expect(1, &["FAIL"]);
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

#[test]
fn a_report_that_is_broken_is_said_to_be() {
    let folder = temp();
    folder.run(CHECK).ends(1);
    let path = folder.path().join(".qkvet/last/report.json");
    let text = fs::read(&path).expect("a report");
    for (at, broken) in broken(&text).into_iter().enumerate() {
        fs::write(&path, broken).expect("a file");
        assert_told(&folder.run("report --format html"), at, ".qkvet/last");
    }
    fs::remove_file(&path).expect("a file");
    pipe(&path);
    folder.run("report").expect(2, &[".qkvet/last"]);
}

#[test]
fn a_shard_that_is_broken_is_said_to_be() {
    let folder = temp();
    for number in [1, 2] {
        let _ = folder.run(format!("{CHECK} --law value --shard {number}/2"));
    }
    let merge = || folder.run("merge .qkvet/shards -q --format json");
    merge().finds(&["QK202"]);
    let path = folder.path().join(".qkvet/shards/2-of-2.jsonl");
    let text = fs::read(&path).expect("a shard");
    for (at, broken) in broken(&text).into_iter().enumerate() {
        fs::write(&path, broken).expect("a file");
        assert_told(&merge(), at, "2-of-2.jsonl");
    }
    fs::remove_file(&path).expect("a file");
    pipe(&path);
    folder.run("merge .qkvet/shards/2-of-2.jsonl -q").expect(2, &["2-of-2.jsonl"]);
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
    let folder = temp();
    let faults =
        ["negative-values-lost", "causal-upper-left", "scale-inverse-d", "causal-off-by-one"];
    let started: Vec<Child> = [faults, faults]
        .concat()
        .iter()
        .map(|fault| {
            let flags = "--suite smoke --dtype float32 --format json -q --report junit,html";
            qkvet(folder.path())
                .args(format!("check builtin:fault/{fault} {flags}").words())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("qkvet")
        })
        .collect();
    let ended = started.into_iter().map(|child| child.wait_with_output().expect("an end"));
    let found: Vec<Finding> = ended
        .map(|output| {
            let finished = finished(output);
            assert!(!finished.stderr.contains("warning"), "{}", finished.stderr);
            finished.report(1).first()
        })
        .collect();
    assert!(assert_whole(folder.path()).is_empty());
    let junit = folder.read(".qkvet/last/junit.xml");
    elements(&junit, false).unwrap_or_else(|error| panic!("{error}"));
    folder.run("report").expect(0, &["FAIL"]);
    for (one, again) in found[..4].iter().zip(&found[4..]) {
        assert_eq!(one["replay"], again["replay"]);
        folder.replay(one).expect(1, &["FAIL"]);
    }
}

#[test]
fn a_run_that_is_killed_leaves_no_half_of_a_file() {
    let folder = temp();
    let mut was_killed = 0;
    for delay in [5, 20, 40, 60, 90, 130, 180, 250] {
        let mut child = qkvet(folder.path())
            .args(CHECK.words())
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
    folder.run(CHECK).expect(1, &["QK202"]);
    folder.run("report").expect(0, &["QK202"]);
}

#[test]
fn an_interrupt_leaves_a_partial_report_in_every_format_that_was_asked_for() {
    let folder = temp();
    let mut command = qkvet(folder.path());
    command.args("check builtin:flash -q -j1 --format json --report junit,json,html".words());
    let finished =
        interrupted("the folder of the run", &mut command, || folder.has(".qkvet/.gitignore"));
    assert_eq!(finished.report(130)["stopped"], "interrupted");
    assert!(assert_whole(folder.path()).is_empty());
    for name in ["junit.xml", "report.html", "report.json"] {
        assert!(folder.has(&format!(".qkvet/last/{name}")), "{name}");
    }
    assert_eq!(folder.run("report --format json").report(0)["interrupted"], true);
    let junit = folder.read(".qkvet/last/junit.xml");
    assert!(junit.contains("<failure type=\"INCOMPLETE\""), "{junit}");
}

/// A name that is a command to a terminal, a tag, an end of a section, a key of YAML and a workflow
/// command.
const HOSTILE: &str =
    "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{9b}31m]]>&\"'`|: {#}\n::error::x%0A\u{202e}";

#[test]
fn hostile_names_of_targets_and_laws_are_text_in_every_format() {
    let folder = temp();
    // YAML wants what JSON leaves as it is escaped as well.
    let escaped = |c: char| {
        if c.is_control() || c == '\u{202e}' {
            format!("\\u{:04x}", u32::from(c))
        } else {
            c.to_string()
        }
    };
    let name: String = Value::from(HOSTILE).to_string().chars().map(escaped).collect();
    folder.write(
        "qkvet.yaml",
        format!(
            "specs: mine\ntargets:\n  {name}: {{target: builtin:fault/negative-values-lost}}\nprofiles:\n  {name}: {{quiet: true}}\n"
        ),
    );
    let law = format!(
        "law: doubled\ntitle: {name}\nproof: rewrite\ncatches: []\nsources: [{name}]\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n"
    );
    folder.write("mine/laws/doubled.yaml", &law);
    let formats = qkvet_report::ReportFormat::ALL.map(qkvet_report::ReportFormat::name);
    let visible = |text: &str| {
        let is_hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!text.contains(is_hidden), "{:?}", text.chars().find(|c| is_hidden(*c)));
    };
    let args = ["check", HOSTILE, "--law", "doubled", "--suite", "smoke"];
    for format in formats {
        let finished = folder.run(&[&args[..], &["--format", format]].concat());
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
        let finished = folder.run(args);
        assert!(finished.code.is_some_and(|code| code <= 2), "{args:?} {:?}", finished.code);
        visible(&finished.stdout);
        visible(&finished.stderr);
    }
    let probed = folder.run(&["probe", HOSTILE, "--format", "yaml"]).stdout;
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
    let folder = temp();
    let at = folder.path();
    at.write("taken/one", "");
    let mine = "def attention(): ...\n";
    at.write("mine.py", mine);
    // What can be known before a run is said before it.
    for name in ["taken", "mine.py"] {
        let told = at.run(format!("{CHECK} --report html={name}"));
        told.expect(2, &[name, "hint:"]);
        assert!(told.stdout.is_empty() && !at.has(".qkvet"), "{}", told.stdout);
    }
    assert_eq!(at.read("mine.py"), mine);
    // What cannot is said in the end, and the others are there, in folders that are made.
    let files = "html=/dev/full,junit=new/folder/junit.xml,github";
    at.run(format!("{CHECK} --report {files}")).expect(2, &["/dev/full", "::error "]);
    assert!(at.has("new/folder/junit.xml"));
}
