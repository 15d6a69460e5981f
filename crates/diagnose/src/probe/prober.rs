//! Asks the questions in order and keeps what follows from the answers.

use qkvet_spec::{Call, Contract, Dtype, Meaning, Output, Quoted, Target};

use super::asker::{Answer, Asker};
use super::field::Field;
use super::hypothesis::Hypothesis;
use super::question::{FIRST, QUESTIONS, Question, plain};
use super::tally::{Seen, Tally};
use super::trials::{RUNGS, Trial, Trials};
use crate::witness::describe;

/// Most hypotheses about earlier fields that are carried along.
const MAX_BASES: usize = 12;

/// How many fields of one question may differ from the standard at once.
const MAX_CHANGES: usize = 2;

pub(super) struct Prober<'a> {
    pub(super) asker: Asker<'a>,
    declared: Hypothesis,
    pub(super) contract: &'a Contract,
    pub(super) tallies: Vec<Tally>,
    /// Trials that were answered, with their outputs.
    pub(super) trials: Vec<(Trial, Output)>,
}

impl<'a> Prober<'a> {
    pub(super) fn new(
        target: &'a mut dyn Target,
        declared: &Meaning,
        contract: &'a Contract,
    ) -> Self {
        Self {
            asker: Asker::new(target, contract),
            declared: Hypothesis::new(declared.clone()),
            contract,
            tallies: Vec::new(),
            trials: Vec::new(),
        }
    }
}

impl Prober<'_> {
    /// Puts every question; the trials by which it did.
    pub(super) fn run(&mut self, dtype: Dtype) -> Trials {
        let first = Trials::new(dtype, RUNGS[0]);
        self.put(&FIRST, &first);
        self.settle_layout();
        let bench = self.bench(dtype);
        for question in QUESTIONS {
            self.put(question, &bench);
        }
        // What no value explained may be explained by what was found later.
        for question in QUESTIONS {
            self.judge_again(question, &bench);
        }
        bench
    }

    /// Once heads and positions are known to be exchanged, calls are put that way, and the rest is
    /// asked as if they were not.
    fn settle_layout(&mut self) {
        if let Some(tally) = self.tallies.iter().find(|tally| tally.field.id == "layout") {
            self.asker.swapped = tally.common() == [1];
        }
    }

    /// The first bench in both shapes of which the target answers; failing that, the first in one.
    fn bench(&mut self, dtype: Dtype) -> Trials {
        let mut best: Option<(usize, Trials)> = None;
        for rung in RUNGS {
            let bench = Trials::new(dtype, rung);
            let mut is_answered =
                |trial: &Trial| matches!(self.asker.ask(&trial.call), Answer::Output(_));
            let answered = plain(&bench).iter().filter(|trial| is_answered(trial)).count();
            if best.is_none_or(|(most, _)| answered > most) {
                best = Some((answered, bench));
            }
            if answered == bench.shapes.len() {
                break;
            }
        }
        best.map_or_else(|| Trials::new(dtype, RUNGS[0]), |(_, bench)| bench)
    }

    fn tally(&mut self, field: &'static Field) -> &mut Tally {
        let at =
            self.tallies.iter().position(|tally| tally.field.id == field.id).unwrap_or_else(|| {
                self.tallies.push(Tally::new(field));
                self.tallies.len() - 1
            });
        &mut self.tallies[at]
    }

    /// Judges the answers to a question again if no value held one of them; nothing is asked.
    fn judge_again(&mut self, question: &Question, bench: &Trials) {
        let calls = (question.calls)(bench);
        let own: Vec<usize> =
            (0..self.trials.len()).filter(|at| calls.contains(&self.trials[*at].0)).collect();
        let first = self.tally(question.fields[0]);
        if !first.seen.iter().any(|seen| seen.fit.is_empty() && own.contains(&seen.trial)) {
            return;
        }
        for field in question.fields {
            self.tally(field).seen.retain(|seen| !own.contains(&seen.trial));
        }
        let is_own = |(call, _): &(Call, Quoted)| calls.iter().any(|trial| trial.call == *call);
        let first = self.tally(question.fields[0]);
        first.declined.retain(|one| !is_own(one));
        first.broken.retain(|one| !is_own(one));
        self.put(question, bench);
    }

    /// Makes the calls of a question and notes which values hold each.
    fn put(&mut self, question: &Question, bench: &Trials) {
        let combinations = combinations(question.fields);
        let bases = self.bases(&question.without());
        for trial in (question.calls)(bench) {
            let label = label(&trial.call);
            let output = match self.asker.ask(&trial.call) {
                Answer::Output(output) => output,
                Answer::Declined(reason) => {
                    self.tally(question.fields[0]).declined.push((trial.call, reason));
                    continue;
                }
                Answer::Broken(reason) => {
                    self.tally(question.fields[0]).broken.push((trial.call, reason));
                    continue;
                }
            };
            let holds = |values: &&Vec<usize>| {
                bases.iter().any(|base| {
                    let hypothesis = question
                        .fields
                        .iter()
                        .zip(*values)
                        .fold(base.clone(), |hypothesis, (field, value)| {
                            hypothesis.with(field.effect(*value))
                        });
                    hypothesis.refuted(&trial, &output, self.contract, &label).is_none()
                })
            };
            let holding: Vec<&Vec<usize>> = combinations.iter().filter(holds).collect();
            let number = self.trials.len();
            for (at, field) in question.fields.iter().enumerate() {
                let fits = |value: &usize| holding.iter().any(|values| values[at] == *value);
                let fit = (0..field.len()).filter(fits).collect();
                self.tally(field).seen.push(Seen { trial: number, fit, asked: at == 0 });
            }
            self.trials.push((trial, *output));
        }
    }

    /// The hypotheses that are open: every choice of what is open of each field but those
    /// `without`, which are about to be asked. Where that is too much, the fields of which the most
    /// is open count as declared.
    pub(super) fn bases(&self, without: &[&Field]) -> Vec<Hypothesis> {
        let is_other = |tally: &&Tally| {
            tally.field.id != "layout" && without.iter().all(|field| field.id != tally.field.id)
        };
        let mut open: Vec<(&Tally, Vec<usize>)> =
            self.tallies.iter().filter(is_other).map(|tally| (tally, tally.open())).collect();
        while open.iter().fold(1usize, |count, (_, open)| count.saturating_mul(open.len().max(1)))
            > MAX_BASES
        {
            if let Some((_, most)) = open.iter_mut().max_by_key(|(_, open)| open.len()) {
                most.clear();
            }
        }
        let mut bases = vec![self.declared.clone()];
        for (tally, values) in open.iter().filter(|(_, values)| !values.is_empty()) {
            let with = |base: &Hypothesis| {
                values.iter().map(|value| base.with(tally.field.effect(*value))).collect::<Vec<_>>()
            };
            bases = bases.iter().flat_map(with).collect();
        }
        bases
    }
}

/// Numbers of values, one a field, of which at most two are not the first.
fn combinations(fields: &[&Field]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for field in fields {
        let longer = |values: &Vec<usize>| {
            (0..field.len()).map(|value| [values.as_slice(), &[value]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.retain(|values: &Vec<usize>| {
        values.iter().filter(|value| **value != 0).count() <= MAX_CHANGES
    });
    all
}

/// A call in words.
pub(super) fn label(call: &Call) -> String {
    describe(call.dims(), &call.options)
}
