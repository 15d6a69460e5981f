//! `--device`, against a device that is none: `tests/fixtures/device/torch.py` does the work late
//! and keeps every copy. What runs on an accelerator is waited for, each tensor is copied once, and
//! an error that comes late is that of its call.

use qkvet_tests::{Finished, Folder, has_python, root};

fn check(function: &str, device: &str) -> Finished {
    let flags = "--suite smoke --dtype float32 --format json";
    root().join("tests/fixtures/device").run(format!("check target.py:{function} {flags} {device}"))
}

#[test]
fn work_is_waited_for_and_copied_once() {
    if !has_python() {
        return;
    }
    let on = "--device cuda:0";
    check("attention", on).finds(&[]);
    // Where the copies of a call are others, it raises.
    check("counted", on).finds(&[]);
    // A copy that waits for nothing reads what is not there yet: the two above would show it.
    let read = check("impatient", on).report(1).first();
    assert_eq!((&read["verdict"], read.got()), (&"FAIL".into(), "NaN".to_owned()));
}

#[test]
fn what_fails_late_is_the_error_of_its_call() {
    if !has_python() {
        return;
    }
    let late = check("asserted", "--device cuda:0").finds(&["ERROR"]).first();
    assert!(late.how().contains("RuntimeError: CUDA error: device-side assert triggered"));
    assert!(late.call().contains("n_k=33"), "{}", late.call());
    check("attention", "--device cuda:1").expect(3, &["`cuda:1`"]);
    // Without the flag the tensors stay on the host, which this function does not take.
    let host = check("attention", "").finds(&["ERROR"]).first();
    assert!(host.how().contains("cuda:0, got one on cpu"), "{}", host.how());
}
