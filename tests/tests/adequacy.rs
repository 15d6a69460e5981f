//! The kill matrix: `core` notices every fault and passes what is right, and every law is refuted
//! by the faults that it says it catches. The whole matrix takes minutes: the standard tests ask
//! each law for the faults that it says it catches, and take a part of core for what is right.
#![expect(clippy::disallowed_methods, reason = "compares a page of docs/ with what it should be")]

use qkvet_diagnose::FORMATS;
use qkvet_engine::flash::Flash;
use qkvet_engine::law::{Judge, Outcome, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, build, plans};
use qkvet_report::adequacy_page;
use qkvet_spec::{
    AdequacyReport, Call, Case, Catalog, CheckedLaw, Dtype, Execution, Fault, FaultInFormat, Mark,
    Meaning, Response, Store, Suite, Survival, Target, Verdict,
};
use qkvet_tests::is_thorough;

/// A wide format and the one that overflows: what conventions are looked for in, and smoke in the
/// standard tests.
const NARROW: [Dtype; 2] = [Dtype::Float32, Dtype::Float16];

fn report(catalog: &Catalog, suite: &Suite, formats: &[Dtype]) -> AdequacyReport {
    let laws = catalog.suite_laws(suite).expect("known laws");
    let faults: Vec<&Fault> = catalog.faults.values().collect();
    qkvet_diagnose::adequacy(catalog, suite, &laws, formats, &faults, 0).expect("contracts")
}

/// Every so many cases of core, for what is right.
fn step() -> usize {
    if is_thorough() { 1 } else { 11 }
}

/// Runs the core suite on a target as far as it is asked to; failing cases in words.
fn failing_cases(
    catalog: &Catalog,
    dtypes: &[Dtype],
    target: &mut dyn Target,
    meaning: &Meaning,
) -> impl Iterator<Item = String> {
    core_plans(catalog, dtypes).into_iter().step_by(step()).filter_map(move |plan| {
        let (law, case) = built(catalog, &plan);
        let outcome = outcome(catalog, law, &case, meaning, target);
        matches!(outcome.verdict, Verdict::Fail | Verdict::Nondet)
            .then(|| failure(&plan, outcome.verdict, outcome.evidence.as_ref()))
    })
}

fn core_plans(catalog: &Catalog, dtypes: &[Dtype]) -> Vec<CasePlan> {
    let suite = &catalog.suites["core"];
    let laws = catalog.suite_laws(suite).expect("it names known laws");
    plans(suite, &laws, dtypes, 0)
}

fn built<'a>(catalog: &'a Catalog, plan: &CasePlan) -> (&'a CheckedLaw, Case) {
    let law = &catalog.laws[&plan.law];
    (law, build(law, plan).expect("a case"))
}

fn outcome(
    catalog: &Catalog,
    law: &CheckedLaw,
    case: &Case,
    meaning: &Meaning,
    target: &mut dyn Target,
) -> Outcome {
    let contract = catalog.default_contract(case.dtype).expect("a contract");
    evaluate(law, case, Judge { meaning, contract }, target).expect("a law that can be evaluated")
}

fn failure(plan: &CasePlan, verdict: Verdict, evidence: Option<&qkvet_spec::Evidence>) -> String {
    format!("{verdict} {} {} {:?} {:?}: {evidence:?}", plan.law, plan.dtype, plan.dims, plan.values)
}

/// Laws that hold on what they say they catch, and laws that nothing refutes.
fn idle(catalog: &Catalog, report: &AdequacyReport) -> Vec<String> {
    let mut idle = Vec::new();
    for (number, id) in report.laws.iter().enumerate() {
        let is_refuted = |fault: &qkvet_spec::FaultMarks| {
            fault.formats.iter().any(|one| one.marks[number] == Mark::Refuted)
        };
        for fault in
            report.faults.iter().filter(|fault| catalog.laws[id].law.catches.contains(&fault.fault))
        {
            if !is_refuted(fault) {
                idle.push(format!("{id} is not refuted by {}", fault.fault));
            }
        }
        if !report.faults.iter().any(is_refuted) {
            idle.push(format!("no fault refutes {id}"));
        }
    }
    idle
}

/// Those of the faults that these laws of the suite do not notice, in no format. `is_noticed` says
/// what counts in one format.
fn left<'a>(
    catalog: &'a Catalog,
    laws: &[&CheckedLaw],
    mut faults: Vec<&'a Fault>,
    is_noticed: impl Fn(&FaultInFormat) -> bool,
) -> Vec<&'a Fault> {
    for dtype in FORMATS {
        if faults.is_empty() {
            break;
        }
        let suite = &catalog.suites["core"];
        let report = qkvet_diagnose::adequacy(catalog, suite, laws, &[dtype], &faults, 0);
        let report = report.expect("contracts");
        assert_eq!(report.alarms, Vec::<String>::new(), "false alarms");
        faults.retain(|fault| {
            let marks = report.faults.iter().find(|marks| marks.fault == fault.fault);
            !marks.is_some_and(|marks| is_noticed(&marks.formats[0]))
        });
    }
    faults
}

/// The laws of core, each with the faults that it says it catches.
#[test]
fn every_law_is_refuted_by_what_it_catches() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let laws = catalog.suite_laws(&catalog.suites["core"]).expect("known laws");
    let mut missed = Vec::new();
    for law in laws {
        let faults = law.law.catches.iter().map(|id| &catalog.faults[id]).collect();
        let is_refuted = |marks: &FaultInFormat| marks.marks[0] == Mark::Refuted;
        let left = left(&catalog, &[law], faults, is_refuted);
        missed.extend(left.iter().map(|fault| (&law.law.law, &fault.fault)));
    }
    assert_eq!(missed, []);
}

/// Laws that notice every fault in core: of values, of behavior, of refusal.
const NOTICING: [&str; 5] =
    ["value", "log-sum-exp", "weights-row-stochasticity", "repeatability", "inputs-unchanged"];

#[test]
fn every_fault_is_noticed() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let laws = catalog.suite_laws(&catalog.suites["core"]).expect("known laws");
    let is_one =
        |law: &&&CheckedLaw| law.law.misfit.is_some() || NOTICING.contains(&law.law.law.as_str());
    let noticing: Vec<&CheckedLaw> = laws.iter().filter(is_one).copied().collect();
    let faults = catalog.faults.values().collect();
    let left = left(&catalog, &noticing, faults, |marks| marks.survives.is_none());
    let names: Vec<&str> = left.iter().map(|fault| fault.fault.as_str()).collect();
    assert_eq!(names, Vec::<&str>::new());
}

#[test]
fn core_notices_every_fault_and_every_law_is_refuted_by_what_it_catches() {
    if !is_thorough() {
        return;
    }
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let report = report(&catalog, &catalog.suites["core"], &FORMATS);
    assert_eq!(report.alarms, Vec::<String>::new(), "false alarms");
    assert_eq!(report.gaps().collect::<Vec<_>>(), [], "not noticed");
    assert_eq!(idle(&catalog, &report), Vec::<String>::new());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/adequacy.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == adequacy_page(&report),
        "docs/adequacy.md: expected what the suite does\nhint: `cargo xtask regen`"
    );
}

#[test]
fn smoke_notices_nine_in_ten() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let formats = if is_thorough() { &FORMATS[..] } else { &NARROW[..] };
    let report = report(&catalog, &catalog.suites["smoke"], formats);
    for (at, dtype) in formats.iter().enumerate() {
        let in_format = || report.faults.iter().map(|fault| fault.formats[at].survives);
        let observable =
            in_format().filter(|survives| *survives != Some(Survival::Equivalent)).count();
        let noticed = in_format().filter(Option::is_none).count();
        assert!(noticed * 10 >= observable * 9, "{dtype}: {noticed} of {observable}");
    }
}

#[test]
fn what_is_right_passes() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let standard = Simulator::new(Meaning::standard(), Execution::standard());
    for (name, target) in
        [("standard", &mut standard.clone() as &mut dyn Target), ("flash", &mut Flash)]
    {
        let failures: Vec<String> =
            failing_cases(&catalog, &Dtype::CHECKED, target, &Meaning::standard()).collect();
        assert!(
            failures.is_empty(),
            "{name}: {} failures, the first:\n{}",
            failures.len(),
            failures[0]
        );
    }
}

/// Laws whose values cover every result of a call.
const OF_VALUES: [&str; 4] =
    ["value", "log-sum-exp", "row-stochasticity", "weights-row-stochasticity"];

#[test]
fn core_passes_tiles_splits_and_stored_scores() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let plain = Execution::standard;
    let stored = Execution { store_scores: Store::Call, store_weights: Store::Call, ..plain() };
    let executions = [
        ("tiles of 16", Execution { tile: 16, ..plain() }),
        ("tiles of 64", Execution { tile: 64, ..plain() }),
        ("two parts", Execution { splits: 2, ..plain() }),
        ("five parts in tiles of 8", Execution { splits: 5, tile: 8, ..plain() }),
        ("stored scores and weights", stored),
    ];
    let mut elements = 0;
    for (name, execution) in executions {
        let mut target = Counted(Simulator::new(Meaning::standard(), execution), 0);
        let mut failures = Vec::new();
        let plans = core_plans(&catalog, &Dtype::CHECKED);
        let of_values = plans.iter().filter(|plan| OF_VALUES.contains(&plan.law.as_str()));
        for plan in of_values.step_by(if is_thorough() { 1 } else { 2 }) {
            let (law, case) = built(&catalog, plan);
            let outcome = outcome(&catalog, law, &case, &Meaning::standard(), &mut target);
            if matches!(outcome.verdict, Verdict::Fail | Verdict::Nondet) {
                failures.push(failure(plan, outcome.verdict, outcome.evidence.as_ref()));
            }
        }
        assert!(
            failures.is_empty(),
            "{name}: {} failures, the first:\n{}",
            failures.len(),
            failures[0]
        );
        elements += target.1;
    }
    assert!(elements >= if is_thorough() { 1_000_000 } else { 500_000 }, "{elements} elements");
}

/// A target and how many numbers it returned.
struct Counted(Simulator, usize);

impl Target for Counted {
    fn call(&mut self, call: &Call) -> Response {
        let response = self.0.call(call);
        if let Response::Output(output) = &response {
            self.1 += output.output.data.len();
        }
        response
    }
}

#[test]
fn a_declared_convention_is_right() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    for convention in catalog.conventions.values() {
        let meaning = convention.meaning.apply(&Meaning::standard());
        let mut target = Simulator::new(meaning.clone(), Execution::standard());
        let failures: Vec<String> =
            failing_cases(&catalog, &NARROW, &mut target, &meaning).collect();
        assert!(
            failures.is_empty(),
            "{}: {} failures, the first:\n{}",
            convention.convention,
            failures.len(),
            failures[0]
        );
        let undeclared = failing_cases(&catalog, &NARROW, &mut target, &Meaning::standard()).next();
        assert!(undeclared.is_some(), "{}: nothing notices it", convention.convention);
    }
}
