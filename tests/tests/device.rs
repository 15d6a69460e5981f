//! `--device`, against a device that is none: `tests/fixtures/device/torch.py` does the work late
//! and keeps every copy. What runs on an accelerator is waited for, each tensor is copied once, and
//! an error that comes late is that of its call.

use qkvet_tests::{Finished, has_python, root, run};

fn check(function: &str, device: &[&str]) -> Finished {
    let folder = root().join("tests/fixtures/device");
    let target = format!("target.py:{function}");
    run(
        &folder,
        &[&["check", &target, "--suite", "smoke", "--dtype", "float32", "-q"], device].concat(),
    )
}

#[test]
fn work_is_waited_for_and_copied_once() {
    if !has_python() {
        return;
    }
    let on = ["--device", "cuda:0"];
    check("attention", &on).expect(0, &["no finding in"]);
    // Where the copies of a call are others, it raises.
    check("counted", &on).expect(0, &["no finding in"]);
    // A copy that waits for nothing reads what is not there yet: the two above would show it.
    check("impatient", &on).expect(1, &["FAIL", "NaN"]);
}

#[test]
fn what_fails_late_is_the_error_of_its_call() {
    if !has_python() {
        return;
    }
    let late = check("asserted", &["--device", "cuda:0"]);
    late.expect(
        1,
        &[
            "reading the result raised RuntimeError: CUDA error: device-side assert triggered",
            "n_k=33",
        ],
    );
    check("attention", &["--device", "cuda:1"])
        .expect(3, &["torch cannot use device `cuda:1`", "there is no device"]);
    // Without the flag the tensors stay on the host, which this function does not take.
    check("attention", &[]).expect(1, &["expected all tensors on cuda:0, got one on cpu"]);
}
