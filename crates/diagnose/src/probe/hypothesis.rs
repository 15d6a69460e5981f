//! A hypothesis: what a target computes if its choices are these, and whether an output refutes it.

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Outcome, judge_call};
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{Contract, Evidence, Meaning, MeaningPatch, Output, Verdict, parse_json};

use super::trials::{Trial, swapped, swapped_call};
use crate::CannedTarget;

/// What a value of a field changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// The meaning.
    Meaning(fn(&mut Meaning)),
    /// One field of the meaning, by its name, to a value as YAML has it.
    Set(&'static str, &'static str),
    /// The order of the axes: heads behind positions.
    Swapped,
}

/// A meaning, and the order in which the target reads axes.
#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    pub(super) meaning: Meaning,
    swapped: bool,
}

impl Hypothesis {
    pub(super) fn new(meaning: Meaning) -> Self {
        Self { meaning, swapped: false }
    }

    /// The same with one more choice.
    pub(super) fn with(&self, effect: Effect) -> Self {
        let mut other = self.clone();
        match effect {
            Effect::Meaning(change) => change(&mut other.meaning),
            Effect::Set(field, value) => {
                let patch = parse_json::<MeaningPatch>(&format!(r#"{{"{field}": "{value}"}}"#));
                other.meaning = patch.unwrap_or_default().apply(&other.meaning);
            }
            Effect::Swapped => other.swapped = true,
        }
        other
    }

    /// What refutes the hypothesis: a number of the output, or of the result that is looked at,
    /// that lies beyond the enclosure and the proved bound of the contract. `None` if it holds.
    pub(super) fn refuted(
        &self,
        trial: &Trial,
        output: &Output,
        contract: &Contract,
        label: &str,
    ) -> Option<Evidence> {
        let mut call = trial.call.clone();
        let mut output = output.clone();
        if self.swapped {
            call = swapped_call(&call);
            output.output = swapped(&output.output);
        }
        let expect = |want: ResultName| interpret(&self.meaning, &call, contract, want);
        let Outcome { verdict, evidence, .. } =
            judge_call(label, &call, expect, &mut CannedTarget(&output));
        evidence.filter(|_| verdict == Verdict::Fail)
    }
}
