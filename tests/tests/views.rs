//! What is wrong for one layout of the inputs in memory: told, shown by a script that puts views
//! too, and gone once the target is right.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use qkvet_tests::{Finished, has_python, play, run};
use serde_json::Value;
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
struct Place(TempDir);

impl Place {
    fn new(fault: &str) -> Self {
        let place = Self(TempDir::new().expect("a folder"));
        place.write("views.yaml", SUITE);
        place.write("target.py", &RIGHT.replace("# here", fault));
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file");
    }

    /// The report of a check that finds something.
    fn report(&self, law: &str) -> Value {
        self.report_of("views.yaml", law)
    }

    fn report_of(&self, suite: &str, law: &str) -> Value {
        let args =
            ["check", "target.py:attention", "--suite", suite, "--dtype", "float32", "--law", law];
        let more = ["-q", "--format", "json", "--timeout", "1"];
        run(self.0.path(), &[&args[..], &more].concat()).expect(1, &[]).json()
    }

    fn replay(&self, finding: &Value) -> Finished {
        run(self.0.path(), &["replay", text(&finding["witness"]["case"]), "--timeout", "1"])
    }

    /// Runs the script of a finding.
    fn play(&self, finding: &Value) -> Finished {
        play(&self.0.path().join(text(&finding["script"])))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}"))
}

#[test]
fn what_breaks_on_views_alone_comes_back_until_it_is_fixed() {
    if !has_python() {
        return;
    }
    let faults = [
        ("key[...] = 0", "value", "QK601", "the same bits after the call"),
        ("key[...] = 0", "inputs-unchanged", "QK601", "the same bits after the call"),
        ("os._exit(7)", "value", "exited with code 7", "the process ended with exit code 7"),
        ("time.sleep(100)", "value", "no answer", "Timeout"),
        ("o = None", "value", LAYOUT, "NoneType"),
        ("o = o[:, :, :1]", "value", LAYOUT, "shape of the output"),
    ];
    for (fault, law, title, part) in faults {
        let place = Place::new(&format!("if on_views: {fault}"));
        let finding = place.report(law)["findings"][0].clone();
        assert!(text(&finding["sentences"]["title"]).starts_with(title), "{finding:#}");
        let cause = text(&finding["sentences"]["cause"]);
        assert!(cause.contains("views of which heads and positions lie exchanged"), "{finding:#}");
        // Whether inputs are changed is not tried on contiguous ones.
        assert!(
            cause.contains("contiguous, they give a right result") || title == "QK601",
            "{finding:#}"
        );
        place.play(&finding).expect(1, &[part]);
        place.replay(&finding).expect(1, &[]);
        place.write("target.py", RIGHT);
        place.play(&finding).expect(0, &["FIXED"]);
        place.replay(&finding).expect(0, &["FIXED"]);
    }
}

/// What breaks in both layouts is no matter of views, and neither is what breaks once.
#[test]
fn what_breaks_in_both_layouts_is_not_told_of_views() {
    if !has_python() {
        return;
    }
    for fault in ["os._exit(7)", "time.sleep(100)", "o = None"] {
        let place = Place::new(&format!("if query.shape[0] > 1: {fault}"));
        for finding in place.report("value")["findings"].as_array().expect("findings") {
            assert!(!finding["sentences"]["cause"].to_string().contains("views"), "{finding:#}");
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
        Place::new("o = o[:, :, :2] if query.shape[0] > 2 else o + 1 if query.shape[0] > 1 else o");
    let report = place.report("value");
    let findings = report["findings"].as_array().expect("findings");
    let found = findings
        .iter()
        .find(|finding| text(&finding["sentences"]["title"]).contains("wrong shape"));
    let finding = found.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(finding["evidence"]["form"]["shape"], "output", "{finding:#}");
    assert!(text(&finding["witness"]["call"]).contains("b=3"), "{finding:#}");
}

/// The script asks as the check did: on contiguous inputs once views were declined. This target is
/// wrong right after that.
#[test]
fn who_declines_views_is_asked_again_by_the_script() {
    if !has_python() {
        return;
    }
    let declines = "if on_views: CALLS = -1; raise ValueError('strides')\n    # here";
    let place = Place::new(&declines.replace("# here", "if CALLS == 0: o = o * 2"));
    let report = place.report("value");
    assert!(
        report["coverage"]["unchecked"].to_string().contains("strided inputs (declined"),
        "{}",
        report["coverage"]
    );
    let finding = &report["findings"][0];
    place.play(finding).expect(1, &["FAIL", "expected"]);
    place.write("target.py", &RIGHT.replace("# here", declines));
    place.play(finding).expect(0, &["FIXED"]);
}

const LAYOUT: &str = "the result depends on how the inputs lie in memory";

/// The finding of the layout, and the titles of all.
fn of_layout(report: &Value) -> (Value, Vec<&str>) {
    let findings = report["findings"].as_array().expect("findings");
    let titles: Vec<&str> =
        findings.iter().map(|finding| text(&finding["sentences"]["title"])).collect();
    let found = findings.iter().find(|finding| finding["sentences"]["title"] == LAYOUT);
    (found.unwrap_or_else(|| panic!("{report:#}")).clone(), titles)
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
    let place = Place::new("");
    place.write("target.py", &faulty.replace("    s = ", ignores));
    let report = place.report_of("core", "value");
    let (finding, titles) = of_layout(&report);
    assert!(titles.len() == 2 && titles.iter().any(|title| title.starts_with("QK")), "{titles:?}");
    let cause = text(&finding["sentences"]["cause"]);
    assert!(cause.contains("contiguous, they give what last-key-dropped explains"), "{cause}");
    place.play(&finding).expect(1, &["FAIL", "expected"]);
    place.replay(&finding).expect(1, &["heads and positions lie exchanged in memory"]);
    // The fault alone is one finding, whatever its inputs look like.
    place.write("target.py", &faulty);
    let report = place.report_of("core", "value");
    let findings = report["findings"].as_array().expect("findings");
    assert!(
        findings.len() == 1
            && text(&findings[0]["sentences"]["cause"]).starts_with("last-key-dropped: all"),
        "{report:#}"
    );
    place.write("target.py", RIGHT);
    place.play(&finding).expect(0, &["FIXED"]);
}

/// A kernel that takes positions before heads in memory for granted is right on such views alone.
#[test]
fn what_is_wrong_on_contiguous_inputs_alone_is_told_so() {
    if !has_python() {
        return;
    }
    let takes = "    b, h, n, d = key.shape\n    key = key.ravel(order=\"K\").reshape(b, n, h, d).swapaxes(1, 2)\n    s = ";
    let place = Place::new("");
    place.write("target.py", &RIGHT.replace("    s = ", takes));
    let report = place.report("value");
    let (finding, titles) = of_layout(&report);
    assert_eq!(titles, [LAYOUT]);
    assert!(
        text(&finding["sentences"]["cause"])
            .starts_with("query, key and value lay contiguous in memory"),
        "{finding:#}"
    );
    assert_eq!(finding["evidence"]["contiguous"], true);
    place.play(&finding).expect(1, &["FAIL", "expected"]);
    place.replay(&finding).expect(1, &["FAIL"]);
    place.write("target.py", RIGHT);
    place.play(&finding).expect(0, &["FIXED"]);
}
