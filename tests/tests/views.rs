//! What is wrong for one layout of the inputs in memory: told, shown by a script that puts views
//! too, and gone once the target is right.

use qkvet_tests::{Finding, Finished, Folder, Report, has_python, temp};
use tempfile::TempDir;

const RIGHT: &str = "\
import os, time
import numpy as np
CALLS = 0
def attention(query, key, value, scale=None):
    global CALLS
    CALLS += 1
    on_views = not all(x.flags.c_contiguous for x in (query, key, value))
    s = query @ key.swapaxes(2, 3) * (query.shape[3] ** -0.5 if scale is None else scale)
    w = np.exp(s - s.max(3, keepdims=True))
    o = (w / w.sum(3, keepdims=True) @ value).astype(query.dtype)
    # here
    return o
";

/// Half of these shapes get views.
const SUITE: &str = "\
suite: views
title: t
laws: [value, inputs-unchanged]
dtypes: [float32]
shapes:
  - {b: 1, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4}
  - {b: 2, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4}
  - {b: 3, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4}
  - {b: 4, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4}
  - {b: 5, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4}
  - {b: 6, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4}
values: [normal]
masks: [random]
broadcast: [i j]
strength: 1
";

/// A folder with a target that has a fault, which takes the place of the line `# here`.
fn place(fault: &str) -> TempDir {
    let place = temp();
    place.write("views.yaml", SUITE);
    place.write("target.py", RIGHT.replace("# here", fault));
    place
}

/// The report of a check that finds something.
fn report(place: &TempDir, suite: &str, law: &str) -> Report {
    let flags = "--dtype float32 --format json --timeout 1";
    place.run(format!("check target.py:attention --suite {suite} --law {law} {flags}")).report(1)
}

fn replay(place: &TempDir, finding: &Finding) -> Finished {
    place.run(format!("replay {} --timeout 1", finding.case()))
}

#[test]
fn what_breaks_on_views_alone_comes_back_until_it_is_fixed() {
    if !has_python() {
        return;
    }
    for (fault, law, name, part) in [
        ("key[...] = 0", "value", "QK601", "FAIL"),
        ("key[...] = 0", "inputs-unchanged", "QK601", "FAIL"),
        ("os._exit(7)", "value", "CRASH", "exit code 7"),
        ("time.sleep(100)", "value", "TIMEOUT", "Timeout"),
        ("o = None", "value", "layout", "NoneType"),
        ("o = o[:, :, :1]", "value", "layout", "(1, 2, "),
    ] {
        let place = place(&format!("if on_views: {fault}"));
        let finding = report(&place, "views.yaml", law).first();
        assert_eq!(finding.name(), name, "{finding:#?}");
        // Whether inputs are changed is not tried on contiguous ones.
        let is_right = finding.right_layout() == Some("contiguous");
        assert!(is_right || finding.note("views").is_some() && name == "QK601", "{finding:#?}");
        place.play(&finding, "").expect(1, &[part]);
        replay(&place, &finding).ends(1);
        place.write("target.py", RIGHT);
        place.play(&finding, "").expect(0, &["FIXED"]);
        replay(&place, &finding).expect(0, &["FIXED"]);
    }
}

/// What breaks in both layouts is no matter of views, and neither is what breaks once.
#[test]
fn what_breaks_in_both_layouts_is_not_told_of_views() {
    if !has_python() {
        return;
    }
    for fault in ["os._exit(7)", "time.sleep(100)", "o = None"] {
        let place = place(&format!("if query.shape[0] > 1: {fault}"));
        for finding in report(&place, "views.yaml", "value").findings() {
            let layout = (finding.right_layout(), finding.note("views"));
            assert_eq!(layout, (None, None), "{finding:#?}");
        }
    }
}

/// A wrong shape is shown by a case of a wrong shape, though smaller ones are wrong otherwise.
#[test]
fn a_witness_shows_what_its_finding_says() {
    if !has_python() {
        return;
    }
    let place =
        place("o = o[:, :, :2] if query.shape[0] > 2 else o + 1 if query.shape[0] > 1 else o");
    let report = report(&place, "views.yaml", "value");
    let found = report.findings().find(|finding| finding.name() == "form");
    let finding = found.unwrap_or_else(|| panic!("{report:#?}"));
    assert_eq!(finding["evidence"]["form"]["shape"], "output", "{finding:#?}");
    assert!(finding.call().contains("b=3"), "{finding:#?}");
}

/// The script asks as the check did: on contiguous inputs once views were declined. This target is
/// wrong right after that.
#[test]
fn who_declines_views_is_asked_again_by_the_script() {
    if !has_python() {
        return;
    }
    let declines = "if on_views: CALLS = -1; raise ValueError('strides')\n    # here";
    let place = place(&declines.replace("# here", "if CALLS == 0: o = o * 2"));
    let report = report(&place, "views.yaml", "value");
    assert!(report["coverage"]["unchecked"].to_string().contains("strided"), "{report:#?}");
    let finding = report.first();
    place.play(&finding, "").expect(1, &["FAIL"]);
    place.write("target.py", RIGHT.replace("# here", declines));
    place.play(&finding, "").expect(0, &["FIXED"]);
}

/// The finding of the layout.
fn of_layout(report: &Report) -> Finding {
    let found = report.findings().find(|finding| finding.name() == "layout");
    found.unwrap_or_else(|| panic!("{report:#?}"))
}

/// What is wrong in both layouts is named from contiguous inputs; that views give something else
/// again is told beside it.
#[test]
fn a_fault_is_named_beside_strides_that_are_ignored() {
    if !has_python() {
        return;
    }
    let last_key = "    s[..., -1] = -np.inf\n    w = np.exp";
    let faulty = RIGHT.replace("    w = np.exp", last_key);
    let ignores = "    key = key.ravel(order=\"K\").reshape(key.shape)\n    s = ";
    let place = place("");
    place.write("target.py", faulty.replace("    s = ", ignores));
    let beside = report(&place, "views.yaml", "value");
    let names = beside.names();
    assert!(names.len() == 2 && names.iter().any(|name| name.starts_with("QK")), "{names:?}");
    let finding = of_layout(&beside);
    assert_eq!(finding["cause"]["faults"], serde_json::json!(["last-key-dropped"]));
    place.play(&finding, "").expect(1, &["FAIL"]);
    replay(&place, &finding).expect(1, &["FAIL"]);
    // The fault alone is one finding, whatever its inputs look like.
    place.write("target.py", &faulty);
    let alone = report(&place, "views.yaml", "value");
    assert_eq!((alone.names().len(), &alone.first()["fault"]), (1, &"last-key-dropped".into()));
    place.write("target.py", RIGHT);
    place.play(&finding, "").expect(0, &["FIXED"]);
}

/// A kernel that takes positions before heads in memory for granted is right on such views alone.
#[test]
fn what_is_wrong_on_contiguous_inputs_alone_is_told_so() {
    if !has_python() {
        return;
    }
    let takes = "    b, h, n, d = key.shape\n    key = key.ravel(order=\"K\").reshape(b, n, h, d).swapaxes(1, 2)\n    s = ";
    let place = place("");
    place.write("target.py", RIGHT.replace("    s = ", takes));
    let report = report(&place, "views.yaml", "value");
    assert_eq!(report.names(), ["layout"]);
    let finding = report.first();
    assert_eq!(finding.right_layout(), Some("views"));
    assert_eq!(finding["evidence"]["contiguous"], true);
    place.play(&finding, "").expect(1, &["FAIL"]);
    replay(&place, &finding).expect(1, &["FAIL"]);
    place.write("target.py", RIGHT);
    place.play(&finding, "").expect(0, &["FIXED"]);
}
