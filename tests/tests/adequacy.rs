//! The table law × fault: `core` fails every fault and passes what is right, and every law breaks on the faults that it says it
//! catches.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, build, plans};
use qkvet_run::flash::Flash;
use qkvet_spec::{Catalog, Dtype, Execution, Meaning, Target, Verdict};

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

/// Runs the core suite on a target; the worst mark of every law, and failing cases in words.
fn core(
    catalog: &Catalog,
    dtypes: &[Dtype],
    target: &mut dyn Target,
    meaning: &Meaning,
) -> (BTreeMap<String, Mark>, Vec<String>) {
    let suite = &catalog.suites["core"];
    let laws = catalog.suite_laws(suite).expect("core names known laws");
    let mut marks: BTreeMap<String, Mark> = laws.iter().map(|law| (law.law.law.clone(), Mark::Held)).collect();
    let mut failures = Vec::new();
    for plan in plans(suite, &laws, dtypes, 0) {
        let law = &catalog.laws[&plan.law];
        let case = build(law, &plan).expect("a case");
        let contract = catalog.default_contract(plan.dtype).expect("a contract");
        let outcome = evaluate(law, &case, Judge { meaning, contract }, target).expect("a law that can be evaluated");
        let mark = match (outcome.verdict, &outcome.evidence) {
            (Verdict::Fail | Verdict::Nondet, Some(evidence)) if evidence.relation => Mark::Broken,
            (Verdict::Fail | Verdict::Nondet, _) => Mark::Value,
            _ => Mark::Held,
        };
        if mark > Mark::Held {
            failures.push(failure(&plan, outcome.verdict, outcome.evidence.as_ref()));
        }
        let worst = marks.entry(plan.law).or_insert(Mark::Held);
        *worst = mark.max(*worst);
    }
    (marks, failures)
}

fn failure(plan: &CasePlan, verdict: Verdict, evidence: Option<&qkvet_spec::Evidence>) -> String {
    format!("{verdict} {} {} {:?} {:?}: {evidence:?}", plan.law, plan.dtype, plan.dims, plan.values)
}

/// All faults at once, on as many threads as there are cores.
fn table(catalog: &Catalog) -> Vec<BTreeMap<String, Mark>> {
    let faults: Vec<_> = catalog.faults.values().collect();
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows: Vec<(usize, BTreeMap<String, Mark>)> = std::thread::scope(|scope| {
        let work = || {
            let mut rows = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(fault) = faults.get(at) else { break rows };
                let mut target =
                    Simulator::new(Meaning::standard(), Execution::standard()).with_fault((*fault).clone());
                rows.push((at, core(catalog, &NARROW, &mut target, &Meaning::standard()).0));
            }
        };
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker")).collect()
    });
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, row)| row).collect()
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
    for law in catalog.laws.values().map(|law| &law.law) {
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
    for (letter, law) in letters.iter().zip(catalog.laws.keys()) {
        let _ = writeln!(out, "{letter} {law}");
    }
    let header: Vec<String> = letters.iter().take(catalog.laws.len()).map(char::to_string).collect();
    let _ = writeln!(out, "\n{:30} {}", "", header.join(" "));
    for (fault, row) in catalog.faults.keys().zip(rows) {
        let marks: Vec<&str> = catalog
            .laws
            .keys()
            .map(|law| match row[law] {
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
        let (_, failures) = core(&catalog, &Dtype::CHECKED, target, &Meaning::standard());
        assert!(failures.is_empty(), "{name}: {} failures, the first:\n{}", failures.len(), failures[0]);
    }
}

#[test]
fn a_declared_convention_is_right() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    for convention in catalog.conventions.values() {
        let meaning = convention.meaning.apply(&Meaning::standard());
        let mut target = Simulator::new(meaning.clone(), Execution::standard());
        let (_, failures) = core(&catalog, &NARROW, &mut target, &meaning);
        assert!(
            failures.is_empty(),
            "{}: {} failures, the first:\n{}",
            convention.convention,
            failures.len(),
            failures[0]
        );
        let (_, undeclared) = core(&catalog, &NARROW, &mut target, &Meaning::standard());
        assert!(!undeclared.is_empty(), "{}: nothing notices it", convention.convention);
    }
}
