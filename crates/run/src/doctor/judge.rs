//! Whether an answer is right: every number against its enclosure, widened by the bound of the contract.

use qkvet_diagnose::applied;
use qkvet_engine::interpret::interpret;
use qkvet_engine::lowering::Want;
use qkvet_spec::{Call, Contract, Diagnosis, Meaning, Output, Tensor};

use super::DoctorConfig;

/// What an answer shows, and what to do about it.
pub(super) fn judge(config: &DoctorConfig<'_>, call: &Call, output: &Output) -> (Diagnosis, String, Option<String>) {
    let Some(contract) = config.contracts.get(&call.dtype()) else {
        return (Diagnosis::NotOffered, format!("no contract for {}", call.dtype()), None);
    };
    match results(&config.meaning, contract, call, output) {
        Ok((numbers, margin)) => {
            let name = &contract.contract;
            let text = format!("right: {numbers} numbers, worst error {margin:.2} of the bound of contract {name}");
            (Diagnosis::Well, text, None)
        }
        Err(text) => {
            let explains = config.conventions.iter().find(|convention| {
                let meaning = applied(&config.meaning, &[**convention]);
                results(&meaning, contract, call, output).is_ok()
            });
            let hint = explains.map(|known| {
                format!("right under --convention {}={}: declare it, or fix it", known.field, known.value)
            });
            (Diagnosis::Wrong, format!("wrong: {text}"), hint)
        }
    }
}

/// How many numbers were checked and the largest distance over bound among them, or the first that is wrong.
fn results(meaning: &Meaning, contract: &Contract, call: &Call, output: &Output) -> Result<(usize, f64), String> {
    let first = one(meaning, contract, call, ("output", &output.output), Want::Output)?;
    match &output.weights {
        Some(weights) => {
            let second = one(meaning, contract, call, ("weights", weights), Want::Weights)?;
            Ok((first.0 + second.0, first.1.max(second.1)))
        }
        None => Ok(first),
    }
}

fn one(
    meaning: &Meaning,
    contract: &Contract,
    call: &Call,
    (name, tensor): (&str, &Tensor),
    want: Want,
) -> Result<(usize, f64), String> {
    let expected = interpret(meaning, call, contract, want);
    if tensor.shape != expected.shape {
        return Err(format!("expected {name} of shape {:?}, got {:?}", expected.shape, tensor.shape));
    }
    if tensor.dtype != call.dtype() {
        return Err(format!("expected {name} in {}, got {}", call.dtype(), tensor.dtype));
    }
    let mut worst: f64 = 0.0;
    for (at, x) in tensor.data.iter().enumerate() {
        let (exact, bound) = (expected.exact[at], expected.hard[at]);
        let distance = (x - exact.mid).abs();
        // A distance that is no number fits nothing.
        let fits = distance <= exact.rad + bound;
        if !fits {
            let place = index(&expected.shape, at);
            return Err(format!("expected {name}{place:?} = {} ± {bound:.1e}, got {x}", exact.mid));
        }
        if distance > exact.rad {
            worst = worst.max((distance - exact.rad) / bound);
        }
    }
    Ok((tensor.data.len(), worst))
}

/// The place of an element, outermost axis first.
fn index(shape: &[usize; 4], mut at: usize) -> [usize; 4] {
    let mut place = [0; 4];
    for (axis, n) in shape.iter().enumerate().rev() {
        place[axis] = at % n;
        at /= n;
    }
    place
}
