//! Shards: joined, they give the bytes of one run.

use std::path::Path;

use qkvet_tests::{Finished, Folder, Report, Words, has_python, interrupted, qkvet, root, temp};
use serde_json::json;
use tempfile::TempDir;

const SHARDS: [&str; 3] = ["1/3", "2/3", "3/3"];

/// A folder with `target.py`: grouped heads by `head`, lower-right causal by `offset`, and what
/// happens to the result.
fn target(head: &str, offset: &str, result: &str) -> TempDir {
    let folder = temp();
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
    folder.write("target.py", body);
    folder
}

const GROUP: &str = "h // (h_q // h_k)";
const LOWER_RIGHT: &str = "n_k - n_q";

fn check(folder: &Path, name: &str, flags: &str) -> Finished {
    // Joined shards have no target to put a question to.
    folder.run(format!("check '{name}' --no-identify --format json {flags}"))
}

fn shards(folder: &Path, name: &str, flags: &str) {
    for shard in SHARDS {
        let finished = check(folder, name, &format!("{flags} --shard {shard}"));
        assert!(matches!(finished.code, Some(0 | 1 | 4)), "{}", finished.stderr);
    }
}

fn merge(folder: &Path, words: &str) -> Finished {
    folder.run(format!("merge --format json {words}"))
}

/// One run and the shards of the same give the same bytes and the same exit code, whatever their
/// order.
fn same_as_one_run(folder: &Path, name: &str, flags: &str, code: i32) -> Report {
    shards(folder, name, flags);
    let file = |shard: &str| format!(".qkvet/shards/{}.jsonl", shard.replace('/', "-of-"));
    let [first, second, third] = SHARDS.map(file);
    let human = "--report human=report.txt";
    let whole = check(folder, name, &format!("{flags} {human}"));
    let report = whole.report(code);
    let shown = folder.read("report.txt");
    let joined = merge(folder, &format!("{human} {third} {first} {second}"));
    assert_eq!(joined.stdout, whole.stdout, "{name} {flags}\n{}", joined.stderr);
    assert_eq!((joined.code, folder.read("report.txt")), (whole.code, shown), "{name}");
    report
}

/// What joins does not depend on how many laws are asked.
const SMOKE: &str = "--suite smoke --law value --law causal-is-mask --law grouped-heads \
                     --law inputs-unchanged --law repeatability --dtype float32";
const TARGET: &str = "target.py:attention";

#[test]
fn built_in_targets_join_to_one_run() {
    let folder = temp();
    let formats = "--suite smoke --dtype float32,bfloat16";
    let whole = same_as_one_run(folder.path(), "builtin:flash", formats, 0);
    // By their folder, too.
    assert_eq!(merge(folder.path(), ".qkvet/shards").report(0).0, whole.0);
    for (fault, flags) in [
        ("gqa-modulo", "--suite smoke --dtype float32 --law value --law grouped-heads"),
        ("causal-upper-left", "--dtype float32,bfloat16 --law value --law causal-is-mask"),
        ("weights-not-normalized", "--suite smoke --dtype float32 --seed 7 -x"),
    ] {
        same_as_one_run(folder.path(), &format!("builtin:fault/{fault}"), flags, 1);
    }
}

#[test]
fn laws_and_suites_of_the_user_travel_with_the_shards() {
    let folder = temp();
    let law = "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n";
    let suite = "suite: mine\ntitle: t\nlaws: [value]\ndtypes: [float32]\nshapes:\n  - {b: 1, h_q: 2, h_k: 1, n_q: 3, n_k: 4, d_k: 2, d_v: 5}\nvalues: [normal]\nmasks: [random]\nbroadcast: [i j]\nstrength: 2\n";
    folder.write("doubled.yaml", law);
    folder.write("mine.yaml", suite);
    let fault = "builtin:fault/negative-values-lost";
    let flags = "--law doubled.yaml --suite mine.yaml";
    shards(folder.path(), fault, flags);
    let whole = check(folder.path(), fault, flags);
    std::fs::remove_file(folder.path().join("doubled.yaml")).expect("the file");
    std::fs::remove_file(folder.path().join("mine.yaml")).expect("the file");
    let joined = merge(folder.path(), ".qkvet/shards");
    assert_eq!(joined.stdout, whole.stdout, "{}", joined.stderr);
    assert!(joined.report(1).first()["laws"]["doubled"].as_u64() > Some(0));
}

#[test]
fn python_targets_join_to_one_run() {
    if !has_python() {
        return;
    }
    let joined = |place: TempDir, code: i32| same_as_one_run(place.path(), TARGET, SMOKE, code);
    let right = target(GROUP, LOWER_RIGHT, "return o");
    same_as_one_run(right.path(), TARGET, &format!("{SMOKE},float64"), 0);
    let upper_left = joined(target(GROUP, "0", "return o"), 1);
    assert_eq!(upper_left.names(), ["causal=upper-left"]);
    let two = "return o * (1 if scale is None or not causal else 1.5)";
    assert!(joined(target("h % h_k", LOWER_RIGHT, two), 1).names().len() >= 2);
    let crashes = target(GROUP, LOWER_RIGHT, "return o if n_k != 5 else os._exit(3)");
    assert_eq!(joined(crashes, 1).first()["verdict"], "CRASH");
}

#[test]
fn shards_that_were_stopped_by_what_broke_stop_where_one_run_does() {
    if !has_python() {
        return;
    }
    let hangs = target(GROUP, LOWER_RIGHT, "return time.sleep(1000) if causal else o");
    let report = same_as_one_run(hangs.path(), TARGET, &format!("{SMOKE} --timeout 1.5"), 1);
    assert_eq!(report["stopped"], json!({"timeouts": 10}));
    assert_eq!(report.count("TIMEOUT"), 10, "{}", report["counts"]);
    assert!(report.count("SKIPPED") > 0, "{}", report["counts"]);
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
    let value = "--suite core --law value --dtype float32";
    let report = same_as_one_run(crashes.path(), TARGET, value, 1);
    assert_eq!(report["stopped"], json!({"ends": 10}));
    assert_eq!((report.count("CRASH"), report.names()), (10, vec!["CRASH".to_owned()]));
    let finding = report.first();
    let call = finding.call();
    assert!(call.contains("causal") && call.contains("mask"), "{call}");
    let replayed = crashes.replay(&finding);
    assert!(replayed.expect(1, &["CRASH", "code 3"]).stdout.starts_with("CRASH"));

    // A device that fails from then on.
    let fatal = "if causal: poison()
    return o

def broken():
    raise RuntimeError('CUDA error: an illegal memory access')

def poison():
    import sys, types
    sys.modules['torch.cuda'] = types.SimpleNamespace(is_initialized=lambda: True, synchronize=broken)
    broken()
";
    let fatal = target(GROUP, LOWER_RIGHT, fatal);
    let other = same_as_one_run(fatal.path(), TARGET, SMOKE, 1);
    assert_eq!(other["stopped"], report["stopped"]);
    assert_eq!((other.count("ERROR"), other.count("CRASH")), (10, 0));
    assert!(other.first().call().contains("causal"), "{}", other.first().call());
}

/// Wrong results in a run that what broke has stopped: shards see more of them, the joined report
/// does not.
#[test]
fn what_is_wrong_beside_what_broke_is_the_same_in_shards() {
    if !has_python() {
        return;
    }
    let both = target("h % h_k", LOWER_RIGHT, "return os._exit(3) if causal else o");
    let flags = "--suite core --law value --dtype float32";
    let report = same_as_one_run(both.path(), TARGET, flags, 1);
    let verdicts: Vec<_> = report.findings().map(|one| one["verdict"].clone()).collect();
    assert!(
        verdicts.contains(&"FAIL".into()) && verdicts.contains(&"CRASH".into()),
        "{verdicts:?}"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_shard_leaves_a_partial_report_that_the_target_can_complete() {
    if !has_python() {
        return;
    }
    let folder = target(
        GROUP,
        LOWER_RIGHT,
        "return o if causal or not os.path.exists('hang') else time.sleep(1000)",
    );
    shards(folder.path(), TARGET, SMOKE);
    folder.write("hang", "");
    let is_running = || folder.has(".qkvet/running-0.json");
    assert!(!is_running(), "the runs before are over");
    let mut command = qkvet(folder.path());
    command.args(format!("check {TARGET} -q --timeout 10 --shard 2/3 {SMOKE}").words());
    interrupted("a case on disk", &mut command, is_running).ends(130);
    std::fs::remove_file(folder.path().join("hang")).expect("the file");
    let partial = merge(folder.path(), ".qkvet/shards").report(130);
    let shards = json!({"shards": [{"shard": 2, "stopped": "interrupted"}]});
    assert_eq!(partial["stopped"], shards);
    assert!(partial.count("SKIPPED") > 0, "{}", partial["counts"]);
    let whole = check(folder.path(), TARGET, SMOKE);
    let completed = merge(folder.path(), ".qkvet/shards --target");
    assert_eq!(completed.stdout, whole.stdout, "{}", completed.stderr);
    completed.ends(0);
}

#[test]
fn a_target_that_changed_is_not_joined_without_a_word() {
    if !has_python() {
        return;
    }
    let folder = target(GROUP, LOWER_RIGHT, "return o");
    let path = folder.path();
    let flags = "--suite smoke --dtype float32 --law value";
    let (all, second) = (".qkvet/shards", ".qkvet/shards/2-of-3.jsonl");
    shards(path, TARGET, flags);
    let before = merge(path, all);
    before.finds(&[]);
    assert!(!before.stderr.contains("target.py"), "{}", before.stderr);
    let right = folder.read("target.py");
    let change = || folder.write("target.py", right.replace("return o", "return 2 * o"));
    change();
    // What ran is judged as before, and who reads it is told; two versions answer nothing together.
    let after = merge(path, all);
    after.expect(0, &["notice: target.py", "sha256:", "hint: "]);
    assert_eq!(after.stdout, before.stdout);
    let asked = format!("{all} --target");
    merge(path, &asked).expect(3, &["error: target.py"]);
    // Where shards are joined the target need not be, unless it is asked; who takes its cases over
    // is told.
    std::fs::remove_file(path.join("target.py")).expect("it was there");
    let elsewhere = merge(path, all);
    assert!(!elsewhere.ends(0).stderr.contains("target.py"), "{}", elsewhere.stderr);
    merge(path, &asked).expect(3, &["hint: ", "error: target.py"]);
    let accept = format!("snapshot accept --from {all} --all");
    path.at_home(format!("{accept} --snapshot gone.yaml"))
        .expect(0, &["added", "notice: target.py"]);
    change();
    check(path, TARGET, &format!("{flags} --shard 2/3")).expect(1, &["FAIL"]);
    let mixed = ["target.py", second, ".qkvet/shards/1-of-3.jsonl", "sha256:", "hint: "];
    merge(path, all).expect(2, &mixed);
    path.at_home(accept).expect(2, &mixed);
    // A program is its files too.
    let program = format!("exec:{} -u program.py", qkvet_tests::python().expect("an interpreter"));
    let wire = root().read("examples/harness/python/harness.py");
    folder.write("program.py", &wire);
    shards(path, &program, flags);
    folder.write("program.py", wire + "# changed\n");
    check(path, &program, &format!("{flags} --shard 3/3")).ends(0);
    merge(path, all).expect(2, &["program.py", ".qkvet/shards/3-of-3.jsonl"]);
}

#[test]
fn findings_of_an_entry_stand_at_its_function() {
    if !has_python() {
        return;
    }
    let folder = target("h % h_k", LOWER_RIGHT, "return o");
    folder.write("qkvet.yaml", format!("targets:\n  mine: {{target: \"{TARGET}\"}}\n"));
    let report = same_as_one_run(folder.path(), "mine", SMOKE, 1);
    assert_eq!(report["run"]["source"], serde_json::json!({ "path": "target.py", "line": 2 }));
    merge(folder.path(), ".qkvet/shards --report github")
        .expect(1, &["::error file=target.py,line=2,title=CONVENTION "]);
}

#[test]
fn shards_that_do_not_belong_together_are_errors() {
    let folder = temp();
    let path = folder.path();
    let flags = "--suite smoke --dtype float32 --law value --law uniform-attention";
    shards(path, "builtin:flash", flags);
    for (target, shard, file) in [
        ("builtin:flash", "2/3 --seed 1", "seed"),
        ("builtin:flash", "2/3 --strict", "again"),
        ("builtin:flash", "2/4", "four"),
        ("builtin:standard", "2/3", "other"),
    ] {
        let words = format!("{flags} --shard {shard} --shard-file {file}.jsonl");
        check(path, target, &words).ends(0);
    }
    let of = |number: usize| format!(".qkvet/shards/{number}-of-3.jsonl");
    let (first, second, third) = (of(1), of(2), of(3));
    let merge = |paths: &[&str], parts: &[&str]| {
        let _ = path.run(&[&["merge"], paths].concat()).expect(2, parts);
    };
    merge(&[&first, &third], &[" 3, got 2", " 2"]);
    merge(&[&first], &[" 2, 3"]);
    merge(&[&first, &second, &third, "again.jsonl"], &["2 of 3", "again.jsonl", "2-of-3.jsonl"]);
    merge(&[&first, "seed.jsonl", &third], &["seed at seed.jsonl", " 0 ", "got 1"]);
    merge(&[&first, "four.jsonl", &third], &["four.jsonl", " 3 ", "got 4"]);
    let targets = ["target at other.jsonl", "builtin:flash", "builtin:standard"];
    merge(&[&first, "other.jsonl", &third], &targets);
    merge(&["absent.jsonl"], &["absent.jsonl"]);
    merge(&[], &["<PATH>"]);
    std::fs::create_dir(path.join("empty")).expect("a folder");
    merge(&["empty"], &["empty", ".jsonl"]);
    // The same file by name and by folder is one.
    path.run(format!("merge .qkvet/shards {first}")).ends(0);
    let text = path.read(&second);
    let spoiled = |text: &str, parts: &[&str]| {
        path.write("spoiled.jsonl", text);
        merge(&[&first, "spoiled.jsonl", &third], &[&["spoiled.jsonl"], parts].concat());
    };
    let lines: Vec<&str> = text.lines().collect();
    let line = |number: usize| format!("line {number}");
    spoiled(&lines[..lines.len() - 1].join("\n"), &["hint: "]);
    spoiled(&text[..text.len() - 20], &[&line(lines.len()), "hint: "]);
    for cut in [5, 20, 200, lines[0].len() - 1] {
        spoiled(&text[..cut], &["spoiled.jsonl: line 1", "hint: "]);
    }
    spoiled(&format!("{text}more\n"), &[&line(lines.len() + 1), "column 1"]);
    spoiled("", &[]);
    for other in ["{}\n", "{\n  \"run\": {}\n}\n"] {
        spoiled(other, &["qkvet-shard/1", "`qkvet check --shard`"]);
    }
    spoiled(
        &text.replacen("qkvet-shard/1", "qkvet-shard/2", 1),
        &["qkvet-shard/1", "`qkvet-shard/2`"],
    );
    spoiled(&text.replacen("\"data\":\"", "\"data\":\"AAAA", 1), &["float32"]);
    // No report is written over a shard.
    let before = path.read(&third);
    merge(&[&first, "--report", &format!("json={third}")], &[&third]);
    assert_eq!(path.read(&third), before);
    for wrong in ["0/3", "4/3", "a/b", "3"] {
        check(path, "builtin:flash", &format!("--shard {wrong}")).expect(2, &["i/n"]);
    }
    check(path, "builtin:flash", "--shard-file x.jsonl").expect(2, &["--shard"]);
}
