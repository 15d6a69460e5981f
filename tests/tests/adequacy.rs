//! The table law × fault: `core` fails every fault and passes what is right, and every law breaks on the faults that it says it
//! catches.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use qkvet_engine::law::{CallRecord, Judge, Outcome, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, build, plans};
use qkvet_run::flash::Flash;
use qkvet_spec::{Case, Catalog, CheckedLaw, Dtype, Execution, Fault, Meaning, Response, Target, Verdict};

/// The formats in which faults are looked for: a wide one and the one that overflows. In each more the table takes as long again.
const NARROW: [Dtype; 2] = [Dtype::Float32, Dtype::Float16];

/// How a law came out over its cases, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// Nothing failed.
    Held,
    /// A value was wrong, the relation was not refuted.
    Value,
    /// The law's own relation was refuted.
    Broken,
}

/// Runs the core suite on a target as far as it is asked to; failing cases in words.
fn core(
    catalog: &Catalog,
    dtypes: &[Dtype],
    target: &mut dyn Target,
    meaning: &Meaning,
) -> impl Iterator<Item = String> {
    core_plans(catalog, dtypes).into_iter().filter_map(move |plan| {
        let (law, case) = built(catalog, &plan);
        let outcome = outcome(catalog, law, &case, meaning, target);
        (mark(&outcome) > Mark::Held).then(|| failure(&plan, outcome.verdict, outcome.evidence.as_ref()))
    })
}

fn core_plans(catalog: &Catalog, dtypes: &[Dtype]) -> Vec<CasePlan> {
    let suite = &catalog.suites["core"];
    let laws = catalog.suite_laws(suite).expect("core names known laws");
    plans(suite, &laws, dtypes, 0)
}

fn built<'a>(catalog: &'a Catalog, plan: &CasePlan) -> (&'a CheckedLaw, Case) {
    let law = &catalog.laws[&plan.law];
    (law, build(law, plan).expect("a case"))
}

fn outcome(catalog: &Catalog, law: &CheckedLaw, case: &Case, meaning: &Meaning, target: &mut dyn Target) -> Outcome {
    let contract = catalog.default_contract(case.dtype).expect("a contract");
    evaluate(law, case, Judge { meaning, contract }, target).expect("a law that can be evaluated")
}

fn mark(outcome: &Outcome) -> Mark {
    match (outcome.verdict, &outcome.evidence) {
        (Verdict::Fail | Verdict::Nondet, Some(evidence)) if evidence.relation => Mark::Broken,
        (Verdict::Fail | Verdict::Nondet, _) => Mark::Value,
        _ => Mark::Held,
    }
}

fn failure(plan: &CasePlan, verdict: Verdict, evidence: Option<&qkvet_spec::Evidence>) -> String {
    format!("{verdict} {} {} {:?} {:?}: {evidence:?}", plan.law, plan.dtype, plan.dims, plan.values)
}

/// The worst mark of each law for each fault, on as many threads as there are cores.
fn table(catalog: &Catalog) -> Vec<BTreeMap<String, Mark>> {
    let plans = core_plans(catalog, &NARROW);
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let held = catalog.asking_laws().map(|law| (law.law.law.clone(), Mark::Held)).collect();
    let mut rows: Vec<BTreeMap<String, Mark>> = vec![held; catalog.faults.len()];
    let work = || {
        let mut marks = Vec::new();
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            marks.push((plan.law.as_str(), marks_of(catalog, plan)));
        }
        marks
    };
    let marks: Vec<(&str, Vec<Mark>)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker")).collect()
    });
    for (law, marks) in marks {
        for (row, mark) in rows.iter_mut().zip(marks) {
            let worst = row.get_mut(law).expect("a law of the catalog");
            *worst = mark.max(*worst);
        }
    }
    rows
}

/// The mark of one case for each fault. A fault under which every call of the case returns what it returns without one is not
/// noticed; the others are judged.
fn marks_of(catalog: &Catalog, plan: &CasePlan) -> Vec<Mark> {
    let (law, case) = built(catalog, plan);
    let meaning = Meaning::standard();
    let right = Simulator::new(meaning.clone(), Execution::standard());
    let calls = outcome(catalog, law, &case, &meaning, &mut right.clone()).calls;
    let of_fault = |fault: &Fault| {
        let faulty = right.clone().with_fault(fault.clone());
        let mut again = faulty.clone();
        let alike = |record: &CallRecord| matches!(again.call(&record.call), Response::Output(output) if *output == record.output);
        if calls.iter().all(alike) {
            Mark::Held
        } else {
            mark(&outcome(catalog, law, &case, &meaning, &mut faulty.clone()))
        }
    };
    catalog.faults.values().map(of_fault).collect()
}

#[test]
fn core_breaks_every_fault_and_every_law_breaks_on_what_it_catches() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let rows = table(&catalog);
    let mut missed = Vec::new();
    for (fault, row) in catalog.faults.keys().zip(&rows) {
        if row.values().all(|mark| *mark == Mark::Held) {
            missed.push(format!("no law notices {fault}"));
        }
    }
    for law in catalog.asking_laws().map(|law| &law.law) {
        let mut caught = 0;
        for (fault, row) in catalog.faults.keys().zip(&rows) {
            let broken = row[&law.law] == Mark::Broken;
            caught += usize::from(broken);
            if law.catches.contains(fault) && !broken {
                missed.push(format!("{} does not break on {fault}", law.law));
            }
        }
        if caught == 0 {
            missed.push(format!("no fault breaks {}", law.law));
        }
    }
    insta::assert_snapshot!(text(&catalog, &rows));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// `#` the law's relation is refuted, `+` a value is wrong, `.` nothing is noticed.
fn text(catalog: &Catalog, rows: &[BTreeMap<String, Mark>]) -> String {
    let mut out = String::from("# law refuted   + a value wrong   . not noticed\n\n");
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let laws: Vec<&str> = catalog.asking_laws().map(|law| law.law.law.as_str()).collect();
    for (letter, law) in letters.iter().zip(&laws) {
        let _ = writeln!(out, "{letter} {law}");
    }
    let header: Vec<String> = letters.iter().take(laws.len()).map(char::to_string).collect();
    let _ = writeln!(out, "\n{:30} {}", "", header.join(" "));
    for (fault, row) in catalog.faults.keys().zip(rows) {
        let marks: Vec<&str> = laws
            .iter()
            .map(|law| match row[*law] {
                Mark::Held => ".",
                Mark::Value => "+",
                Mark::Broken => "#",
            })
            .collect();
        let _ = writeln!(out, "{fault:30} {}", marks.join(" "));
    }
    out
}

#[test]
fn core_passes_what_is_right() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let standard = Simulator::new(Meaning::standard(), Execution::standard());
    for (name, target) in [("standard", &mut standard.clone() as &mut dyn Target), ("flash", &mut Flash)] {
        let failures: Vec<String> = core(&catalog, &Dtype::CHECKED, target, &Meaning::standard()).collect();
        assert!(failures.is_empty(), "{name}: {} failures, the first:\n{}", failures.len(), failures[0]);
    }
}

#[test]
fn a_declared_convention_is_right() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    for convention in catalog.conventions.values() {
        let meaning = convention.meaning.apply(&Meaning::standard());
        let mut target = Simulator::new(meaning.clone(), Execution::standard());
        let failures: Vec<String> = core(&catalog, &NARROW, &mut target, &meaning).collect();
        assert!(
            failures.is_empty(),
            "{}: {} failures, the first:\n{}",
            convention.convention,
            failures.len(),
            failures[0]
        );
        let undeclared = core(&catalog, &NARROW, &mut target, &Meaning::standard()).next();
        assert!(undeclared.is_some(), "{}: nothing notices it", convention.convention);
    }
}
