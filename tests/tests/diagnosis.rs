//! Diagnosis on the atlas itself, with a seed that no suite uses: the fault behind failing cases is
//! named, and of two at once one.

use qkvet_diagnose::{Cause, FORMATS, Records, cause, named, sample_evenly};
use qkvet_engine::affects::touches;
use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Answers, CallRecord, Judge, evaluate_by, explains, fits, refused_call};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{build, plans};
use qkvet_spec::{
    Call, Catalog, Contract, Dtype, Execution, Fault, Meaning, Output, Response, Target, Tensor,
    Verdict,
};
use qkvet_tests::is_thorough;
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

const SEED: u64 = 20_261;
/// Every so many plans of core is a case here, for single faults and for pairs, in the standard
/// tests and in all.
const STEP: [usize; 2] = [29, 7];
const STEP_OF_PAIRS: [usize; 2] = [67, 23];
/// Every so many faults is looked for, among all of them.
const FAULTS: [usize; 2] = [5, 1];
/// Pairs of faults that are looked at.
const PAIRS: [usize; 2] = [12, 60];
/// Failures of a fault that are looked at.
const MAX: usize = 12;
/// Right cases that are held against a cause.
const MAX_RIGHT: usize = 200;

type Recorded<'a> = (Vec<CallRecord>, &'a Contract);

fn of_tier([standard, all]: [usize; 2]) -> usize {
    if is_thorough() { all } else { standard }
}

/// Failing cases of a target, and numbers of those that it got right.
#[derive(Default)]
struct Evidence<'a> {
    failing: Vec<Recorded<'a>>,
    passing: Vec<usize>,
}

/// Every case as a right target answers it, and what each set of faults does to them.
fn evidence<'a>(
    catalog: &'a Catalog,
    sets: &[Vec<&Fault>],
    step: usize,
) -> (Vec<Recorded<'a>>, Vec<Evidence<'a>>) {
    let suite = &catalog.suites["core"];
    let laws = catalog.suite_laws(suite).expect("known laws");
    let base = Meaning::standard();
    let plans: Vec<_> = plans(suite, &laws, &FORMATS, SEED).into_iter().step_by(step).collect();
    let simulator = |faults: &Vec<&Fault>| {
        let right = Simulator::new(base.clone(), Execution::standard());
        faults.iter().fold(right, |target, fault| target.with_fault(Fault::clone(fault)))
    };
    let mut targets: Vec<(Simulator, Evidence<'a>)> =
        sets.iter().map(|faults| (simulator(faults), Evidence::default())).collect();
    let mut cases = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let law = &catalog.laws[&plan.law];
        let contract = catalog.default_contract(plan.dtype).expect("a contract");
        let case = build(law, plan).expect("a case");
        let (answers, judge) = (Answers::default(), Judge { meaning: &base, contract });
        let mut right = Simulator::new(base.clone(), Execution::standard());
        let calls = evaluate_by(law, &case, judge, &answers, &mut right).expect("a verdict").calls;
        let refused = refused_call(law, &case).expect("a call");
        let work =
            |(faults, (target, evidence)): (&Vec<&Fault>, &mut (Simulator, Evidence<'a>))| {
                let mut asked = calls.iter().map(|record| &record.call).chain(&refused);
                let is_touched =
                    asked.any(|call| faults.iter().any(|fault| touches(fault, &base, call)));
                if !is_touched {
                    evidence.passing.push(number);
                } else if evidence.failing.len() < MAX {
                    let outcome =
                        evaluate_by(law, &case, judge, &answers, target).expect("a verdict");
                    match outcome.verdict {
                        Verdict::Fail => evidence.failing.push((outcome.calls, contract)),
                        Verdict::Pass => evidence.passing.push(number),
                        _ => {}
                    }
                }
            };
        sets.iter().zip(&mut targets).for_each(work);
        cases.push((calls, contract));
    }
    (cases, targets.into_iter().map(|(_, evidence)| evidence).collect())
}

/// What failed, and what is held against a cause of it.
fn told<'a, R>(
    cases: &'a [Recorded<'_>],
    evidence: &'a Evidence<'_>,
    ask: impl FnOnce(&Records<'_>, &Records<'_>) -> R,
) -> R {
    fn borrowed<'b>((calls, contract): &'b Recorded<'_>) -> (&'b [CallRecord], &'b Contract) {
        (calls.as_slice(), contract)
    }
    let failing: Vec<_> = evidence.failing.iter().map(borrowed).collect();
    let passing: Vec<_> =
        sample_evenly(&evidence.passing, MAX_RIGHT).map(|at| borrowed(&cases[*at])).collect();
    ask(&failing, &passing)
}

/// What ends at the first head that is refuted says the same as what computes all heads.
#[test]
fn what_ends_early_refutes_the_same() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let faults: Vec<&Fault> = catalog.faults.values().filter(|one| one.when.is_none()).collect();
    let base = Meaning::standard();
    let asked: Vec<&Fault> = sample_evenly(&faults, 6).copied().collect();
    let sets: Vec<Vec<&Fault>> = asked.iter().map(|fault| vec![*fault]).collect();
    let (_, all) = evidence(&catalog, &sets, 131);
    let records: Vec<(&CallRecord, &Contract)> = all
        .iter()
        .flat_map(|evidence| &evidence.failing)
        .flat_map(|(calls, contract)| calls.iter().map(|record| (record, *contract)))
        .filter(|(record, _)| record.call.misfit().is_none())
        .collect();
    let (mut n_held, mut n_refuted) = (0, 0);
    for fault in sample_evenly(&faults, 24).chain(&asked) {
        let meaning = fault.meaning.apply(&base);
        for (record, contract) in sample_evenly(&records, 40) {
            let whole = |want| interpret(&meaning, &record.call, contract, want);
            let is_held = explains(record, whole);
            assert_eq!(fits(record, &meaning, contract), is_held, "{}", fault.fault);
            *(if is_held { &mut n_held } else { &mut n_refuted }) += 1;
        }
    }
    assert!(n_held > 50 && n_refuted > 50, "{n_held} held, {n_refuted} refuted");
}

#[test]
fn the_fault_behind_failing_cases_is_named() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let faults: Vec<&Fault> = catalog.faults.values().collect();
    let sets: Vec<Vec<&Fault>> =
        faults.iter().step_by(of_tier(FAULTS)).map(|fault| vec![*fault]).collect();
    let (cases, all) = evidence(&catalog, &sets, of_tier(STEP));
    let pairs: Vec<(&&Fault, &Evidence<'_>)> = sets.iter().flatten().zip(&all).collect();
    let ranked: Vec<(String, usize, Vec<String>)> = pairs
        .par_iter()
        .map(|(fault, evidence)| {
            let shown = |cause: &Cause<'_>| {
                format!(
                    "{} {}-{}",
                    cause.faults[0].fault,
                    cause.explained.len(),
                    cause.contradicted
                )
            };
            let all = faults.iter().copied();
            let causes: Vec<Cause<'_>> = told(&cases, evidence, |failing, passing| {
                cause(failing, passing, &Meaning::standard(), all)
            });
            (
                fault.fault.clone(),
                evidence.failing.len(),
                causes.iter().take(4).map(shown).collect(),
            )
        })
        .collect();
    let killed: Vec<_> = ranked.iter().filter(|(_, failing, _)| *failing > 0).collect();
    let named_within = |places: usize| {
        let is_named = |(fault, _, causes): &&&(String, usize, Vec<String>)| {
            causes.iter().take(places).any(|cause| cause.split(' ').next() == Some(fault))
        };
        killed.iter().filter(|one| is_named(one)).count()
    };
    let (first, third) = (named_within(1), named_within(3));
    let wrong: Vec<String> = killed
        .iter()
        .filter(|(fault, _, causes)| {
            causes.first().is_none_or(|cause| cause.split(' ').next() != Some(fault))
        })
        .map(|(fault, failing, causes)| format!("{fault} ({failing}): {}", causes.join(", ")))
        .collect();
    let text = wrong.join("\n");
    assert!(first * 100 >= killed.len() * 95, "first in {first} of {}:\n{text}", killed.len());
    assert!(
        third * 100 >= killed.len() * 99,
        "among three in {third} of {}:\n{text}",
        killed.len()
    );
}

#[test]
fn one_of_two_faults_at_once_is_named() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let faults: Vec<&Fault> = catalog.faults.values().collect();
    // Every pair of the walk has another distance, so that neighbors of the atlas, which are alike,
    // meet others.
    let pair = |number: usize| {
        let first = number * 37 % faults.len();
        vec![faults[first], faults[(first + 11 + 2 * number) % faults.len()]]
    };
    let pairs: Vec<Vec<&Fault>> =
        (0..of_tier(PAIRS)).map(pair).filter(|pair| pair[0].fault != pair[1].fault).collect();
    let (cases, all) = evidence(&catalog, &pairs, of_tier(STEP_OF_PAIRS));
    let outcome = |(pair, evidence): (&Vec<&Fault>, &Evidence<'_>)| {
        let found = told(&cases, evidence, |failing, passing| {
            named(failing, passing, &Meaning::standard(), &faults)
        });
        let names: Vec<String> = found
            .iter()
            .map(|named| {
                named.faults.iter().map(|fault| fault.fault.as_str()).collect::<Vec<_>>().join("+")
            })
            .collect();
        let is_one = found.iter().any(|named| {
            named.faults.iter().any(|one| pair.iter().any(|of| of.fault == one.fault))
        });
        let text = format!(
            "{} + {} ({}): {}",
            pair[0].fault,
            pair[1].fault,
            evidence.failing.len(),
            names.join(", ")
        );
        (!evidence.failing.is_empty()).then_some((is_one, text))
    };
    let outcomes: Vec<(bool, String)> =
        pairs.iter().zip(&all).collect::<Vec<_>>().into_par_iter().filter_map(outcome).collect();
    let told: Vec<&str> = outcomes.iter().map(|(_, text)| text.as_str()).collect();
    let right = outcomes.iter().filter(|(is_one, _)| *is_one).count();
    eprintln!("{right} of {}:\n{}", outcomes.len(), told.join("\n"));
    assert!(
        outcomes.len() * 10 >= pairs.len() * 9,
        "noticed {} of {}",
        outcomes.len(),
        pairs.len()
    );
    assert!(
        right * 100 >= outcomes.len() * 80,
        "named in {right} of {}:\n{}",
        outcomes.len(),
        told.join("\n")
    );
}

/// One number for every element, whatever is asked.
struct Constant(f64);

impl Target for Constant {
    fn call(&mut self, call: &Call) -> Response {
        let dims = call.dims();
        let shape = vec![dims.b, dims.h_q, dims.n_q, dims.d_v];
        let data = vec![self.0; shape.iter().product()];
        Response::Output(Box::new(Output::of(Tensor { dtype: call.dtype(), shape, data })))
    }
}

/// Bounds of 16-bit formats are wide at times, and some fault or other is within them wherever a
/// number lies.
#[test]
fn no_fault_is_named_for_what_is_no_attention() {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let faults: Vec<&Fault> = catalog.faults.values().collect();
    let suite = &catalog.suites["core"];
    let laws = catalog.suite_laws(suite).expect("known laws");
    let base = Meaning::standard();
    let all = [0.0, 1.0];
    for (dtype, one) in [(Dtype::Bfloat16, [0.0]), (Dtype::Float16, [1.0])] {
        let contract = catalog.default_contract(dtype).expect("a contract");
        let judge = Judge { meaning: &base, contract };
        let cases: Vec<_> = plans(suite, &laws, &[dtype], SEED)
            .iter()
            .step_by(of_tier([83, 7]))
            .map(|plan| {
                (&catalog.laws[&plan.law], build(&catalog.laws[&plan.law], plan).expect("a case"))
            })
            .collect();
        for constant in if is_thorough() { &all[..] } else { &one[..] } {
            let (failing, passing): (Vec<_>, Vec<_>) = cases
                .iter()
                .map(|(law, case)| {
                    let mut target = Constant(*constant);
                    evaluate_by(law, case, judge, &Answers::default(), &mut target)
                        .expect("a verdict")
                })
                .filter(|outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::Pass))
                .partition(|outcome| outcome.verdict == Verdict::Fail);
            assert!(failing.len() > MAX, "{} failing cases", failing.len());
            let [failing, passing] = [&failing, &passing].map(|of| {
                of.iter().map(|outcome| (outcome.calls.as_slice(), contract)).collect::<Vec<_>>()
            });
            let found = named(&failing, &passing, &base, &faults);
            let told = |named: &qkvet_diagnose::Named<'_>| {
                let faults: Vec<&str> =
                    named.faults.iter().map(|fault| fault.fault.as_str()).collect();
                format!("{} for {} of {}", faults.join("+"), named.members.len(), named.of)
            };
            assert!(
                found.is_empty(),
                "{constant} in {dtype}: {:?}",
                found.iter().map(told).collect::<Vec<_>>()
            );
        }
    }
}
