//! Shards: joined, they give the bytes of one run.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;

use qkvet_tests::{Finished, has_python, run, wait_until};
use tempfile::TempDir;

const SHARDS: [&str; 3] = ["1/3", "2/3", "3/3"];

/// A folder with `target.py`: grouped heads by `head`, lower-right causal by `offset`, and what
/// happens to the result.
fn target(head: &str, offset: &str, result: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let body = format!(
        "import numpy as np, os, time
def attention(query, key, value, scale=None, causal=False, mask=None, bias=None):
    b, h_q, n_q, d_k = query.shape
    h_k, n_k = key.shape[1:3]
    scale = d_k ** -0.5 if scale is None else scale
    heads = [{head} for h in range(h_q)]
    wide = [np.asarray(x, np.float64) for x in (query, key[:, heads], value[:, heads])]
    s = wide[0] @ np.swapaxes(wide[1], -1, -2) * scale
    if bias is not None: s = s + np.asarray(bias, np.float64)
    if causal: s = np.where(np.arange(n_k) <= np.arange(n_q)[:, None] + {offset}, s, -np.inf)
    if mask is not None: s = np.where(mask, s, -np.inf)
    top = s.max(-1, keepdims=True)
    w = np.exp(s - np.where(np.isfinite(top), top, 0))
    sums = w.sum(-1, keepdims=True)
    o = (w / np.where(sums > 0, sums, 1) @ wide[2]).astype(query.dtype)
    {result}
"
    );
    std::fs::write(folder.path().join("target.py"), body).expect("a file");
    folder
}

const GROUP: &str = "h // (h_q // h_k)";
const LOWER_RIGHT: &str = "n_k - n_q";

fn check(folder: &Path, name: &str, args: &[&str]) -> Finished {
    run(folder, &[&["check", name, "-q"], args].concat())
}

fn shards(folder: &Path, name: &str, args: &[&str]) {
    for shard in SHARDS {
        let finished = check(folder, name, &[args, &["--shard", shard]].concat());
        assert!(matches!(finished.code, Some(0 | 1 | 4)), "{}", finished.stderr);
    }
}

/// One run and the shards of the same give the same bytes and the same exit code, whatever their
/// order.
fn same_as_one_run(folder: &Path, name: &str, args: &[&str], code: i32) -> Finished {
    shards(folder, name, args);
    let file = |shard: &str| format!(".qkvet/shards/{}.jsonl", shard.replace('/', "-of-"));
    let [first, second, third] = SHARDS.map(file);
    let json = || std::fs::read_to_string(folder.join("report.json")).expect("a report");
    let written = ["--report", "json=report.json"];
    let whole = check(folder, name, &[args, &written].concat());
    assert_eq!(whole.code, Some(code), "{}\n{}", whole.stdout, whole.stderr);
    let report = json();
    let joined =
        run(folder, &[&["merge", "-q"], &written[..], &[&third, &first, &second]].concat());
    assert_eq!(joined.stdout, whole.stdout, "{name} {args:?}\n{}", joined.stderr);
    assert_eq!(joined.code, whole.code, "{name}");
    assert_eq!(json(), report, "{name} {args:?}");
    Finished { stdout: report, ..whole }
}

#[test]
fn built_in_targets_join_to_one_run() {
    let folder = TempDir::new().expect("a folder");
    let whole = same_as_one_run(folder.path(), "builtin:flash", &["--suite", "smoke"], 0);
    // By their folder, too.
    let joined = run(folder.path(), &["merge", "-q", "--format", "json", ".qkvet/shards"]);
    assert_eq!(joined.expect(0, &[]).stdout, whole.stdout);
    for (fault, args) in [
        ("gqa-modulo", &["--dtype", "float32", "--law", "value", "--law", "grouped-heads"][..]),
        ("causal-upper-left", &["--suite", "smoke"]),
        ("weights-not-normalized", &["--suite", "smoke", "--seed", "7", "-x"]),
    ] {
        same_as_one_run(folder.path(), &format!("builtin:fault/{fault}"), args, 1);
    }
}

#[test]
fn laws_and_suites_of_the_user_travel_with_the_shards() {
    let folder = TempDir::new().expect("a folder");
    let law = "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n";
    let suite = "suite: mine\ntitle: t\nlaws: [value]\ndtypes: [float32]\nshapes:\n  - {b: 1, h_q: 2, h_k: 1, n_q: 3, n_k: 4, d_k: 2, d_v: 5}\nvalues: [normal]\nmasks: [random]\nbroadcast: [i j]\nstrength: 2\n";
    std::fs::write(folder.path().join("doubled.yaml"), law).expect("a file");
    std::fs::write(folder.path().join("mine.yaml"), suite).expect("a file");
    let args = ["--law", "doubled.yaml", "--suite", "mine.yaml"];
    shards(folder.path(), "builtin:fault/negative-values-lost", &args);
    let whole = check(
        folder.path(),
        "builtin:fault/negative-values-lost",
        &[&args[..], &["--format", "json"]].concat(),
    );
    std::fs::remove_file(folder.path().join("doubled.yaml")).expect("the file");
    std::fs::remove_file(folder.path().join("mine.yaml")).expect("the file");
    let joined = run(folder.path(), &["merge", ".qkvet/shards", "--format", "json"]);
    assert_eq!(joined.stdout, whole.stdout, "{}", joined.stderr);
    let findings = joined.expect(1, &[]).json();
    assert!(findings["findings"][0]["laws"]["doubled"].as_u64() > Some(0), "{findings:#}");
}

#[test]
fn python_targets_join_to_one_run() {
    if !has_python() {
        return;
    }
    let args = ["--suite", "smoke", "--dtype", "float32,float64"];
    let right = target(GROUP, LOWER_RIGHT, "return o");
    same_as_one_run(right.path(), "target.py:attention", &args, 0);
    let upper_left = target(GROUP, "0", "return o");
    let report = same_as_one_run(upper_left.path(), "target.py:attention", &args, 1).json();
    assert_eq!(report["findings"][0]["kind"], "convention", "{report:#}");
    let two =
        target("h % h_k", LOWER_RIGHT, "return o * (1 if scale is None or not causal else 1.5)");
    let report = same_as_one_run(two.path(), "target.py:attention", &args, 1).json();
    assert!(report["findings"].as_array().map_or(0, Vec::len) >= 2, "{report:#}");
    let crashes = target(GROUP, LOWER_RIGHT, "return o if n_k != 5 else os._exit(3)");
    let report = same_as_one_run(crashes.path(), "target.py:attention", &args, 1).json();
    assert_eq!(report["findings"][0]["verdict"], "CRASH", "{report:#}");
}

#[test]
fn shards_that_were_stopped_by_what_broke_stop_where_one_run_does() {
    if !has_python() {
        return;
    }
    let hangs = target(GROUP, LOWER_RIGHT, "return time.sleep(1000) if causal else o");
    let args = ["--suite", "smoke", "--dtype", "float32", "--timeout", "1.5"];
    let report = same_as_one_run(hangs.path(), "target.py:attention", &args, 1).json();
    assert_eq!(report["stopped"], "10 calls did not answer in time", "{report:#}");
    assert!(report["counts"]["SKIPPED"].as_u64() > Some(0), "{report:#}");
}

/// Each shard goes beyond the case at which the whole run stops, and looks for the witness from the
/// same case.
#[test]
fn shards_of_a_target_that_ends_its_process_stop_where_one_run_does() {
    if !has_python() {
        return;
    }
    let crashes =
        target(GROUP, LOWER_RIGHT, "return os._exit(3) if causal and mask is not None else o");
    let args = ["--suite", "core", "--law", "value", "--dtype", "float32"];
    let report = same_as_one_run(crashes.path(), "target.py:attention", &args, 1).json();
    let stopped = "the target crashed, broke the protocol or reported a fatal error 10 times";
    assert_eq!(report["stopped"], stopped, "{report:#}");
    assert_eq!(report["counts"]["CRASH"], 10, "{report:#}");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1), "{report:#}");
    let witness = &report["findings"][0]["witness"];
    let call = witness["call"].as_str().unwrap_or_default();
    assert!(call.contains("causal") && call.contains("mask"), "{witness:#}");
    let replayed = run(crashes.path(), &["replay", witness["case"].as_str().unwrap_or_default()]);
    assert!(replayed.expect(1, &["CRASH", "exited with code 3"]).stdout.starts_with("CRASH"));

    let raises = "raise RuntimeError('CUDA error: an illegal memory access')";
    let fatal = target(GROUP, LOWER_RIGHT, &format!("if causal: {raises}\n    return o"));
    let args = ["--suite", "smoke", "--dtype", "float32"];
    let report = same_as_one_run(fatal.path(), "target.py:attention", &args, 1).json();
    assert_eq!(report["stopped"], stopped, "{report:#}");
    assert_eq!(report["counts"]["ERROR"], 10, "{report:#}");
    assert!(report["counts"].get("CRASH").is_none(), "{report:#}");
    let call = report["findings"][0]["witness"]["call"].as_str().unwrap_or_default();
    assert!(call.contains("causal"), "{report:#}");
}

/// Wrong results in a run that what broke has stopped: shards see more of them, the joined report
/// does not.
#[test]
fn what_is_wrong_beside_what_broke_is_the_same_in_shards() {
    if !has_python() {
        return;
    }
    let both = target("h % h_k", LOWER_RIGHT, "return os._exit(3) if causal else o");
    let args = ["--suite", "core", "--law", "value", "--dtype", "float32"];
    let report = same_as_one_run(both.path(), "target.py:attention", &args, 1).json();
    let verdicts: Vec<_> =
        report["findings"].as_array().into_iter().flatten().map(|f| f["verdict"].clone()).collect();
    assert!(verdicts.contains(&"FAIL".into()) && verdicts.contains(&"CRASH".into()), "{report:#}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_shard_leaves_a_partial_report_that_the_target_can_complete() {
    use std::process::{Command, Stdio};
    if !has_python() {
        return;
    }
    let folder = target(
        GROUP,
        LOWER_RIGHT,
        "return o if causal or not os.path.exists('hang') else time.sleep(1000)",
    );
    let args = ["--suite", "smoke", "--dtype", "float32"];
    shards(folder.path(), "target.py:attention", &args);
    std::fs::write(folder.path().join("hang"), "").expect("a file");
    let running = folder.path().join(".qkvet/running-0.json");
    assert!(!running.exists(), "the runs before are over");
    let mut command = qkvet_tests::qkvet(folder.path());
    command.args(["check", "target.py:attention", "-q", "--shard", "2/3"]).args(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("qkvet");
    wait_until("a case on disk", &mut child, || running.exists());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert_eq!(child.wait_with_output().expect("an end").status.code(), Some(130));
    std::fs::remove_file(folder.path().join("hang")).expect("the file");
    run(folder.path(), &["merge", ".qkvet/shards"])
        .expect(130, &["stopped early: shard 2: interrupted", "SKIPPED"]);
    let whole =
        check(folder.path(), "target.py:attention", &[&args[..], &["--format", "json"]].concat());
    let completed = run(folder.path(), &["merge", ".qkvet/shards", "--target", "--format", "json"]);
    assert_eq!(completed.stdout, whole.stdout, "{}", completed.stderr);
    completed.expect(0, &[]);
}

#[test]
fn a_target_that_changed_is_not_joined_without_a_word() {
    if !has_python() {
        return;
    }
    let folder = target(GROUP, LOWER_RIGHT, "return o");
    let path = folder.path();
    let args = ["--suite", "smoke", "--dtype", "float32", "--law", "value"];
    shards(path, "target.py:attention", &args);
    let before = run(path, &["merge", ".qkvet/shards"]);
    before.expect(0, &["no finding"]);
    assert!(!before.stderr.contains("changed"), "{}", before.stderr);
    let text = std::fs::read_to_string(path.join("target.py")).expect("a file");
    std::fs::write(path.join("target.py"), text.replace("return o", "return 2 * o"))
        .expect("a file");
    // What ran is judged as before, and who reads it is told; two versions answer nothing together.
    let after = run(path, &["merge", ".qkvet/shards"]);
    after.expect(
        0,
        &["notice: target.py: expected what the shards ran (sha256:", "hint: it was changed since"],
    );
    assert_eq!(after.stdout, before.stdout);
    run(path, &["merge", ".qkvet/shards", "--target"])
        .expect(3, &["error: target.py: expected what the shards ran"]);
    // Where shards are joined the target need not be, unless it is asked; who takes its cases over
    // is told.
    std::fs::remove_file(path.join("target.py")).expect("it was there");
    let gone = "target.py: expected what the shards ran, got no file";
    let elsewhere = run(path, &["merge", ".qkvet/shards"]);
    assert!(!elsewhere.expect(0, &[]).stderr.contains("target.py"), "{}", elsewhere.stderr);
    run(path, &["merge", ".qkvet/shards", "--target"])
        .expect(3, &["hint: run it where", &format!("error: {gone}")]);
    let accept =
        ["snapshot", "accept", "--from", ".qkvet/shards", "--all", "--snapshot", "gone.yaml"];
    qkvet_tests::finish(qkvet_tests::qkvet(path).args(accept).env_remove("CI"))
        .expect(0, &["added", &format!("notice: {gone}")]);
    std::fs::write(path.join("target.py"), text.replace("return o", "return 2 * o"))
        .expect("a file");
    check(path, "target.py:attention", &[&args[..], &["--shard", "2/3"]].concat())
        .expect(1, &["FAIL"]);
    let mixed = [
        "target.py at .qkvet/shards/2-of-3.jsonl: expected what the target was at .qkvet/shards/1-of-3.jsonl (sha256:",
        "hint: the target was changed between the shards",
    ];
    run(path, &["merge", ".qkvet/shards"]).expect(2, &mixed);
    let snapshot = ["snapshot", "accept", "--from", ".qkvet/shards", "--all"];
    qkvet_tests::finish(qkvet_tests::qkvet(path).args(snapshot).env_remove("CI")).expect(2, &mixed);
    // A program is its files too.
    let program = format!("exec:{} -u program.py", qkvet_tests::python().expect("an interpreter"));
    let wire =
        std::fs::read_to_string(qkvet_tests::root().join("examples/harness/python/harness.py"))
            .expect("a program");
    std::fs::write(path.join("program.py"), &wire).expect("a file");
    shards(path, &program, &args);
    std::fs::write(path.join("program.py"), wire + "# changed\n").expect("a file");
    // It offers little: a shard of it may have nothing to check.
    check(path, &program, &[&args[..], &["--shard", "3/3"]].concat()).expect(4, &[]);
    run(path, &["merge", ".qkvet/shards"])
        .expect(2, &["program.py at .qkvet/shards/3-of-3.jsonl", "got something else"]);
}

#[test]
fn findings_of_an_entry_stand_at_its_function() {
    if !has_python() {
        return;
    }
    let folder = target("h % h_k", LOWER_RIGHT, "return o");
    let config = "targets:\n  mine: {target: \"target.py:attention\"}\n";
    std::fs::write(folder.path().join("qkvet.yaml"), config).expect("a file");
    let report =
        same_as_one_run(folder.path(), "mine", &["--suite", "smoke", "--dtype", "float32"], 1)
            .json();
    assert_eq!(report["run"]["source"], serde_json::json!({ "path": "target.py", "line": 2 }));
    run(folder.path(), &["merge", ".qkvet/shards", "-q", "--report", "github"])
        .expect(1, &["::error file=target.py,line=2,title=CONVENTION undeclared convention"]);
}

#[test]
fn shards_that_do_not_belong_together_are_errors() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path();
    let args = ["--suite", "smoke", "--dtype", "float32", "--law", "value"];
    shards(path, "builtin:flash", &args);
    let shard = |flags: &[&str]| {
        check(path, "builtin:flash", &[&args[..], flags].concat()).expect(0, &[]).code
    };
    shard(&["--shard", "2/3", "--seed", "1", "--shard-file", "seed.jsonl"]);
    shard(&["--shard", "2/3", "--strict", "--shard-file", "again.jsonl"]);
    shard(&["--shard", "2/4", "--shard-file", "four.jsonl"]);
    check(
        path,
        "builtin:standard",
        &[&args[..], &["--shard", "2/3", "--shard-file", "other.jsonl"]].concat(),
    );
    let of = |number: usize| format!(".qkvet/shards/{number}-of-3.jsonl");
    let (first, second, third) = (of(1), of(2), of(3));
    let merge = |paths: &[&str], parts: &[&str]| {
        let _ = run(path, &[&["merge"], paths].concat()).expect(2, parts);
    };
    merge(&[&first, &third], &["expected 3, got 2", "missing 2"]);
    merge(&[&first], &["missing 2, 3"]);
    merge(
        &[&first, &second, &third, "again.jsonl"],
        &["shard 2 of 3: expected once", "again.jsonl", "2-of-3.jsonl"],
    );
    merge(&[&first, "seed.jsonl", &third], &["seed at seed.jsonl: expected 0", "got 1"]);
    merge(
        &[&first, "four.jsonl", &third],
        &["number of shards at four.jsonl: expected 3", "got 4"],
    );
    merge(
        &[&first, "other.jsonl", &third],
        &["target at other.jsonl", "builtin:flash", "builtin:standard"],
    );
    merge(&["absent.jsonl"], &["absent.jsonl", "expected a readable file"]);
    merge(&[], &["<PATH>"]);
    std::fs::create_dir(path.join("empty")).expect("a folder");
    merge(&["empty"], &["empty", "expected .jsonl files"]);
    // The same file by name and by folder is one.
    run(path, &["merge", ".qkvet/shards", &first]).expect(0, &["no finding in"]);
    let text = std::fs::read_to_string(path.join(&second)).expect("a shard");
    let spoiled = |text: &str, parts: &[&str]| {
        std::fs::write(path.join("spoiled.jsonl"), text).expect("a file");
        merge(&[&first, "spoiled.jsonl", &third], parts);
    };
    let lines: Vec<&str> = text.lines().collect();
    spoiled(&lines[..lines.len() - 1].join("\n"), &["spoiled.jsonl", "the file is cut off"]);
    spoiled(
        &text[..text.len() - 20],
        &["spoiled.jsonl", &format!("line {}", lines.len()), "hint: copy it"],
    );
    for cut in [5, 20, 200, lines[0].len() - 1] {
        spoiled(
            &text[..cut],
            &[
                "spoiled.jsonl: line 1: expected what was run",
                "the file is cut off",
                "hint: copy it",
            ],
        );
    }
    spoiled(
        &format!("{text}more\n"),
        &[
            "spoiled.jsonl",
            &format!(
                "line {}: expected an answer, got: text that is no JSON at column 1",
                lines.len() + 1
            ),
        ],
    );
    spoiled("", &["got an empty file"]);
    spoiled("{}\n", &["expected qkvet-shard/1", "hint: `qkvet check --shard`"]);
    spoiled("{\n  \"run\": {}\n}\n", &["expected qkvet-shard/1", "hint: `qkvet check --shard`"]);
    // No report is written over a shard.
    merge(
        &[&first, "--report", &format!("json={third}")],
        &["expected a file that may be written over, got a shard"],
    );
    spoiled(
        &text.replacen("qkvet-shard/1", "qkvet-shard/2", 1),
        &["expected qkvet-shard/1, got `qkvet-shard/2`"],
    );
    spoiled(
        &text.replacen("\"data\":\"", "\"data\":\"AAAA", 1),
        &["spoiled.jsonl", "expected the elements of float32"],
    );
    for wrong in ["0/3", "4/3", "a/b", "3"] {
        check(path, "builtin:flash", &["--shard", wrong])
            .expect(2, &["expected i/n with 1 <= i <= n"]);
    }
    check(path, "builtin:flash", &["--shard-file", "x.jsonl"]).expect(2, &["--shard"]);
}
