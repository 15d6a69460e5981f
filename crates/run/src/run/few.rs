//! Cases whose calls have few combinations of extents, format and options: a compiled function is
//! compiled anew for each, which takes longer than all of its calls.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, plans_with};
use qkvet_spec::{
    Call, CallOption, Dims, Dtype, Execution, Fit, Meaning, OptionSet, Response, ResultName, Suite,
    Target,
};

use super::case::PlannedCase;
use super::error::RunError;
use crate::config::RunConfig;

/// What a compiled function is compiled for: extents of every input, which options are given, and
/// which results are asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Combination {
    dtype: Dtype,
    shapes: Vec<Option<Vec<usize>>>,
    given: Vec<bool>,
}

impl Combination {
    pub(super) fn of(call: &Call) -> Self {
        let Call { query, key, value, options, return_weights, return_lse } = call;
        let shape = |of: Option<&Vec<usize>>| of.cloned();
        let packed = options.packed.as_ref();
        Self {
            dtype: query.dtype,
            shapes: vec![
                shape(Some(&query.shape)),
                shape(Some(&key.shape)),
                shape(Some(&value.shape)),
                shape(options.mask.as_ref().map(|mask| &mask.shape)),
                shape(options.bias.as_ref().map(|bias| &bias.shape)),
                packed.map(|packed| vec![packed.query_offsets.len(), packed.key_offsets.len()]),
            ],
            given: CallOption::ALL
                .into_iter()
                .map(|option| options.has(option))
                .chain([*return_weights, *return_lse])
                .collect(),
        }
    }
}

/// A right target that notes what it is asked.
struct Asked<'a> {
    target: Simulator,
    combinations: BTreeSet<Combination>,
    /// Whether the real target has every option that was given and every result that was asked for.
    is_answered: bool,
    fit: &'a Fit,
}

impl Target for Asked<'_> {
    fn call(&mut self, call: &Call) -> Response {
        self.combinations.insert(Combination::of(call));
        let results =
            [(ResultName::Weights, call.return_weights), (ResultName::Lse, call.return_lse)];
        self.is_answered &= call.options.on().iter().all(|option| self.fit.has(option))
            && results.iter().all(|(result, is_asked)| !is_asked || self.fit.returns(*result));
        self.target.call(call)
    }
}

/// Cases whose calls have `most` combinations at most, and among these the most pairs of law,
/// option, shape and format. Each case has the value of an option and data of its own.
///
/// Combinations are chosen greedily, those of one case at a time: those that add the most pairs for
/// each new combination, counted over all cases that have no other.
///
/// # Errors
/// A case that cannot be made.
pub(super) fn few(
    config: &RunConfig<'_>,
    suite: &Suite,
    seed: u64,
    most: usize,
) -> Result<Vec<CasePlan>, RunError> {
    let fit = suite.fit.clone().unwrap_or_default();
    let suite = Suite {
        shapes: shapes(suite, &fit),
        broadcast: fit.broadcast(&suite.broadcast).into_iter().take(1).collect(),
        fit: Some(Fit { forms: None, ..fit.clone() }),
        ..suite.clone()
    };
    let sets = sets(&fit);
    let plans = plans_with(&suite, &config.laws, &config.dtypes, &sets, ROWS, seed);
    let mut groups: BTreeMap<BTreeSet<usize>, Group> = BTreeMap::new();
    let (mut numbers, mut pairs) = (Numbers::default(), Numbers::default());
    for (at, plan) in plans.iter().enumerate() {
        if let Some(asked) = asked(config, plan, &fit)? {
            let key = asked.into_iter().map(|one| numbers.of(one)).collect();
            let group = groups.entry(key).or_default();
            group.cases.push(at);
            group.pairs.extend(pairs_of(plan).into_iter().map(|pair| pairs.of(pair)));
        }
    }
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    loop {
        let mut met: BTreeSet<usize> = BTreeSet::new();
        within(&groups, &chosen).for_each(|group| met.extend(&group.pairs));
        let mut best: Option<(f64, BTreeSet<usize>)> = None;
        for key in groups.keys() {
            let with: BTreeSet<usize> = chosen.union(key).copied().collect();
            if with.len() == chosen.len() || with.len() > most {
                continue;
            }
            let new: BTreeSet<usize> = within(&groups, &with)
                .flat_map(|group| group.pairs.difference(&met).copied())
                .collect();
            let gain = new.len() as f64 / (with.len() - chosen.len()) as f64;
            if best.as_ref().is_none_or(|(most, _)| gain > *most) {
                best = Some((gain, with));
            }
        }
        match best {
            Some((gain, with)) if gain > 0.0 => chosen = with,
            _ => break,
        }
    }
    let kept = groups.into_iter().filter(|(key, _)| key.is_subset(&chosen));
    let kept: BTreeSet<usize> = kept.flat_map(|(_, group)| group.cases).collect();
    let mut at = 0..;
    Ok(plans.into_iter().filter(|_| at.next().is_some_and(|at| kept.contains(&at))).collect())
}

/// The groups whose calls have no combinations but these.
fn within<'g>(
    groups: &'g BTreeMap<BTreeSet<usize>, Group>,
    chosen: &'g BTreeSet<usize>,
) -> impl Iterator<Item = &'g Group> {
    groups.iter().filter(|(key, _)| key.is_subset(chosen)).map(|(_, group)| group)
}

/// Cases of one law, format, shape and set of options: their calls cost little beside the first.
const ROWS: usize = 4;

/// Cases whose calls have the same combinations.
#[derive(Default)]
struct Group {
    cases: Vec<usize>,
    pairs: BTreeSet<usize>,
}

/// Numbers of things in the order in which they were met.
struct Numbers<T>(BTreeMap<T, usize>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Numbers<T> {
    fn of(&mut self, one: T) -> usize {
        let next = self.0.len();
        *self.0.entry(one).or_insert(next)
    }
}

/// Three of the suite's shapes: the first, the one with the fewest queries and the one with the
/// most keys and queries.
fn shapes(suite: &Suite, fit: &Fit) -> Vec<Dims> {
    let all = || suite.shapes.iter().map(|dims| fit.apply(dims));
    let mut shapes: Vec<Dims> = Vec::new();
    let few = all().min_by_key(|dims| (dims.n_q, dims.n_k));
    // The first of several.
    let many = all().rev().max_by_key(|dims| dims.n_q.min(dims.n_k));
    for dims in all().take(1).chain(few).chain(many) {
        if !shapes.contains(&dims) {
            shapes.push(dims);
        }
    }
    shapes
}

/// Sets of options that are on together: none, each alone, every two where they are few, all, and
/// all but one.
fn sets(fit: &Fit) -> Vec<OptionSet> {
    let options: Vec<CallOption> =
        CallOption::ALL.into_iter().filter(|option| fit.has(*option)).collect();
    let mut sets = vec![OptionSet::default()];
    let mut add = |set: Vec<CallOption>| {
        let set: OptionSet = set.into_iter().collect();
        if !sets.contains(&set) {
            sets.push(set);
        }
    };
    options.iter().for_each(|option| add(vec![*option]));
    if options.len() <= 6 {
        for (at, one) in options.iter().enumerate() {
            options[..at].iter().for_each(|other| add(vec![*other, *one]));
        }
    }
    add(options.clone());
    for left_out in &options {
        let others = options.iter().copied().filter(|option| option != left_out);
        add(others.collect());
    }
    sets
}

/// What the calls of a case combine, if the target answers them all.
fn asked(
    config: &RunConfig<'_>,
    plan: &CasePlan,
    fit: &Fit,
) -> Result<Option<BTreeSet<Combination>>, RunError> {
    let Some(contract) = config.contracts.get(&plan.dtype) else { return Ok(None) };
    let planned = PlannedCase::Plan(plan.clone());
    let (law, case) = (planned.checked_law(config)?, planned.case(config)?);
    let meaning = Meaning::standard();
    let mut target = Asked {
        target: Simulator::new(meaning.clone(), Execution::standard()),
        combinations: BTreeSet::new(),
        is_answered: true,
        fit,
    };
    // What a call that cannot be put would combine is not known: the case is left out.
    let is_put = evaluate(law, &case, Judge { meaning: &meaning, contract }, &mut target).is_ok();
    Ok((is_put && target.is_answered).then_some(target.combinations))
}

/// A law, an option, a shape or a format.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trait {
    Law(String),
    Option(CallOption),
    Shape(Dims),
    Dtype(Dtype),
}

/// Pairs of what the case is.
fn pairs_of(plan: &CasePlan) -> Vec<(Trait, Trait)> {
    let law = || Trait::Law(plan.law.clone());
    let others: Vec<Trait> = CallOption::ALL
        .into_iter()
        .filter(|option| plan.has(*option))
        .map(Trait::Option)
        .chain([Trait::Shape(plan.dims), Trait::Dtype(plan.dtype)])
        .collect();
    let mut pairs = vec![(law(), law())];
    for (at, one) in others.iter().enumerate() {
        let is_option = matches!(one, Trait::Option(_));
        if is_option {
            pairs.push((law(), one.clone()));
        }
        // A query that is alone stands at the last key: what options do together hardly shows.
        let counts = |other: &&Trait| {
            plan.dims.n_q > 1 || !matches!((other, one), (Trait::Option(_), Trait::Option(_)))
        };
        pairs.extend(others[..at].iter().filter(counts).map(|other| (other.clone(), one.clone())));
    }
    pairs
}
