//! What a target is required to answer: a call inside that it declines is a finding, one outside is
//! none.

use qkvet_tests::{Folder, has_python, numpy_attention, temp};

/// A function of one shape, as homework is handed in.
const ONE_SHAPE: &str = "\
import numpy as np

def attention(query, key, value):
    if query.shape != (1, 1, 4, 8):
        raise NotImplementedError('only (1, 1, 4, 8)')
    s = query @ np.swapaxes(key, -1, -2) / np.sqrt(8)
    w = np.exp(s - s.max(-1, keepdims=True))
    return (w / w.sum(-1, keepdims=True) @ value).astype(query.dtype)
";

/// A kernel of one width.
const WIDTH: &str = "\
import numpy as np

def attention(query, key, value):
    if query.shape[3] != 64 or value.shape[3] != 64:
        raise NotImplementedError('width')
    rep = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x, rep, axis=1).astype(np.float64) for x in (key, value))
    s = query.astype(np.float64) @ np.swapaxes(key, -1, -2) / 8
    w = np.exp(s - s.max(-1, keepdims=True))
    return (w / w.sum(-1, keepdims=True) @ value).astype(query.dtype)
";

#[test]
fn what_is_required_must_not_be_declined() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("one.py", ONE_SHAPE);
    folder.write("mine.py", numpy_attention("", "", "sums"));
    let check = |target: &str, flags: &str| {
        folder.run(format!("check {target} --suite smoke --dtype float32 --format json {flags}"))
    };
    // Declining is no finding; how much is declined is told.
    let whole = check("one.py:attention", "").ends(4).json();
    let takes = &whole["run"]["takes"];
    assert!(takes["cases"].as_u64() < takes["of"].as_u64(), "{takes}");
    for required in ["n_q=1..8", "b=1..4", "dtype=float32"] {
        let report = check("one.py:attention", &format!("--require {required}")).report(1);
        let finding = &report["findings"][0];
        assert_eq!(finding["verdict"], "ERROR", "{required}");
        assert_eq!(finding["cause"]["kind"], "declined", "{required}");
        assert!(finding["cause"]["said"].as_str().is_some_and(|it| it.contains("only (1")));
    }
    // Outside is where no call lies, which is told.
    for outside in ["n_q=100..200", "dtype=float16"] {
        let report = check("one.py:attention", &format!("--require {outside}")).ends(4).json();
        assert!(report["warnings"].to_string().contains(outside), "{outside}");
    }
    // A width that is the only one that is required is the one that the suite is made to fit.
    folder.write("width.py", WIDTH);
    let report = check("width.py:attention", "--require d_k=64,d_v=64").ends(0).json();
    assert!(report["counts"]["PASS"].as_u64() > Some(20), "{}", report["counts"]);
    check("width.py:attention", "--require d_k=16..64").ends(1);
    // An option that the function lacks is asked for all the same.
    let lacks = check("mine.py:attention --convention empty-row=nan", "--require causal");
    let report = lacks.report(1);
    let declined = |finding: &&serde_json::Value| finding["cause"]["kind"] == "declined";
    let finding = report["findings"].as_array().expect("findings").iter().find(declined);
    let said = finding.expect("a finding")["cause"]["said"].to_string();
    assert!(said.contains("causal"), "{said}");
    // What it has is no finding; an entry of qkvet.yaml says the same.
    check("mine.py:attention --convention empty-row=nan", "--require scale,mask").finds(&[]);
    check("one.py:attention", "--require causl").expect(2, &["`causal`?"]);
    let entry = "targets:\n  one: {target: 'one.py:attention', requires: [n_q=1..8]}\n";
    folder.write("qkvet.yaml", entry);
    check("one", "").ends(1);
    folder.write("qkvet.yaml", entry.replace("n_q", "n"));
    check("one", "").expect(2, &["requires", "`n=1..8`"]);
}
