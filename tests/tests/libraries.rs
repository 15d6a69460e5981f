//! Public libraries on the CPU: `qkvet probe` says of them what they document and what
//! `docs/libraries.md` shows, and `qkvet check` finds nothing under what they declare.

use qkvet_tests::libraries::{CANDLE_FORMS, Library, WHEELS, candle, probes, surprises, tables};
use qkvet_tests::{Folder, Report, has_python, is_thorough, needed, root, text};
use serde_json::Value;

/// Laws that a library is checked by: every value, and what the options have to do with each other.
const LAWS: [&str; 4] = ["value", "heads-apart", "causal-is-mask", "grouped-heads"];

/// JAX compiles for each shape: it is checked by one law.
const COMPILES: &str = "jax";

/// PyTorch once more, which the standard tests only probe.
const ONCE_MORE: [&str; 2] = ["pytorch-math", "pytorch-lower-right"];

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

/// Numbers of the outputs of passed cases, one output a case. What fails is `known`, calls of one
/// finding.
fn checked(library: &Library, suite: &str, laws: &[&str], known: fn(&str) -> bool) -> usize {
    let finished = library.check(suite, laws);
    let report = Report(finished.json());
    // An answer to tensors that do not fit together is a warning.
    const FINE: [&str; 6] =
        ["PASS", "UNSUPPORTED", "REFUSED", "INCONCLUSIVE", "SKIPPED", "UNGUARDED"];
    let wrong = report.records().filter(|record| !FINE.contains(&text(&record["verdict"])));
    let (known, wrong): (Vec<&Value>, Vec<&Value>) =
        wrong.partition(|record| known(text(&record["call"])));
    assert!(wrong.is_empty(), "{}: {} of {}", library.name, wrong.len(), report["counts"]);
    finished.ends(i32::from(!known.is_empty()));
    let findings = report.findings().filter(|finding| finding["verdict"] != "UNGUARDED");
    let names: Vec<String> = findings.map(|finding| finding.name()).collect();
    assert_eq!(names.len(), usize::from(!known.is_empty()), "{}: {names:?}", library.name);
    let passed = report.records().filter(|record| record["verdict"] == "PASS");
    passed.map(|record| numbers(text(&record["call"]))).sum()
}

/// How many numbers the output of a call has: `b · h_q · n_q · d_v`, where an extent that is not
/// named is 1.
fn numbers(call: &str) -> usize {
    ["b", "h_q", "n_q", "d_v"].into_iter().map(|name| extent(call, name)).product()
}

fn extent(call: &str, name: &str) -> usize {
    let value = |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    call.split(' ').find_map(value).unwrap_or(1)
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
    let laws = |library: &Library| {
        let is_short = library.name == COMPILES || ONCE_MORE.contains(&library.name);
        if is_short { &LAWS[..1] } else { &LAWS[..] }
    };
    let (suite, least) = if is_thorough() { ("core", 1_000_000) } else { ("smoke", 10_000) };
    let is_asked = |library: &&Library| is_thorough() || !ONCE_MORE.contains(&library.name);
    let asked = WHEELS.iter().filter(is_asked);
    let n_numbers: usize =
        asked.map(|library| checked(library, suite, laws(library), |_| false)).sum();
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

/// Whether a call has one query, causal masking and a softcap, which the kernel for one query does
/// not look at: docs/libraries.md.
fn is_one_capped(call: &str) -> bool {
    let has = |name: &str| call.split(' ').any(|word| word.split('=').next() == Some(name));
    extent(call, "n_q") == 1 && has("causal") && has("softcap")
}

#[test]
fn candle_does_not_fail() {
    if !has_candle() {
        return;
    }
    // `AttnMask::causal()` means different corners in different calls: docs/libraries.md.
    let others = CANDLE_FORMS.iter().filter(|library| library.name != "candle-causal");
    let both = |library: &Library| {
        let known = if library.name == "candle-item" { is_one_capped } else { |_: &str| false };
        checked(library, "core", &LAWS, known) + checked(library, "even", &[], known)
    };
    let n_numbers: usize = others.map(both).sum();
    assert!(n_numbers >= 200_000, "{n_numbers} numbers");
}
