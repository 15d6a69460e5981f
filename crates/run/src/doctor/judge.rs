//! Whether an answer is right: judged as a check judges the call of a case.

use qkvet_diagnose::{CannedTarget, applied};
use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{Outcome, judge_call};
use qkvet_spec::{Call, Contract, Diagnosis, Meaning, Output, Quoted, Verdict};

use super::DoctorConfig;

/// What an answer shows, and what to do about it.
pub(super) fn judge(
    config: &DoctorConfig<'_>,
    call: &Call,
    output: &Output,
) -> (Diagnosis, String, Option<Quoted>) {
    let Some(contract) = config.contracts.get(&call.dtype()) else {
        return (Diagnosis::NotOffered, format!("no contract for {}", call.dtype()), None);
    };
    let Outcome { verdict, margin, evidence, .. } =
        outcome(&config.meaning, contract, call, output);
    let name = &contract.contract;
    let seen = evidence.map_or_else(String::new, |evidence| evidence.to_string());
    match verdict {
        Verdict::Pass => {
            let beside = [&output.weights, &output.lse]
                .into_iter()
                .flatten()
                .map(|tensor| tensor.data.len());
            let numbers = output.output.data.len() + beside.sum::<usize>();
            let text = format!(
                "right: {numbers} numbers, worst error {margin:.2} of the bound of contract {name}"
            );
            (Diagnosis::Well, text, None)
        }
        Verdict::Suspect => {
            (Diagnosis::Well, format!("not proved wrong, but unlikely: {seen}"), None)
        }
        Verdict::Inconclusive => (
            Diagnosis::NotOffered,
            format!("undecided under contract {name}, which bounds too little: {seen}"),
            None,
        ),
        _ => {
            let explains = config.conventions.iter().find(|convention| {
                let meaning = applied(&config.meaning, &[**convention]);
                outcome(&meaning, contract, call, output).verdict == Verdict::Pass
            });
            let hint = explains.map(|known| {
                let convention = format!("{}={}", known.field, known.value);
                format!("right under --convention {convention}: declare it, or fix it").into()
            });
            (Diagnosis::Wrong, format!("wrong: {seen}"), hint)
        }
    }
}

fn outcome(meaning: &Meaning, contract: &Contract, call: &Call, output: &Output) -> Outcome {
    let label = match (call.return_weights, call.return_lse) {
        (true, _) => "weights(Q, K, V)",
        (false, true) => "lse(Q, K, V)",
        (false, false) => "attention(Q, K, V)",
    };
    judge_call(
        label,
        call,
        |want| interpret(meaning, call, contract, want),
        &mut CannedTarget(output),
    )
}
