//! The Python package as people meet it: a wheel in a fresh environment, three lines, pytest, the
//! command.

use std::process::Command;

use qkvet_tests::package::{Environment, PYTEST};
use qkvet_tests::{Folder, Words, finish, has_python, root};

#[test]
fn the_wheel_opens_its_doors() {
    if !has_python() {
        return;
    }
    let environment = Environment::build();
    the_command_is_there(&environment);
    three_lines_need_no_other_library(&environment);
    a_wrong_head_map_is_named(&environment);
    calls_are_kept_and_asked(&environment);
    arguments_and_interrupts_are_told(&environment);
    pytest_tells_each_case(&environment);
    pytest_checks_a_function_without_test_code(&environment);
    known_deviations_are_those_of_the_command(&environment);
    a_foreign_project_sees_no_difference(&environment);
    the_examples_of_the_docs_run(&environment);
}

fn the_command_is_there(environment: &Environment) {
    finish(Command::new(command(environment)).args("check builtin:flash --suite smoke -q".words()))
        .ends(0);
    // A function in Python is called by the Python that the command was installed for.
    environment.run("-m qkvet doctor attentions.py:right").expect(0, &["torch"]);
}

fn command(environment: &Environment) -> std::path::PathBuf {
    environment.python.with_file_name(format!("qkvet{}", std::env::consts::EXE_SUFFIX))
}

fn three_lines_need_no_other_library(environment: &Environment) {
    environment.run("three_lines.py").expect(0, &["PASS: 64 ", " f32, "]);
    let finished = environment.run("without_libraries.py");
    finished.expect(0, &["[b=0, h=0, i=1, c=0]", "expected  2", " 1 of 2 "]);
}

fn arguments_and_interrupts_are_told(environment: &Environment) {
    environment.run("arguments.py").ends(0);
    environment.run("on_views.py").ends(0);
    if cfg!(unix) {
        let long = ["reference", "probe", "cases", "prove"];
        let told = long.map(|name| format!("{name}: interrupted"));
        let finished = environment.run(&[&["interrupted.py"], &long[..]].concat());
        finished.expect(0, &told.each_ref().map(String::as_str));
    }
}

fn a_wrong_head_map_is_named(environment: &Environment) {
    let finished = environment.run("wrong_heads.py");
    finished
        .expect(0, &[" bf16)", "convention=\"head-map=tiled\"", "qkvet.replay(function, 'qk1:"]);
}

fn calls_are_kept_and_asked(environment: &Environment) {
    let folder = environment.path("kept").display().to_string();
    environment.run(&["captured.py", &folder]).expect(0, &["kept 4"]);
    let check = "check builtin:fault/causal-ignored --inputs captured -q".words();
    finish(Command::new(command(environment)).args(check).current_dir(environment.path("kept")))
        .expect(1, &["causal", "arrays of captured"]);
}

fn pytest_tells_each_case(environment: &Environment) {
    let finished = environment.pytest("-q -rA test_attention.py");
    finished.expect(
        1,
        &[
            "PASSED test_attention.py::test_right",
            "PASSED test_attention.py::test_large",
            "AssertionError: FAIL  attention",
            "head-map=tiled",
            "PASSED test_attention.py::test_cases_right[uniform-attention-float32-c-",
            "no kernel for this width",
            "XFAIL test_attention.py::test_known_and_wrong[single-key-float64-c-",
            "[XPASS(strict)] ",
            "PASSED test_attention.py::test_a_case_replays",
        ],
    );
    assert!(
        !finished.stdout.contains("FAILED test_attention.py::test_cases"),
        "{}",
        finished.stdout
    );
    assert!(!finished.stdout.contains("_assert.py:"), "frames of ours:\n{}", finished.stdout);
}

fn pytest_checks_a_function_without_test_code(environment: &Environment) {
    // What has no file of its own.
    let run = |target: &str, dtype: &str, rest: &str| {
        let asked = format!("--qkvet-target {target} --qkvet-dtype {dtype}");
        environment.pytest(&format!("{asked} -v -rfxs --ignore-glob=*.py {rest}"))
    };
    let laws = "--qkvet-law single-key --qkvet-law rotation-invariance";
    let modulo = run("kernels.py:modulo", "float32", laws);
    modulo.expect(1, &["FAILED qkvet::single-key::float32", "head-map=tiled"]);
    let narrow = run("kernels.py:narrow", "float32", laws);
    let nothing = ["qkvet::single-key::float32 SKIPPED", "FAILED qkvet::checked", "UNSUPPORTED: "];
    narrow.expect(1, &nothing);
    narrow.expect(1, &["no kernel for this width"]);
    let only = "--qkvet-law single-key";
    run("attentions.py:right", "float64", only)
        .expect(0, &["qkvet::single-key::float64 PASSED", "1 passed"]);
    let spread = run("kernels.py:right", "float64", &format!("-n 2 {only}"));
    spread.expect(0, &["PASSED qkvet::single-key::float64", "1 passed"]);
    run("kernels.py:rigt", "float32", "").expect(4, &["`rigt`", "`right`?"]);
    let undeclared = run("kernels.py:right", "float32", "--qkvet-convention foo=bar");
    undeclared.expect(4, &["`foo`"]);
}

/// A project of others with a `qkvet.known.yaml` at its root, whose tests are run below: expected
/// failures, and stale entries that fail.
fn known_deviations_are_those_of_the_command(environment: &Environment) {
    let project = environment.path("project");
    let below = project.join("tests");
    project.write("kernels.py", root().read("tests/python/kernels.py"));
    project.write("tests/k.yaml", "known: []\n");
    let run = |function: &str, entries: &[&str], rest: &str| {
        let entries: String = entries.iter().map(|entry| format!("- {{{entry}}}\n")).collect();
        project.write("qkvet.known.yaml", format!("known:\n{entries}"));
        let laws = "--qkvet-law single-key --qkvet-law rotation-invariance --qkvet-dtype float32";
        let words = format!("{PYTEST} -rfxs {laws} --qkvet-target ../kernels.py:{function} {rest}");
        finish(environment.command(words).current_dir(&below))
    };
    let tiled = "finding: 'convention:head-map=tiled', reason: heads-7";
    let one = format!("law: single-key, dtype: float32, {tiled}");
    let other =
        format!("law: rotation-invariance, dtype: float32, {tiled}, link: 'https://example.org/7'");
    run("modulo", &[&one], "").expect(
        1,
        &[
            "XFAIL qkvet::single-key::float32 - known: heads-7",
            "FAILED qkvet::rotation-invariance::float32",
            "head-map=tiled",
            "1 failed, 1 xfailed",
        ],
    );
    run("modulo", &[&one, &other], "").expect(0, &["https://example.org/7", "2 xfailed"]);
    let all = format!("target: '*kernels.py:modulo', {tiled}");
    run("modulo", &[&all], "").expect(0, &["2 xfailed"]);
    run("modulo", &[&all], "-n 2").expect(0, &["2 xfailed"]);
    run("modulo", &[&all], "--runxfail").expect(1, &["2 failed"]);
    // The command says the same of the same file.
    let laws = "--law single-key --law rotation-invariance --dtype float32 -q";
    let python = environment.python.display();
    let check = format!("check ../kernels.py:modulo {laws} --python {python}");
    finish(Command::new(command(environment)).args(check.words()).current_dir(&below))
        .expect(0, &["KNOWN  CONVENTION", "heads-7"]);

    // An unexpected pass, on one worker and on two, and in the report of a job.
    for rest in ["", "-n 2"] {
        let stale = run("right", &[&one], &format!("{rest} --junit-xml j.xml"));
        stale.expect(
            1,
            &[
                "FAILED qkvet::known::1",
                "STALE  law single-key, format float32: convention:head-map=tiled",
                "1 failed, 2 passed",
            ],
        );
        let junit = below.read("j.xml");
        assert!(junit.contains("failures=\"1\"") && junit.contains("STALE"), "{junit}");
    }
    run("right", &[&one], "-k rotation").expect(0, &["1 passed"]);
    run("right", &["target: other, finding: FAIL, reason: r"], "").expect(0, &["2 passed"]);
    let expired = format!("{all}, expires: 2001-01-01");
    run("modulo", &[&expired], "").expect(1, &["2001-01-01", "3 failed"]);
    let nothing = "law: rotation-invariance, dtype: float32, case: c-0000000000000000, finding: FAIL, reason: r";
    run("right", &[nothing], "").expect(1, &["STALE", "1 failed, 2 passed"]);
    run("right", &["law: rotation-invariance, finding: FAIL"], "")
        .expect(4, &["qkvet.known.yaml", "reason"]);
    run("modulo", &[&all], "--qkvet-known=k.yaml").expect(1, &["2 failed"]);
    run("modulo", &[&all], "--qkvet-known=no.yaml").expect(4, &["no.yaml"]);
}

/// Installed and not asked, the plugin changes nothing but the line that lists plugins.
fn a_foreign_project_sees_no_difference(environment: &Environment) {
    let with = environment.pytest("foreign -rA -c foreign/pytest.ini");
    let without = environment.pytest("foreign -rA -c foreign/pytest.ini -p no:qkvet");
    with.expect(1, &["plugins:", "qkvet", "6 failed", "1 xpassed"]);
    assert_eq!(same_for_all(&with.stdout), same_for_all(&without.stdout));
    assert_eq!(with.stderr, without.stderr);
}

/// Without the line of plugins and the time that the run took.
fn same_for_all(output: &str) -> String {
    let lines = output.lines().filter(|line| !line.starts_with("plugins:"));
    let timed = |line: &str| match line.rsplit_once(" in ") {
        Some((before, after)) if after.contains("s =") => before.trim_matches('=').to_owned(),
        _ => line.to_owned(),
    };
    lines.map(timed).collect::<Vec<_>>().join("\n")
}

/// The blocks of `docs/python.md`, in order: those of Python as one program, what follows a block
/// as plain text as what it prints.
fn the_examples_of_the_docs_run(environment: &Environment) {
    let page = root().read("docs/python.md");
    let mut program = String::new();
    let mut printed: Vec<&str> = Vec::new();
    for block in page.split("\n```").collect::<Vec<_>>().chunks(2).filter_map(|pair| pair.get(1)) {
        match block.split_once('\n') {
            Some(("python", text)) => program.push_str(&format!("{text}\n")),
            Some(("text", text)) => printed.extend(text.lines()),
            _ => {}
        }
    }
    assert!(program.matches("qkvet.").count() > 5, "{program}");
    environment.path("").write("examples.py", program);
    // They keep a call in the folder that they run in.
    finish(environment.command("examples.py").current_dir(environment.path("")))
        .expect(0, &printed);
}
