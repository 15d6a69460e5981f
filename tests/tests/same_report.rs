//! A report has the same bytes whoever runs the cases and whatever is told on the way.

use qkvet_tests::functions::NUMPY;
use qkvet_tests::{Finding, Folder, has_python, in_one_process, text};
use qkvet_tests::{finish, temp};

/// What a function does, with a line of it and what stands there instead.
const FUNCTIONS: [(&str, &str, &str); 6] = [
    ("right", "# here", ""),
    ("wrong", "allowed & mask", "allowed & ~mask"),
    ("upper left", "n_k - n_q if causal", "0 if causal"),
    // Each call has its own turn.
    (
        "varies",
        "# here",
        "KEPT = globals().setdefault('KEPT', {}); key = query.tobytes() + key.tobytes() + value.tobytes()
    KEPT[key] = KEPT.get(key, 0) + 1; o = o + KEPT[key] % 2",
    ),
    // The same, for what each worker was asked before.
    (
        "keeps",
        "# here",
        "o = globals().setdefault('KEPT', {}).setdefault((q.shape, k.shape, v.shape), o)",
    ),
    ("counts", "# here", "o = o + 1 if CALLS % 23 == 0 else o"),
];

/// Enough cases that findings are told early.
const LAWS: [&str; 12] = [
    "value",
    "batch-independence",
    "causal-is-bias",
    "causal-is-mask",
    "convex-hull",
    "future-cannot-matter",
    "grouped-heads",
    "heads-apart",
    "inputs-unchanged",
    "one-query-calls",
    "repeatability",
    "row-stochasticity",
];

/// With two workers each takes every second case, whoever is free; each has a state of its own, so
/// that what depends on a state depends on their number.
#[test]
fn a_report_depends_neither_on_timing_nor_on_what_is_told_early() {
    if !has_python() {
        return;
    }
    for (name, line, instead) in FUNCTIONS {
        let folder = temp();
        folder.write("mine.py", NUMPY.replacen(line, instead, 1));
        let report = |jobs: usize, flags: &str| {
            let laws: String = LAWS.iter().map(|law| format!(" --law {law}")).collect();
            let words = format!(
                "check mine.py:attention --suite smoke{laws} --dtype float32 --format json \
                 -j {jobs} {flags}"
            );
            finish(in_one_process(folder.path()).args(qkvet_tests::Words::words(words)))
        };
        let first = [1, 2].map(|jobs| report(jobs, "-q"));
        // Two workers are those whose timing could matter.
        let again = report(2, "");
        assert_eq!(first[1].stdout, again.stdout, "{name}");
        let has_told = [&first[1], &again].map(|one| one.stderr.contains("so far"));
        assert_eq!(has_told, [false, name != "right"], "{name}: {}", again.stderr);
        let findings: Vec<Finding> =
            first[0].report(i32::from(name != "right")).findings().collect();
        assert_eq!(findings.is_empty(), name == "right", "{findings:?}");
        match name {
            "keeps" | "counts" => assert_ne!(first[0].stdout, first[1].stdout, "{name}"),
            _ => assert_eq!(first[0].stdout, first[1].stdout, "{name}"),
        }
        if name == "varies" {
            assert!(findings.iter().any(|one| text(&one["verdict"]) == "NONDET"), "{findings:?}");
        }
    }
}
