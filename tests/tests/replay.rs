//! Findings seen again: by id, by token, by a script without qkvet; and gone again once the target
//! is right.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::{Path, PathBuf};

use qkvet_spec::{Evidence, Expectation};
use qkvet_tests::functions::{NUMPY, TORCH};
use qkvet_tests::{Finished, has_python, play, python, run};
use serde_json::Value;
use tempfile::TempDir;

/// What does not fit is refused by NumPy itself.
const UNFIT: &str = "\
import numpy as np
def attention(query, key, value):
    # here
    key, value = (np.repeat(x, query.shape[1] // x.shape[1], axis=1) for x in (key, value))
    s = query @ key.swapaxes(2, 3) * query.shape[3] ** -0.5
    w = np.exp(s - s.max(3, keepdims=True))
    return (w / w.sum(3, keepdims=True) @ value).astype(query.dtype)
";

/// A program with the standard library alone; 16-bit formats are not for it.
const PROGRAM: &str = "\
import base64, json, math, os, struct, sys, time
def numbers(t):
    raw = base64.b64decode(t['data'])
    kind = {'bool': '?', 'float32': 'f', 'float64': 'd'}[t['dtype']]
    return struct.unpack('<%d%s' % (math.prod(t['shape']), kind), raw)
def attention(q, k, v, mask, scale, causal):
    b, h, n_q, d = q['shape']
    (_, h_k, n_k, _), d_v = k['shape'], v['shape'][3]
    Q, K, V = numbers(q), numbers(k), numbers(v)
    M = numbers(mask) if mask else None
    lead = ([1, 1] + mask['shape'])[-4:] if mask else None
    out = []
    for x in range(b * h):
        y = x // h * h_k + x % h // (h // h_k)
        for i in range(n_q):
            s = {}
            for j in range(n_k):
                at = 0
                for n, index in zip(lead or (), (x // h, x % h, i, j)):
                    at = at * n + index % n
                if (causal and j > i + n_k - n_q) or (M and not M[at]):
                    continue
                s[j] = scale * math.fsum(Q[(x * n_q + i) * d + t] * K[(y * n_k + j) * d + t] for t in range(d))
            top = max(s.values(), default=0)
            w = {j: math.exp(z - top) for j, z in s.items()}
            o = [math.fsum(w[j] * V[(y * n_k + j) * d_v + c] for j in w) / (sum(w.values()) or 1) for c in range(d_v)]
            # here
            out += o
    return [b, h, n_q, d_v], out
for line in sys.stdin:
    m = json.loads(line)
    if m['op'] == 'stop':
        break
    if m['op'] == 'hello':
        offers = {'dtypes': ['float32', 'float64'], 'options': ['scale', 'causal', 'mask'], 'outputs': ['output']}
        reply = {'ok': True, 'wire': 1, 'name': 'fixture', 'supports': offers}
    else:
        t, p = m['tensors'], m['params']
        scale = float.fromhex(p['scale_hex']) if 'scale' in p else t['query']['shape'][3] ** -0.5
        shape, out = attention(t['query'], t['key'], t['value'], t.get('mask'), scale, p.get('causal'))
        kind = t['query']['dtype']
        raw = struct.pack('<%d%s' % (len(out), kind[5] == '3' and 'f' or 'd'), *out)
        data = base64.b64encode(raw).decode()
        reply = {'seq': m['seq'], 'status': 'ok', 'tensors': {'output': {'dtype': kind, 'shape': shape, 'data': data}}}
    print(json.dumps(reply), flush=True)
";

/// A folder with a target that is right, and with one that is not.
struct Place {
    folder: TempDir,
    right: &'static str,
}

impl Place {
    /// `fault` takes the place of the line `# here`.
    fn new(right: &'static str, fault: &str) -> Self {
        assert!(right.contains("# here"));
        let place = Self { folder: TempDir::new().expect("a folder"), right };
        place.write("target.py", &right.replace("# here", fault));
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("a file");
    }

    fn fix(&self) {
        self.write("target.py", self.right);
    }

    /// The findings of a check, as JSON.
    fn check(&self, args: &[&str]) -> Vec<Value> {
        let mut all =
            vec!["check", "target.py:attention", "--suite", "smoke", "-q", "--format", "json"];
        all.extend(args);
        let finished = run(self.path(), &all);
        finished.expect(1, &[]);
        finished.json()["findings"].as_array().expect("findings").clone()
    }

    /// The first finding.
    fn found(&self, args: &[&str]) -> Value {
        self.check(args).first().expect("a finding").clone()
    }

    fn script(&self, finding: &Value) -> PathBuf {
        self.path().join(text(&finding["script"]))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}"))
}

/// The words of a command line as a shell gives them.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words =
        parts.flat_map(
            |(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() },
        );
    words.skip(1).map(str::to_owned).collect()
}

fn evidence(finding: &Value) -> Evidence {
    serde_json::from_value(finding["evidence"].clone()).expect("evidence")
}

/// By id and by script; then fixed and gone for both.
fn seen_again_until_fixed(place: &Place, finding: &Value) -> Finished {
    let evidence = evidence(finding);
    let (at, id) = (evidence.tell_place().to_string(), text(&finding["witness"]["case"]));
    let by_id = run(place.path(), &["replay", id]);
    by_id.expect(1, &["FAIL", &at, &evidence.tell_got().to_string()]);
    let script = place.script(finding);
    play(&script).expect(1, &[id, &at, text(&finding["sentences"]["title"])]);

    place.fix();
    play(&script).expect(0, &["FIXED", id]);
    // Another target or another judge is not a fix.
    run(place.path(), &["replay", id, "--target", "builtin:flash"]).expect(0, &["PASS"]);
    let fixed = run(place.path(), &["replay", id]);
    fixed.expect(0, &["FIXED", "was       FAIL"]);
    fixed
}

/// The token shows what the stored case shows, in a folder that holds nothing.
fn seen_by_token(place: &Place, finding: &Value) {
    let evidence = evidence(finding);
    let at = evidence.tell_place().to_string();
    let by_id = run(place.path(), &["replay", text(&finding["witness"]["case"])]);
    let token = text(&finding["witness"]["token"]);
    let elsewhere = TempDir::new().expect("a folder");
    let target = place.path().join("target.py").display().to_string() + ":attention";
    let by_token = run(elsewhere.path(), &["replay", token, "--target", &target]);
    // All but the target's name.
    assert_eq!(
        by_token.expect(1, &[&at]).stdout.replace(&target, "target.py:attention"),
        by_id.stdout
    );
    assert!(!elsewhere.path().join(".qkvet").exists());
    let anywhere = words(text(&finding["replay_anywhere"]));
    let anywhere: Vec<&str> = anywhere.iter().map(String::as_str).collect();
    assert_eq!(run(place.path(), &anywhere).expect(1, &[]).stdout, by_id.stdout);
}

#[test]
fn a_numpy_finding_comes_back_until_it_is_fixed() {
    if !has_python() {
        return;
    }
    for dtype in ["float32", "bfloat16"] {
        let place =
            Place::new(NUMPY, "o = np.where(n_k > 2, o * work(1.25), o).astype(query.dtype)");
        let finding = place.found(&["--law", "value", "--dtype", dtype]);
        seen_by_token(&place, &finding);
        seen_again_until_fixed(&place, &finding)
            .expect(0, &["margin    worst error", "of its bound"]);
    }
}

#[test]
fn an_answer_to_what_does_not_fit_comes_back_until_it_is_refused() {
    if !has_python() {
        return;
    }
    for (fault, law, code, refusal) in [
        (
            "key = key[..., :query.shape[3]]",
            "key-width-must-match",
            "QK621",
            "queries of width 2, keys of width 3",
        ),
        ("value = value[:, :, :key.shape[2]]", "key-count-must-match", "QK622", "2 keys, 3 values"),
    ] {
        let place = Place::new(UNFIT, fault);
        let finding = place.found(&["--law", law, "--dtype", "float32"]);
        assert!(text(&finding["sentences"]["title"]).starts_with(code), "{finding:#}");
        let Expectation::Refusal(shapes) = evidence(&finding).expected else {
            panic!("{finding:#}")
        };
        assert_eq!(shapes.to_string(), refusal);
        assert!(
            text(&finding["witness"]["inputs"][0]).starts_with("Q of shape (1, 1, 1, "),
            "{finding:#}"
        );
        assert_eq!(text(&finding["witness"]["call"]), format!("float32 {refusal}"));
        seen_by_token(&place, &finding);
        assert!(!seen_again_until_fixed(&place, &finding).stdout.contains("margin"));
    }
}

#[test]
fn a_torch_finding_in_another_layout_comes_back_until_it_is_fixed() {
    if !has_python() {
        return;
    }
    let place = Place::new(TORCH, "o = o if attn_mask is None else o + 0.5");
    let flags = ["--layout", "bnhd"];
    let finding = place.found(&["--law", "value", "--dtype", "float16", flags[0], flags[1]]);
    assert!(text(&finding["replay_anywhere"]).contains("--layout bnhd"));
    let script = std::fs::read_to_string(place.script(&finding)).expect("a script");
    assert!(
        script.contains("\"attn_mask\": (\"bool\", ")
            && script.contains("import torch")
            && !script.contains("numpy")
    );
    seen_again_until_fixed(&place, &finding).expect(0, &["margin    worst error", "of its bound"]);
}

#[test]
fn a_script_judges_by_what_is_written_in_it() {
    if !has_python() {
        return;
    }
    let place = Place::new(NUMPY, "o = o + work(1)");
    let finding = place.found(&["--law", "value", "--dtype", "float32"]);
    let script = place.script(&finding);
    let good = std::fs::read_to_string(&script).expect("a script");
    let tamper = |from: &str, to: &str| {
        let changed = good.lines().map(|line| match line.trim_start().starts_with(from) {
            true => format!("                {to}\n"),
            false => format!("{line}\n"),
        });
        let changed: String = changed.collect();
        assert_ne!(changed, good);
        std::fs::write(&script, changed).expect("a script");
    };
    // The same twice: the text does not depend on the run.
    place.found(&["--law", "value", "--dtype", "float32"]);
    assert_eq!(std::fs::read_to_string(&script).expect("a script"), good);
    play(&script).expect(1, &["FAIL"]);
    // It is off by one: a limit of 3/4 is too little.
    tamper("\"allowed\":", "\"allowed\": [0.75] * 99,");
    play(&script).expect(1, &["FAIL"]);
    tamper("\"allowed\":", "\"allowed\": [9] * 99,");
    play(&script).expect(0, &["FIXED"]);
    tamper("\"allowed\":", "\"allowed\": [nan] * 99,");
    play(&script).expect(1, &["FAIL"]);
    place.fix();
    std::fs::write(&script, &good).expect("a script");
    play(&script).expect(0, &["FIXED"]);
    tamper("\"expected\":", "\"expected\": [7] * 99,");
    play(&script).expect(1, &["expected  7"]);
    tamper("\"expected\":", "\"expected\": [nan] * 99,");
    play(&script).expect(1, &["expected  nan"]);
    tamper("\"shape\":", "\"shape\": (1, 1, 1, 99),");
    play(&script).expect(1, &["shape of the output"]);
    std::fs::write(&script, good.replace("FORMAT = \"float32\"", "FORMAT = \"float64\""))
        .expect("a script");
    play(&script).expect(1, &["format of the output"]);
    std::fs::write(&script, &good).expect("a script");
    std::fs::remove_file(place.path().join("target.py")).expect("removed");
    play(&script).expect(2, &["cannot be loaded"]);
}

#[test]
fn a_broken_relation_is_shown_by_the_bits_that_broke_it() {
    if !has_python() {
        return;
    }
    // Within the bound for either sign, and not the same for both.
    let place =
        Place::new(NUMPY, "o = o * work(1 + 2**-23) if n_k % 2 and n_k > 2 and v.sum() > 0 else o");
    let finding = place.found(&["--law", "negated-values", "--dtype", "float32"]);
    assert_eq!(finding["evidence"]["relation"], true);
    let script = place.script(&finding);
    play(&script).expect(
        1,
        &["unchanged", "attention(Q, K, -V)", &evidence(&finding).tell_got().to_string()],
    );
    let good = std::fs::read_to_string(&script).expect("a script");
    assert!(good.contains("\"recorded\":") && good.contains("# ") && good.contains("same_bits"));
    std::fs::write(&script, good.replacen("\"recorded\": [", "\"recorded\": [7, ", 1))
        .expect("a script");
    play(&script).expect(0, &["CHANGED"]);
    std::fs::write(&script, &good).expect("a script");
    place.fix();
    play(&script)
        .expect(0, &["CHANGED", &format!("qkvet replay {}", text(&finding["witness"]["case"]))]);
    run(place.path(), &["replay", text(&finding["witness"]["case"])]).expect(0, &["FIXED"]);
}

#[test]
fn what_breaks_is_shown_by_its_script_too() {
    if !has_python() {
        return;
    }
    let faults = [
        ("if n_k > 1: os._exit(7)", "CRASH", "the process ended with exit code 7"),
        ("if n_k > 1: os.abort()", "CRASH", "the process ended with"),
        ("if n_k > 1: time.sleep(100)", "TIMEOUT", "Timeout"),
        (
            "if n_k > 1: raise RuntimeError('no kernel image')",
            "ERROR",
            "RuntimeError: no kernel image",
        ),
        ("o = o * work(1 + CALLS % 3 / 8)", "NONDET", "identical calls of"),
        ("key[...] = 0", "FAIL", "the same bits after the call"),
        ("if n_k > 1: o = 'attention'", "FAIL", "str"),
        ("if n_k > 1: o = o.astype(np.int64)", "FAIL", "int64"),
        ("o = o[..., :-1]", "FAIL", "shape of the output"),
        ("o = o * work(np.nan)", "FAIL", "nan"),
    ];
    for (fault, verdict, part) in faults {
        let place = Place::new(NUMPY, fault);
        let law = if fault.starts_with("key") { "inputs-unchanged" } else { "value" };
        let finding = place.found(&["--law", law, "--dtype", "float32", "--timeout", "1"]);
        assert_eq!(text(&finding["verdict"]), verdict, "{fault}");
        let script = place.script(&finding);
        play(&script).expect(1, &[part]);
        place.fix();
        // What comes at times alone is not proved to be gone.
        let (code, word) = if verdict == "NONDET" { (4, "UNSEEN") } else { (0, "FIXED") };
        play(&script).expect(code, &[word]);
        run(place.path(), &["replay", text(&finding["witness"]["case"])]).expect(code, &[word]);
    }
}

#[test]
fn large_cases_are_packed_and_give_back_the_same_numbers() {
    if !has_python() {
        return;
    }
    for (right, library, layout) in [(NUMPY, "numpy", "bhnd"), (TORCH, "torch", "bnhd")] {
        let place = Place::new(right, "import time; time.sleep(100)");
        let suite = "suite: large\ntitle: t\nlaws: [value]\ndtypes: [float32]\nshapes:\n  - {b: 1, h_q: 1, h_k: 1, n_q: 2, n_k: 600, d_k: 64, d_v: 64}\nvalues: [normal]\nmasks: [random]\nbroadcast: [i j]\nstrength: 1\n";
        place.write("large.yaml", suite);
        let found = run(
            place.path(),
            &[
                "check",
                "target.py:attention",
                "--suite",
                "large.yaml",
                "-q",
                "-x",
                "--layout",
                layout,
                "--timeout",
                "1",
                "--format",
                "json",
            ],
        );
        let finding = found.expect(1, &[]).json()["findings"][0].clone();
        assert!(finding["witness"]["token"].is_null() && finding["replay_anywhere"].is_null());
        let script = place.script(&finding);
        let written = std::fs::read_to_string(&script).expect("a script");
        assert!(
            written.contains("\"expected\": \"") && written.contains(library),
            "{}",
            written.len()
        );
        place.fix();
        play(&script).expect(0, &["FIXED"]);
        if library == "numpy" {
            // The packed numbers are judged.
            place.write("target.py", &right.replace("# here", "o = o * work(2)"));
            play(&script).expect(1, &["times the limit"]);
        }
    }
}

#[test]
fn a_named_target_is_found_again() {
    if !has_python() {
        return;
    }
    let place = Place::new(NUMPY, "o = o + work(1)");
    std::fs::create_dir(place.path().join("settings")).expect("a folder");
    let entry = "targets:\n  mine:\n    target: ../target.py:attention\n";
    place.write("settings/qkvet.yaml", entry);
    let check = [
        "check", "mine", "--suite", "smoke", "-q", "--law", "value", "--dtype", "float32",
        "--format", "json",
    ];
    let finished = run(place.path(), &[&check[..], &["--config", "settings/qkvet.yaml"]].concat());
    let finding = finished.expect(1, &[]).json()["findings"][0].clone();
    let (id, token) = (text(&finding["witness"]["case"]), text(&finding["witness"]["token"]));
    // The file that declares the target is remembered with the case.
    run(place.path(), &["replay", id]).expect(1, &["FAIL"]);
    play(&place.script(&finding)).expect(1, &["FAIL"]);
    run(place.path(), &["replay", token])
        .expect(2, &["--target: expected one", "there is no qkvet.yaml here"]);
    run(place.path(), &["replay", token, "--config", "settings/qkvet.yaml"]).expect(1, &["FAIL"]);
    place.write("qkvet.yaml", &entry.replace("../", ""));
    run(place.path(), &["replay", token]).expect(1, &["FAIL"]);
    place.fix();
    run(place.path(), &["replay", token]).expect(0, &["PASS", "margin"]);
    run(place.path(), &["replay", id]).expect(0, &["FIXED"]);
    let other = "  other:\n    target: target.py:attention\n";
    place.write("qkvet.yaml", &(entry.replace("../", "") + other));
    run(place.path(), &["replay", token]).expect(2, &["names mine, other", "hint: --target"]);
}

#[test]
fn tokens_need_no_python_and_no_file() {
    let folder = TempDir::new().expect("a folder");
    let report = |target: &str, args: &[&str]| {
        let mut all = vec!["check", target, "--suite", "smoke", "-q", "--format", "json"];
        all.extend(args);
        run(folder.path(), &all).json()["findings"][0].clone()
    };
    let finding = report("builtin:fault/padding-counted", &[]);
    assert!(finding["script"].is_null());
    let token = text(&finding["witness"]["token"]);
    let elsewhere = TempDir::new().expect("a folder");
    let by_id = run(folder.path(), &["replay", text(&finding["witness"]["case"])]).stdout;
    let by_token =
        run(elsewhere.path(), &["replay", token, "--target", "builtin:fault/padding-counted"]);
    assert_eq!(by_token.expect(1, &[]).stdout, by_id);
    run(elsewhere.path(), &["replay", token, "--target", "builtin:flash"]).expect(0, &["PASS"]);
    // Flags that the verdict depends on are part of the command.
    let law = "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n";
    std::fs::write(folder.path().join("mine.yaml"), law).expect("a file");
    let finding = report(
        "builtin:fault/negative-values-lost",
        &["--law", "mine.yaml", "--convention", "causal=upper-left"],
    );
    let anywhere = words(text(&finding["replay_anywhere"]));
    let anywhere: Vec<&str> = anywhere.iter().map(String::as_str).collect();
    assert!(
        anywhere.ends_with(&["--convention", "causal=upper-left", "--law", "mine.yaml"]),
        "{anywhere:?}"
    );
    run(folder.path(), &anywhere).expect(1, &["FAIL"]);
    let without = &anywhere[..anywhere.len() - 2];
    run(folder.path(), without).expect(2, &["law `doubled`", "--law FILE"]);
}

#[test]
fn bad_tokens_are_usage_errors_with_their_place() {
    let folder = TempDir::new().expect("a folder");
    let check = |token: &str, parts: &[&str]| {
        run(folder.path(), &["replay", token, "--target", "builtin:flash"]).expect(2, parts);
    };
    let tensors = "Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1";
    run(
        folder.path(),
        &["replay", &format!("qk1:value;float32;{tensors}"), "--target", "builtin:flash"],
    )
    .expect(0, &["PASS", "margin"]);
    check("qk1:", &["law at character 5 of the token"]);
    check(&format!("qk3:value;float32;{tensors}"), &["version at character 1", "got `qk3`"]);
    check(
        &format!("qk1:value;float32;{tensors},0"),
        &["elements at character 55", "expected 2, got 3"],
    );
    check(&format!("qk1:valeu;float32;{tensors}"), &["law `valeu`", "did you mean `value`?"]);
    check(&format!("qk1:value;float32;{tensors};j=1"), &["case of the token: variable", "`j` too"]);
    check(&format!("qk1:single-key;float32;causal;{tensors}"), &["case of the token"]);
    run(
        folder.path(),
        &[
            "replay",
            "qk1:value;float32;dims=1,1,1,1,1,1,1",
            "--target",
            "builtin:flash",
            "--law",
            "value",
        ],
    )
    .expect(2, &["--law value: expected a YAML file"]);
    run(folder.path(), &["replay", "c-0000", "--law", "value.yaml"])
        .expect(2, &["expected with a token only"]);
}

#[test]
fn a_folder_that_cannot_be_written_loses_replay_and_says_so() {
    let target = "builtin:fault/padding-counted";
    let args = ["check", target, "--suite", "smoke", "-q", "--format", "json"];
    let usual = TempDir::new().expect("a folder");
    let expected = run(usual.path(), &args);
    assert_eq!(
        std::fs::read_to_string(usual.path().join(".qkvet/.gitignore")).expect("a file"),
        "*\n"
    );
    assert!(!expected.stderr.contains("warning"));
    let verdicts = |finished: &Finished| {
        let report = finished.json();
        (
            report["counts"].clone(),
            report["findings"][0]["witness"].clone(),
            report["records"].clone(),
        )
    };
    // A file where the folder should be, and one where its cases should be.
    for (blocked, made) in [(".qkvet", ""), ("cases", ".qkvet")] {
        let folder = TempDir::new().expect("a folder");
        let inside = folder.path().join(made);
        std::fs::create_dir_all(&inside).expect("a folder");
        std::fs::write(inside.join(blocked), "").expect("a file");
        let finished = run(folder.path(), &args);
        finished
            .expect(1, &["warning: `qkvet replay` will not find the cases of this run", blocked]);
        assert_eq!(verdicts(&finished), verdicts(&expected));
        let replay = words(text(&finished.json()["findings"][0]["replay"]));
        let replay: Vec<&str> = replay.iter().map(String::as_str).collect();
        run(folder.path(), &replay).expect(1, &["FAIL"]);
    }
    if !has_python() {
        return;
    }
    // Lost on the way: the run goes on, and one warning is enough.
    let place = Place::new(NUMPY, "o = o + work(1)");
    std::fs::create_dir_all(place.path().join(".qkvet/running-0.json")).expect("a folder");
    let finished = run(
        place.path(),
        &["check", "target.py:attention", "--suite", "smoke", "-q", "--law", "value"],
    );
    finished.expect(1, &["FAIL", "running-0.json"]);
    assert_eq!(finished.stderr.matches("warning").count(), 1, "{}", finished.stderr);
}

#[test]
fn a_program_is_asked_by_its_script_over_the_wire() {
    if !has_python() {
        return;
    }
    let program = format!("exec:{} -u target.py", python().expect("an interpreter"));
    let check = [
        "check",
        &program,
        "--suite",
        "smoke",
        "-q",
        "--law",
        "value",
        "--timeout",
        "2",
        "--format",
        "json",
    ];
    for (fault, verdict, part) in [
        ("o = [z + 0.5 if mask else z for z in o]", "FAIL", "got       "),
        ("o = o if d_v == 1 else o[1:]", "ERROR", "elements for shape"),
        ("m['seq'] = 99 if n_k > 1 else m['seq']", "ERROR", "an answer to request 99 instead of 1"),
        ("if n_k > 1: os._exit(7)", "CRASH", "the program ended with exit code 7"),
        ("if n_k > 1: time.sleep(100)", "TIMEOUT", "the program ended"),
    ] {
        let place = Place::new(PROGRAM, fault);
        let finished = run(place.path(), &check);
        let finding = finished.json()["findings"][0].clone();
        assert_eq!(text(&finding["verdict"]), verdict, "{fault}\n{}", finished.stdout);
        let script = place.script(&finding);
        play(&script).expect(1, &[part]);
        place.fix();
        play(&script).expect(0, &["FIXED"]);
        run(place.path(), &["replay", text(&finding["witness"]["case"])]).expect(0, &["FIXED"]);
        if verdict == "FAIL" {
            let words = words(text(&finding["replay_anywhere"]));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            run(place.path(), &words).expect(0, &["PASS"]);
            let written = std::fs::read_to_string(&script).expect("a script");
            assert!(!written.contains("numpy") && written.contains("\"bool\""));
            let tampered = written.replacen("\"expected\": [", "\"expected\": [9, ", 1);
            std::fs::write(&script, tampered).expect("a script");
            play(&script).expect(1, &["expected  9"]);
        }
    }
}

/// It reads as far as it needs; a program that ends itself has refused nothing.
#[test]
fn a_program_has_to_answer_that_it_refuses() {
    if !has_python() {
        return;
    }
    let program = format!("exec:{} -u target.py", python().expect("an interpreter"));
    let law = [
        "--law",
        "key-count-must-match",
        "--suite",
        "smoke",
        "-q",
        "--dtype",
        "float32",
        "--format",
        "json",
    ];
    let check = [["check", &program].as_slice(), &law].concat();
    let fits = "if k['shape'][2] != v['shape'][2]: ";
    let place = Place::new(PROGRAM, "pass");
    let found = |source: &str, verdict: &str, part: &str| {
        place.write("target.py", source);
        let finding = run(place.path(), &check).json()["findings"][0].clone();
        assert_eq!(text(&finding["verdict"]), verdict, "{finding:#}");
        play(&place.script(&finding)).expect(1, &["expected  a refusal: ", part]);
        place.script(&finding)
    };
    let ends = PROGRAM.replace("    Q, K, V =", &format!("    {fits}os._exit(3)\n    Q, K, V ="));
    found(&ends, "CRASH", "the program ended with exit code 3");
    let script = found(PROGRAM, "FAIL", "numbers of shape (");
    let refused = "reply = {'seq': m['seq'], 'status': 'refused', 'reason': 'keys'}";
    let declared = format!(
        "        t, p = m['tensors'], m['params']\n        k, v = t['key'], t['value']\n        {fits}\n            {refused}\n            print(json.dumps(reply), flush=True)\n            continue\n"
    );
    place.write(
        "target.py",
        &PROGRAM.replace("        t, p = m['tensors'], m['params']\n", &declared),
    );
    play(&script).expect(0, &["FIXED", "refused: keys"]);
    assert_eq!(run(place.path(), &check).json()["counts"]["PASS"], 2);
}
