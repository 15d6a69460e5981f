//! Numbers recovered from an output: the interval of parameters that hold it, by bisection.

use qkvet_engine::interpret::interpret;
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{Call, Contract, Measured, Output};

use super::hypothesis::Hypothesis;

/// Halvings of an interval: from 2⁷ down to the spacing of binary64 near 1.
const HALVINGS: usize = 60;

/// How a parameter compares with those that fit, judged by one number of the output.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Small,
    Fits,
    Large,
}

/// The parameters between `low` and `high` for which the last key's weight in the first row of
/// `output` is within the enclosure widened by the contract's hard bound; `set` puts a parameter
/// into a call.
///
/// The weight rises with the parameter where the last key has the largest score, so that a
/// parameter outside the interval is refuted as its ends are, as far as the bound does not grow
/// faster than the weight moves. `None` if no parameter fits.
pub(super) fn measure(
    hypothesis: &Hypothesis,
    call: &Call,
    output: &Output,
    contract: &Contract,
    (low, high): (f64, f64),
    set: impl Fn(&mut Call, f64),
) -> Option<(f64, f64)> {
    let at = call.dims().n_k - 1;
    let got = *output.output.data.get(at)?;
    let row = first_row(call.clone());
    let side = |x: f64| {
        let mut call = row.clone();
        set(&mut call, x);
        let expected = interpret(&hypothesis.meaning, &call, contract, ResultName::Output);
        let allowed = expected.exact[at].rad + expected.hard[at];
        let distance = got - expected.exact[at].mid;
        match distance.abs() <= allowed {
            true => Side::Fits,
            false if distance > 0.0 => Side::Small,
            false => Side::Large,
        }
    };
    if side(low) != Side::Small || side(high) != Side::Large {
        return None;
    }
    let (mut low, mut high) = (low, high);
    let mut inside = None;
    for _ in 0..HALVINGS {
        let middle = low / 2.0 + high / 2.0;
        match side(middle) {
            Side::Small => low = middle,
            Side::Large => high = middle,
            Side::Fits => {
                inside = Some(middle);
                break;
            }
        }
    }
    let inside = inside?;
    let end = |mut outside: f64| {
        let mut inside = inside;
        // The ends need not be sharper than the width: a few halvings less than it has digits.
        for _ in 0..HALVINGS / 2 {
            let middle = outside / 2.0 + inside / 2.0;
            if side(middle) == Side::Fits { inside = middle } else { outside = middle }
        }
        outside
    };
    Some((end(low), end(high)))
}

/// The problem of the first query alone.
fn first_row(mut call: Call) -> Call {
    for (tensor, rows) in
        [(&mut call.query, 1), (&mut call.key, usize::MAX), (&mut call.value, usize::MAX)]
    {
        let (n, d) = (tensor.shape[2].min(rows), tensor.shape[3]);
        tensor.shape = vec![1, 1, n, d];
        tensor.data.truncate(n * d);
    }
    call
}

/// The interval under a name.
pub(super) fn measured(what: String, (low, high): (f64, f64)) -> Measured {
    Measured { what, low, high }
}
