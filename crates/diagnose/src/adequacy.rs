//! The kill matrix: which law notices which fault, in which format. A suite that cannot fail proves
//! nothing.

mod cover;

use std::collections::BTreeSet;

use qkvet_engine::affects::touches;
use qkvet_engine::law::{
    Answers, CallRecord, EvaluationError, Judge, Outcome, evaluate_by, refused_call,
};
use qkvet_engine::lowering::call_env;
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, build, case_id, plans};
use qkvet_spec::{
    AdequacyReport, Call, Case, Catalog, CheckedLaw, Contract, Dtype, Evidence, Execution, Fault,
    FaultInFormat, FaultMarks, Mark, Meaning, Response, SpecError, Suite, Survival, Target,
    Verdict,
};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use self::cover::cover;

/// What one law made of one fault in one format.
#[derive(Clone, Debug)]
struct Cell {
    /// The worst that was seen.
    mark: Mark,
    /// The first case that noticed it.
    first: Option<CasePlan>,
    /// Whether the fault struck a call where it is said to make a difference.
    is_observable: bool,
}

/// Formats in which a suite has to notice faults: the narrow ones hide more, a wider one hides
/// less.
pub const FORMATS: [Dtype; 3] = [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16];

/// Cases of a law that notice a fault by a wrong value before its relation is no longer looked for.
const ENOUGH_VALUES: usize = 8;
/// Cases of a law that a fault changes unnoticed before the law is asked no more, unless no other
/// law notices it or it says that it does.
const ENOUGH_HELD: usize = 16;

/// Runs `suite` against every fault of `faults`.
///
/// A law is asked about a fault case by case, until its relation is refuted; where eight cases
/// found wrong values and the relation held, the mark is that of a wrong value; after sixteen cases
/// that the fault changed unnoticed it held, unless no law noticed the fault so far or the law says
/// that it catches it: then every case is looked at. Cases on which the fault changes nothing are
/// passed over. The result is the same for every number of threads.
///
/// # Errors
/// A format without a contract.
pub fn adequacy(
    catalog: &Catalog,
    suite: &Suite,
    laws: &[&CheckedLaw],
    dtypes: &[Dtype],
    faults: &[&Fault],
    seed: u64,
) -> Result<AdequacyReport, SpecError> {
    let mut groups = Vec::new();
    for dtype in dtypes {
        let contract = catalog.default_contract(*dtype)?;
        for law in laws {
            groups.push(Group {
                law,
                dtype: *dtype,
                contract,
                plans: plans(suite, &[law], &[*dtype], seed),
            });
        }
    }
    let mut runs: Vec<Run> = groups.par_iter().map(|group| group.run(faults, None)).collect();
    // What nothing noticed is looked for in every case.
    let of_format = laws.len().max(1);
    let is_noticed = |runs: &[Run], number: usize, at: usize| {
        let first = number / of_format * of_format;
        runs[first..first + of_format].iter().any(|run| run.cells[at].mark.is_kill())
    };
    let missed: Vec<BTreeSet<usize>> = (0..groups.len())
        .map(|number| (0..faults.len()).filter(|at| !is_noticed(&runs, number, *at)).collect())
        .collect();
    let again: Vec<Option<Run>> = groups
        .par_iter()
        .zip(&missed)
        .map(|(group, missed)| (!missed.is_empty()).then(|| group.run(faults, Some(missed))))
        .collect();
    for ((run, again), missed) in runs.iter_mut().zip(again).zip(missed) {
        let Some(again) = again else { continue };
        for at in missed {
            run.cells[at] = again.cells[at].clone();
        }
    }
    let by_format: Vec<(&[Group<'_>], &[Run])> =
        groups.chunks(of_format).zip(runs.chunks(of_format)).collect();
    let in_format = |at: usize, dtype: Dtype, runs: &[Run]| {
        let cells = || runs.iter().map(|run| &run.cells[at]);
        let survives = match () {
            () if cells().any(|cell| cell.mark.is_kill()) => None,
            () if cells().any(|cell| cell.is_observable) => Some(Survival::Gap),
            () if cells().all(|cell| cell.mark == Mark::NotStruck) => Some(Survival::NotStruck),
            () => Some(Survival::Equivalent),
        };
        FaultInFormat { dtype, marks: cells().map(|cell| cell.mark).collect(), survives }
    };
    let marks = |(at, fault): (usize, &&Fault)| FaultMarks {
        fault: fault.fault.clone(),
        code: fault.code.clone(),
        formats: dtypes
            .iter()
            .zip(&by_format)
            .map(|(dtype, (_, runs))| in_format(at, *dtype, runs))
            .collect(),
    };
    let cover = by_format
        .par_iter()
        .map(|(groups, runs)| cover(groups, runs, faults))
        .collect::<Vec<_>>()
        .concat();
    let is_needed = |law: &usize| {
        by_format.iter().any(|(_, runs)| {
            let kills = |run: &Run, at: usize| run.cells[at].mark.is_kill();
            let alone = |at: usize| {
                runs.iter().enumerate().all(|(other, run)| (other == *law) == kills(run, at))
            };
            (0..faults.len()).any(alone)
        })
    };
    Ok(AdequacyReport {
        suite: suite.suite.clone(),
        seed,
        laws: laws.iter().map(|law| law.law.law.clone()).collect(),
        faults: faults.iter().enumerate().map(marks).collect(),
        cover,
        unneeded: (0..laws.len())
            .filter(|law| !is_needed(law))
            .map(|law| laws[law].law.law.clone())
            .collect(),
        alarms: runs.into_iter().flat_map(|run| run.alarms).collect(),
    })
}

/// The cases of one law in one format.
struct Group<'a> {
    law: &'a CheckedLaw,
    dtype: Dtype,
    contract: &'a Contract,
    plans: Vec<CasePlan>,
}

/// What a group gave: a cell for each fault.
struct Run {
    cells: Vec<Cell>,
    alarms: Vec<String>,
}

impl Group<'_> {
    /// Asks about every fault; or about some alone, and these in every case.
    fn run(&self, faults: &[&Fault], only: Option<&BTreeSet<usize>>) -> Run {
        let is_asked = |at: usize| only.is_none_or(|only| only.contains(&at));
        let is_claimed =
            |at: usize| only.is_some() || self.law.law.catches.contains(&faults[at].fault);
        let none = Cell { mark: Mark::NotStruck, first: None, is_observable: false };
        let mut cells = vec![none; faults.len()];
        let (mut values, mut held) = (vec![0; faults.len()], vec![0; faults.len()]);
        let mut alarms = Vec::new();
        let mut targets: Vec<Simulator> = faults.iter().map(|fault| with(fault)).collect();
        for plan in &self.plans {
            let is_open = |at: &usize| {
                let is_looked_for =
                    is_claimed(*at) || values[*at] < ENOUGH_VALUES && held[*at] < ENOUGH_HELD;
                is_asked(*at) && cells[*at].mark < Mark::Refuted && is_looked_for
            };
            let open: Vec<usize> = (0..faults.len()).filter(is_open).collect();
            if open.is_empty() {
                break;
            }
            let Ok(case) = build(self.law, plan) else { continue };
            let asked = Asked::new(self, &case);
            alarms.extend(asked.alarm.as_ref().map(Alarm::to_string));
            for at in open {
                let (mark, is_observable) = asked.mark(faults[at], &mut targets[at]);
                let cell = &mut cells[at];
                cell.is_observable |= is_observable;
                values[at] += usize::from(mark == Mark::Value);
                held[at] += usize::from(mark == Mark::Held);
                if mark.is_kill() && !cell.mark.is_kill() {
                    cell.first = Some(plan.clone());
                }
                cell.mark = cell.mark.max(mark);
            }
        }
        Run { cells, alarms }
    }
}

/// The simulator with a fault.
fn with(fault: &Fault) -> Simulator {
    Simulator::new(Meaning::standard(), Execution::standard()).with_fault(fault.clone())
}

/// What is wrong with a case of the suite, though the target is right.
#[derive(Debug, thiserror::Error)]
enum Alarm {
    #[error("{law} {case}: {evidence}")]
    Kill { law: String, case: String, evidence: Box<Evidence> },
    #[error(transparent)]
    NoValue(#[from] EvaluationError),
}

/// One case, as a right target answers it or refuses it.
struct Asked<'a> {
    group: &'a Group<'a>,
    case: &'a Case,
    meaning: Meaning,
    answers: Answers,
    calls: Vec<CallRecord>,
    /// The call that it refuses, by a law of refusal.
    refused: Option<Call>,
    alarm: Option<Alarm>,
}

impl<'a> Asked<'a> {
    fn new(group: &'a Group<'a>, case: &'a Case) -> Self {
        let (meaning, answers) = (Meaning::standard(), Answers::default());
        let refused = refused_call(group.law, case).ok().flatten();
        let mut asked =
            Self { group, case, meaning, answers, calls: Vec::new(), refused, alarm: None };
        let mut right = Simulator::new(asked.meaning.clone(), Execution::standard());
        match asked.outcome(&mut right) {
            Ok(Outcome {
                evidence: Some(evidence),
                verdict: Verdict::Fail | Verdict::Nondet | Verdict::Unguarded,
                ..
            }) => {
                let (law, case) = (case.law.clone(), case_id(case));
                asked.alarm = Some(Alarm::Kill { law, case, evidence: Box::new(evidence) });
            }
            Ok(outcome) => asked.calls = outcome.calls,
            Err(error) => asked.alarm = Some(error.into()),
        }
        asked
    }

    fn outcome(&self, target: &mut dyn Target) -> Result<Outcome, EvaluationError> {
        let judge = Judge { meaning: &self.meaning, contract: self.group.contract };
        evaluate_by(self.group.law, self.case, judge, &self.answers, target)
    }

    /// The mark of a fault, and whether it struck a call on which it is said to make a difference.
    /// What a target remembers from case to case is in `simulator`.
    fn mark(&self, fault: &Fault, simulator: &mut Simulator) -> (Mark, bool) {
        let struck = |call: &&Call| touches(fault, &self.meaning, call);
        let calls =
            || self.calls.iter().map(|record| &record.call).chain(&self.refused).filter(struck);
        if calls().next().is_none() {
            return (Mark::NotStruck, false);
        }
        let differs = |call: &Call| {
            fault.equivalent_when.as_ref().is_none_or(|when| !when.holds(&call_env(call)))
        };
        let is_observable = calls().any(differs);
        let outcome = match fault.behavior {
            // What it answers depends on what was asked before.
            Some(_) => self.outcome(simulator),
            None => {
                let mut target = Remembering { simulator, answered: Vec::new() };
                let alike = |record: &CallRecord| matches!(target.call(&record.call), Response::Output(output) if *output == record.output);
                if self.calls.iter().all(alike) {
                    return (Mark::Held, is_observable);
                }
                self.outcome(&mut target)
            }
        };
        (outcome.map_or(Mark::Held, |outcome| mark(&outcome)), is_observable)
    }
}

/// A simulator without state whose answers are kept.
struct Remembering<'a> {
    simulator: &'a mut Simulator,
    answered: Vec<(Call, Response)>,
}

impl Target for Remembering<'_> {
    fn call(&mut self, call: &Call) -> Response {
        if let Some((_, response)) = self.answered.iter().find(|(known, _)| known == call) {
            return response.clone();
        }
        let response = self.simulator.call(call);
        self.answered.push((call.clone(), response.clone()));
        response
    }
}

fn mark(outcome: &Outcome) -> Mark {
    match (outcome.verdict, &outcome.evidence) {
        (Verdict::Unguarded, _) => Mark::Refuted,
        (Verdict::Fail | Verdict::Nondet, Some(evidence)) if evidence.relation => Mark::Refuted,
        (Verdict::Fail | Verdict::Nondet, _) => Mark::Value,
        _ => Mark::Held,
    }
}
