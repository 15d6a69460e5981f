//! What a program may do to its caller: each way of ending has its own response, and the next call
//! finds a fresh process.
#![allow(clippy::disallowed_methods, reason = "tests of an I/O crate")]
#![cfg(unix)]

use crate::common;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use common::*;
use qkvet_engine::format::encode;
use qkvet_run::adapters::ExecConfig;
use qkvet_run::process::{ProcessTarget, StartError, Watch};
use qkvet_spec::{Call, CallOptions, Dims, Dtype, Output, Response, Target, UnknownOffer, Warning};
use serde_json::{Value, json};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/program.py");

fn exec(mode: &str) -> ExecConfig {
    let command = format!("{} {PROGRAM} {mode}", python().display());
    ExecConfig::new(&command, Path::new(".")).expect("a command")
}

fn start(mode: &str) -> ProcessTarget {
    exec(mode).start(&Limits::default()).unwrap_or_else(|error| panic!("{mode}: {error}"))
}

/// The second of three answers contains `expected`; the others are right. Gives the number of
/// restarts.
fn check_with(config: &ExecConfig, limits: &Limits, call: &Call, expected: &str) -> u32 {
    let mut target = config.start(limits).expect("starts");
    let first = output(target.call(&small_call()));
    let got = format!("{:?}", target.call(call));
    assert!(got.contains(expected), "{}\n  expected {expected}\n  got      {got}", config.command);
    assert_eq!(output(target.call(&small_call())), first, "{}", config.command);
    target.restarts()
}

fn check(mode: &str, expected: &str, restarts: u32) {
    assert_eq!(
        check_with(&exec(mode), &Limits::default(), &small_call(), expected),
        restarts,
        "{mode}"
    );
}

/// The same for what ends with the patience of the caller.
fn check_late(mode: &str, call: &Call, expected: &str) {
    let limits = within(Duration::from_millis(700));
    let start = Instant::now();
    assert_eq!(check_with(&exec(mode), &limits, call, expected), 1, "{mode}");
    assert!(start.elapsed() < Duration::from_secs(10), "{mode}: {:?}", start.elapsed());
}

fn large_call() -> Call {
    random_call(
        Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 9000, d_k: 16, d_v: 16 },
        Dtype::Float32,
        1,
    )
}

#[test]
fn deaths_are_named() {
    check(
        "segfault",
        "Crash(Trouble { how: Killed { signal: 11, name: Some(\"SIGSEGV\") }, detail: None, stderr: None })",
        1,
    );
    let abort = "Crash(Trouble { how: Killed { signal: 6, name: Some(\"SIGABRT\") }, detail: None, stderr: Some(\"free(): invalid pointer\") })";
    check("abort", abort, 1);
    check("exit", "Crash(Trouble { how: Exited(3), detail: None, stderr: None })", 1);
    check("half-exit", "Crash(Trouble { how: Exited(0), detail: Some(\"\\\"{\\\\\\\"seq", 1);
    check("closes-output", "Crash(Trouble { how: Closed(Output)", 1);
    check("fatal", "Error(\"CUDA error 700\")", 1);
}

#[test]
fn silence_ends_in_time() {
    check_late(
        "hang",
        &small_call(),
        "Timeout(Trouble { how: Silent { milliseconds: 700 }, detail: None, stderr: None })",
    );
    check_late("half-silence", &small_call(), "Silent { milliseconds: 700 }, detail: Some(\"\\\"{");
    check_late("binary-unbroken", &small_call(), "Timeout(");
}

#[test]
fn what_is_no_message_is_passed_over() {
    for mode in ["garbage", "binary"] {
        let limits = Limits::default();
        assert_eq!(check_with(&exec(mode), &limits, &small_call(), "Output("), 0, "{mode}");
        let warnings = limits.watch.warnings();
        assert!(matches!(warnings.as_slice(), [Warning::StrayLines { .. }]), "{warnings:?}");
    }
    check("stderr", "Output(", 0);
}

#[test]
fn answers_that_break_the_protocol_name_the_field() {
    check(
        "wrong-seq",
        "Broken(Trouble { how: Protocol { field: \"seq\" }, detail: Some(\"seq: expected 2, got 999\")",
        1,
    );
    check(
        "two-answers",
        "Broken(Trouble { how: Protocol { field: \"\" }, detail: Some(\"expected one answer to request 2, got ",
        1,
    );
    let short = "detail: Some(\"tensors.output.data: expected 64 bytes for float32 of shape [1, 2, 2, 4], got 3 bytes\")";
    check("short", short, 0);
    check(
        "int64",
        "detail: Some(\"tensors.output.dtype: expected a floating-point format, got int64",
        0,
    );
    check("nothing-asked", "detail: Some(\"tensors.output: expected a tensor, got none\")", 0);
}

#[test]
fn a_second_answer_after_a_while_is_noticed_at_the_next_call() {
    let mut target = start("late-second-answer");
    output(target.call(&small_call()));
    output(target.call(&small_call()));
    std::thread::sleep(Duration::from_millis(600));
    let got = format!("{:?}", target.call(&small_call()));
    assert!(
        got.contains("Broken(Trouble { how: Protocol { field: \"\" }, detail: Some(\"expected no answer before request 3, got "),
        "{got}"
    );
    output(target.call(&small_call()));
}

#[test]
fn files_are_believed_as_far_as_they_go() {
    check("file", "Output(", 0);
    check("file-short", "tensors.output.file: expected 64 bytes in `mine`, got 3 bytes", 0);
    check(
        "file-missing",
        "tensors.output.file: expected a plain file `mine` in the scratch folder, got No such",
        0,
    );
    check(
        "file-outside",
        "tensors.output.file: expected the name of a file in the scratch folder, without folders",
        0,
    );
    check(
        "file-folder",
        "tensors.output.file: expected a plain file `mine` in the scratch folder, got a folder",
        0,
    );
    check(
        "file-link",
        "tensors.output.file: expected a plain file `mine` in the scratch folder, got ",
        0,
    );
}

#[test]
fn large_tensors_travel_either_way() {
    let by_file = output(start("good").call(&large_call()));
    for mode in ["inline", "memory"] {
        assert_eq!(output(start(mode).call(&large_call())), by_file, "{mode}");
    }
}

#[test]
fn memory_is_believed_as_far_as_it_goes() {
    if !cfg!(target_os = "linux") {
        return;
    }
    check("memory", "Output(", 0);
    let missing = "tensors.output.offset: expected 64 bytes in memory from byte ";
    check("memory-beyond", missing, 0);
    check("memory-cut", missing, 0);
    // What was not written is not the answer to the call before.
    let mut target = start("memory-stale");
    let right = output(target.call(&small_call()));
    let stale = output(target.call(&small_call()));
    assert!(right.output.data.iter().all(|x| x.is_finite()));
    assert!(stale.output.data.iter().all(|x| x.is_nan()), "{stale:?}");
    assert_eq!(output(target.call(&small_call())), right);
}

#[test]
fn a_program_that_does_not_read_ends_in_time() {
    let mut target = exec("deaf").start(&within(Duration::from_millis(700))).expect("starts");
    assert!(matches!(target.call(&large_call()), Response::Timeout(_)));
    // By file the request is short; inline it is larger than a pipe.
    let mut target = start("closes-input");
    output(target.call(&small_call()));
    output(target.call(&small_call()));
    let got = format!("{:?}", target.call(&small_call()));
    assert!(got.contains("how: Closed(Input)"), "{got}");
    output(target.call(&small_call()));
}

#[test]
fn an_endless_answer_takes_little_memory() {
    check(
        "huge",
        "Broken(Trouble { how: Protocol { field: \"\" }, detail: Some(\"expected an answer of up to ",
        1,
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .map(|rest| rest.trim_end_matches("kB").trim());
    if let Some(kib) = peak.and_then(|kib| kib.parse::<u64>().ok()) {
        assert!(kib < 100 << 10, "{kib} KiB");
    }
}

/// Whether a process still runs; a zombie does not.
fn runs(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn nothing_outlives_the_conversation() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    for mode in ["grandchild", "grandchild-stays"] {
        let command =
            format!("env QKVET_TEST_PID={} {} {PROGRAM} {mode}", pid.display(), python().display());
        let mut target = ExecConfig::new(&command, folder.path())
            .expect("a command")
            .start(&Limits::default())
            .expect("starts");
        output(target.call(&small_call()));
        let response = target.call(&small_call());
        let grandchild = std::fs::read_to_string(&pid).expect("a number");
        if mode == "grandchild" {
            assert_eq!(
                format!("{response:?}"),
                "Crash(Trouble { how: Exited(5), detail: None, stderr: None })"
            );
        } else {
            output(response);
            assert!(runs(&grandchild));
        }
        drop(target);
        // Killed and perhaps not yet collected by whoever inherited it.
        let start = Instant::now();
        while runs(&grandchild) {
            assert!(start.elapsed() < Duration::from_secs(5), "{mode}: {grandchild} still runs");
            std::thread::yield_now();
        }
    }
}

#[test]
fn the_scratch_folder_goes_with_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("list");
    let command = format!(
        "env QKVET_TEST_SCRATCH={} {} {PROGRAM} segfault",
        list.display(),
        python().display()
    );
    let mut target = ExecConfig::new(&command, folder.path())
        .expect("a command")
        .start(&Limits::default())
        .expect("starts");
    output(target.call(&large_call()));
    let scratch = |at: usize| {
        let list = std::fs::read_to_string(&list).expect("a list");
        list.lines().nth(at).map(std::path::PathBuf::from).expect("a folder")
    };
    assert_eq!(
        std::fs::read_dir(scratch(0)).expect("a folder").count(),
        0,
        "files of the request are gone"
    );
    assert!(matches!(target.call(&large_call()), Response::Crash(_)));
    assert!(!scratch(0).exists());
    output(target.call(&large_call()));
    assert!(scratch(1).exists());
    drop(target);
    assert!(!scratch(1).exists());
}

#[test]
fn a_program_that_stays_is_ended() {
    let mut target = start("stays");
    output(target.call(&small_call()));
    let start = Instant::now();
    drop(target);
    let took = start.elapsed();
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(8), "{took:?}");
}

fn refused(config: &ExecConfig, expected: &str) -> StartError {
    refused_within(config, &Limits::default(), expected)
}

fn refused_within(config: &ExecConfig, limits: &Limits, expected: &str) -> StartError {
    let error = config.start(limits).err().unwrap_or_else(|| panic!("{} started", config.command));
    assert!(error.to_string().contains(expected), "expected {expected}\ngot {error}");
    error
}

#[test]
fn programs_that_cannot_be_started_say_why() {
    let missing = ExecConfig::new("./no-such-program", Path::new("/")).expect("a command");
    refused(
        &missing,
        "exec:./no-such-program at /./no-such-program: expected a program, got: No such file",
    );
    refused(&exec("declines"), "no such device: cuda:7\nhint: set CUDA_VISIBLE_DEVICES");
    refused(
        &exec("wire-2"),
        "expected an answer of qkvet-wire/1 to hello; wire: expected 1, got 2",
    );
    refused(&exec("nameless"), "name: expected the name of the program, got none");
    refused(
        &exec("dies"),
        "a process that exited with code 127; stderr: libcuda.so.1: cannot open",
    );
    assert!(matches!(refused(&exec("dies"), ""), StartError::Died { .. }));
    let echo = ExecConfig::new("cat", Path::new("/")).expect("a command");
    refused(&echo, "to hello; ok: expected a value, got none");
    let not_json = ExecConfig::new("echo {hello}", Path::new("/")).expect("a command");
    refused(&not_json, "expected a JSON object, got \"{hello}\"");
}

#[test]
fn a_prompt_is_passed_over_or_named() {
    let limits = Limits::default();
    output(exec("prompt").start(&limits).expect("starts").call(&small_call()));
    assert_eq!(limits.watch.warnings().len(), 1);
    let limits = started_within(Duration::from_millis(700));
    refused_within(
        &exec("prompt-unbroken"),
        &limits,
        "no answer within 0.7 s; it wrote a line that does not begin with `{`: \"> {",
    );
}

#[test]
fn a_long_silence_is_told() {
    let mut limits = started_within(Duration::from_millis(5_300));
    let told: Arc<Mutex<Vec<Warning>>> = Arc::default();
    let sink = Arc::clone(&told);
    let tell = move |warning: &Warning| sink.lock().expect("a lock").push(warning.clone());
    limits.watch = Watch::new(Arc::new(AtomicBool::new(false)), tell);
    refused_within(
        &exec("silent"),
        &limits,
        "hint: does it read a line from standard input, answer with one line and flush",
    );
    let told = told.lock().expect("a lock");
    assert!(matches!(told.as_slice(), [Warning::Silence { message: "hello" }]), "{told:?}");
}

#[test]
fn what_is_not_listed_is_not_asked() {
    let mut target = start("options");
    let call = |change: fn(&mut Call)| {
        let mut call = small_call();
        change(&mut call);
        call
    };
    let mut check = |call: &Call, expected: &str| {
        assert_eq!(target.call(call), Response::Unsupported(expected.into()));
    };
    check(&call(|c| c.options.causal = true), "causal is not among its options");
    check(&call(|c| c.return_weights = true), "weights is not among its outputs");
    let half = random_call(call(|_| ()).dims(), Dtype::Float16, 1);
    check(&half, "float16 is not among its dtypes");
    output(target.call(&call(|c| c.options.scale = Some(0.5))));
    assert_eq!(target.greeting().name, Some("fixture".into()));
}

/// Storage bits of a tensor of a request.
fn bits(request: &Value, name: &str) -> Vec<u8> {
    BASE64.decode(request["tensors"][name]["data"].as_str().unwrap_or_default()).expect(name)
}

#[test]
fn every_option_arrives_with_every_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen");
    let echo = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/echo.py");
    let command = format!("{} {} {}", python().display(), echo.display(), seen.display());
    let mut target = ExecConfig::new(&command, folder.path())
        .expect("a command")
        .start(&Limits::default())
        .expect("starts");
    let [padded, packed] = calls_of_later_options(Dtype::Float32);
    let mut ask = |call: &Call| {
        let output = output(target.call(call));
        let request = std::fs::read_to_string(&seen).expect("a request");
        (serde_json::from_str::<Value>(&request).expect("a request"), output)
    };
    let (request, Output { weights, lse, .. }) = ask(&padded);
    assert_eq!(request["want"], json!(["output", "lse"]));
    let lse = lse.expect("asked for");
    assert_eq!((lse.dtype, &lse.shape[..], weights), (Dtype::Float64, &[2, 2, 3][..], None));
    assert!(
        lse.data.iter().enumerate().all(|(n, x)| x.to_bits() == ((n + 1) as f64 / 3.0).to_bits())
    );
    let params = json!({"softcap": 0.1, "softcap_hex": "0x1.999999999999ap-4", "window": {"left": 2, "right": null}});
    assert_eq!(request["params"], params);
    let names: Vec<&String> = request["tensors"].as_object().expect("tensors").keys().collect();
    assert_eq!(
        names,
        ["alibi_slopes", "key", "key_lengths", "query", "query_lengths", "sinks", "value"]
    );
    for (name, sent) in
        [("sinks", &padded.options.sinks), ("alibi_slopes", &padded.options.alibi_slopes)]
    {
        let sent = sent.as_ref().expect(name);
        assert_eq!(bits(&request, name), encode(&sent.data, sent.dtype), "{name}");
        assert_eq!(request["tensors"][name]["shape"], json!([2]), "{name}");
    }
    let whole = |request: &Value, name: &str, expected: &[i64]| {
        let sent: Vec<u8> = expected.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(bits(request, name), sent, "{name}");
        assert_eq!(request["tensors"][name]["dtype"], "int64", "{name}");
        assert_eq!(request["tensors"][name]["shape"], json!([expected.len()]), "{name}");
    };
    whole(&request, "key_lengths", &[4, 0]);
    whole(&request, "query_lengths", &[1, 3]);

    let (request, Output { weights, lse, .. }) = ask(&Call { return_weights: true, ..packed });
    assert_eq!(request["want"], json!(["output", "weights", "lse"]));
    assert_eq!(weights.expect("asked for").shape, [2, 2, 3, 4]);
    assert_eq!(lse.expect("asked for").shape, [2, 2, 3]);
    assert_eq!(request["params"], json!({"window": {"left": null, "right": 1}}));
    whole(&request, "query_offsets", &[0, 0, 2, 3]);
    whole(&request, "key_offsets", &[0, 1, 4, 4]);
}

/// A name with a slip in it would else be an option that is never asked for.
#[test]
fn names_that_are_not_known_are_told() {
    let limits = Limits::default();
    assert_eq!(check_with(&exec("slips"), &limits, &small_call(), "Output("), 0);
    let offer = |list, name: &str, nearest: Option<&str>| UnknownOffer {
        list,
        name: name.into(),
        nearest: nearest.map(str::to_owned),
    };
    let first =
        vec![offer("dtypes", "\"fp32\"", None), offer("options", "\"casual\"", Some("causal"))];
    assert_eq!(limits.watch.warnings(), [Warning::UnknownOffers { first, more: 0 }]);
}

/// What came later is not asked of a program that may never have heard of it.
#[test]
fn a_program_without_lists_is_asked_what_the_first_ones_knew() {
    let [padded, packed] = calls_of_later_options(Dtype::Float32);
    let (padded, packed) = (padded.options, packed.options);
    let off = CallOptions::default;
    let later = [
        ("softcap", CallOptions { softcap: padded.softcap, ..off() }),
        ("window", CallOptions { window: padded.window, ..off() }),
        ("sinks", CallOptions { sinks: padded.sinks, ..off() }),
        ("alibi_slopes", CallOptions { alibi_slopes: padded.alibi_slopes, ..off() }),
        ("key_lengths", CallOptions { key_lengths: padded.key_lengths, ..off() }),
        ("query_lengths", CallOptions { query_lengths: padded.query_lengths, ..off() }),
        ("packed", CallOptions { packed: packed.packed, ..off() }),
    ];
    let (mut without, mut with) = (start("good"), start("options"));
    for (name, options) in later {
        let call = Call { options, ..small_call() };
        let expected = format!("{name} is asked only of programs that list it in supports.options");
        assert_eq!(without.call(&call), Response::Unsupported(expected.into()));
        assert_eq!(
            with.call(&call),
            Response::Unsupported(format!("{name} is not among its options").into())
        );
    }
    let call = Call { return_lse: true, ..small_call() };
    let expected = "lse is asked only of programs that list it in supports.outputs".to_owned();
    assert_eq!(without.call(&call), Response::Unsupported(expected.into()));
    assert_eq!(with.call(&call), Response::Unsupported("lse is not among its outputs".into()));
    let first = CallOptions { causal: true, mask: Some(Noise(1).mask(&[2, 3])), ..off() };
    let known =
        output(without.call(&Call { options: first, return_weights: true, ..small_call() }));
    assert!(known.weights.is_some() && known.lse.is_none());
}
