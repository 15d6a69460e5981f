//! What a Python function may do to its caller: each way of ending has its own response, and none
//! of them hangs.
#![allow(clippy::disallowed_methods, reason = "tests of an I/O crate")]

use crate::common;

use std::time::{Duration, Instant};

use common::*;
use qkvet_run::adapters::python::{Layout, PythonTarget};
use qkvet_spec::{Call, Dims, Dtype, Quoted, Response, Target, Warning};

/// The answer of a fixture function contains `expected`, in the form `Kind("...")`.
fn check(function: &str, expected: &str) {
    let got = format!("{:?}", answer(FIXTURES, function));
    assert!(got.contains(expected), "{function}\n  expected {expected}\n  got      {got}");
}

/// The first answer contains `expected`; the next call is answered by a fresh process.
fn check_recovers(function: &str, expected: &str, limits: &Limits) {
    let fixture = Fixture::new(FIXTURES);
    let mut target = PythonTarget::start(&fixture.config(function), limits).expect(function);
    let got = format!("{:?}", target.call(&small_call()));
    assert!(got.contains(expected), "{function}\n  expected {expected}\n  got      {got}");
    assert!(target.take_ended(), "{function}");
    output(target.call(&small_call()));
    assert!(!target.take_ended(), "{function}");
    assert_eq!(target.restarts(), 1);
}

#[test]
fn exceptions() {
    if !has("numpy") {
        return;
    }
    check("value_error", "Refused(\"ValueError: n_q must be even at ");
    check("value_error", "fixture.py:28\")");
    check("type_error", "Refused(\"TypeError: unsupported operand");
    check("not_implemented", "Unsupported(\"head_dim 4\")");
    check("not_implemented_silent", "Unsupported(\"NotImplementedError at ");
    check("runtime_error", "Error(\"RuntimeError: shapes differ at ");
    check("key_error_inside_numpy", "Error(\"FileNotFoundError: ");
    check("key_error_inside_numpy", "fixture.py:48\")");
    check("system_exit", "Error(\"SystemExit: 3 at ");
    check("keyboard_interrupt", "Error(\"KeyboardInterrupt at ");
    check("unprintable", "Error(\"Unprintable: (its message could not be read) at ");
}

#[test]
fn results_that_are_no_tensors() {
    if !has("numpy") {
        return;
    }
    check("returns_none", "Malformed(\"output: expected an array, got NoneType\")");
    check("returns_float", "Malformed(\"output: expected an array, got float\")");
    check("returns_object", "Malformed(\"output: expected an array, got object\")");
    check("returns_lists", "Malformed(\"output: expected an array, got a list of list\")");
    check("returns_empty_tuple", "Malformed(\"output: expected an array, got an empty tuple\")");
    check(
        "returns_ragged",
        "Malformed(\"output: expected one of float64, float32, bfloat16, float16, got dtype object\")",
    );
    check("returns_int64", "got dtype int64");
    check(
        "returns_huge",
        "Malformed(\"output: 4398046511104 bytes of shape [1048576, 1048576] are too many",
    );
}

#[test]
fn results_as_they_are() {
    if !has("numpy") {
        return;
    }
    let returned = |function| output(answer(FIXTURES, function)).output;
    assert_eq!(returned("returns_float64").dtype, Dtype::Float64);
    assert_eq!(returned("returns_big_endian").data[0].to_bits(), 1f64.to_bits());
    assert_eq!(returned("returns_strided").shape, [4, 3]);
    assert_eq!(returned("returns_strided").data[..4], [0.0, 4.0, 8.0, 1.0]);
    assert!(returned("returns_nan").data.iter().all(|x| x.is_nan()));
    assert_eq!(returned("returns_scalar_shape").shape, [0; 0]);
    assert_eq!(returned("returns_pair").shape, [1, 2, 2, 4]);
}

#[test]
fn mutated_inputs_are_seen() {
    if !has("numpy") {
        return;
    }
    assert!(output(answer(FIXTURES, "good")).inputs_unchanged);
    assert!(!output(answer(FIXTURES, "mutates_key")).inputs_unchanged);
    assert!(output(answer(FIXTURES, "mutates_zero_sign")).inputs_unchanged);
}

#[test]
fn deaths_are_named_and_survived() {
    if !has("numpy") {
        return;
    }
    check_recovers(
        "exit_once",
        "Crash(Trouble { how: Exited(3), detail: None, stderr: Some(\"free(): invalid pointer\") })",
        &Limits::default(),
    );
    if cfg!(unix) {
        check_recovers(
            "segfault_once",
            "Crash(Trouble { how: Killed { signal: 11, name: Some(\"SIGSEGV\") }, detail: None, stderr: Some(\"Fatal Python error",
            &Limits::default(),
        );
        check_recovers("segfault_once", "in segfault_once", &Limits::default());
    }
}

#[test]
fn restarts_are_limited() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut config = fixture.config("exit_always");
    config.max_restarts = 1;
    let mut target = PythonTarget::start(&config, &Limits::default()).expect("starts");
    let crash = "Crash(Trouble { how: Exited(4)";
    let not_asked =
        "NotAsked(\"not restarted after 1 restarts; the last process exited with code 4\")";
    // Every case may spend as many.
    for (case, all) in
        [("c-1", &[crash, crash, not_asked, not_asked][..]), ("c-2", &[crash, not_asked])]
    {
        target.begin(case);
        for expected in all {
            let got = format!("{:?}", target.call(&small_call()));
            assert!(got.contains(expected), "{got}");
            assert_eq!(target.take_ended(), *expected == crash);
        }
    }
}

#[test]
fn a_target_that_vanished_is_not_restarted() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut target = fixture.start("exit_always").expect("starts");
    target.call(&small_call());
    std::fs::remove_file(fixture.folder.path().join("fixture.py")).expect("removed");
    let got = format!("{:?}", target.call(&small_call()));
    assert!(got.starts_with("NotAsked(\"not restarted: ") && got.contains("no such file"), "{got}");
}

#[test]
fn a_poisoned_device_costs_the_process() {
    if !has("numpy") {
        return;
    }
    check_recovers(
        "cuda_error_once",
        "Error(\"RuntimeError: CUDA error: an illegal memory access at ",
        &Limits::default(),
    );
    // What the device does decides, not what an exception says.
    let mut target = Fixture::new(FIXTURES).start("cuda_error_said").expect("starts");
    assert!(matches!(target.call(&small_call()), Response::Error(_)));
    assert!(!target.take_ended());
}

/// A process that does not read must not make the writer wait: the request is larger than a pipe.
#[test]
#[cfg(unix)]
fn a_stopped_process_ends_in_time() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let config = fixture.config("stops_later");
    let mut target = PythonTarget::start(&config, &within(Duration::from_secs(2))).expect("starts");
    output(target.call(&small_call()));
    std::thread::sleep(Duration::from_millis(400));
    let large = random_call(
        Dims { b: 1, h_q: 1, h_k: 1, n_q: 9, n_k: 9000, d_k: 40, d_v: 40 },
        Dtype::Float32,
        1,
    );
    let start = Instant::now();
    assert!(matches!(target.call(&large), Response::Timeout(_)));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    output(target.call(&large));
}

#[test]
fn an_endless_loop_ends_in_time() {
    if !has("numpy") {
        return;
    }
    let start = Instant::now();
    check_recovers(
        "hang_once",
        "Timeout(Trouble { how: Silent { milliseconds: 2000 }, detail: None, stderr: None })",
        &within(Duration::from_secs(2)),
    );
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
}

#[test]
#[cfg(unix)]
fn forks_do_not_hang_or_answer_twice() {
    if !has("numpy") {
        return;
    }
    let start = Instant::now();
    check("grandchild_and_exit", "Crash(Trouble { how: Exited(5), detail: None, stderr: None })");
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());

    let fixture = Fixture::new(FIXTURES);
    let mut target = fixture.start("forked_copy_returns").expect("starts");
    for _ in 0..3 {
        output(target.call(&small_call()));
    }
    assert_eq!(target.restarts(), 0);
}

#[test]
fn prints_do_not_disturb() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut target = fixture.start("noisy").expect("starts");
    output(target.call(&small_call()));
    output(target.call(&small_call()));
    assert_eq!(target.restarts(), 0);
}

#[test]
#[cfg(unix)]
fn writing_to_the_protocol_is_named() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let (config, limits) = (fixture.config("garbage_on_every_descriptor"), Limits::default());
    let mut target = PythonTarget::start(&config, &limits).expect("starts");
    output(target.call(&small_call()));
    output(target.call(&small_call()));
    let warnings = limits.watch.warnings();
    assert!(
        matches!(warnings.as_slice(), [Warning::StrayLines { first }] if *first == Quoted::from("\"half a line\"")),
        "{warnings:?}"
    );

    check(
        "false_answer",
        "Broken(Trouble { how: Protocol { field: \"seq\" }, detail: Some(\"seq: expected 1, got 999\")",
    );
    check(
        "endless_line",
        "Broken(Trouble { how: Protocol { field: \"\" }, detail: Some(\"expected an answer of up to ",
    );
}

#[test]
fn large_tensors_travel_by_file() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut target = fixture.start("returns_value").expect("starts");
    for dtype in [Dtype::Float64, Dtype::Float32, Dtype::Float16] {
        let call = random_call(
            Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 9000, d_k: 4, d_v: 32 },
            dtype,
            1,
        );
        assert_eq!(output(target.call(&call)).output, call.value);
    }
}

#[test]
fn the_worker_leaves_at_once() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut target = fixture.start("stays_at_exit").expect("starts");
    output(target.call(&small_call()));
    let start = Instant::now();
    drop(target);
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
}

/// What a function was given, told by what it raises.
const TELLS: &str = r#"
import numpy as np

def tell(query, key, value, *, logits_soft_cap=None, window_size=None, sinks=None, alibi_slopes=None, cache_seqlens=None,
         query_lengths=None, cu_seqlens_q=None, cu_seqlens_k=None, return_softmax_lse=False, need_weights=False):
    arrays = [x for x in (sinks, alibi_slopes, cache_seqlens, query_lengths, cu_seqlens_q, cu_seqlens_k) if x is not None]
    told = [logits_soft_cap and logits_soft_cap.hex(), window_size, return_softmax_lse, need_weights]
    raise NotImplementedError(told, [x.dtype.name for x in arrays], [x.tolist() for x in arrays])

def results(query, key, value, return_weights=False, return_lse=False):
    lse = np.arange(1, query.shape[1] * query.shape[2] + 1).reshape(query.shape[:3]) / 3
    weights = np.zeros(query.shape[:3] + key.shape[2:3], query.dtype)
    return (query,) + (weights,) * return_weights + (lse,) * return_lse

def lengths_changed(query, key, value, key_lengths=None):
    key_lengths += 1
    return query

def beyond(query, key, value, key_lengths=None): return query
def needs(query, key, value, window, return_lse, softcap): raise NotImplementedError(window, return_lse, softcap)
def one(query, key, value, return_lse=False): return query
def pair(query, key, value, return_weights=False, return_lse=False): return query, query
"#;

#[test]
fn every_option_is_given_with_every_bit() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(TELLS);
    let mut target = fixture.start("tell").expect("starts");
    let [padded, packed] = calls_of_later_options(Dtype::Float32);
    let list =
        |tensor: &Option<qkvet_spec::Tensor>| format!("{:?}", tensor.as_ref().expect("on").data);
    let (sinks, slopes) = (list(&padded.options.sinks), list(&padded.options.alibi_slopes));
    let expected = format!(
        "(['0x1.999999999999ap-4', (2, None), True, False], ['float32', 'float32', 'int32', 'int32'], \
         [{sinks}, {slopes}, [4, 0], [1, 3]])"
    );
    assert_eq!(target.call(&padded), Response::Unsupported(expected.into()));
    let expected =
        "([None, (None, 1), True, True], ['int32', 'int32'], [[0, 0, 2, 3], [0, 1, 4, 4]])";
    assert_eq!(
        target.call(&Call { return_weights: true, ..packed.clone() }),
        Response::Unsupported(expected.into())
    );

    // What the signature cannot do without is given when it is off, if off is a value.
    let mut target = fixture.start("needs").expect("starts");
    let mut call = small_call();
    assert_eq!(target.call(&call), Response::Unsupported("the function needs softcap".into()));
    call.options.softcap = Some(2.0);
    assert_eq!(target.call(&call), Response::Unsupported("((None, None), False, 2.0)".into()));
    // What it lacks is declined.
    let mut target = fixture.start("results").expect("starts");
    assert_eq!(target.call(&padded), Response::Unsupported("no argument for alibi_slopes".into()));
    assert_eq!(target.call(&packed), Response::Unsupported("no argument for key_offsets".into()));
}

#[test]
fn results_come_in_their_order() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(TELLS);
    let start = |function: &str, layout| {
        let mut config = fixture.config(function);
        config.layout = Some(layout);
        PythonTarget::start(&config, &Limits::default()).expect("starts")
    };
    let call = |return_weights, return_lse| Call { return_weights, return_lse, ..small_call() };
    for layout in [Layout::Bhnd, Layout::Bnhd] {
        let mut target = start("results", layout);
        let got = output(target.call(&call(true, true)));
        // The log-sum-exp keeps its axes, and its numbers, in every layout.
        let lse = got.lse.expect("asked for");
        assert_eq!((&lse.shape[..], lse.dtype), (&[1, 2, 2][..], Dtype::Float64));
        assert!(
            lse.data
                .iter()
                .enumerate()
                .all(|(n, x)| x.to_bits() == ((n + 1) as f64 / 3.0).to_bits())
        );
        assert!(got.weights.is_some() && got.output == small_call().query);
        let got = output(target.call(&call(false, true)));
        assert!(got.weights.is_none() && got.lse.as_ref() == Some(&lse));
        assert!(output(target.call(&call(false, false))).lse.is_none());
    }
    let malformed = |function: &str, call: &Call, expected: &str| {
        let got = start(function, Layout::Bhnd).call(call);
        assert_eq!(got, Response::Malformed(expected.into()));
    };
    malformed("one", &call(false, true), "expected a tuple (output, lse), got ndarray");
    malformed("pair", &call(true, true), "expected a tuple (output, weights, lse), got tuple of 2");
}

#[test]
fn lengths_are_inputs_like_others() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(TELLS);
    let mut call = small_call();
    call.options.key_lengths = Some(vec![2]);
    assert!(
        !output(fixture.start("lengths_changed").expect("starts").call(&call)).inputs_unchanged
    );
    let mut target = fixture.start("beyond").expect("starts");
    assert!(output(target.call(&call)).inputs_unchanged);
    call.options.key_lengths = Some(vec![1 << 31]);
    assert_eq!(target.call(&call), Response::Unsupported("key_lengths beyond int32".into()));
}
