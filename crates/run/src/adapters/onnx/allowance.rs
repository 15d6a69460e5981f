//! What ONNX's own runner makes of an output: how far it may be from the stored one, whatever the
//! case.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use qkvet_engine::format;
use qkvet_gen::case_id;
use qkvet_gen::frozen::{FrozenCase, case_of};
use qkvet_spec::{Call, Dtype, Tensor};

/// Relative part of what the runner allows.
const RELATIVE: f64 = 1e-3;
/// Absolute part.
const ABSOLUTE: f64 = 1e-7;
/// Relative part for bfloat16.
const RELATIVE_BFLOAT16: f64 = 0.015_625;

/// How an output lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// Within the certified bound.
    Certified,
    /// Outside of it, and within what the runner allows.
    Allowed,
    /// Outside of both.
    Beyond,
}

/// Frozen cases by id, and how the outputs that were seen for them lie. Copies share what they see.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    expected: Arc<BTreeMap<String, Expected>>,
    seen: Arc<Mutex<BTreeMap<String, Seen>>>,
}

#[derive(Debug)]
struct Expected {
    answer: Vec<f64>,
    bounds: Vec<f64>,
    shape: Vec<usize>,
}

impl Allowance {
    /// Compares by these cases, each with the bounds of the contract that `contract` names for its
    /// format.
    pub fn of<'a>(cases: &[FrozenCase], contract: impl Fn(Dtype) -> Option<&'a str>) -> Self {
        let expected = cases.iter().filter_map(|case| {
            let bounds = case.bounds.get(contract(case.case.dtype)?)?.clone();
            let answer =
                case.answer.values.iter().map(qkvet_engine::digits::Decimal::to_f64).collect();
            Some((case.id.clone(), Expected { answer, bounds, shape: case.answer.shape.to_vec() }))
        });
        Self { expected: Arc::new(expected.collect()), seen: Arc::default() }
    }

    /// Looks at the output of a call, if it is that of a case. Of several outputs the worst counts.
    pub(super) fn see(&self, call: &Call, output: &Tensor) {
        if self.expected.is_empty() {
            return;
        }
        let id = case_id(&case_of(call));
        let Some(expected) = self.expected.get(&id) else { return };
        let how = expected.compare(output);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.entry(id).or_insert(how);
        *known = (*known).max(how);
    }

    /// How the outputs of a case lay; `None` if there were none.
    pub fn seen(&self, id: &str) -> Option<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied()
    }
}

impl Expected {
    fn compare(&self, output: &Tensor) -> Seen {
        if output.shape != self.shape {
            return Seen::Beyond;
        }
        let relative = if output.dtype == Dtype::Bfloat16 { RELATIVE_BFLOAT16 } else { RELATIVE };
        let certified = |((x, answer), bound): ((&f64, &f64), &f64)| (x - answer).abs() <= *bound;
        let allowed = |(x, answer): (&f64, &f64)| {
            // The runner compares with the number that is stored, not with the exact one.
            let stored = format::round(*answer, output.dtype);
            x.to_bits() == stored.to_bits()
                || (x - stored).abs() <= ABSOLUTE + relative * stored.abs()
        };
        match () {
            () if output.data.iter().zip(&self.answer).zip(&self.bounds).all(certified) => {
                Seen::Certified
            }
            () if output.data.iter().zip(&self.answer).all(allowed) => Seen::Allowed,
            () => Seen::Beyond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_the_bound_and_the_allowance() {
        let expected = Expected { answer: vec![1.0, 0.0], bounds: vec![1e-6, 0.0], shape: vec![2] };
        let check = |data: [f64; 2], how: Seen| {
            let output = Tensor { dtype: Dtype::Float32, shape: vec![2], data: data.to_vec() };
            assert_eq!(expected.compare(&output), how, "{data:?}");
        };
        check([1.0, 0.0], Seen::Certified);
        check([1.0 + 9e-7, 0.0], Seen::Certified);
        check([1.0 + 9e-4, 5e-8], Seen::Allowed);
        check([1.0 + 2e-3, 0.0], Seen::Beyond);
        check([1.0, 2e-7], Seen::Beyond);
        check([f64::NAN, 0.0], Seen::Beyond);
        let flat = Tensor { dtype: Dtype::Float32, shape: vec![1, 2], data: vec![1.0, 0.0] };
        assert_eq!(expected.compare(&flat), Seen::Beyond);
    }
}
