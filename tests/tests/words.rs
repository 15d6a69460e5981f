//! Words depend on facts, and no fact depends on words: with other words a run comes to the same.

use std::sync::atomic::AtomicBool;

use qkvet_report::{English, ReportFormat, apply_known, finding_name, read_known, write_as};
use qkvet_run::adapters::NamedTarget;
use qkvet_run::adapters::builtin::Simulated;
use qkvet_run::config::{CaseSource, RunConfig};
use qkvet_run::run::run;
use qkvet_spec::{
    Catalog, Cause, Dialect, Dtype, Finding, Note, Sentence, Summary, SummaryDocument, Warning,
    Words,
};

/// English with every vowel twice.
#[derive(Debug)]
struct Doubled;

fn doubled(sentence: Sentence) -> Sentence {
    let twice = |c: char| if "aeiouAEIOU".contains(c) { vec![c, c] } else { vec![c] };
    Sentence::new(sentence.to_string().chars().flat_map(twice).collect::<String>())
}

impl Words for Doubled {
    fn title(&self, cause: &Cause) -> Sentence {
        doubled(English.title(cause))
    }

    fn cause(&self, cause: &Cause, notes: &[Note]) -> Option<Sentence> {
        English.cause(cause, notes).map(doubled)
    }

    fn hint(&self, cause: &Cause, notes: &[Note], dialect: Dialect) -> Option<Sentence> {
        English.hint(cause, notes, dialect).map(doubled)
    }

    fn warning(&self, warning: &Warning) -> Sentence {
        doubled(English.warning(warning))
    }
}

fn summary(catalog: &Catalog, fault: &str, words: &dyn Words) -> Summary {
    let suite = &catalog.suites["smoke"];
    let simulated = Simulated(Some(catalog.faults[fault].clone()));
    let target = NamedTarget::new(format!("builtin:fault/{fault}"), simulated);
    let dtype = Dtype::Float32;
    let cases = CaseSource::Suite { suite, seed: 0 };
    let stop = AtomicBool::new(false);
    let config = RunConfig {
        laws: catalog.suite_laws(suite).expect("known laws"),
        dtypes: vec![dtype],
        contracts: [(dtype, catalog.default_contract(dtype).expect("a contract"))].into(),
        ..RunConfig::of(words, catalog, &target, cases, &stop)
    };
    run(&config, &mut |_| {}).expect("a run")
}

#[test]
fn with_other_words_a_run_comes_to_the_same() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let known = "known: [{finding: 'QK*', reason: so}, {finding: 'convention:*', reason: so}, {finding: 'wrong-*', reason: so}]";
    let known = read_known("known.yaml", known).expect("entries");
    for fault in ["gqa-modulo", "causal-upper-left", "output-width-of-key", "not-repeatable"] {
        let [plain, other] = [&English as &dyn Words, &Doubled].map(|words| {
            let mut summary = summary(&catalog, fault, words);
            apply_known(&mut summary, "known.yaml", &known, &[], "2026-01-01");
            summary
        });
        assert!(!plain.findings.is_empty(), "{fault}");
        assert!(plain == other, "{fault}");
        let names =
            |summary: &Summary| summary.findings.iter().map(finding_name).collect::<Vec<_>>();
        assert_eq!(names(&plain), names(&other));
        // What a report says in other words has the same facts: they are read back alike.
        let written = |words| {
            let document = SummaryDocument::new(&plain, words);
            serde_json::to_value(document).expect("a document")
        };
        let (english, odd) = (written(&English as &dyn Words), written(&Doubled));
        assert_ne!(english, odd);
        // Of a warning a report has the sentence alone.
        let read = |document| {
            let read: Summary = serde_json::from_value(document).expect("a report");
            Summary { warnings: Vec::new(), ..read }
        };
        let (english, odd) = (read(english), read(odd));
        assert!(english == odd, "{fault}");
        for format in ReportFormat::ALL {
            let text = |summary| write_as(format, summary, &catalog).expect("a report");
            assert_eq!(text(&english), text(&odd), "{fault} as {}", format.name());
        }
    }
}

/// Which cause a finding has says its kind, its code and its convention.
#[test]
fn a_finding_is_named_by_its_cause() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let named = |fault: &str| {
        let findings: Vec<Finding> = summary(&catalog, fault, &English).findings;
        let [finding] = findings.as_slice() else { panic!("{fault}: {}", findings.len()) };
        finding_name(finding)
    };
    assert_eq!(named("causal-upper-left"), "convention:causal=upper-left");
    assert_eq!(named("gqa-modulo"), "convention:head-map=tiled");
    assert_eq!(named("scale-inverse-d"), catalog.faults["scale-inverse-d"].code);
}
