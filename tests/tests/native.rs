//! Functions of shared libraries: right ones pass, by a prototype or by the struct; what goes wrong
//! has its name and exit code.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{
    Finding, Finished, Folder, Report, Words, compile, compiled, finish, has_program, has_python,
    in_one_process, root, shell, temp, text,
};

const PARAMETERS: &str = "const float* q, const float* k, const float* v, float* out, int b, int h_q, int h_k, \
                          int n_q, int n_k, int d_k, int d_v, float scale, bool causal";

const WHOLE: &str = "int whole(double *out, double *lse, const double *q, const double *k, const double *v, \
                     const uint8_t *mask, const float *bias, const double *sinks, const double *alibi_slopes, \
                     const int32_t *key_lengths, const int64_t *query_lengths, size_t b, size_t h_q, size_t h_k, \
                     size_t n_q, size_t n_k, size_t d_k, size_t d_v, double scale, double softcap, int causal, \
                     int window_left, int64_t window_right)";

/// What Rust links with; no warnings.
const COMPILER: &str = "cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC";

/// The functions by prototype.
fn library() -> PathBuf {
    compiled(COMPILER, "tests/fixtures/native/attention.c", "libattention.so")
}

/// The struct's library, built with macros that spoil it.
fn abi(macros: &str) -> PathBuf {
    compiled(&format!("{COMPILER} {macros}"), "tests/fixtures/native/abi.c", "libabi.so")
}

fn check_in(folder: &Path, library: &Path, words: &str) -> Finished {
    folder.run(format!("check lib:{} --format json {words}", library.display()))
}

/// A function of the library with a prototype.
fn by_prototype(prototype: &str, words: &str) -> Finished {
    check_in(temp().path(), &library(), &format!("--call '{prototype}' {words}"))
}

/// A function with the usual parameters.
fn function(returns: &str, name: &str, words: &str) -> Finished {
    by_prototype(&format!("{returns} {name}({PARAMETERS})"), &format!("--dtype float32 {words}"))
}

/// The struct's library, built with macros that spoil it.
fn by_struct(macros: &str, words: &str) -> Finished {
    check_in(temp().path(), &abi(macros), words)
}

const SMOKE: &str = "--suite smoke";
const FLOAT32: &str = "--suite smoke --dtype float32";

/// Laws that no prototype can be asked: four of the laws of refusal (pointers have no shapes), and
/// three about weights.
const UNANSWERED: usize = 7;

fn environment(report: &Report) -> String {
    report["run"]["environment"].to_string()
}

#[test]
fn right_functions_pass() {
    let report = function("void", "attn", SMOKE).finds(&[]);
    assert!(environment(&report).contains("float32, options scale causal"), "{}", report["run"]);
    function("void", "attn_bnhd", "--suite smoke --layout bnhd").finds(&[]);
    let (checked, of) = by_prototype(WHOLE, "--dtype float64 --suite smoke").finds(&[]).laws();
    assert_eq!(of - checked, UNANSWERED);
}

/// A declared layout that is not the function's own is noticed, so that the exchange of axes is
/// seen to matter.
#[test]
fn another_layout_is_found() {
    assert_eq!(function("void", "attn_bnhd", SMOKE).report(1).first()["verdict"], "FAIL");
}

#[test]
fn sixteen_bits_need_a_format() {
    let prototype = format!("void attn_bfloat16({})", PARAMETERS.replace("float*", "uint16_t*"));
    by_prototype(&prototype, SMOKE).expect(2, &["`q`", "--dtype", "--call:1:"]);
    let report = by_prototype(&prototype, "--suite smoke --dtype bfloat16").finds(&[]);
    assert!(report["coverage"]["dtypes"]["bfloat16"].as_u64() > Some(0));
    let other = by_prototype(&prototype, "--suite smoke --dtype float16").report(1);
    assert_eq!(other.first()["verdict"], "FAIL");
    by_prototype(&prototype.replace("uint16_t", "__bf16"), SMOKE).finds(&[]);
}

/// A function of few parameters is asked what it can be asked.
#[test]
fn cases_fit_the_prototype() {
    let narrow = |name: &str| {
        let call = "const float* q, const float* k, const float* v, float* out, int n_q, int d_k, float scale";
        by_prototype(&format!("void {name}({call})"), FLOAT32)
    };
    let right = narrow("narrow");
    right.expect(0, &["b=1 h_q=1, h_k=h_q, n_k=n_q, d_v=d_k, options scale"]);
    // Without that no case has the shape: all were declined.
    assert!(right.finds(&[]).laws().0 > 20);
    assert_eq!(narrow("narrow_wrong").report(1).first()["verdict"], "FAIL");
}

#[test]
fn a_wrong_scale_is_named() {
    let report = function("void", "attn_scale", SMOKE).report(1);
    let formula = &report.first()["cause"]["formula"];
    assert_eq!((&formula["twist"], &formula["form"]), (&"scale".into(), &"squared".into()));
}

/// The one finding about what broke; the run went on.
fn broken(finished: &Finished, verdict: &str, part: &str) {
    let report = finished.finds(&[verdict]);
    let found = report.first();
    let how = found.how();
    assert!(how.contains(part), "{how}");
    assert!(report.count("PASS") > 0, "{}", report["counts"]);
    assert!(report["stopped"].is_null(), "{}", report["stopped"]);
    assert_ne!(found["evidence"]["broke_protocol"], true);
}

#[test]
fn what_breaks_is_named_and_the_run_goes_on() {
    broken(&function("void", "attn_segfault", SMOKE), "CRASH", "SIGSEGV");
    broken(
        &function("void", "attn_hang", "--suite smoke --timeout 0.5"),
        "TIMEOUT",
        "\"milliseconds\":500",
    );
}

/// A copy of the worker that comes back from the function has no say, and is told.
#[test]
fn a_function_that_returns_in_two_processes_is_named() {
    broken(&function("void", "attn_forks", SMOKE), "ERROR", "fork()");
    function("void", "attn_helped", SMOKE).finds(&[]);
}

#[test]
fn memory_that_is_not_the_functions_is_watched() {
    broken(&function("void", "attn_overrun", SMOKE), "ERROR", "`out`: bytes 1 to 4 ");
    let underrun = function("void", "attn_underrun", SMOKE).finds(&["ERROR"]).first();
    assert!(underrun.how().contains("`out`: bytes 5 to 8 "), "{}", underrun.how());
    let nothing = function("void", "attn_nothing", SMOKE).report(1);
    assert!(nothing.first().got().contains("`out`") && nothing.count("PASS") > 0, "{nothing:#?}");
    assert_eq!(nothing.first()["verdict"], "FAIL");
    let inputs = "--suite core --law inputs-unchanged";
    function("void", "attn_writes_inputs", inputs).finds(&["QK601"]);
    function("void", "attn", inputs).finds(&[]);
}

#[test]
fn a_cache_by_address_is_noticed() {
    for name in ["attn_cached", "attn_kept"] {
        assert!(function("void", name, SMOKE).report(1).has("nondeterministic"), "{name}");
    }
}

/// NaN is no sign of a row maximum that is missing where others as large come out right.
#[test]
fn a_read_beyond_a_buffer_is_no_fault_of_the_softmax() {
    let report = function("void", "attn_reads_beyond", SMOKE).report(1);
    assert!(report.findings().any(|finding| finding.got() == "NaN"), "{report:#?}");
    assert!(!report["findings"].to_string().contains("QK501"), "{report:#?}");
}

/// What is kept by the first number and the extents shows where no other call comes between.
#[test]
fn a_cache_by_content_is_shown_by_its_script() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let words = format!("--call 'void attn_by_content({PARAMETERS})' {FLOAT32}");
    let report = check_in(folder.path(), &library(), &words).report(1);
    // What comes of the case before is not seen again by one case alone.
    let own = report.findings().filter(|finding| finding.name() != "intermittent");
    let shown = own.map(|finding| {
        folder.replay(&finding).ends(1);
        folder.play(&finding, "").ends(1);
    });
    assert!(shown.count() > 0, "{:?}", report.names());
}

#[test]
fn an_error_code_is_a_refusal() {
    // What has to be alike is found by it.
    let report = function("int", "attn_declines", SMOKE).finds(&[]);
    assert_eq!(report["run"]["fit"]["alike"][0], "heads", "{}", report["run"]);
    // 22 for heads that do not fit is what the law of refusal wants.
    let law = "--law head-counts-must-divide --suite smoke";
    assert!(by_prototype(WHOLE, &format!("--dtype float64 {law}")).finds(&[]).count("PASS") > 0);
    assert!(function("void", "attn", law).report(4).declines("void"));
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let folder = temp();
    let call = format!("void attn({PARAMETERS})");
    let check = |file: &str, prototype: &str| {
        check_in(folder.path(), Path::new(file), &format!("--call '{prototype}'"))
    };
    check("./libnone.so", &call).expect(3, &["libnone.so: "]);
    folder.write("text.so", "no library");
    check("./text.so", &call).expect(3, &["text.so", "-shared -fPIC"]);
    let here = library().display().to_string();
    check(&here, &call.replace("attn(", "attnn(")).expect(3, &["`attnn`", "`attn`?"]);
    check_in(folder.path(), &library(), "")
        .expect(3, &["`qkvet_attention_v1`", "--call 'C PROTOTYPE'"]);
    check(&here, "void attn(const float* q").expect(2, &["--call:1:25", "`)`"]);
    check(&here, &call.replace("scale", "skale")).expect(2, &["`skale`", "`scale`?"]);
    folder.run(&["check", "builtin:flash", "--call", &call]).expect(2, &["--call: "]);
}

/// A prototype that is not the function's gives wrong numbers or a crash, never a wrong verdict.
#[test]
fn a_wrong_prototype_is_a_finding() {
    let swapped = PARAMETERS.replace("int n_q, int n_k", "int n_k, int n_q");
    by_prototype(&format!("void attn({swapped})"), FLOAT32).ends(1);
}

#[test]
fn the_struct_takes_every_option() {
    let report = by_struct("", SMOKE).finds(&[]);
    assert!(environment(&report).contains("example-abi 1"), "{}", report["run"]);
    let (checked, of) = report.laws();
    assert_eq!(checked, of);
    let without = by_struct("-DNO_INFO", FLOAT32).finds(&[]);
    assert!(without.declines("softcap"), "{}", without["coverage"]);
}

#[test]
fn what_the_struct_returns_is_told_apart() {
    let with = |macros: &str| by_struct(macros, FLOAT32);
    with("-DNO_SCALE").finds(&["QK103"]);
    assert!(with("-DRETURNS=1").report(4).count("UNSUPPORTED") > 0);
    with("-DRETURNS=3").finds(&["ERROR"]);
    let other = with("-DRETURNS=9").report(1).first();
    assert!(other.how().contains("qkvet_attention_v1 returned 9"), "{other:#?}");
    let nothing = with("-DRETURNS=0").report(1).first();
    assert!(nothing.got().contains("`output`"), "{nothing:#?}");
}

/// The declarations of a library stand in `qkvet.yaml` too, and a finding is seen again from what
/// was kept.
#[test]
fn a_library_has_a_name_and_its_cases_are_replayed() {
    let folder = temp();
    std::fs::copy(library(), folder.path().join("libx.so")).expect("a copy");
    let yaml = format!(
        "targets:\n  mine:\n    target: lib:./libx.so\n    call: void attn_scale({PARAMETERS})\n    dtypes: [float32]\n"
    );
    folder.write("qkvet.yaml", yaml);
    for target in ["mine", "lib:libx.so"] {
        let check = format!("check {target} --suite smoke --format json");
        let finding = folder.run(check).report(1).first();
        folder.replay(&finding).expect(1, &["FAIL"]);
        let right = format!("replay {} --call 'void attn({PARAMETERS})'", finding.case());
        folder.run(right).expect(0, &["FIXED"]);
    }
    folder.run("probe mine").expect(0, &["* default_scale   1/d_k"]);
    folder.run("doctor mine").expect(1, &["code 0"]);
}

/// A script with the standard library alone shows a finding on the library, and that another one is
/// mended.
#[test]
fn a_finding_of_a_library_has_a_script() {
    if !has_python() {
        return;
    }
    let folder = temp();
    // The functions again, one of them under another name, and a right one under its own.
    let mended = |name: &str, from: &str, to: &str, right: &str| {
        let source = root().read("tests/fixtures/native/attention.c");
        let text = source.replace(from, to)
            + &format!("\nvoid {name}(PARAMETERS) {{ {right}(ARGUMENTS); }}\n");
        folder.write("mended.c", text);
        let library = folder.path().join(format!("{name}.so"));
        compile(COMPILER, &folder.path().join("mended.c"), &library);
        library.display().to_string()
    };
    let check = |name: &str, parameters: &str, words: &str| {
        let call = format!("--call=void {name}({parameters})");
        let target = format!("lib:{}", library().display());
        // Some of them keep something from call to call.
        let mut command = in_one_process(folder.path());
        command.args(["check", &target, &call, "--format", "json", "--timeout", "1"]);
        let report = finish(command.args(words.words())).report(1);
        // A long script is a file alone.
        let short = report.findings().find(|finding| finding["script_text"].is_string());
        short.unwrap_or_else(|| report.first())
    };
    let inputs = "--dtype float32 --suite core --law inputs-unchanged";
    let value = &format!("{FLOAT32} --law value")[..];
    for (name, flags, part) in [
        ("attn_scale", value, "FAIL"),
        ("attn_segfault", value, "signal 11"),
        ("attn_hang", value, "Timeout"),
        ("attn_overrun", value, "`out`"),
        ("attn_underrun", value, "`out`"),
        ("attn_nothing", value, "`out`"),
        ("attn_writes_inputs", inputs, "FAIL"),
        ("attn_cached", FLOAT32, "got"),
        ("attn_kept", FLOAT32, "got"),
        ("attn_forks", value, "fork()"),
    ] {
        let finding = check(name, PARAMETERS, flags);
        let script = folder.read(text(&finding["script"]));
        assert!(!script.contains("import qkvet") && !script.contains("numpy"), "{script}");
        folder.play(&finding, "").expect(1, &[part]);
        let mended = mended(name, &format!("void {name}("), "void spoiled(", "attn");
        // What comes at times alone is not proved to be gone.
        let (code, word) =
            if finding["verdict"] == "NONDET" { (4, "UNSEEN") } else { (0, "FIXED") };
        folder.play(&finding, mended).expect(code, &[word]);
    }
    let fails = |finding: &Finding| {
        folder.play(finding, "").expect(1, &[&finding.place(), "FAIL"]);
    };
    // A relation between results is shown at its place, the script at the wrong element.
    fails(&check("attn_bnhd", PARAMETERS, value));
    // Positions before heads: the script exchanges what goes in and what comes out.
    let other = check("attn", PARAMETERS, &format!("{value} --layout bnhd"));
    fails(&other);
    let mended = mended("attn", " attn(", " inner(", "attn_bnhd");
    folder.play(&other, mended).expect(0, &["FIXED"]);
    let halves = PARAMETERS.replace("float*", "uint16_t*");
    let halves = check("attn_bfloat16", &halves, "--dtype float16 --suite smoke --law value");
    fails(&halves);
    folder.play(&halves, "nowhere.so").ends(2);
}

#[test]
fn a_finding_by_the_struct_has_a_script() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let right = abi("").display().to_string();
    for (macros, part) in
        [("-DNO_SCALE", "FAIL"), ("-DRETURNS=3", "ERROR"), ("-DRETURNS=0", "FAIL")]
    {
        let finding = check_in(folder.path(), &abi(macros), FLOAT32).report(1).first();
        folder.play(&finding, "").expect(1, &[part]);
        folder.play(&finding, &right).expect(0, &["FIXED"]);
    }
}

/// The two headers for C are one text for C++ as well.
#[test]
fn the_header_of_the_struct_is_cpp_too() {
    if !has_program("c++", "--version") {
        return;
    }
    let folder = temp();
    let build = |flags: &str, text: &str| {
        folder.write("x.cpp", text);
        let mut command = Command::new("c++");
        command.args(flags.words()).args("-shared -fPIC -o libx.so x.cpp -I".words());
        finish(command.arg(root().join("examples/c")).current_dir(folder.path())).ends(0);
        folder.path().join("libx.so")
    };
    let text = "#include \"qkvet_abi.h\"\nint qkvet_attention_v1(const struct qkvet_call_v1 *call) {\n  return \
                qkvet_v1_because(call, QKVET_V1_UNSUPPORTED, \"nothing\");\n}\n";
    let library = build("-std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Werror", text);
    assert!(check_in(folder.path(), &library, SMOKE).report(4).declines("nothing"));
    // A function without extern "C" has another name in the library.
    let library = build("", "void attn(const float *, float *) {}\n");
    let call = format!("--call 'void attn({PARAMETERS})'");
    check_in(folder.path(), &library, &call).expect(3, &["`attn`", "extern \"C\""]);
}

/// `docs/native.md` does what it says: its source is built, its commands are run, and what they
/// print is there.
#[test]
fn the_page_is_run() {
    let page = root().read("docs/native.md");
    let block = |language: &str, at: usize| {
        let opening = format!("```{language}\n");
        let mut blocks = page.split(&opening).skip(1).filter_map(|rest| rest.split("```").next());
        blocks.nth(at).unwrap_or_else(|| panic!("no block {at} of {language}")).to_owned()
    };
    let folder = temp();
    folder.write("attn.c", block("c", 0));
    folder.write("qkvet.yaml", "targets: {}\n");
    for (at, code) in [(0, 1), (1, 0), (3, 0)] {
        if at == 1 {
            folder.write("qkvet.yaml", block("yaml", 0));
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
        let call = format!("--call 'void f(int {name}, int {name})'");
        let refused = check_in(folder.path(), &library(), &call);
        // That it is there twice, and not that it is unknown.
        refused.expect(2, &[&format!("`{name}`")]);
        assert!(!refused.stderr.contains("hint"), "{name}\n{}", refused.stderr);
    }
}
