//! What the outputs of a finding's cases say of the keys that a query weighs.

use qkvet_engine::law::{Reading, read_keys};
use qkvet_spec::CallOption;

use super::findings::Scene;
use super::groups::Group;
use super::pass::Pass;
use super::trace::keep;

/// Cases whose outputs are looked at.
const MOST_READ: usize = 20;

/// What the plainest case whose output can be read says of the keys that a query weighs; the case is kept.
pub(super) fn reading(scene: &Scene<'_, '_>, pass: &Pass<'_>, group: &Group<'_>) -> Option<String> {
    let options = |at: usize| CallOption::ALL.iter().filter(|option| scene.cases[at].uses(**option)).count();
    let mut readable: Vec<usize> = group.members.iter().copied().filter(|at| scene.cases[*at].is_routed()).collect();
    readable.sort_by_key(|at| (options(*at), scene.cases[*at].dims().n_k, scene.cases[*at].size()));
    readable.into_iter().take(MOST_READ).find_map(|at| {
        let (planned, done) = (&scene.cases[at], &scene.done[at]);
        let contract = scene.config.contracts.get(&done.dtype)?;
        let reading = done.calls.iter().find_map(|record| read_keys(record, scene.meaning, contract))?;
        let (case, law) = (planned.case(scene.config).ok()?, planned.checked_law(scene.config).ok()?);
        keep(scene.config, scene.conventions, pass, (&done.id, &case, law), None);
        Some(format!("{} (case {})", text(&reading), done.id))
    })
}

/// `b=0, h=1, i=3 weighs keys 0, 2; expected 0, 2, 5`.
fn text(reading: &Reading) -> String {
    let Reading { item, head, query, weighed, expected } = reading;
    let (weighed, expected) = (keys_text(weighed), keys_text(expected));
    format!("query [b={item}, h={head}, i={query}] weighs keys {weighed}; expected {expected}")
}

/// Keys with ranges for what is in a row: `0–15, 17`; `none`.
fn keys_text(keys: &[usize]) -> String {
    if keys.is_empty() {
        return "none".to_owned();
    }
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}–{last}"),
        [] => String::new(),
    };
    keys.chunk_by(|j, next| j + 1 == *next).map(run).collect::<Vec<_>>().join(", ")
}
