//! Undeclared conventions: the set of legitimate choices under which recorded failures are what was
//! asked for.

use std::collections::BTreeMap;

use qkvet_engine::law::{CallRecord, fits};
use qkvet_engine::lowering::alters;
use qkvet_spec::{Contract, Convention, Meaning};

/// `base` under several conventions.
pub fn applied(base: &Meaning, conventions: &[&Convention]) -> Meaning {
    conventions.iter().fold(base.clone(), |meaning, convention| convention.meaning.apply(&meaning))
}

/// Whether no recorded call is refuted under `meaning`; one that does not fit is so under each.
pub fn explained(calls: &[CallRecord], meaning: &Meaning, contract: &Contract) -> bool {
    let holds =
        |record: &CallRecord| record.call.misfit().is_none() && fits(record, meaning, contract);
    !calls.is_empty() && calls.iter().all(holds)
}

/// The conventions that `meaning` follows: all they change of the standard is so in it.
pub fn followed<'a>(
    meaning: &Meaning,
    known: impl IntoIterator<Item = &'a Convention>,
) -> Vec<&'a Convention> {
    let standard = Meaning::standard();
    let is_followed = |convention: &&Convention| {
        convention.meaning.apply(meaning) == *meaning
            && convention.meaning.apply(&standard) != standard
    };
    known.into_iter().filter(is_followed).collect()
}

/// The smallest set of conventions, at most one a field, that explains the most of `failures`, and
/// no fewer than it has members: three choices fit nearly any single result.
///
/// Declared fields are not touched: what is declared is not guessed. The set proposes and never
/// excuses; the caller judges the target again under it.
pub fn conventions_that_explain<'a>(
    failures: &[(&[CallRecord], &Contract)],
    base: &Meaning,
    known: impl IntoIterator<Item = &'a Convention>,
    declared: &[&str],
) -> Vec<&'a Convention> {
    let mut fields: Vec<(&str, Vec<&Convention>)> = Vec::new();
    for convention in
        known.into_iter().filter(|convention| !declared.contains(&convention.field.as_str()))
    {
        match fields.iter_mut().find(|(field, _)| *field == convention.field) {
            Some((_, values)) => values.push(convention),
            None => fields.push((&convention.field, vec![convention])),
        }
    }
    let mut sets: Vec<Vec<&Convention>> = vec![Vec::new()];
    for (_, values) in &fields {
        let longer: Vec<Vec<&Convention>> = sets
            .iter()
            .flat_map(|set| values.iter().map(|value| [set.as_slice(), &[*value]].concat()))
            .collect();
        sets.extend(longer);
    }
    sets.sort_by_key(Vec::len);
    // A set explains nothing that none of its members makes another call of.
    let touched = |convention: &Convention| -> Vec<bool> {
        let meaning = convention.meaning.apply(base);
        let is_other = |record: &CallRecord| {
            record.call.misfit().is_none() && alters(&meaning, base, &record.call)
        };
        failures.iter().map(|(calls, _)| calls.iter().any(is_other)).collect()
    };
    let conventions = fields.iter().flat_map(|(_, values)| values);
    let touched: BTreeMap<&str, Vec<bool>> =
        conventions.map(|one| (one.convention.as_str(), touched(one))).collect();
    let mut best = (0, Vec::new());
    for set in sets.into_iter().skip(1) {
        let meaning = applied(base, &set);
        let is_touched = |at: &usize| set.iter().any(|one| touched[one.convention.as_str()][*at]);
        let concerned: Vec<usize> = (0..failures.len()).filter(is_touched).collect();
        let least = set.len().max(best.0 + 1);
        let mut n_explained = 0;
        for (number, at) in concerned.iter().enumerate() {
            if n_explained + concerned.len() - number < least {
                break;
            }
            let (calls, contract) = failures[*at];
            n_explained += usize::from(explained(calls, &meaning, contract));
        }
        if n_explained >= least {
            best = (n_explained, set);
        }
    }
    best.1
}
