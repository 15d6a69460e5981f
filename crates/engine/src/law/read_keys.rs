//! Which keys a query weighs, read off its output.

use qkvet_spec::{Contract, Dims, Meaning, Reading};

use super::call::CallRecord;
use crate::interpret::interpret;
use crate::lowering::ResultName;

/// Weights below this are none: of the keys of a routed case the dead ones have less than
/// `e^−1000`, the others more than `1/(2 n_k)`.
const MIN_WEIGHT: f64 = 1e-30;

/// The first row of the call's output in which a query weighs other keys than under `meaning`;
/// `None` where the output cannot be read or every row weighs what it should.
///
/// An output can be read where the values of every head are rows of the identity: column `j` of it
/// is the weight of key `j`. A row is not read if any number in it is neither a weight nor none.
pub fn read_keys(record: &CallRecord, meaning: &Meaning, contract: &Contract) -> Option<Reading> {
    let (call, output) = (&record.call, &record.output.output);
    let Dims { b, h_q, n_q, n_k, d_v, .. } = call.dims();
    if call.misfit().is_some() || n_k > d_v || output.shape != [b, h_q, n_q, d_v] {
        return None;
    }
    let is_one_hot = |(at, x): (usize, &f64)| {
        x.to_bits() == f64::from(u8::from(at / d_v % n_k == at % d_v)).to_bits()
    };
    if !call.value.data.iter().enumerate().all(is_one_hot) {
        return None;
    }
    let weights = interpret(meaning, call, contract, ResultName::Weights).exact;
    (0..b * h_q * n_q).find_map(|row| {
        let (weights, output) = (&weights[row * n_k..][..n_k], &output.data[row * d_v..][..d_v]);
        let weight = |x: f64| {
            if x.abs() < MIN_WEIGHT {
                Some(false)
            } else {
                (x * 2.0 * n_k as f64 >= 1.0).then_some(true)
            }
        };
        let held: Vec<bool> = output.iter().map(|x| weight(*x)).collect::<Option<_>>()?;
        let weighed: Vec<usize> = (0..n_k).filter(|j| held[*j]).collect();
        let expected: Vec<usize> = (0..n_k).filter(|j| weights[*j].mid > MIN_WEIGHT).collect();
        let (item, head, query) = (row / (h_q * n_q), row / n_q % h_q, row % n_q);
        (weighed != expected).then_some(Reading { item, head, query, weighed, expected })
    })
}
