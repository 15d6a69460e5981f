//! Where a fault strikes: nowhere in a call, all of it, or some rows of its output.

use qkvet_spec::{Behavior, Call, Contract, Dims, Fault, IndexEnv, IndexName, Meaning};

use crate::interpret::{Expected, GoesOn, interpret, interpret_while};
use crate::lowering::{ResultName, alters, call_env, item_env};

/// What of a call a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AffectedElements {
    /// Its trigger does not hold.
    Nothing,
    /// The whole call.
    Call,
    /// Some rows `(item, h, i)`.
    Rows(Vec<bool>),
}

/// Names whose numbers are those of a row. Lengths are those of its batch item.
const ROW_NAMES: [IndexName; 5] = [
    IndexName::Item,
    IndexName::Head,
    IndexName::Query,
    IndexName::KeyLength,
    IndexName::QueryLength,
];

/// What of `call` the fault strikes.
pub fn affects(fault: &Fault, call: &Call) -> AffectedElements {
    let answered = match fault.behavior {
        Some(Behavior::MisfitAnswered(misfit)) => Some(misfit),
        _ => None,
    };
    // Who refuses what does not fit does so with any other fault, and a fault that answers it shows
    // in nothing else.
    if call.misfit() != answered {
        return AffectedElements::Nothing;
    }
    let Some(when) = &fault.when else { return AffectedElements::Call };
    let env = call_env(call);
    let names_element = |name| when.mentions(name);
    if !ROW_NAMES.into_iter().any(names_element) {
        return if when.holds(&env) { AffectedElements::Call } else { AffectedElements::Nothing };
    }
    let Dims { b, h_q, n_q, .. } = env.dims;
    let holds = |at: usize| {
        let part = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        when.holds(&IndexEnv {
            h: part(at / n_q % h_q),
            i: part(at % n_q),
            ..item_env(&env, &call.options, at / (h_q * n_q))
        })
    };
    let rows: Vec<bool> = (0..b * h_q * n_q).map(holds).collect();
    match (rows.contains(&true), rows.contains(&false)) {
        (true, true) => AffectedElements::Rows(rows),
        (true, false) => AffectedElements::Call,
        (false, _) => AffectedElements::Nothing,
    }
}

/// Whether anything of the fault can show in a call: it strikes it, and what it changes of the
/// meaning alone makes another call of it.
pub fn touches(fault: &Fault, base: &Meaning, call: &Call) -> bool {
    let computes = !fault.execution.is_empty() || fault.behavior.is_some();
    affects(fault, call) != AffectedElements::Nothing
        && (computes || alters(&fault.meaning.apply(base), base, call))
}

/// What several faults strike of a call, each set of them that strikes something together.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// Those that strike the whole call, in their order.
    pub everywhere: Vec<&'a Fault>,
    /// Those that strike some rows `(item, h, i)` and nothing else strikes besides, and these rows.
    pub rows: Vec<(Vec<&'a Fault>, Vec<bool>)>,
}

/// What `faults` strike of `call`.
pub fn parts<'a>(faults: &[&'a Fault], call: &Call) -> Parts<'a> {
    let mut struck: Vec<(&'a Fault, Option<Vec<bool>>)> = Vec::new();
    for fault in faults {
        match affects(fault, call) {
            AffectedElements::Nothing => {}
            AffectedElements::Call => struck.push((fault, None)),
            AffectedElements::Rows(rows) => struck.push((fault, Some(rows))),
        }
    }
    let partial: Vec<&Vec<bool>> = struck.iter().filter_map(|(_, rows)| rows.as_ref()).collect();
    let of_rows = (1..1usize << partial.len()).filter_map(|set| {
        let is_in = |number: usize| set >> number & 1 == 1;
        let is_struck = |row: usize| {
            partial.iter().enumerate().all(|(number, rows)| rows[row] == is_in(number))
        };
        let rows: Vec<bool> = (0..partial[0].len()).map(is_struck).collect();
        let mut number = 0;
        let mut joins = |(fault, rows): &(&'a Fault, Option<Vec<bool>>)| {
            let joins = rows.is_none() || is_in(number);
            number += usize::from(rows.is_some());
            joins.then_some(*fault)
        };
        rows.contains(&true).then(|| (struck.iter().filter_map(&mut joins).collect(), rows))
    });
    let rows = of_rows.collect();
    Parts {
        everywhere: struck
            .iter()
            .filter(|(_, rows)| rows.is_none())
            .map(|(fault, _)| *fault)
            .collect(),
        rows,
    }
}

/// What a call returns under `base` with the faults: [`interpret`] of the faulty meaning, row by
/// row where rows are struck.
pub fn faulty(
    base: &Meaning,
    faults: &[&Fault],
    call: &Call,
    contract: &Contract,
    want: ResultName,
) -> Expected {
    let with = |set: &[&Fault]| interpret(&patched(base, set), call, contract, want);
    let Parts { everywhere, rows } = parts(faults, call);
    rows.iter().fold(with(&everywhere), |expected, (set, rows)| mixed(expected, with(set), rows))
}

/// [`faulty`] for as long as `goes_on` says so; `None` once it does not. Where only rows are struck
/// it is not asked.
pub fn faulty_while(
    base: &Meaning,
    faults: &[&Fault],
    call: &Call,
    contract: &Contract,
    want: ResultName,
    goes_on: GoesOn<'_>,
) -> Option<Expected> {
    let Parts { everywhere, rows } = parts(faults, call);
    if !rows.is_empty() {
        return Some(faulty(base, faults, call, contract, want));
    }
    interpret_while(&patched(base, &everywhere), call, contract, want, goes_on)
}

fn patched(base: &Meaning, faults: &[&Fault]) -> Meaning {
    faults.iter().fold(base.clone(), |meaning, fault| fault.meaning.apply(&meaning))
}

/// The rows of `wrong` that are struck, and the others of `right`; all of `wrong` where the two
/// have different shapes.
fn mixed(right: Expected, wrong: Expected, rows: &[bool]) -> Expected {
    if right.shape != wrong.shape {
        return wrong;
    }
    let width = right.shape[3];
    let mut mixed = right;
    for (at, _) in rows.iter().enumerate().filter(|(_, struck)| **struck) {
        let cells = at * width..(at + 1) * width;
        mixed.exact[cells.clone()].copy_from_slice(&wrong.exact[cells.clone()]);
        mixed.hard[cells.clone()].copy_from_slice(&wrong.hard[cells.clone()]);
        mixed.probable[cells.clone()].copy_from_slice(&wrong.probable[cells]);
        mixed.rows[at] = wrong.rows[at];
        mixed.overflows[at] = wrong.overflows[at];
    }
    mixed
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOptions, Dtype, IndexExpr, Tensor};

    use super::*;

    /// A length is that of the batch item, not the extent.
    #[test]
    fn a_condition_of_lengths_holds_item_by_item() {
        let tensor = |rows: usize| Tensor {
            dtype: Dtype::Float64,
            shape: vec![2, 1, rows, 1],
            data: vec![0.0; 2 * rows],
        };
        let options = CallOptions { key_lengths: Some(vec![2, 6]), ..CallOptions::default() };
        let call = Call {
            query: tensor(3),
            key: tensor(6),
            value: tensor(6),
            options,
            return_weights: false,
            return_lse: false,
        };
        let when = IndexExpr::new("key_length < n_k / 2").expect("a condition");
        let fault = Fault { when: Some(when), ..Fault::default() };
        let rows = [true, true, true, false, false, false].to_vec();
        assert_eq!(affects(&fault, &call), AffectedElements::Rows(rows));
    }
}
