//! The order in which cases are put: first few cases in which each law meets each of its options,
//! and each option every other and every format; then the others in order of the suite.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use qkvet_spec::{CallOption, Dtype};

use super::case::PlannedCase;

/// A set of traits of cases, a bit each.
type Traits = u64;

/// Every case has it: a pair of a law and this trait is the law.
const IS_CASE: Traits = 1 << 63;

/// Numbers of cases in the order in which they are put.
///
/// The first ones are chosen greedily: each has the most pairs (law, option), (option, option) and
/// (format, option) that none before it has, the first of several in order of the suite.
pub(super) fn order(cases: &[PlannedCase<'_>]) -> Vec<usize> {
    let mut laws = BTreeMap::new();
    let keys: Vec<(usize, Traits)> = cases
        .iter()
        .map(|case| {
            let next = laws.len();
            (*laws.entry(case.law()).or_insert(next), traits(case))
        })
        .collect();
    let mut met = Met { by_law: vec![0; laws.len()], by_trait: [0; 64] };
    let mut left: BinaryHeap<(u32, Reverse<usize>)> =
        keys.iter().enumerate().map(|(at, key)| (met.gain(*key), Reverse(at))).collect();
    let mut order = Vec::with_capacity(cases.len());
    let mut is_first = vec![false; cases.len()];
    // What a case would add only falls while others are chosen: whoever adds as much as before, and
    // no less than the next one at most, adds the most.
    while let Some((most, Reverse(at))) = left.pop().filter(|(most, _)| *most > 0) {
        match met.gain(keys[at]) {
            gain if gain == most => {
                met.add(keys[at]);
                is_first[at] = true;
                order.push(at);
            }
            gain => left.push((gain, Reverse(at))),
        }
    }
    order.extend((0..cases.len()).filter(|at| !is_first[*at]));
    order
}

fn traits(case: &PlannedCase<'_>) -> Traits {
    let bit = |is_so: bool, at: usize| Traits::from(is_so) << at;
    let options = CallOption::ALL.iter().enumerate().map(|(at, one)| bit(case.uses(*one), at));
    let n_options = CallOption::ALL.len();
    let dtypes =
        Dtype::ALL.iter().enumerate().map(|(at, one)| bit(case.dtype() == *one, n_options + at));
    options.chain(dtypes).fold(IS_CASE, |all, one| all | one)
}

/// Pairs that cases had so far.
struct Met {
    by_law: Vec<Traits>,
    by_trait: [Traits; 64],
}

impl Met {
    /// How many pairs a case would add.
    fn gain(&self, (law, traits): (usize, Traits)) -> u32 {
        let options = traits & OPTIONS;
        let with_law = (options | IS_CASE) & !self.by_law[law];
        let pairs = each(options).map(|at| (traits & !self.by_trait[at]).count_ones());
        with_law.count_ones() + pairs.sum::<u32>()
    }

    fn add(&mut self, (law, traits): (usize, Traits)) {
        self.by_law[law] |= (traits & OPTIONS) | IS_CASE;
        each(traits & OPTIONS).for_each(|at| self.by_trait[at] |= traits);
    }
}

/// The traits that are options.
const OPTIONS: Traits = (1 << CallOption::ALL.len()) - 1;

/// Numbers of the traits of a set.
fn each(mut traits: Traits) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = traits.trailing_zeros();
        (traits != 0).then(|| {
            traits &= traits - 1;
            at as usize
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use qkvet_engine::law::{Judge, evaluate};
    use qkvet_engine::simulate::Simulator;
    use qkvet_gen::{build, plans};
    use qkvet_spec::{Catalog, CheckedLaw, Execution, Meaning};

    use super::*;

    /// Calls of the first cases.
    const FIRST: usize = 400;

    /// Every pair of law and option, and of two options, of a suite is there in its first calls.
    #[test]
    fn the_first_calls_have_every_pair() {
        let catalog = Catalog::embedded().expect("a catalog");
        let contract = &catalog.contracts["f32"];
        for (suite, dtypes) in [("smoke", &[Dtype::Float32][..]), ("core", &[Dtype::Float32])] {
            let suite = &catalog.suites[suite];
            let laws = catalog.suite_laws(suite).expect("laws");
            let asked: Vec<&CheckedLaw> = laws.to_vec();
            let all = plans(suite, &asked, dtypes, 0);
            let cases: Vec<_> = all.into_iter().map(PlannedCase::Plan).collect();
            let pairs = |case: &PlannedCase<'_>| {
                let on: Vec<_> =
                    CallOption::ALL.into_iter().filter(|one| case.uses(*one)).collect();
                let names: Vec<String> = std::iter::once(case.law().to_owned())
                    .chain(on.iter().map(ToString::to_string))
                    .collect();
                let mut pairs = BTreeSet::new();
                for (at, one) in names.iter().enumerate() {
                    pairs.extend(names[..at].iter().map(|other| (other.clone(), one.clone())));
                }
                pairs
            };
            let expected: BTreeSet<_> = cases.iter().flat_map(pairs).collect();
            let (mut met, mut calls) = (BTreeSet::new(), 0);
            for at in order(&cases) {
                met.extend(pairs(&cases[at]));
                let PlannedCase::Plan(plan) = &cases[at] else { unreachable!("of a suite") };
                let law = asked.iter().find(|law| law.law.law == plan.law).expect("a law");
                let case = build(law, plan).expect("a case");
                let mut target = Simulator::new(Meaning::standard(), Execution::standard());
                let judge = Judge { meaning: &Meaning::standard(), contract };
                calls += evaluate(law, &case, judge, &mut target).expect("calls").calls.len();
                if met == expected {
                    break;
                }
            }
            eprintln!("{} {} pairs after {calls} calls", suite.suite, expected.len());
            assert!(met == expected && calls <= FIRST, "{}: {calls} calls", suite.suite);
        }
    }
}
