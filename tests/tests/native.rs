//! Functions of shared libraries: right ones pass, by a prototype or by the struct; what goes wrong
//! has its name and exit code.

#![allow(clippy::disallowed_methods, reason = "tests build libraries")]
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use qkvet_tests::{Finished, finish, has_python, in_one_process, python, root, run, shell};
use serde_json::Value;
use tempfile::TempDir;

const PARAMETERS: &str = "const float* q, const float* k, const float* v, float* out, int b, int h_q, int h_k, \
                          int n_q, int n_k, int d_k, int d_v, float scale, bool causal";

const WHOLE: &str = "int whole(double *out, double *lse, const double *q, const double *k, const double *v, \
                     const uint8_t *mask, const float *bias, const double *sinks, const double *alibi_slopes, \
                     const int32_t *key_lengths, const int64_t *query_lengths, size_t b, size_t h_q, size_t h_k, \
                     size_t n_q, size_t n_k, size_t d_k, size_t d_v, double scale, double softcap, int causal, \
                     int window_left, int64_t window_right)";

/// `cc`, which is what Rust links with; no warnings.
fn compile(source: &str, flags: &[&str], library: &Path) {
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC", "-o"];
    let mut command = Command::new("cc");
    command
        .arg("-std=c99")
        .args(warnings)
        .arg(library)
        .args(flags)
        .arg(root().join(source))
        .arg("-lm");
    let output =
        command.output().unwrap_or_else(|error| panic!("cc: {error}; Rust needs it too, to link"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The functions by prototype, compiled once.
fn library() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = BUILT.get_or_init(|| {
        let folder = TempDir::new().expect("a folder");
        let library = folder.path().join("libattention.so");
        compile("tests/fixtures/native/attention.c", &[], &library);
        (folder, library)
    });
    library
}

fn check_in(folder: &Path, library: &Path, args: &[&str]) -> Finished {
    run(folder, &[&["check", &format!("lib:{}", library.display())], args].concat())
}

/// A function of the library with the usual parameters.
fn function(returns: &str, name: &str, args: &[&str]) -> Finished {
    let folder = TempDir::new().expect("a folder");
    let prototype = format!("{returns} {name}({PARAMETERS})");
    check_in(
        folder.path(),
        library(),
        &[&["--call", &prototype, "--dtype", "float32"], args].concat(),
    )
}

/// The struct's library, built with macros that spoil it.
fn by_struct(macros: &[&str], args: &[&str]) -> Finished {
    let folder = TempDir::new().expect("a folder");
    let library = folder.path().join("libabi.so");
    compile("tests/fixtures/native/abi.c", macros, &library);
    check_in(folder.path(), &library, args)
}

const SMOKE: [&str; 2] = ["--suite", "smoke"];

/// Laws that no prototype can be asked: four of the laws of refusal (pointers have no shapes), and
/// two about weights.
const UNANSWERED: usize = 6;

/// How many laws were checked, of how many.
fn laws(finished: &Finished) -> (usize, usize) {
    let line = finished
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("laws "))
        .expect("the line of laws");
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().expect("a number"), numbers.next().expect("a number"))
}

#[test]
fn right_functions_pass() {
    function("void", "attn", &SMOKE)
        .expect(0, &["no finding in", "supports formats float32, options scale causal"]);
    function("void", "attn_bnhd", &["--suite", "smoke", "--layout", "bnhd"])
        .expect(0, &["no finding in"]);
    let folder = TempDir::new().expect("a folder");
    let whole = check_in(
        folder.path(),
        library(),
        &["--call", WHOLE, "--dtype", "float64", "--suite", "smoke"],
    );
    whole.expect(0, &["no finding in"]);
    let (checked, of) = laws(&whole);
    assert_eq!(of - checked, UNANSWERED, "{}", whole.stdout);
}

/// A declared layout that is not the function's own is noticed, so that the exchange of axes is
/// seen to matter.
#[test]
fn another_layout_is_found() {
    function("void", "attn_bnhd", &SMOKE).expect(1, &["FAIL"]);
}

#[test]
fn sixteen_bits_need_a_format() {
    let folder = TempDir::new().expect("a folder");
    let prototype = format!("void attn_bfloat16({})", PARAMETERS.replace("float*", "uint16_t*"));
    let check = |args: &[&str]| {
        check_in(folder.path(), library(), &[&["--call", &prototype], args].concat())
    };
    check(&SMOKE).expect(2, &["parameter `q`: expected a format", "--dtype", "--call:1:"]);
    check(&["--suite", "smoke", "--dtype", "bfloat16"])
        .expect(0, &["no finding in", "formats   bfloat16"]);
    check(&["--suite", "smoke", "--dtype", "float16"]).expect(1, &["FAIL"]);
    let spelled = prototype.replace("uint16_t", "__bf16");
    check_in(folder.path(), library(), &["--call", &spelled, "--suite", "smoke"])
        .expect(0, &["no finding in"]);
}

/// A function of few parameters is asked what it can be asked.
#[test]
fn cases_fit_the_prototype() {
    let narrow = |name: &str| {
        let call = "const float* q, const float* k, const float* v, float* out, int n_q, int d_k, float scale";
        let folder = TempDir::new().expect("a folder");
        let prototype = format!("void {name}({call})");
        check_in(
            folder.path(),
            library(),
            &["--call", &prototype, "--dtype", "float32", "--suite", "smoke"],
        )
    };
    let right = narrow("narrow");
    let fit =
        "made to fit what the target takes: b=1 h_q=1, h_k=h_q, n_k=n_q, d_v=d_k, options scale";
    right.expect(0, &[fit, "no finding in"]);
    // Without that no case has the shape: all were declined.
    assert!(laws(&right).0 > 20, "{}", right.stdout);
    narrow("narrow_wrong").expect(1, &["FAIL"]);
}

#[test]
fn a_wrong_scale_is_named() {
    function("void", "attn_scale", &SMOKE).expect(1, &["FAIL  QK101 scores are divided by d_k"]);
}

#[test]
fn what_breaks_is_named_and_the_run_goes_on() {
    function("void", "attn_segfault", &SMOKE).expect(1, &["CRASH", "SIGSEGV", "PASS"]);
    let hang = function("void", "attn_hang", &["--suite", "smoke", "--timeout", "0.5"]);
    hang.expect(1, &["TIMEOUT", "no answer within 0.5 s", "PASS"]);
    assert!(!hang.stdout.contains("stopped early"), "{}", hang.stdout);
}

/// A copy of the worker that comes back from the function has no say, and is told.
#[test]
fn a_function_that_returns_in_two_processes_is_named() {
    let forks = function("void", "attn_forks", &SMOKE);
    forks.expect(
        1,
        &["ERROR  the function called fork(), and the child process returned from it too", "PASS"],
    );
    assert!(!forks.stdout.contains("protocol"), "{}", forks.stdout);
    function("void", "attn_helped", &SMOKE).expect(0, &["no finding in"]);
}

#[test]
fn memory_that_is_not_the_functions_is_watched() {
    let overrun = "wrote beyond the buffer `out`: bytes 1 to 4 behind the end";
    function("void", "attn_overrun", &SMOKE).expect(1, &["ERROR", overrun, "PASS"]);
    let underrun = "wrote beyond the buffer `out`: bytes 5 to 8 before the beginning";
    function("void", "attn_underrun", &SMOKE).expect(1, &["ERROR", underrun]);
    function("void", "attn_nothing", &SMOKE)
        .expect(1, &["FAIL", "wrote nothing to the buffer `out`", "PASS"]);
    let inputs = ["--suite", "core", "--law", "inputs-unchanged"];
    function("void", "attn_writes_inputs", &inputs).expect(1, &["FAIL  QK601"]);
    function("void", "attn", &inputs).expect(0, &[]);
}

#[test]
fn a_cache_by_address_is_noticed() {
    for name in ["attn_cached", "attn_kept"] {
        function("void", name, &SMOKE).expect(1, &["the same call gave different results"]);
    }
}

/// NaN is no sign of a row maximum that is missing where others as large come out right.
#[test]
fn a_read_beyond_a_buffer_is_no_fault_of_the_softmax() {
    let folder = TempDir::new().expect("a folder");
    let prototype = format!("void attn_reads_beyond({PARAMETERS})");
    let words = ["--call", &prototype, "-q", "--dtype", "float32", "--suite", "smoke"];
    let finished = check_in(folder.path(), library(), &words);
    finished.expect(1, &["got       NaN"]);
    assert!(!finished.stdout.contains("QK501"), "{}", finished.stdout);
}

/// What is kept by the first number and the extents shows where no other call comes between.
#[test]
fn a_cache_by_content_is_shown_by_its_script() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let prototype = format!("void attn_by_content({PARAMETERS})");
    let words =
        ["--call", &prototype, "-q", "--format", "json", "--dtype", "float32", "--suite", "smoke"];
    let report = check_in(folder.path(), library(), &words).expect(1, &[]).json();
    for finding in report["findings"].as_array().expect("findings") {
        let case = finding["witness"]["case"].as_str().expect("a case");
        run(folder.path(), &["replay", case]).expect(1, &[]);
        play(folder.path(), finding, &[]).expect(1, &[]);
    }
}

#[test]
fn an_error_code_is_a_refusal() {
    let finished = function("int", "attn_declines", &SMOKE);
    finished.expect(0, &["REFUSED attn_declines returned -7"]);
    // 22 for heads that do not fit is what the law of refusal wants.
    let folder = TempDir::new().expect("a folder");
    let law =
        ["--law", "head-counts-must-divide", "--dtype", "float64", "--suite", "smoke", "--call"];
    check_in(folder.path(), library(), &[&law[..], &[WHOLE]].concat()).expect(0, &["PASS"]);
    let law = ["--law", "head-counts-must-divide", "--suite", "smoke"];
    function("void", "attn", &law).expect(4, &["a function that returns void cannot refuse"]);
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let folder = TempDir::new().expect("a folder");
    let call = format!("void attn({PARAMETERS})");
    let check = |file: &str, prototype: &str| {
        check_in(folder.path(), Path::new(file), &["--call", prototype])
    };
    check("./libnone.so", &call).expect(3, &["libnone.so: expected a file, got none"]);
    std::fs::write(folder.path().join("text.so"), "no library").expect("a file");
    check("./text.so", &call).expect(3, &["expected a shared library, got:", "-shared -fPIC"]);
    let here = library().display().to_string();
    let symbol = check(&here, &call.replace("attn(", "attnn("));
    symbol
        .expect(3, &["expected a function `attnn`, got none of that name", "did you mean `attn`?"]);
    check_in(folder.path(), library(), &[])
        .expect(3, &["`qkvet_attention_v1`", "--call 'C PROTOTYPE'"]);
    check(&here, "void attn(const float* q")
        .expect(2, &["--call:1:25", "expected `)`, got the end"]);
    check(&here, &call.replace("scale", "skale"))
        .expect(2, &["parameter `skale`", "did you mean `scale`?"]);
    let other = run(folder.path(), &["check", "builtin:flash", "--call", &call]);
    other.expect(2, &["--call: expected with a shared library"]);
}

/// A prototype that is not the function's gives wrong numbers or a crash, never a wrong verdict.
#[test]
fn a_wrong_prototype_is_a_finding() {
    let folder = TempDir::new().expect("a folder");
    let swapped =
        format!("void attn({})", PARAMETERS.replace("int n_q, int n_k", "int n_k, int n_q"));
    check_in(
        folder.path(),
        library(),
        &["--call", &swapped, "--dtype", "float32", "--suite", "smoke"],
    )
    .expect(1, &[]);
}

#[test]
fn the_struct_takes_every_option() {
    let finished = by_struct(&[], &SMOKE);
    finished.expect(0, &["no finding in", "example-abi 1, shared library, on cpu"]);
    let (checked, of) = laws(&finished);
    assert_eq!(checked, of, "{}", finished.stdout);
    let without = by_struct(&["-DNO_INFO"], &["--suite", "smoke", "--dtype", "float32"]);
    without.expect(0, &["UNSUPPORTED softcap is asked only of programs that list it"]);
}

#[test]
fn what_the_struct_returns_is_told_apart() {
    let smoke = ["--suite", "smoke", "--dtype", "float32"];
    by_struct(&["-DNO_SCALE"], &smoke).expect(1, &["FAIL  QK103 scores are not scaled"]);
    by_struct(&["-DRETURNS=1"], &smoke).expect(4, &["UNSUPPORTED no reason was given"]);
    by_struct(&["-DRETURNS=3"], &smoke).expect(1, &["ERROR", "no reason was given"]);
    by_struct(&["-DRETURNS=9"], &smoke)
        .expect(1, &["qkvet_attention_v1 returned 9: expected 0 to 3"]);
    by_struct(&["-DRETURNS=0"], &smoke).expect(1, &["wrote nothing to the buffer `output`"]);
}

/// The declarations of a library stand in `qkvet.yaml` too, and a finding is seen again from what
/// was kept.
#[test]
fn a_library_has_a_name_and_its_cases_are_replayed() {
    let folder = TempDir::new().expect("a folder");
    std::fs::copy(library(), folder.path().join("libx.so")).expect("a copy");
    let yaml = format!(
        "targets:\n  mine:\n    target: lib:./libx.so\n    call: void attn_scale({PARAMETERS})\n    dtypes: [float32]\n"
    );
    std::fs::write(folder.path().join("qkvet.yaml"), yaml).expect("a file");
    for target in ["mine", "lib:libx.so"] {
        let report =
            run(folder.path(), &["check", target, "-q", "--suite", "smoke", "--format", "json"]);
        let report = report.expect(1, &[]).json();
        let case = report["findings"][0]["witness"]["case"].as_str().expect("a case").to_owned();
        run(folder.path(), &["replay", &case]).expect(1, &["FAIL"]);
        let right = format!("void attn({PARAMETERS})");
        run(folder.path(), &["replay", &case, "--call", &right]).expect(0, &["FIXED"]);
    }
    run(folder.path(), &["probe", "mine"]).expect(0, &["* default_scale   1/d_k"]);
    run(folder.path(), &["doctor", "mine"]).expect(1, &["exited with code 0"]);
}

/// Runs the script of a finding with the words.
fn play(folder: &Path, finding: &Value, words: &[&str]) -> Finished {
    let script =
        folder.join(finding["script"].as_str().unwrap_or_else(|| panic!("a script: {finding:#}")));
    let python = python().expect("an interpreter");
    let output = Command::new(python).arg(script).args(words).output().expect("a script that runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Finished {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// A script with the standard library alone shows a finding on the library, and that another one is
/// mended.
#[test]
fn a_finding_of_a_library_has_a_script() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    // The functions again, one of them under another name, and a right one under its own.
    let mended = |name: &str, from: &str, to: &str, right: &str| {
        let source = std::fs::read_to_string(root().join("tests/fixtures/native/attention.c"))
            .expect("the fixture");
        let text = source.replace(from, to)
            + &format!("\nvoid {name}(PARAMETERS) {{ {right}(ARGUMENTS); }}\n");
        let (file, library) =
            (folder.path().join("mended.c"), folder.path().join(format!("{name}.so")));
        std::fs::write(&file, text).expect("a file");
        compile(&file.display().to_string(), &[], &library);
        library
    };
    let check = |name: &str, parameters: &str, more: &[&str]| {
        let prototype = format!("void {name}({parameters})");
        let words =
            [&["--call", &prototype, "-q", "--format", "json", "--timeout", "1"], more].concat();
        let target = format!("lib:{}", library().display());
        // Some of them keep something from call to call.
        let mut command = in_one_process(folder.path());
        command.args([&["check", &target], &words[..]].concat());
        let report = finish(&mut command).json();
        let findings = report["findings"].as_array().expect("findings");
        // A long script is a file alone.
        findings
            .iter()
            .find(|finding| finding["script_text"].is_string())
            .unwrap_or(&findings[0])
            .clone()
    };
    let value = ["--dtype", "float32", "--suite", "smoke"];
    let inputs = ["--dtype", "float32", "--suite", "core", "--law", "inputs-unchanged"];
    for (name, more, part) in [
        ("attn_scale", &value[..], "times the limit"),
        ("attn_segfault", &value[..], "the process ended with signal 11"),
        ("attn_hang", &value[..], "Timeout"),
        ("attn_overrun", &value[..], "wrote beyond the buffer `out`"),
        ("attn_underrun", &value[..], "wrote beyond the buffer `out`"),
        ("attn_nothing", &value[..], "nothing was written to `out`"),
        ("attn_writes_inputs", &inputs[..], "the same bits after the call"),
        ("attn_cached", &value[..], "got"),
        ("attn_kept", &value[..], "got"),
        ("attn_forks", &value[..], "fork()"),
    ] {
        let finding = check(name, PARAMETERS, more);
        let text = finding["script_text"].as_str().unwrap_or_else(|| panic!("{name}: {finding:#}"));
        assert!(!text.contains("import qkvet") && !text.contains("numpy"), "{text}");
        play(folder.path(), &finding, &[]).expect(1, &[part]);
        let mended = mended(name, &format!("void {name}("), "void spoiled(", "attn");
        // What comes at times alone is not proved to be gone.
        let (code, word) =
            if finding["verdict"] == "NONDET" { (4, "UNSEEN") } else { (0, "FIXED") };
        play(folder.path(), &finding, &[&mended.display().to_string()]).expect(code, &[word]);
    }
    let exchanged = check("attn_bnhd", PARAMETERS, &value);
    play(folder.path(), &exchanged, &[]).expect(1, &["times the limit"]);
    // Positions before heads: the script exchanges what goes in and what comes out.
    let layout = [&value[..], &["--layout", "bnhd"]].concat();
    let other = check("attn", PARAMETERS, &layout);
    play(folder.path(), &other, &[]).expect(1, &["times the limit"]);
    let mended = mended("attn", " attn(", " inner(", "attn_bnhd");
    play(folder.path(), &other, &[&mended.display().to_string()]).expect(0, &["FIXED"]);
    let halves = PARAMETERS.replace("float*", "uint16_t*");
    let halves = check("attn_bfloat16", &halves, &["--dtype", "float16", "--suite", "smoke"]);
    play(folder.path(), &halves, &[]).expect(1, &["times the limit"]);
    play(folder.path(), &halves, &["nowhere.so"]).expect(2, &[]);
}

#[test]
fn a_finding_by_the_struct_has_a_script() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let build = |name: &str, macros: &[&str]| {
        let library = folder.path().join(name);
        compile("tests/fixtures/native/abi.c", macros, &library);
        library
    };
    let right = build("right.so", &[]).display().to_string();
    for (macros, part) in [
        ("-DNO_SCALE", "times the limit"),
        ("-DRETURNS=3", "an error: no reason"),
        ("-DRETURNS=0", "nothing was written"),
    ] {
        let library = build("wrong.so", &[macros]);
        let words = ["-q", "--suite", "smoke", "--dtype", "float32", "--format", "json"];
        let finding = check_in(folder.path(), &library, &words).json()["findings"][0].clone();
        play(folder.path(), &finding, &[]).expect(1, &[part]);
        play(folder.path(), &finding, &[&right]).expect(0, &["FIXED"]);
    }
}

/// The two headers for C are one text for C++ as well.
#[test]
fn the_header_of_the_struct_is_cpp_too() {
    if Command::new("c++").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "no c++ in PATH");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let source = folder.path().join("x.cpp");
    let text = "#include \"qkvet_abi.h\"\nint qkvet_attention_v1(const struct qkvet_call_v1 *call) {\n  return \
                qkvet_v1_because(call, QKVET_V1_UNSUPPORTED, \"nothing\");\n}\n";
    std::fs::write(&source, text).expect("a file");
    let library = folder.path().join("libx.so");
    let built = Command::new("c++")
        .args([
            "-std=c++11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wconversion",
            "-Werror",
            "-shared",
            "-fPIC",
            "-I",
        ])
        .arg(root().join("examples/c"))
        .arg("-o")
        .arg(&library)
        .arg(&source)
        .output()
        .expect("c++");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    check_in(folder.path(), &library, &SMOKE).expect(4, &["UNSUPPORTED nothing"]);

    // A function without extern "C" has another name in the library.
    std::fs::write(&source, "void attn(const float *, float *) {}\n").expect("a file");
    let built =
        Command::new("c++").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("c++").success());
    let hidden =
        check_in(folder.path(), &library, &["--call", &format!("void attn({PARAMETERS})")]);
    hidden.expect(3, &["expected a function `attn`", "declare it extern \"C\""]);
}

/// `docs/native.md` does what it says: its source is built, its commands are run, and what they
/// print is there.
#[test]
fn the_page_is_run() {
    let page = std::fs::read_to_string(root().join("docs/native.md")).expect("the page");
    let block = |language: &str, at: usize| {
        let opening = format!("```{language}\n");
        let mut blocks = page.split(&opening).skip(1).filter_map(|rest| rest.split("```").next());
        blocks.nth(at).unwrap_or_else(|| panic!("no block {at} of {language}")).to_owned()
    };
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("attn.c"), block("c", 0)).expect("a file");
    std::fs::write(folder.path().join("qkvet.yaml"), "targets: {}\n").expect("a file");
    for (at, code) in [(0, 1), (1, 0), (3, 0)] {
        if at == 1 {
            std::fs::write(folder.path().join("qkvet.yaml"), block("yaml", 0)).expect("a file");
        }
        let text = block("console", at);
        let lines: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect();
        let finished = shell(folder.path(), &lines.join("\n"));
        let printed: Vec<&str> = text.lines().filter(|line| !line.starts_with("$ ")).collect();
        finished.expect(code, &printed);
    }
    // Every parameter of the table is one.
    let table = page
        .split("| parameter |")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next())
        .expect("the table");
    let cells = table.lines().skip(2).flat_map(|line| line.split('|').skip(1).take(2));
    let names: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let call = format!("void f(int {name}, int {name})");
        let folder = folder.path();
        let refused = check_in(folder, library(), &["--call", &call]);
        assert!(
            refused.code == Some(2) && !refused.stderr.contains("says what is passed"),
            "{name}\n{}",
            refused.stderr
        );
    }
}
