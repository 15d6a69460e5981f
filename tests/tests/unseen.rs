//! Findings that come at times alone, or that a target cannot be asked again: no replay calls them
//! fixed.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use qkvet_tests::functions::{NUMPY, TORCH};
use qkvet_tests::{Finished, has_python, play, run};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a target.
struct Place(TempDir);

impl Place {
    /// `fault` takes the place of the line `# here`.
    fn new(right: &str, fault: &str) -> Self {
        let place = Self(TempDir::new().expect("a folder"));
        place.write(right, fault);
        place
    }

    fn write(&self, right: &str, fault: &str) {
        std::fs::write(self.0.path().join("target.py"), right.replace("# here", fault))
            .expect("a file");
    }

    /// The first finding of a check.
    fn found(&self, args: &[&str]) -> Value {
        let all = [
            "check",
            "target.py:attention",
            "--suite",
            "smoke",
            "--dtype",
            "float32",
            "-q",
            "--format",
            "json",
        ];
        let finished = run(self.0.path(), &[&all[..], args].concat());
        finished.expect(1, &[]);
        finished.json()["findings"][0].clone()
    }

    fn replay(&self, finding: &Value) -> Finished {
        run(self.0.path(), &["replay", text(&finding["witness"]["case"])])
    }

    /// Runs the script of a finding.
    fn play(&self, finding: &Value) -> Finished {
        play(&self.0.path().join(text(&finding["script"])))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}"))
}

/// Nobody changed the target, and the case is right for the time being.
#[test]
fn what_came_once_is_not_called_fixed() {
    if !has_python() {
        return;
    }
    let once = "mark = __file__ + '.seen'\n    if not os.path.exists(mark): open(mark, 'w').close(); o = o + work(1)";
    // Wrong however often it is put, until another one was.
    let until = "last = getattr(attention, 'last', None)\n    if CALLS == 1: last = key.tobytes()\n    attention.last = last if last == key.tobytes() else None\n    if attention.last: o = o + work(1)";
    for (fault, verdict, title) in [
        (once, "NONDET", "the same call gave different results"),
        (until, "FAIL", "wrong results that did not come again"),
    ] {
        let place = Place::new(NUMPY, fault);
        let finding = place.found(&["--law", "value", "--law", "uniform-attention"]);
        assert_eq!(
            (text(&finding["verdict"]), text(&finding["sentences"]["title"])),
            (verdict, title),
            "{finding:#}"
        );
        let replayed = place.replay(&finding);
        if verdict == "NONDET" {
            replayed.expect(4, &["UNSEEN", "was       NONDET", "not seen again in 100 calls"]);
            place.play(&finding).expect(4, &["UNSEEN", "not seen again in 300 calls"]);
        } else {
            assert!(
                text(&finding["sentences"]["cause"]).contains("depends on the calls before"),
                "{finding:#}"
            );
            // In a process of its own the case is wrong again.
            replayed.expect(1, &["FAIL"]);
        }
    }
}

/// A crash or a hang that does not come again is gone for no reason that anyone knows.
#[test]
fn a_crash_or_a_hang_that_came_once_is_not_called_fixed() {
    if !has_python() {
        return;
    }
    for (fault, verdict) in [("os.abort()", "CRASH"), ("__import__('time').sleep(60)", "TIMEOUT")] {
        let once = format!(
            "mark = __file__ + '.seen'\n    if not os.path.exists(mark): open(mark, 'w').close(); {fault}"
        );
        let place = Place::new(NUMPY, &once);
        let finding = place.found(&["--law", "value", "--timeout", "2"]);
        assert_eq!(text(&finding["verdict"]), verdict, "{finding:#}");
        assert!(
            text(&finding["sentences"]["cause"])
                .contains("did not come when the same case was put again"),
            "{finding:#}"
        );
        place.replay(&finding).expect(4, &["UNSEEN", "not seen again in 100 calls"]);
        place.play(&finding).expect(4, &["UNSEEN", "not seen again in 100 calls"]);
        // Whatever comes at every call is seen.
        place.write(NUMPY, fault);
        let replay = ["replay", text(&finding["witness"]["case"]), "--timeout", "2"];
        run(place.0.path(), &replay).expect(1, &[verdict]);
    }
}

/// A target that cannot be asked as it was has not been mended.
#[test]
fn what_is_declined_now_is_not_called_fixed() {
    if !has_python() {
        return;
    }
    let place = Place::new(NUMPY, "o = o * work(1.5) if v.sum() < 0 else o");
    let finding = place.found(&["--law", "negated-values"]);
    place.replay(&finding).expect(1, &["FAIL"]);
    place.write(NUMPY, "if v.sum() < 0: raise NotImplementedError('no sign')");
    let declined = place.replay(&finding);
    declined.expect(4, &["UNSUPPORTED", "was       FAIL", "now       cannot be judged", "no sign"]);
    assert!(!declined.stdout.contains("FIXED"), "{}", declined.stdout);
    place.write(NUMPY, "");
    place.replay(&finding).expect(0, &["FIXED"]);
}

/// An object that comes again with other numbers, and one at the address of another.
#[test]
fn what_is_kept_by_object_or_address_is_found() {
    if !has_python() {
        return;
    }
    let law = ["--law", "key-value-permutation-invariance"];
    for (right, key, copy, same) in [
        (NUMPY, "id(key)", "key.copy()", "np.array_equal(kept[at], key)"),
        (NUMPY, "key.ctypes.data", "key.copy()", "np.array_equal(kept[at], key)"),
        (TORCH, "id(key)", "key.clone()", "kept[at].equal(key)"),
        (TORCH, "key.data_ptr()", "key.clone()", "kept[at].equal(key)"),
    ] {
        let fault = format!(
            "kept, at = attention.__dict__.setdefault('kept', {{}}), {key}\n    if at not in kept or kept[at].shape != key.shape: kept.clear(); kept[at] = {copy}\n    o = o if {same} else o * 2"
        );
        let place = Place::new(right, &fault);
        let layout: &[&str] = if right == TORCH { &["--layout", "bnhd"] } else { &[] };
        let finding = place.found(&[&law[..], layout].concat());
        place.replay(&finding).expect(1, &[]);
        place.play(&finding).expect(1, &[]);
    }
}
