//! Third-party implementations through the command line: no false alarm on what is right, a named
//! finding for what is not.

use qkvet_tests::{
    Finished, Folder, Words, has_python, interrupted, is_thorough, qkvet, root, temp, wait_until,
};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;

/// A folder with one Python file `target.py`.
fn target(body: &str) -> TempDir {
    let folder = temp();
    folder.write("target.py", body);
    folder
}

/// An ordinary implementation with one line changed.
fn numpy_with(result: &str) -> TempDir {
    target(&format!(
        "import numpy as np\nimport os, time\nCALLS = 0\ndef attention(query, key, value, scale=None):\n    global CALLS\n    CALLS += 1\n    s = query @ np.swapaxes(key, -1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)\n    w = np.exp(s - s.max(-1, keepdims=True))\n    o = (w / w.sum(-1, keepdims=True)) @ value\n    o = o.astype(query.dtype)\n{}\n",
        result.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
    ))
}

fn check(folder: &TempDir, words: &str) -> Finished {
    let flags = "--suite smoke --dtype float32,float64 --format json";
    folder.run(format!("check target.py:attention {flags} {words}"))
}

/// A check by one law that looks at all of a result.
fn by_law(result: &str, words: &str) -> Finished {
    let law = "--law self-attention-permutation-equivariance";
    check(&numpy_with(result), &format!("{law} {words}"))
}

const EXAMPLE: &str = "examples/numpy_attention.py";

/// The example with lines in front of its own.
fn example_with(lines: &str) -> TempDir {
    changed_example("    work = np.float64", &format!("{lines}\n    work = np.float64"))
}

/// The example with one text changed.
fn changed_example(from: &str, to: &str) -> TempDir {
    let example = root().read(EXAMPLE);
    assert!(example.contains(from), "{from}");
    target(&example.replace(from, to))
}

#[test]
fn the_examples_raise_no_false_alarm() {
    if !has_python() {
        return;
    }
    let check = |example: &str, words: &str| {
        root().run(format!("check examples/{example}.py:attention -q {words}")).ends(0);
    };
    if !is_thorough() {
        // Smoke of torch and JAX is in the tables of docs/implementations.md.
        return check("numpy_attention", "--suite smoke");
    }
    check("numpy_attention", "");
    check("torch_sdpa", "");
    // Each shape is compiled.
    check("jax_attention", "--dtype float32,bfloat16,float16");
}

/// NumPy's own errors are refusals; the example that cuts what is too much is found, law by law.
#[test]
fn what_does_not_fit_is_refused_or_found() {
    if !has_python() {
        return;
    }
    for (cut, law, code) in [
        ("key = key[..., : query.shape[3]]", "key-width-must-match", "QK621"),
        ("value = value[:, :, : key.shape[2]]", "key-count-must-match", "QK622"),
        (
            "query = query[:, : query.shape[1] // key.shape[1] * key.shape[1]]",
            "head-counts-must-divide",
            "QK623",
        ),
        ("query = query[: key.shape[0]]", "item-counts-must-match", "QK624"),
        (
            "mask = mask if mask is None or mask.shape[-2] in (1, query.shape[2]) else None",
            "mask-must-broadcast",
            "QK625",
        ),
    ] {
        let cutting = example_with(&format!("    {cut}"));
        let law = format!("--law {law}");
        // Nobody has to make such a call.
        check(&cutting, &law).ends(0);
        let law = format!("{law} --strict");
        let found = check(&cutting, &law).finds(&[code]).first();
        assert_eq!(found["verdict"], "UNGUARDED");
        assert!(found.got().contains("("), "{}", found.got());
        check(&target(&root().read(EXAMPLE)), &law).finds(&[]);
    }
}

#[test]
fn an_undeclared_convention_is_one_finding() {
    if !has_python() {
        return;
    }
    let folder = temp();
    for (example, dtypes, also) in [
        ("torch_sdpa", "float32,bfloat16", ""),
        ("jax_attention", "float32", "--convention empty-row=mean --shapes 6"),
    ] {
        let file = format!("{example}.py");
        folder.write(&file, root().read(&format!("examples/{file}")));
        let formats = if is_thorough() { String::new() } else { format!("--dtype {dtypes}") };
        let flags = format!("--suite smoke --format json {formats} {also}");
        folder.run(format!("check {file}:attention {flags}")).finds(&["causal=upper-left"]);
    }
}

/// The example with one line changed, and what its one finding is called: nothing that such a
/// change breaks is told twice.
#[test]
fn a_wrong_option_is_one_finding_that_names_it() {
    if !has_python() {
        return;
    }
    let one_finding = |line: &str, changed: &str, name: &str| {
        let flags = "--dtype float32 --law value --format json";
        let folder = changed_example(line, changed);
        folder.run(format!("check target.py:attention {flags}")).finds(&[name]).first()
    };
    let window =
        "(left is None or position - j <= left) & (right is None or j - position <= right)";
    // Within packed sequences the corner is that of the sequence.
    let corner = "(i - (0 if query_offsets is None else query_offsets[sequence]) + key_start)";
    for (line, changed, name, fault) in [
        (window, "True", "QK231", "window-ignored"),
        (window, &window.replace("<=", "<"), "QK232", "window-off-by-one"),
        (window, &window.replace("<= left", "< left"), "QK235", "window-left-one-fewer"),
        (window, &window.replace("<= right", "<= right + 1"), "QK250", "window-right-one-more"),
        ("scores - of_heads", "scores + of_heads", "QK284", "alibi-reversed"),
    ] {
        let finding = one_finding(line, changed, name);
        let (fault, cause) = (fault.into(), &finding["cause"]);
        assert_eq!((&finding["fault"], &cause["explained"]), (&fault, &cause["of"]));
    }
    one_finding(window, &window.replace("position", corner), "window=upper-left");
    let odd = format!("({window}) & (j > 0)");
    for (line, changed, option) in [
        (window, &odd[..], "window"),
        ("scores - of_heads", "scores - 0.75 * of_heads", "alibi_slopes"),
    ] {
        // What no fault says is told as a formula, where that option is used.
        let flags = "--dtype float32 --law value --format json";
        let report = changed_example(line, changed)
            .run(format!("check target.py:attention {flags}"))
            .report(1);
        let finding = report.first();
        assert_eq!(finding["cause"]["kind"], "deviation");
        // The condition is the formula's own, or that of all cases.
        let conditions = [&finding["condition"], &finding["cause"]["when"]];
        let is_told = conditions.iter().any(|one| one.to_string().contains(option));
        assert!(is_told, "{conditions:?}");
    }
}

#[test]
fn a_right_function_passes_and_says_what_it_was_not_asked() {
    if !has_python() {
        return;
    }
    let report = by_law("return o", "").finds(&[]);
    assert!(report["run"]["environment"].to_string().contains("scale"), "{}", report["run"]);
    // What is no option keeps its default, and is named.
    let odd = "attention(query, key, value, dropout_p=0.0, scale";
    let odd = root().read(EXAMPLE).replacen("attention(query, key, value, scale", odd, 1);
    let report = check(&target(&odd), "--law value --dtype float32").finds(&[]);
    assert!(report["run"]["environment"].to_string().contains("dropout_p"), "{}", report["run"]);
    let nothing = check(&numpy_with("return o"), "--law weights-row-stochasticity").report(4);
    assert!(nothing.declines("no argument"), "{}", nothing["coverage"]);
}

/// A parameter without a default is an option of every call.
#[test]
fn what_a_function_needs_is_passed_in_every_call() {
    if !has_python() {
        return;
    }
    let source = root().read(EXAMPLE).replacen(" sinks=None,", "", 1).replacen(
        "attention(query, key, value, scale",
        "attention(query, key, value, sinks, scale",
        1,
    );
    let needs =
        "    if sinks is None:\n        raise RuntimeError('no sinks')\n    work = np.float64";
    let source = source.replacen("    work = np.float64", needs, 1);
    let report = check(&target(&source), "--dtype float32").finds(&[]);
    assert_eq!(report["run"]["fit"]["always"], serde_json::json!(["sinks"]));
    assert!(report["coverage"]["laws"]["value"].as_u64() > Some(0), "{}", report["coverage"]);
    assert_eq!(report["coverage"]["options"]["sinks"], report.count("PASS"));
}

#[test]
fn reasons_for_declining_that_are_not_shown_are_counted() {
    if !has_python() {
        return;
    }
    let folder = numpy_with("return o");
    let args = "check target.py:attention --dtype float32 --suite smoke --format json";
    let report = folder.run(args).report(0);
    let all = report["coverage"]["declined"].as_array().expect("reasons").len();
    let shown = folder.run("report");
    let declined = shown.stdout.lines().filter(|line| line.starts_with("  declined")).count();
    assert!(all > declined && declined == 4, "{all}");
    shown.expect(0, &[&format!(" {} more ", all - declined), "--format json"]);
}

#[test]
fn wrong_results_are_proved_wrong() {
    if !has_python() {
        return;
    }
    for (result, form, got) in [
        ("return o[..., :-1]", serde_json::json!({ "shape": "output" }), ""),
        ("return o.astype(np.float16)", serde_json::json!({ "format": "output" }), "float16"),
        ("return 'attention'", "kind".into(), "str"),
        ("o[0, 0, 0, 0] = np.nan\nreturn o", serde_json::Value::Null, "NaN"),
        ("return np.zeros_like(o)", serde_json::Value::Null, ""),
        (
            "return np.broadcast_to(value.mean(-2, keepdims=True), o.shape).copy()",
            serde_json::Value::Null,
            "",
        ),
    ] {
        let found = by_law(result, "").report(1).first();
        assert_eq!((&found["verdict"], &found["evidence"]["form"]), (&"FAIL".into(), &form));
        assert!(found.got().contains(got), "{result}: {}", found.got());
    }
    by_law("return o if CALLS == 1 else o * 1.5", "").ends(1);
}

/// What reads memory as if it were contiguous is wrong on views alone: one finding that says so,
/// and a script that shows it.
#[test]
fn a_function_that_ignores_strides_is_named() {
    if !has_python() {
        return;
    }
    let folder = example_with(
        "    value = np.ascontiguousarray(value)\n    key = key.ravel(order=\"K\").reshape(key.shape)",
    );
    let flags = "--suite core --dtype float32 --law value --format json";
    let report = folder.run(format!("check target.py:attention {flags}")).finds(&["layout"]);
    let finding = report.first();
    assert_eq!(finding["evidence"]["strided"], true);
    assert!(!report["coverage"]["unchecked"].to_string().contains("strided"), "{report:#?}");
    folder.replay(&finding).expect(1, &["FAIL"]);
    folder.play(&finding, "").ends(1);
    folder.play(&finding, root().join(EXAMPLE).display().to_string()).ends(0);
}

#[test]
fn strides_are_declined_by_an_exception() {
    if !has_python() {
        return;
    }
    let strict = "import numpy as np\nimport numpy_attention\n\ndef attention(query, key, value, scale=None, causal=False, mask=None):\n    assert all(x.flags.c_contiguous for x in (query, key, value)), 'not contiguous'\n    return numpy_attention.attention(query, key, value, scale=scale, causal=causal, mask=mask)\n";
    let folder = target(strict);
    folder.write("numpy_attention.py", root().read(EXAMPLE));
    let flags = "--suite core --dtype float32 --law value --format json";
    let report = folder.run(format!("check target.py:attention {flags}")).finds(&[]);
    assert!(report.declines("strided"), "{}", report["coverage"]);
    assert!(report["coverage"]["unchecked"].to_string().contains("strided"), "{report:#?}");
}

/// Where no score has a part in a result, nothing tells of the scale that it was computed with.
#[test]
fn a_mean_is_no_sign_of_a_scale_that_was_kept() {
    if !has_python() {
        return;
    }
    let mean = numpy_with(
        "return np.broadcast_to(value.mean(-2, keepdims=True), o.shape).astype(o.dtype)",
    );
    let flags = "--suite smoke --dtype float32 --format json";
    let report = mean.run(format!("check target.py:attention {flags}")).report(1);
    assert!(report.has("deviation") && !report.has("QK605"), "{:?}", report.names());
}

/// A result that lives in a buffer of the function is right when it comes and lost when the next
/// one does.
#[test]
fn a_result_that_does_not_last_is_told() {
    if !has_python() {
        return;
    }
    let buffers = "global BUFFERS; BUFFERS = globals().get('BUFFERS', {})\nbuffer = BUFFERS.setdefault((o.shape, o.dtype), o)\nbuffer[...] = o\nreturn buffer";
    let report = by_law(buffers, "").finds(&[]);
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1), "{report:#?}");
    assert!(report["warnings"].to_string().contains("memory"), "{}", report["warnings"]);
}

#[test]
fn broken_targets_are_named_and_the_run_goes_on() {
    if !has_python() {
        return;
    }
    for (result, words, name, said) in [
        ("raise RuntimeError('no kernel image')", "", "ERROR", "no kernel image"),
        ("if query.shape[2] > 5: os._exit(7)\nreturn o", "", "CRASH", "7"),
        ("while True: time.sleep(1)", "--timeout 0.5", "TIMEOUT", "{\"milliseconds\":500}"),
    ] {
        let found = by_law(result, words).finds(&[name]).first();
        assert!(found.how().contains(said), "{}", found.how());
    }
    for (result, verdict, said) in [
        ("raise NotImplementedError('float32 only')", "UNSUPPORTED", "float32 only"),
        ("raise ValueError('too small')", "REFUSED", "too small"),
    ] {
        let report = by_law(result, "").report(4);
        assert!(report.count(verdict) > 0 && report.declines(said), "{}", report["coverage"]);
    }
}

#[test]
fn targets_that_cannot_be_loaded_say_why() {
    if !has_python() {
        return;
    }
    let folder = target("def attention(query):\n    return query\n");
    folder.write("config/qkvet.yaml", "targets:\n  mine:\n    tarket: target.py:attention\n");
    for (words, code, parts) in [
        ("nowhere.mod:attention", 3, &["nowhere", "error"][..]),
        ("absent.py:attention", 3, &["absent.py"]),
        ("target.py:atention", 3, &["attention"]),
        ("target.py:attention", 3, &["query, key"]),
        ("target.py:attention --python no-such-python", 3, &["no-such-python", "--python"]),
        ("mine", 2, &["builtin:NAME"]),
        ("mine --config config/qkvet.yaml", 2, &["qkvet.yaml:3", "`target`?"]),
    ] {
        folder.run(format!("check {words}")).expect(code, parts);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_hanging_call_and_leaves_the_report() {
    if !has_python() {
        return;
    }
    let folder = numpy_with("if CALLS > 1: time.sleep(1000)\nreturn o");
    let mut command = qkvet(folder.path());
    command.args(["check", "target.py:attention", "--dtype", "float32", "--format", "json"]);
    command.args(["--law", "self-attention-permutation-equivariance", "--timeout", "10"]);
    // The file is there as soon as the first case is about to be called.
    let report =
        interrupted("a case on disk", &mut command, || folder.has(".qkvet/running-0.json"))
            .report(130);
    assert_eq!((&report["interrupted"], &report["stopped"]), (&true.into(), &"interrupted".into()));
}

/// Every command that loads a target.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_loading_of_a_target() {
    if !has_python() {
        return;
    }
    for command in ["check", "probe", "doctor"] {
        let folder = target("import time\nopen('loads', 'w').close()\ntime.sleep(1000)\n");
        let mut run = qkvet(folder.path());
        run.args([command, "target.py:attention"]);
        interrupted("a module that loads", &mut run, || folder.has("loads")).ends(130);
    }
}

/// Whoever is killed, or loses the machine, finds the case that ran, and can put it again.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_the_case_that_ran() {
    if !has_python() {
        return;
    }
    let hang = "while scale is not None and os.path.exists('hang'):
    open('hanging', 'w').write(str(os.getpid()))
    os.replace('hanging', 'hangs')
    time.sleep(0.01)
return o + 1";
    let folder = numpy_with(hang);
    folder.write("hang", "");
    let mut command = qkvet(folder.path());
    command.args("check target.py:attention --dtype float32 --law value --jobs 1 -q".words());
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = quiet.spawn().expect("a run");
    wait_until("a case with a scale", &mut run, || folder.has("hangs"));
    run.kill().expect("it runs");
    run.wait().expect("it has ended");
    // Nothing outlives it, though nobody was left to end it.
    let worker = Path::new("/proc").join(folder.read("hangs"));
    let is_gone = (0..3000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !worker.exists()
    });
    assert!(is_gone, "the worker lives on");
    std::fs::remove_file(folder.path().join("hang")).expect("the file");
    let running = ".qkvet/running-0.json";
    folder.run(format!("replay {running}")).expect(1, &["FAIL", "scale="]);

    // What is drawn is the case that it says.
    let other = folder.read(running).replace(r#""drawn":{"id":"c-"#, r#""drawn":{"id":"c-0"#);
    folder.write("other.json", other);
    folder.run("replay other.json").expect(2, &["expected case c-0", "another version"]);
}

/// A process that takes more memory than it may is ended, and the finding says why.
#[cfg(target_os = "linux")]
#[test]
fn a_target_that_takes_too_much_memory_is_ended() {
    if !has_python() {
        return;
    }
    let folder = numpy_with(
        "if scale is not None:\n    held = b'x' * (600 << 20)\n    time.sleep(1000)\nreturn o",
    );
    let check =
        "check target.py:attention --suite smoke --dtype float32 --law value -q --memory 400";
    let report = folder.run(format!("{check} --format json")).report(1);
    assert!(report.count("CRASH") > 0 && report.count("PASS") > 0, "{report:?}");
    folder.run(check).expect(1, &["took more than 400 MiB of memory (--memory)"]);
}
