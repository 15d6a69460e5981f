//! Functions of fewer axes, of few sizes, and of another format of output: what they take is found
//! by calling them, and what is wrong with them is named all the same.

use qkvet_tests::{Finished, Folder, Report, has_python, temp};
use tempfile::TempDir;

const FUNCTIONS: &str = "
import numpy as np

def weights(scores):
    largest = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total > 0, total, 1)

def scores(query, key, power=0.5):
    wide = query.astype(np.float64) @ key.astype(np.float64).swapaxes(-1, -2)
    return wide / query.shape[-1] ** power

def two(Q, K, V):
    n, d = Q.shape
    return (weights(scores(Q, K)) @ V.astype(np.float64)).astype(Q.dtype)

def three(q, k, v, mask=None):
    b, n, d = q.shape
    s = scores(q, k)
    if mask is not None:
        assert mask.ndim in (2, 3) and mask.shape[-2:] in ((n, k.shape[1]), (1, k.shape[1])), mask.shape
        s = np.where(mask, s, -np.inf)
    return (weights(s) @ v.astype(np.float64)).astype(q.dtype)

def needs_a_mask(q, k, v, mask):
    n, d = q.shape
    s = np.where(mask, scores(q, k), -np.inf)
    return (weights(s) @ v.astype(np.float64)).astype(q.dtype)

def as_many(q, k, v, causal=False):
    b, h, n, d = q.shape
    s = scores(q, k)
    if causal:
        s = np.where(np.tril(np.ones((n, n), bool)), s, -np.inf)
    else:
        s + np.zeros((n, n))
    return (weights(s) @ v.astype(np.float64)).astype(q.dtype)

def sized(q, k, v):
    if q.shape[-2:] != (64, 32) or k.shape != q.shape or v.shape != q.shape:
        raise ValueError('64 rows of 32')
    return (weights(scores(q, k)) @ v.astype(np.float64)).astype(q.dtype)

def divides_by_d(Q, K, V):
    n, d = Q.shape
    return (weights(scores(Q, K, 1)) @ V.astype(np.float64)).astype(Q.dtype)

def always_causal(Q, K, V):
    n, d = Q.shape
    s = np.where(np.tril(np.ones((n, n), bool)), scores(Q, K), -np.inf)
    return weights(s) @ V

def loses_a_mask(q, k, v, mask=None):
    b, n, d = q.shape
    s = scores(q, k)
    if mask is not None and n > 1:
        s = np.where(mask, s, -np.inf)
    return (weights(s) @ v.astype(np.float64)).astype(q.dtype)
";

fn folder() -> TempDir {
    let folder = temp();
    folder.write("target.py", FUNCTIONS);
    folder
}

fn check(folder: &TempDir, function: &str, words: &str) -> Finished {
    folder.run(format!("check target.py:{function} --suite smoke --format json {words}"))
}

fn fit(report: &Report, name: &str) -> serde_json::Value {
    report["run"]["fit"][name].clone()
}

#[test]
fn right_functions_of_fewer_axes_and_sizes_are_checked_and_right() {
    if !has_python() {
        return;
    }
    let folder = folder();
    for (function, words, fitted) in [
        ("two", "", &[("b", 1), ("h_q", 1), ("h_k", 1)][..]),
        ("three", "", &[("h_q", 1), ("h_k", 1)]),
        ("needs_a_mask", "", &[("b", 1), ("h_q", 1)]),
        ("sized", "", &[("n_q", 64), ("n_k", 64), ("d_k", 32), ("d_v", 32)]),
        ("three", "--layout bnd", &[("h_q", 1)]),
    ] {
        let report = check(&folder, function, &format!("--dtype float32 {words}")).report(0);
        for (name, size) in fitted {
            assert_eq!(fit(&report, name), *size, "{function}: {name}");
        }
        assert!(report.count("PASS") > 50, "{function}: {}", report.count("PASS"));
    }
    let report = check(&folder, "as_many", "--dtype float64").report(0);
    assert_eq!(fit(&report, "alike")[0], "lengths");
    // Only laws that take a query out of many put calls of other lengths.
    assert!(report.count("REFUSED") < 10, "{:?}", report["coverage"]["declined"]);
    // Said otherwise, they are called otherwise.
    check(&folder, "two", "--dtype float32 --layout bhnd").report(4);
}

#[test]
fn what_is_wrong_with_them_is_named_and_seen_again() {
    if !has_python() {
        return;
    }
    let folder = folder();
    let named = |function: &str, words: &str| {
        let report = check(&folder, function, words).report(1);
        let case = report.first().case().to_owned();
        folder.run(format!("replay {case}")).ends(1);
        report.names()
    };
    assert_eq!(named("divides_by_d", "--dtype float32"), ["QK101"]);
    let lost = check(&folder, "loses_a_mask", "--dtype float32").report(1);
    let condition =
        lost.first()["cause"]["when"].to_string() + &lost.first()["condition"].to_string();
    assert!(condition.contains("n_q"), "{condition}");
    // A wider output is one finding, and hides no other.
    let wide = named("always_causal", "--dtype float64,float32");
    assert_eq!(wide, ["QK608", "QK213"]);
    let declared = "--dtype float32 --contract f32+wider-output";
    assert_eq!(named("always_causal", declared), ["QK213"]);
}
