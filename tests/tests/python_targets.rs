//! Third-party implementations through the command line: no false alarm on what is right, a named
//! finding for what is not.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;

use qkvet_tests::{Finished, has_python, is_thorough, root, run, wait_until};
use tempfile::TempDir;

/// A folder with one Python file `target.py`.
fn target(body: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("target.py"), body).expect("a file");
    folder
}

/// An ordinary implementation with one line changed.
fn numpy_with(result: &str) -> TempDir {
    target(&format!(
        "import numpy as np\nimport os, time\nCALLS = 0\ndef attention(query, key, value, scale=None):\n    global CALLS\n    CALLS += 1\n    s = query @ np.swapaxes(key, -1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)\n    w = np.exp(s - s.max(-1, keepdims=True))\n    o = (w / w.sum(-1, keepdims=True)) @ value\n    o = o.astype(query.dtype)\n{}\n",
        result.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
    ))
}

fn check(folder: &Path, args: &[&str]) -> Finished {
    let mut all = vec![
        "check",
        "target.py:attention",
        "--suite",
        "smoke",
        "--dtype",
        "float32,float64",
        "-q",
    ];
    all.extend(args);
    run(folder, &all)
}

#[test]
fn the_examples_raise_no_false_alarm() {
    if !has_python() {
        return;
    }
    let check = |example: &str, more: &[&str]| {
        let target = format!("examples/{example}.py:attention");
        run(root(), &[&["check", &target, "-q"], more].concat()).expect(0, &["no finding in"]);
    };
    if !is_thorough() {
        // Smoke of torch and JAX is in the tables of docs/implementations.md.
        return check("numpy_attention", &["--suite", "smoke"]);
    }
    check("numpy_attention", &[]);
    check("torch_sdpa", &[]);
    // Each shape is compiled.
    check("jax_attention", &["--dtype", "float32,bfloat16,float16"]);
}

/// NumPy's own errors are refusals; the example that cuts what is too much is found, law by law.
#[test]
fn what_does_not_fit_is_refused_or_found() {
    if !has_python() {
        return;
    }
    let example =
        std::fs::read_to_string(root().join("examples/numpy_attention.py")).expect("the example");
    let first = "    work = np.float64";
    assert!(example.contains(first));
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
        let folder = target(&example.replace(first, &format!("    {cut}\n{first}")));
        let finished = check(folder.path(), &["--law", law]);
        finished.expect(1, &[code, law, "expected  a refusal: ", "got       numbers of shape ("]);
        assert_eq!(finished.stdout.matches("FAIL  ").count(), 1, "{}", finished.stdout);
        let folder = target(&example);
        check(folder.path(), &["--law", law]).expect(0, &["no finding in"]);
    }
}

#[test]
fn an_undeclared_convention_is_one_finding() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    for (example, also) in [("torch_sdpa", None), ("jax_attention", Some("empty-row=mean"))] {
        let file = format!("{example}.py");
        std::fs::copy(root().join("examples").join(&file), folder.path().join(&file))
            .expect("a copy");
        let name = format!("{file}:attention");
        let mut args = vec!["check", &name, "-q", "--suite", "smoke", "--format", "json"];
        if !is_thorough() {
            args.extend(["--dtype", "float32,bfloat16"]);
        }
        args.extend(also.iter().flat_map(|also| ["--convention", *also]));
        let finished = run(folder.path(), &args);
        finished.expect(1, &[]);
        let report = finished.json();
        let findings = report["findings"].as_array().expect("findings");
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!(findings[0]["kind"], "convention");
        assert!(
            findings[0]["sentences"]["hint"]
                .as_str()
                .expect("a hint")
                .contains("--convention causal=upper-left"),
            "{findings:#?}"
        );
    }
}

/// The example with one line changed, and what its one finding is called: nothing that such a
/// change breaks is told twice.
#[test]
fn a_wrong_option_is_one_finding_that_names_it() {
    if !has_python() {
        return;
    }
    let example =
        std::fs::read_to_string(root().join("examples/numpy_attention.py")).expect("the example");
    let one_finding = |line: &str, changed: &str, title: &str, cause: &str| {
        assert!(example.contains(line), "{line}");
        let folder = target(&example.replace(line, changed));
        let args = [
            "check",
            "target.py:attention",
            "--dtype",
            "float32",
            "--law",
            "value",
            "-q",
            "--format",
            "json",
        ];
        let report = run(folder.path(), &args).json();
        let findings = report["findings"].as_array().expect("findings");
        assert_eq!(findings.len(), 1, "{changed}: {findings:#?}");
        assert!(
            findings[0]["sentences"]["title"].as_str().expect("a title").contains(title),
            "{changed}: {findings:#?}"
        );
        assert!(findings[0].to_string().contains(cause), "{changed}: {findings:#?}");
    };
    let window =
        "(left is None or position - j <= left) & (right is None or j - position <= right)";
    one_finding(window, "True", "QK231", "window-ignored: all");
    one_finding(window, &window.replace("<=", "<"), "QK232", "window-off-by-one: all");
    // Within packed sequences the corner is that of the sequence.
    let corner = "(i - (0 if query_offsets is None else query_offsets[sequence]) + key_start)";
    one_finding(
        window,
        &window.replace("position", corner),
        "the sliding window counts from the upper left corner",
        "--convention window=upper-left",
    );
    one_finding(
        window,
        &window.replace("<= left", "< left"),
        "QK235",
        "window-left-one-fewer: all",
    );
    one_finding(
        window,
        &window.replace("<= right", "<= right + 1"),
        "QK250",
        "window-right-one-more: all",
    );
    one_finding("scores - of_heads", "scores + of_heads", "QK284", "alibi-reversed: all");
    let unknown = "wrong results that no known fault explains, all with ";
    one_finding(
        window,
        &window.replace("j - position <= right", "(j - position <= right) ^ (j == 0)"),
        &format!("{unknown}window"),
        "qkvet explain window",
    );
    one_finding(
        "scores - of_heads",
        "scores - 0.75 * of_heads",
        &format!("{unknown}alibi_slopes"),
        "qkvet explain alibi_slopes",
    );
}

#[test]
fn a_right_function_passes_and_says_what_it_was_not_asked() {
    if !has_python() {
        return;
    }
    let folder = numpy_with("return o");
    let finished = check(folder.path(), &["--law", "self-attention-permutation-equivariance"]);
    finished.expect(0, &["no finding in", "takes scale"]);
    check(folder.path(), &["--law", "weights-row-stochasticity"])
        .expect(4, &["nothing was checked", "no argument for"]);
}

#[test]
fn reasons_for_declining_that_are_not_shown_are_counted() {
    if !has_python() {
        return;
    }
    let folder = numpy_with("return o");
    let args = ["check", "target.py:attention", "--dtype", "float32", "--law", "value"];
    let shown = run(folder.path(), &args);
    let declined = shown.stdout.lines().filter(|line| line.starts_with("  declined")).count();
    let report = run(folder.path(), &[&args[..], &["--format", "json"]].concat()).json();
    let all = report["coverage"]["declined"].as_array().expect("reasons").len();
    assert!(all > declined && declined == 4, "{all}");
    let more = all - declined;
    let noun = if more == 1 { "reason" } else { "reasons" };
    shown.expect(0, &[&format!("for {more} more {noun}: --format json has them all")]);
}

#[test]
fn wrong_results_are_proved_wrong() {
    if !has_python() {
        return;
    }
    let law = ["--law", "self-attention-permutation-equivariance"];
    let shape = numpy_with("return o[..., :-1]");
    check(shape.path(), &law).expect(1, &["FAIL", "shape of the output"]);
    let nan = numpy_with("o[0, 0, 0, 0] = np.nan\nreturn o");
    check(nan.path(), &law).expect(1, &["FAIL", "NaN"]);
    let dtype = numpy_with("return o.astype(np.float16)");
    check(dtype.path(), &law).expect(1, &["FAIL", "format of the output", "float16"]);
    let constant = numpy_with("return np.zeros_like(o)");
    check(constant.path(), &law).expect(1, &["FAIL"]);
    let mean = numpy_with("return np.broadcast_to(value.mean(-2, keepdims=True), o.shape).copy()");
    check(mean.path(), &law).expect(1, &["FAIL"]);
    let first = numpy_with("return o if CALLS == 1 else o * 1.5");
    check(first.path(), &law).expect(1, &[]);
    let text = numpy_with("return 'attention'");
    check(text.path(), &law).expect(1, &["FAIL", "str"]);
}

/// What reads memory as if it were contiguous is wrong on views alone: one finding that says so,
/// and a script that shows it.
#[test]
fn a_function_that_ignores_strides_is_named() {
    if !has_python() {
        return;
    }
    let ignores =
        "value = np.ascontiguousarray(value)\nkey = key.ravel(order=\"K\").reshape(key.shape)\n";
    let body =
        std::fs::read_to_string(root().join("examples/numpy_attention.py")).expect("the example");
    let first = "    work = np.float64";
    assert!(body.contains(first));
    let lines: String = ignores.lines().map(|line| format!("    {line}\n")).collect();
    let folder = target(&body.replace(first, &(lines + first)));
    let args = [
        "check",
        "target.py:attention",
        "--suite",
        "core",
        "--dtype",
        "float32",
        "--law",
        "value",
        "-q",
    ];
    let finished = run(folder.path(), &[&args[..], &["--format", "json"]].concat());
    let report = finished.json();
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{}", finished.stdout);
    let (title, evidence) = (&findings[0]["sentences"]["title"], &findings[0]["evidence"]);
    assert_eq!(title, "the result depends on how the inputs lie in memory");
    assert_eq!(evidence["strided"], true, "{evidence}");
    assert!(
        !report["coverage"]["unchecked"].to_string().contains("strided"),
        "{}",
        report["coverage"]
    );
    let id = findings[0]["witness"]["case"].as_str().expect("a case");
    run(folder.path(), &["replay", id]).expect(1, &["FAIL"]);
    let script = findings[0]["script"].as_str().expect("a script");
    let ended = |file: &Path| {
        let python = qkvet_tests::python().expect("an interpreter");
        let output = std::process::Command::new(python)
            .arg(script)
            .arg(file)
            .current_dir(folder.path())
            .output();
        output.expect("python runs").status.code()
    };
    assert_eq!(ended(&folder.path().join("target.py")), Some(1));
    assert_eq!(ended(&root().join("examples/numpy_attention.py")), Some(0));
}

#[test]
fn strides_are_declined_by_an_exception() {
    if !has_python() {
        return;
    }
    let strict = "import numpy as np\nimport numpy_attention\n\ndef attention(query, key, value, scale=None, causal=False, mask=None):\n    assert all(x.flags.c_contiguous for x in (query, key, value)), 'not contiguous'\n    return numpy_attention.attention(query, key, value, scale=scale, causal=causal, mask=mask)\n";
    let folder = target(strict);
    std::fs::copy(
        root().join("examples/numpy_attention.py"),
        folder.path().join("numpy_attention.py"),
    )
    .expect("a file");
    let args =
        ["check", "target.py:attention", "--suite", "core", "--dtype", "float32", "--law", "value"];
    let declined = run(folder.path(), &args);
    declined.expect(
        0,
        &[
            "no finding in",
            "strided inputs: an exception was raised",
            "unchecked strided inputs (declined by an exception), gradients, dropout",
        ],
    );
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
    let args = ["check", "target.py:attention", "--suite", "core", "--dtype", "float32", "-q"];
    let finished = run(mean.path(), &args);
    finished.expect(1, &["FAIL  wrong results that no known fault explains"]);
    assert!(!finished.stdout.contains("FAIL  QK605"), "{}", finished.stdout);
}

/// A result that lives in a buffer of the function is right when it comes and lost when the next
/// one does.
#[test]
fn a_result_that_does_not_last_is_told() {
    if !has_python() {
        return;
    }
    let folder = numpy_with(
        "buffer = BUFFERS.setdefault((o.shape, o.dtype), o)\nbuffer[...] = o\nreturn buffer",
    );
    let file = folder.path().join("target.py");
    let text = std::fs::read_to_string(&file)
        .expect("a file")
        .replace("CALLS = 0\n", "CALLS = 0\nBUFFERS = {}\n");
    std::fs::write(&file, text).expect("a file");
    let law = ["--law", "self-attention-permutation-equivariance"];
    check(folder.path(), &law)
        .expect(0, &["no finding in", "returned the memory of its earlier result"]);
}

#[test]
fn broken_targets_are_named_and_the_run_goes_on() {
    if !has_python() {
        return;
    }
    let law = ["--law", "self-attention-permutation-equivariance"];
    let raises = numpy_with("raise RuntimeError('no kernel image')");
    check(raises.path(), &law).expect(1, &["ERROR", "no kernel image"]);
    let exits = numpy_with("if CALLS == 3: os._exit(7)\nreturn o");
    check(exits.path(), &law).expect(1, &["CRASH", "7"]);
    let hangs = numpy_with("while True: time.sleep(1)");
    check(hangs.path(), &[law[0], law[1], "--timeout", "0.5"])
        .expect(1, &["TIMEOUT", "no answer within 0.5 s"]);
    let declines = numpy_with("raise NotImplementedError('float32 only')");
    check(declines.path(), &law).expect(4, &["nothing was checked", "float32 only"]);
    let refuses = numpy_with("raise ValueError('too small')");
    check(refuses.path(), &law).expect(4, &["REFUSED", "too small"]);
}

#[test]
fn targets_that_cannot_be_loaded_say_why() {
    if !has_python() {
        return;
    }
    let folder = target("def attention(query):\n    return query\n");
    run(folder.path(), &["check", "nowhere.mod:attention"]).expect(3, &["nowhere", "error"]);
    run(folder.path(), &["check", "absent.py:attention"]).expect(3, &["absent.py"]);
    run(folder.path(), &["check", "target.py:atention"]).expect(3, &["attention"]);
    run(folder.path(), &["check", "target.py:attention"]).expect(3, &["query, key"]);
    run(folder.path(), &["check", "target.py:attention", "--python", "no-such-python"])
        .expect(3, &["no-such-python", "--python"]);
    run(folder.path(), &["check", "mine"]).expect(2, &["expected builtin:NAME"]);
    std::fs::write(
        folder.path().join("qkvet.yaml"),
        "targets:\n  mine:\n    tarket: target.py:attention\n",
    )
    .expect("a file");
    run(folder.path(), &["check", "mine"]).expect(2, &["qkvet.yaml:3", "did you mean `target`?"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_hanging_call_and_leaves_the_report() {
    use std::process::{Command, Stdio};
    if !has_python() {
        return;
    }
    let folder = numpy_with("if CALLS > 1: time.sleep(1000)\nreturn o");
    let mut command = qkvet_tests::qkvet(folder.path());
    command.args([
        "check",
        "target.py:attention",
        "--dtype",
        "float32",
        "-q",
        "--law",
        "self-attention-permutation-equivariance",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("qkvet");
    // The file is there as soon as the first case is about to be called.
    wait_until("a case on disk", &mut child, || {
        folder.path().join(".qkvet/running-0.json").exists()
    });
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let output = child.wait_with_output().expect("an end");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{stdout}");
    assert!(stdout.contains("stopped early: interrupted"), "{stdout}");
}
