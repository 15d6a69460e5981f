//! Findings that come at times alone, or that a target cannot be asked again: no replay calls them
//! fixed.

use qkvet_tests::functions::{NUMPY, TORCH};
use qkvet_tests::{Finding, Folder, has_python, temp};
use tempfile::TempDir;

/// A folder with a target, in which `fault` takes the place of the line `# here`.
fn place(right: &str, fault: &str) -> TempDir {
    let place = temp();
    write(&place, right, fault);
    place
}

fn write(place: &TempDir, right: &str, fault: &str) {
    place.write("target.py", right.replace("# here", fault));
}

/// The first finding of a check.
fn found(place: &TempDir, flags: &str) -> Finding {
    let check = "check target.py:attention --suite smoke --dtype float32 --format json";
    place.run(format!("{check} {flags}")).report(1).first()
}

/// Nobody changed the target, and the case is right for the time being.
#[test]
fn what_came_once_is_not_called_fixed() {
    if !has_python() {
        return;
    }
    // Calls that find what it takes are no wider than 8.
    let once = "mark = __file__ + '.seen'\n    if query.shape[-1] > 8 and not os.path.exists(mark): open(mark, 'w').close(); o = o + work(1)";
    // Wrong however often it is put, until another one was.
    let until = "last = getattr(attention, 'last', key.tobytes() if query.shape[-1] > 8 else '')\n    if last != '': attention.last = last if last == key.tobytes() else None\n    if getattr(attention, 'last', None): o = o + work(1)";
    for (fault, verdict, kind) in
        [(once, "NONDET", "nondeterministic"), (until, "FAIL", "intermittent")]
    {
        let place = place(NUMPY, fault);
        let finding = found(&place, "--law value --law uniform-attention");
        assert_eq!((&finding["verdict"], finding.name()), (&verdict.into(), kind.to_owned()));
        let replayed = place.replay(&finding);
        if verdict == "NONDET" {
            replayed.expect(4, &["UNSEEN", "NONDET", " 100 "]);
            place.play(&finding, "").expect(4, &["UNSEEN", " 300 "]);
        } else {
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
            "mark = __file__ + '.seen'\n    if query.shape[-1] > 8 and not os.path.exists(mark): open(mark, 'w').close(); {fault}"
        );
        let place = place(NUMPY, &once);
        let finding = found(&place, "--law value --timeout 2");
        assert_eq!((&finding["verdict"], finding.name().as_str()), (&verdict.into(), verdict));
        assert!(finding.note("once").is_some(), "{finding:#?}");
        place.replay(&finding).expect(4, &["UNSEEN", " 100 "]);
        place.play(&finding, "").expect(4, &["UNSEEN", " 100 "]);
        // Whatever comes at every call is seen.
        write(&place, NUMPY, fault);
        place.run(format!("replay {} --timeout 2", finding.case())).expect(1, &[verdict]);
    }
}

/// A target that cannot be asked as it was has not been mended.
#[test]
fn what_is_declined_now_is_not_called_fixed() {
    if !has_python() {
        return;
    }
    let place = place(NUMPY, "o = o * work(1.5) if v.sum() < 0 else o");
    let finding = found(&place, "--law negated-values");
    place.replay(&finding).expect(1, &["FAIL"]);
    write(&place, NUMPY, "raise NotImplementedError('no sign')");
    let declined = place.replay(&finding);
    declined.expect(4, &["UNSUPPORTED", "FAIL", "no sign"]);
    assert!(!declined.stdout.contains("FIXED"), "{}", declined.stdout);
    write(&place, NUMPY, "");
    place.replay(&finding).expect(0, &["FIXED"]);
}

/// An object that comes again with other numbers, and one at the address of another.
#[test]
fn what_is_kept_by_object_or_address_is_found() {
    if !has_python() {
        return;
    }
    for (right, key, copy, same) in [
        (NUMPY, "id(key)", "key.copy()", "np.array_equal(kept[at], key)"),
        (NUMPY, "key.ctypes.data", "key.copy()", "np.array_equal(kept[at], key)"),
        (TORCH, "id(key)", "key.clone()", "kept[at].equal(key)"),
        (TORCH, "key.data_ptr()", "key.clone()", "kept[at].equal(key)"),
    ] {
        let fault = format!(
            "kept, at = attention.__dict__.setdefault('kept', {{}}), {key}\n    if at not in kept or kept[at].shape != key.shape: kept.clear(); kept[at] = {copy}\n    o = o if {same} else o * 2"
        );
        let place = place(right, &fault);
        let layout = if right == TORCH { "--layout bnhd" } else { "" };
        let finding = found(&place, &format!("--law key-value-permutation-invariance {layout}"));
        place.replay(&finding).ends(1);
        place.play(&finding, "").ends(1);
    }
}
