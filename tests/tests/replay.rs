//! Findings seen again: by id, by token, by a script without qkvet; and gone again once the target
//! is right.

use std::path::Path;

use qkvet_tests::functions::{NUMPY, TORCH};
use qkvet_tests::{Finding, Finished, Folder, Report, finish, has_python, python, temp, text};
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

/// Runs a script where NumPy cannot be imported.
const WITHOUT_NUMPY: &str = "\
import runpy, sys
sys.modules['numpy'] = None
runpy.run_path(sys.argv.pop(1), run_name='__main__')
";

/// A folder with a target that is right, and with one that is not.
struct Place {
    folder: TempDir,
    right: &'static str,
}

impl AsRef<Path> for Place {
    fn as_ref(&self) -> &Path {
        self.folder.path()
    }
}

impl Place {
    /// `fault` takes the place of the line `# here`.
    fn new(right: &'static str, fault: &str) -> Self {
        assert!(right.contains("# here"));
        let place = Self { folder: temp(), right };
        place.write("target.py", right.replace("# here", fault));
        place
    }

    fn fix(&self) {
        self.write("target.py", self.right);
    }

    /// The first finding of a check.
    fn found(&self, flags: &str) -> Finding {
        found(self, "target.py:attention", flags)
    }
}

fn found(folder: &impl Folder, target: &str, flags: &str) -> Finding {
    let suite = if flags.contains("--suite") { "" } else { "--suite smoke" };
    let flags = format!("--format json {suite} {flags}");
    Report(folder.run(format!("check '{target}' {flags}")).json()).first()
}

fn script(finding: &Finding) -> &str {
    text(&finding["script"])
}

/// By id and by script; then fixed and gone for both.
fn seen_again_until_fixed(place: &Place, finding: &Finding) -> Finished {
    let (at, id) = (finding.place(), finding.case());
    let verdict = text(&finding["verdict"]);
    place.replay(finding).expect(1, &[verdict, &at, &finding.got()]);
    let code = finding["code"].as_str().unwrap_or_default();
    place.play(finding, "").expect(1, &[id, &at, code]);

    place.fix();
    place.play(finding, "").expect(0, &["FIXED", id]);
    // Another target or another judge is not a fix.
    place.run(format!("replay {id} --target builtin:flash")).expect(0, &["PASS"]);
    let fixed = place.replay(finding);
    fixed.expect(0, &["FIXED", verdict]);
    fixed
}

/// The token shows what the stored case shows, in a folder that holds nothing.
fn seen_by_token(place: &Place, finding: &Finding) {
    let by_id = place.replay(finding);
    let elsewhere = temp();
    let target = format!("{}/target.py:attention", place.folder.path().display());
    let by_token = elsewhere.run(format!("replay '{}' --target {target}", token(finding)));
    let at = finding.place();
    // All but the target's name.
    assert_eq!(
        by_token.expect(1, &[&at]).stdout.replace(&target, "target.py:attention"),
        by_id.stdout
    );
    assert!(!elsewhere.has(".qkvet"));
    assert_eq!(place.run(anywhere(finding)).ends(1).stdout, by_id.stdout);
}

fn token(finding: &Finding) -> &str {
    text(&finding["witness"]["token"])
}

/// The command that shows it without a stored case.
fn anywhere(finding: &Finding) -> &str {
    text(&finding["replay_anywhere"])
}

#[test]
fn a_numpy_finding_comes_back_until_it_is_fixed() {
    if !has_python() {
        return;
    }
    for dtype in ["float32", "bfloat16"] {
        let place =
            Place::new(NUMPY, "o = np.where(n_k > 2, o * work(1.25), o).astype(query.dtype)");
        let finding = place.found(&format!("--law value --dtype {dtype}"));
        seen_by_token(&place, &finding);
        seen_again_until_fixed(&place, &finding).expect(0, &["margin  "]);
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
        let finding = place.found(&format!("--law {law} --dtype float32 --strict"));
        assert_eq!((&finding["code"], &finding["verdict"]), (&code.into(), &"UNGUARDED".into()));
        let expected = finding.expected();
        assert!(expected.ends_with(&format!(": {refusal}")), "{expected}");
        let input = text(&finding["witness"]["inputs"][0]);
        assert!(input.starts_with('Q') && input.contains("(1, 1, 1, "), "{input}");
        assert_eq!(finding.call(), format!("float32 {refusal}"));
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
    let finding = place.found("--law value --dtype float16 --layout bnhd");
    assert!(anywhere(&finding).contains("--layout bnhd"));
    let script = place.read(script(&finding));
    for part in ["\"mask\": \"attn_mask\"", "\"mask\": (\"bool\", ", "it needs torch and the file"]
    {
        assert!(script.contains(part), "{part}");
    }
    place.write("alone.py", WITHOUT_NUMPY);
    let mut alone = std::process::Command::new(python().expect("an interpreter"));
    alone.current_dir(&place).args(["alone.py", text(&finding["script"])]);
    finish(&mut alone).expect(1, &["FAIL", &finding.place()]);
    seen_again_until_fixed(&place, &finding).expect(0, &["margin  "]);
}

#[test]
fn a_script_judges_by_what_is_written_in_it() {
    if !has_python() {
        return;
    }
    let place = Place::new(NUMPY, "o = o + work(1)");
    let finding = place.found("--law value --dtype float32");
    let play = || place.play(&finding, "");
    let good = place.read(script(&finding));
    let write = |text: &str| place.write(script(&finding), text);
    let tamper = |from: &str, to: &str| {
        let changed = good.lines().map(|line| match line.trim_start().starts_with(from) {
            true => format!("                {to}\n"),
            false => format!("{line}\n"),
        });
        let changed: String = changed.collect();
        assert_ne!(changed, good);
        write(&changed);
    };
    // The same twice: the text does not depend on the run.
    place.found("--law value --dtype float32");
    assert_eq!(place.read(script(&finding)), good);
    play().expect(1, &["FAIL"]);
    // It is off by one: a limit of 3/4 is too little.
    tamper("\"allowed\":", "\"allowed\": [0.75] * 99,");
    play().expect(1, &["FAIL"]);
    tamper("\"allowed\":", "\"allowed\": [9] * 99,");
    play().expect(0, &["FIXED"]);
    tamper("\"allowed\":", "\"allowed\": [nan] * 99,");
    play().expect(1, &["FAIL"]);
    place.fix();
    write(&good);
    play().expect(0, &["FIXED"]);
    tamper("\"expected\":", "\"expected\": [7] * 99,");
    play().expect(1, &["expected  7"]);
    tamper("\"expected\":", "\"expected\": [nan] * 99,");
    play().expect(1, &["expected  nan"]);
    tamper("\"shape\":", "\"shape\": (1, 1, 1, 99),");
    play().expect(1, &["(1, 1, 1, 99)"]);
    write(&good.replace("FORMAT = \"float32\"", "FORMAT = \"float64\""));
    play().expect(1, &["float64"]);
    write(&good);
    std::fs::remove_file(place.as_ref().join("target.py")).expect("removed");
    play().expect(2, &["target.py"]);
}

#[test]
fn a_broken_relation_is_shown_by_the_bits_that_broke_it() {
    if !has_python() {
        return;
    }
    // Within the bound for either sign, and not the same for both.
    let place =
        Place::new(NUMPY, "o = o * work(1 + 2**-23) if n_k % 2 and n_k > 2 and v.sum() > 0 else o");
    let finding = place.found("--law negated-values --dtype float32");
    assert_eq!(finding["evidence"]["relation"], true);
    let play = || place.play(&finding, "");
    play().expect(1, &["attention(Q, K, -V)", &finding.got()]);
    let good = place.read(script(&finding));
    assert!(good.contains("\"recorded\":") && good.contains("# ") && good.contains("same_bits"));
    place.write(script(&finding), good.replacen("\"recorded\": [", "\"recorded\": [7, ", 1));
    play().expect(0, &["CHANGED"]);
    place.write(script(&finding), &good);
    place.fix();
    play().expect(0, &["CHANGED", &format!("qkvet replay {}", finding.case())]);
    place.replay(&finding).expect(0, &["FIXED"]);
}

#[test]
fn what_breaks_is_shown_by_its_script_too() {
    if !has_python() {
        return;
    }
    let faults = [
        ("if n_k > 1: os._exit(7)", "CRASH", "exit code 7"),
        ("if n_k > 1: os.abort()", "CRASH", "CRASH"),
        ("if n_k > 1: time.sleep(100)", "TIMEOUT", "Timeout"),
        (
            "if n_k > 1: raise RuntimeError('no kernel image')",
            "ERROR",
            "RuntimeError: no kernel image",
        ),
        ("o = o * work(1 + CALLS % 3 / 8)", "NONDET", "NONDET"),
        ("key[...] = 0", "FAIL", "FAIL"),
        ("if n_k > 1: o = 'attention'", "FAIL", "str"),
        ("if n_k > 1: o = o.astype(np.int64)", "FAIL", "int64"),
        ("o = o[..., :-1]", "FAIL", "(1, "),
        ("o = o * work(np.nan)", "FAIL", "nan"),
    ];
    for (fault, verdict, part) in faults {
        let place = Place::new(NUMPY, fault);
        let law = if fault.starts_with("key") { "inputs-unchanged" } else { "value" };
        let finding = place.found(&format!("--law {law} --dtype float32 --timeout 1 -x"));
        assert_eq!(finding["verdict"], verdict, "{fault}");
        place.play(&finding, "").expect(1, &[part]);
        place.fix();
        // What comes at times alone is not proved to be gone.
        let (code, word) = if verdict == "NONDET" { (4, "UNSEEN") } else { (0, "FIXED") };
        place.play(&finding, "").expect(code, &[word]);
        place.replay(&finding).expect(code, &[word]);
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
        let flags = format!("--suite large.yaml -x --layout {layout} --timeout 1");
        let finding = place.found(&flags);
        assert!(finding["witness"]["token"].is_null() && finding["replay_anywhere"].is_null());
        let written = place.read(script(&finding));
        assert!(written.contains("\"expected\": \"") && written.contains(library), "{library}");
        place.fix();
        place.play(&finding, "").expect(0, &["FIXED"]);
        if library == "numpy" {
            // The packed numbers are judged.
            place.write("target.py", right.replace("# here", "o = o * work(2)"));
            place.play(&finding, "").expect(1, &["expected  ", "got  "]);
        }
    }
}

#[test]
fn a_named_target_is_found_again() {
    if !has_python() {
        return;
    }
    let place = Place::new(NUMPY, "o = o + work(1)");
    let entry = "targets:\n  mine:\n    target: ../target.py:attention\n";
    place.write("settings/qkvet.yaml", entry);
    let config = "--config settings/qkvet.yaml";
    let finding = found(&place, "mine", &format!("--law value --dtype float32 {config}"));
    // The file that declares the target is remembered with the case.
    place.replay(&finding).expect(1, &["FAIL"]);
    place.play(&finding, "").expect(1, &["FAIL"]);
    let by_token = |flags: &str| place.run(format!("replay '{}' {flags}", token(&finding)));
    by_token("").expect(2, &["--target", "qkvet.yaml"]);
    by_token(config).expect(1, &["FAIL"]);
    place.write("qkvet.yaml", entry.replace("../", ""));
    by_token("").expect(1, &["FAIL"]);
    place.fix();
    by_token("").expect(0, &["PASS", "margin"]);
    place.replay(&finding).expect(0, &["FIXED"]);
    let other = "  other:\n    target: target.py:attention\n";
    place.write("qkvet.yaml", entry.replace("../", "") + other);
    by_token("").expect(2, &["mine, other", "--target"]);
}

#[test]
fn tokens_need_no_python_and_no_file() {
    let folder = temp();
    let finding = found(&folder, "builtin:fault/causal-off-by-one", "");
    assert!(finding["script"].is_null());
    let elsewhere = temp();
    let by_token =
        |target: &str| elsewhere.run(format!("replay '{}' --target {target}", token(&finding)));
    let by_id = folder.replay(&finding).stdout;
    assert_eq!(by_token("builtin:fault/causal-off-by-one").ends(1).stdout, by_id);
    by_token("builtin:flash").expect(0, &["PASS"]);
    // Flags that the verdict depends on are part of the command.
    let law = "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n";
    folder.write("mine.yaml", law);
    let finding = found(
        &folder,
        "builtin:fault/negative-values-lost",
        "--law mine.yaml --convention causal=upper-left",
    );
    let anywhere = anywhere(&finding);
    let without = anywhere.strip_suffix(" --law mine.yaml").expect("the law");
    assert!(without.ends_with(" --convention 'causal=upper-left'"), "{anywhere}");
    folder.run(anywhere).expect(1, &["FAIL"]);
    folder.run(without).expect(2, &["`doubled`", "--law"]);
}

#[test]
fn bad_tokens_are_usage_errors_with_their_place() {
    let folder = temp();
    let replay = |token: &str| folder.run(format!("replay {token} --target builtin:flash"));
    let tensors = "Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1";
    replay(&format!("qk1:value;float32;{tensors}")).expect(0, &["PASS", "margin"]);
    replay("qk1:").expect(2, &["law", " 5 "]);
    for (start, end, parts) in [
        ("qk3:value;float32;", "", &["version", " 1", "`qk3`"][..]),
        ("qk1:value;float32;", ",0", &["elements", " 55", " 2", " 3"]),
        ("qk1:valeu;float32;", "", &["`valeu`", "`value`?"]),
        ("qk1:value;float32;", ";j=1", &["variable", "`j`"]),
        ("qk1:single-key;float32;causal;", "", &["token"]),
    ] {
        replay(&format!("{start}{tensors}{end}")).expect(2, parts);
    }
    replay("qk1:value;float32;dims=1,1,1,1,1,1,1 --law value").expect(2, &["--law value"]);
    folder.run("replay c-0000 --law value.yaml").expect(2, &["token"]);
}

#[test]
fn a_folder_that_cannot_be_written_loses_replay_and_says_so() {
    let target = "builtin:fault/causal-off-by-one";
    let args = format!("check {target} --suite smoke --dtype float32 --format json");
    let usual = temp();
    let finished = usual.run(&args);
    let expected = finished.report(1);
    assert_eq!(usual.read(".qkvet/.gitignore"), "*\n");
    assert!(!finished.stderr.contains("warning"));
    // A file where the folder should be, and one where its cases should be.
    for blocked in [".qkvet", ".qkvet/cases"] {
        let folder = temp();
        folder.write(blocked, "");
        let finished = folder.run(&args);
        finished.expect(1, &["warning: `qkvet replay`", blocked]);
        let report = finished.report(1);
        for field in ["counts", "records"] {
            assert_eq!(report[field], expected[field]);
        }
        assert_eq!(report.first()["witness"], expected.first()["witness"]);
        folder.run(text(&report.first()["replay"])).expect(1, &["FAIL"]);
    }
    if !has_python() {
        return;
    }
    // Lost on the way: the run goes on, and one warning is enough.
    let place = Place::new(NUMPY, "o = o + work(1)");
    place.write(".qkvet/running-0.json/in-the-way", "");
    let finished = place.run("check target.py:attention --suite smoke -q --law value");
    finished.expect(1, &["FAIL", "running-0.json"]);
    assert_eq!(finished.stderr.matches("warning").count(), 1, "{}", finished.stderr);
}

#[test]
fn a_program_is_asked_by_its_script_over_the_wire() {
    if !has_python() {
        return;
    }
    let program = format!("exec:{} -u target.py", python().expect("an interpreter"));
    for (fault, verdict, part) in [
        ("o = [z + 0.5 if mask else z for z in o]", "FAIL", "got  "),
        ("o = o if d_v == 1 else o[1:]", "ERROR", "ERROR"),
        ("m['seq'] = 99 if n_k > 1 else m['seq']", "ERROR", " 99 "),
        ("if n_k > 1: os._exit(7)", "CRASH", "exit code 7"),
        ("if n_k > 1: time.sleep(100)", "TIMEOUT", "TIMEOUT"),
    ] {
        let place = Place::new(PROGRAM, fault);
        let finding = found(&place, &program, "--law value --timeout 2");
        assert_eq!(finding["verdict"], verdict, "{fault}");
        place.play(&finding, "").expect(1, &[part]);
        place.fix();
        place.play(&finding, "").expect(0, &["FIXED"]);
        place.replay(&finding).expect(0, &["FIXED"]);
        if verdict == "FAIL" {
            place.run(anywhere(&finding)).expect(0, &["PASS"]);
            let written = place.read(script(&finding));
            assert!(!written.contains("numpy") && written.contains("\"bool\""));
            let tampered = written.replacen("\"expected\": [", "\"expected\": [9, ", 1);
            place.write(script(&finding), tampered);
            place.play(&finding, "").expect(1, &["expected  9"]);
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
    let fits = "if k['shape'][2] != v['shape'][2]: ";
    let place = Place::new(PROGRAM, "pass");
    let flags = "--suite smoke --law key-count-must-match --dtype float32 --strict";
    let found = |source: &str, verdict: &str, part: &str| {
        place.write("target.py", source);
        let finding = found(&place, &program, flags);
        assert_eq!(finding["verdict"], verdict, "{finding:#?}");
        place.play(&finding, "").expect(1, &[&finding.expected(), part]);
        finding
    };
    let ends = PROGRAM.replace("    Q, K, V =", &format!("    {fits}os._exit(3)\n    Q, K, V ="));
    found(&ends, "CRASH", "exit code 3");
    let finding = found(PROGRAM, "UNGUARDED", "(");
    let refused = "reply = {'seq': m['seq'], 'status': 'refused', 'reason': 'keys'}";
    let declared = format!(
        "        t, p = m['tensors'], m['params']\n        k, v = t['key'], t['value']\n        {fits}\n            {refused}\n            print(json.dumps(reply), flush=True)\n            continue\n"
    );
    let source = PROGRAM.replace("        t, p = m['tensors'], m['params']\n", &declared);
    place.write("target.py", source);
    place.play(&finding, "").expect(0, &["FIXED", "keys"]);
    let check = format!("check '{program}' {flags} --format json");
    assert_eq!(place.run(check).report(0).count("PASS"), 2);
}
