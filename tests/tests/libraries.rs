//! Public libraries on the CPU: `qkvet probe` says of them what they document and what
//! `docs/libraries.md` shows, and `qkvet check` finds nothing under what they declare.

use qkvet_tests::libraries::{CANDLE_FORMS, Library, WHEELS, candle, probes, surprises, tables};
use qkvet_tests::{Folder, has_python, is_thorough, needed, root, text};
use serde_json::Value;

/// Laws that a library is checked by: every value, and what the options have to do with each other.
const LAWS: [&str; 4] = ["value", "heads-apart", "causal-is-mask", "grouped-heads"];

/// The columns for which that takes long: JAX compiles for each shape, the others are PyTorch once
/// more.
const SHORT: [&str; 3] = ["jax", "pytorch-math", "pytorch-lower-right"];

/// The page shows the tables, and each probe says what is expected.
fn page_is_what_probe_says(libraries: &[Library], hint: &str) {
    let probes = probes(libraries);
    let page = root().read("docs/libraries.md");
    let tables = tables(libraries, &probes);
    assert!(page.contains(&tables), "docs/libraries.md lacks:\n{tables}\nhint: {hint}");
    let surprises: Vec<String> = libraries
        .iter()
        .zip(&probes)
        .flat_map(|(library, probe)| surprises(library, probe))
        .collect();
    assert_eq!(surprises, [""; 0]);
}

/// Numbers of the outputs of passed cases, one output a case, and what failed.
fn checked(library: &Library, suite: &str, laws: &[&str]) -> usize {
    let report = library.check(suite, laws).report(0);
    // An answer to tensors that do not fit together is a warning.
    let wrong = report.findings().filter(|finding| finding["verdict"] != "UNGUARDED");
    assert_eq!(
        wrong.map(|finding| finding.name()).collect::<Vec<_>>(),
        [""; 0],
        "{}",
        library.name
    );
    let wrong = |record: &&Value| {
        let verdict = text(&record["verdict"]);
        !["PASS", "UNSUPPORTED", "REFUSED", "INCONCLUSIVE", "SKIPPED", "UNGUARDED"]
            .contains(&verdict)
    };
    assert_eq!(report.records().filter(wrong).count(), 0, "{}: {}", library.name, report["counts"]);
    let passed = report.records().filter(|record| record["verdict"] == "PASS");
    passed.map(|record| numbers(text(&record["call"]))).sum()
}

/// How many numbers the output of a call has: `b · h_q · n_q · d_v`, where an extent that is not
/// named is 1.
fn numbers(call: &str) -> usize {
    let extent = |name: &str| {
        call.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    };
    ["b", "h_q", "n_q", "d_v"].into_iter().map(|name| extent(name).unwrap_or(1)).product()
}

#[test]
fn the_numbers_of_an_output_are_counted() {
    assert_eq!(
        numbers("float32 b=4 h_q=6 h_k=2 n_q=5 n_k=7 d_k=40 d_v=24 scale=0.5"),
        4 * 6 * 5 * 24
    );
    assert_eq!(numbers("float32 n_q=130 n_k=130"), 130);
}

#[test]
fn probe_says_what_wheels_document() {
    if has_python() {
        page_is_what_probe_says(&WHEELS, "`cargo xtask libraries`");
    }
}

#[test]
fn no_wheel_fails_under_what_it_declares() {
    if !has_python() {
        return;
    }
    let laws =
        |library: &Library| if SHORT.contains(&library.name) { &LAWS[..1] } else { &LAWS[..] };
    let (suite, least) = if is_thorough() { ("core", 1_000_000) } else { ("smoke", 10_000) };
    let n_numbers: usize =
        WHEELS.iter().map(|library| checked(library, suite, laws(library))).sum();
    assert!(n_numbers >= least, "{n_numbers} numbers");
}

/// It takes minutes to build.
fn has_candle() -> bool {
    let missing = "no QKVET_TEST_CANDLE: run `cargo xtask test --all`";
    is_thorough() && needed(candle(), missing).is_some()
}

#[test]
fn probe_says_what_candle_does() {
    if has_candle() {
        page_is_what_probe_says(&CANDLE_FORMS, "`cargo xtask libraries --candle`");
    }
}

#[test]
fn candle_does_not_fail() {
    if !has_candle() {
        return;
    }
    // `AttnMask::causal()` means different corners in different calls: docs/libraries.md.
    let others = CANDLE_FORMS.iter().filter(|library| library.name != "candle-causal");
    let both = |library| checked(library, "core", &LAWS) + checked(library, "even", &[]);
    let n_numbers: usize = others.map(both).sum();
    assert!(n_numbers >= 200_000, "{n_numbers} numbers");
}
