//! Calls of a user's own: read from files, judged by every law that says something of them, shown
//! with their file, and seen again.

use qkvet_tests::{Finished, Folder, finish, has_python, python, temp};
use std::process::Command;
use tempfile::TempDir;

/// Arrays of a call with five positions.
const CALL: &str = "
import numpy as np
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 2, 5, 8), dtype=np.float32) for _ in range(3))
call = dict(query=q, key=k, value=v)
";

/// Runs lines of Python behind [`CALL`] in the folder.
fn written(folder: &TempDir, lines: &str) {
    folder.write("make.py", format!("{CALL}{lines}\n"));
    let python = python().expect("an interpreter");
    finish(Command::new(python).arg("make.py").current_dir(folder.path())).ends(0);
}

/// What `check TARGET --inputs PATH` comes to, as JSON.
fn check(folder: &TempDir, target: &str, path: &str) -> Finished {
    folder.run(format!("check {target} --inputs {path} --format json"))
}

#[test]
fn every_option_is_read_and_judged() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let calls = "
half = {name: array.astype(np.float16) for name, array in call.items()}
bits = {name: (array.view(np.uint32) >> 16).astype(np.uint16) for name, array in call.items()}
hidden = np.where(np.tri(5, dtype=bool), 0.5, -np.inf).astype(np.float32)
np.savez('calls/a-causal.npz', **call, causal=True)
np.savez('calls/b-numbers.npz', **call, scale=0.1, softcap=30)
np.savez('calls/c-bias.npz', **call, bias=hidden, mask=np.ones((5, 5), bool))
np.savez('calls/d-window.npz', **call, window=np.array([2, -1]), sinks=np.float32([0.5, -1]))
np.savez('calls/e-lengths.npz', **call, key_lengths=[3], query_lengths=[5], alibi_slopes=np.float32([0.5, 0.25]))
np.savez('calls/f-packed.npz', **call, query_offsets=[0, 2, 5], key_offsets=[0, 3, 5])
np.savez('calls/g-half.npz', **half, causal=np.array([True]))
np.savez('calls/h-brain.npz', **bits, dtype='bfloat16')
np.savez('calls/j-padded.npz', **call, causal=True, bias=np.where(np.arange(5) > 1, 0, -np.inf).astype(np.float32))
np.savez('calls/k-slopes.npz', **call, alibi_slopes=np.float32([0.7071, 0.3535]), mask=np.ones(5, bool))
np.savez('calls/l-again.npz', **call, causal=True)
np.savez('calls/m-large.npz', **{name: 1e19 * array for name, array in call.items()})
np.savez('calls/i-two.npz', query=q[0, 0], key=k[0, 0], value=np.asfortranarray(v[0, 0]))
";
    folder.write("calls/notes.txt", "no call");
    written(&folder, calls);
    for target in ["builtin:standard", "builtin:flash"] {
        let report = check(&folder, target, "calls").finds(&[]);
        assert_eq!(report["run"]["suite"], "calls");
        let value = &report["coverage"]["laws"]["value"];
        // Of two files with the same call one is asked.
        assert_eq!(value, 12, "{target}: {value}");
        let options = &report["coverage"]["options"];
        assert!(options.as_object().expect("options").values().all(|n| n != 0), "{options}");
        // Laws besides say something of calls that are not drawn.
        let others = report["coverage"]["laws"].as_object().expect("laws").len();
        assert!(others > 3, "{others} laws");
    }
    // What is wrong is named, with its file, and comes again.
    let report = check(&folder, "builtin:fault/causal-off-by-one", "calls").report(1);
    let finding = &report["findings"][0];
    assert_eq!(finding["cause"]["faults"][0]["fault"], "causal-off-by-one", "{finding}");
    let file = finding["witness"]["inputs"][0].as_str().expect("a file");
    assert!(["a-causal", "g-half"].iter().any(|name| file.contains(name)), "{file}");
    let again = finding["replay"].as_str().expect("a command").replacen("qkvet ", "", 1);
    folder.run(again).ends(1);
    // −∞ in a bias comes back from the stored case too.
    let report = check(&folder, "builtin:fault/bias-ignored", "calls/c-bias.npz").report(1);
    let again = report["findings"][0]["replay"].as_str().expect("a command");
    folder.run(again.replacen("qkvet ", "", 1)).ends(1);
}

#[test]
fn large_calls_are_judged_by_some_rows() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let calls = "
q, k, v = (rng.standard_normal((1, 1, 2304, 8), dtype=np.float32) for _ in range(3))
np.savez('large.npz', query=q, key=k, value=v)
";
    written(&folder, calls);
    let report = check(&folder, "builtin:flash", "large.npz").finds(&[]);
    assert_eq!(
        report["run"]["chosen"][0],
        serde_json::json!({"rows": {"n": 64}}),
        "{}",
        report["run"]
    );
    let laws = report["coverage"]["laws"].as_object().expect("laws");
    assert!(laws.contains_key("value") && !laws.contains_key("repeatability"), "{laws:?}");
    check(&folder, "builtin:fault/scale-missing", "large.npz").report(1);
}

#[test]
fn what_is_no_call_is_an_error_with_its_place() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let calls = "
np.savez('none.npz', query=q, key=k)
np.savez('nan.npz', **(call | dict(value=np.full_like(v, np.nan))))
np.savez('more.npz', **call, is_causal=True)
np.savez('wide.npz', **call, bias=np.full((5, 5), 0.1))
np.savez('unlike.npz', **(call | dict(key=k[:, :, :, :4])))
np.savez('whole.npz', **{name: array.astype(int) for name, array in call.items()})
np.savez('causal.npz', **call, causal=[True, False])
np.savez('window.npz', **call, window=[1])
np.savez('lengths.npz', **call, key_lengths=[-1])
np.savez('scale.npz', **call, scale=np.inf)
np.savez('hidden.npz', **call, bias=np.full((5, 5), -np.inf, np.float32))
np.savez('format.npz', **call, dtype='float16')
np.savez('side.npz', **call, window=[-7, 2])
np.savez('offsets.npz', **call, query_offsets=[0, 5])
np.savez_compressed('packed.npz', **call)
np.save('one.npy', q)
";
    written(&folder, calls);
    folder.write("empty/notes.txt", "no call");
    let refused = |path: &str, parts: &[&str]| {
        let parts: Vec<&str> = [path].iter().chain(parts).copied().collect();
        folder.run(format!("check builtin:standard --inputs {path}")).expect(2, &parts);
    };
    refused("none.npz", &["array at `value`: expected one, got none"]);
    refused("nan.npz", &["array `value`: expected finite numbers, got NaN"]);
    refused("more.npz", &["known names only", "`is_causal`"]);
    refused("wide.npz", &["array `bias`: expected numbers of float32, the format of the inputs"]);
    refused("unlike.npz", &["query, key and value", "fit together"]);
    refused("whole.npz", &["array `query`: expected floating-point numbers"]);
    refused("causal.npz", &["`causal`: expected one truth value, got 2"]);
    refused("window.npz", &["`window`: expected two numbers"]);
    refused("lengths.npz", &["`key_lengths`: expected 0 or more, got -1"]);
    refused("scale.npz", &["scale: expected a finite number"]);
    refused("offsets.npz", &["`query_offsets` and `key_offsets`"]);
    refused("packed.npz", &["savez_compressed"]);
    refused("one.npy", &[".npz or .safetensors"]);
    refused("empty", &["qkvet.capture"]);
    refused("missing.npz", &["file at missing.npz"]);
    refused("format.npz", &["array `query`: expected float16, got float32"]);
    refused("side.npz", &["`window`", "-7"]);
    // A law that says nothing of a call whose bias hides keys.
    let law = "check builtin:standard --inputs hidden.npz --law convex-hull";
    folder.run(law).expect(2, &["hidden.npz", "bias: expected finite numbers"]);
}
