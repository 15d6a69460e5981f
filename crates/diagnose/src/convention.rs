//! Undeclared conventions: the set of legitimate choices under which recorded failures are what was
//! asked for.

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{CallRecord, explains};
use qkvet_spec::{Contract, Convention, Meaning};

/// `base` under several conventions.
pub fn applied(base: &Meaning, conventions: &[&Convention]) -> Meaning {
    conventions.iter().fold(base.clone(), |meaning, convention| convention.meaning.apply(&meaning))
}

/// Whether no recorded call is refuted under `meaning`; one that does not fit is so under each.
pub fn explained(calls: &[CallRecord], meaning: &Meaning, contract: &Contract) -> bool {
    let holds = |record: &CallRecord| {
        explains(record, |want| interpret(meaning, &record.call, contract, want))
    };
    !calls.is_empty() && calls.iter().all(|record| record.call.misfit().is_none() && holds(record))
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
    let mut best = (0, Vec::new());
    for set in sets.into_iter().skip(1) {
        let meaning = applied(base, &set);
        let explained = failures
            .iter()
            .filter(|(calls, contract)| explained(calls, &meaning, contract))
            .count();
        if explained > best.0 && explained >= set.len() {
            best = (explained, set);
        }
    }
    best.1
}
