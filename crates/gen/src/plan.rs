//! Plans: what a case is made from, and the combinations that a suite asks for.

use std::collections::BTreeSet;
use std::rc::Rc;

use qkvet_spec::{
    BroadcastForm, CallOption, CheckedLaw, Dims, Dtype, MaskPattern, OptionSet, Suite, Together,
    VALUE_LAW, Values, Window,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::choice::{AlibiChoice, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice};
use crate::cover::{Factor, Row, covering_array, sample_evenly};
use crate::levels::Levels;
use crate::source::Source;
use crate::together::{Meeting, Meetings};

/// A law gets at least this many cases per format, if the limit lets it: its variables are drawn
/// anew for each.
const FEWEST: usize = 6;

/// Case numbers of rows with one option alone start here, so that they do not shift the others.
const FIRST_ALONE: usize = 1 << 24;

/// Case numbers of the extended covering array start here.
const FIRST_EXTENDED: usize = 1 << 28;

/// Case numbers of rows with one extended option alone start here.
const FIRST_EXTENDED_ALONE: usize = 1 << 24 | FIRST_EXTENDED;

/// Case numbers of rows in which options meet start here.
const FIRST_TOGETHER: usize = 1 << 30;

/// Rows of such cases that are alike in shape and options have one of so many values each.
const APART: usize = 1 << 12;

/// Case numbers of rows with chosen options start here.
const FIRST_WITH: usize = 1 << 29;

/// Everything a case is made from, small and ordered: what shrinking works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CasePlan {
    /// Law id.
    pub law: String,
    /// Format of every tensor.
    pub dtype: Dtype,
    /// Extents of the call; those that the law does not use are 1 where that is possible.
    pub dims: Dims,
    /// Extents that the law itself declares (`n: dim(2..9)`), in order.
    pub law_dims: Vec<usize>,
    /// The scale.
    pub scale: ScaleChoice,
    /// Causal masking.
    pub causal: bool,
    /// Boolean mask.
    pub mask: Option<(MaskPattern, BroadcastForm)>,
    /// Additive bias.
    pub bias: Option<BroadcastForm>,
    /// Cap on the scores.
    pub softcap: Option<SoftcapChoice>,
    /// Sliding window.
    pub window: Option<Window>,
    /// Sinks.
    pub sinks: Option<SinkChoice>,
    /// Slopes of ALiBi.
    pub alibi: Option<AlibiChoice>,
    /// Lengths or packed sequences.
    pub sequences: Option<SequenceChoice>,
    /// How query, key and value are drawn.
    pub values: Values,
    /// Entries 0 and 1 in place of the value family: the last step of shrinking.
    pub tiny: bool,
    /// How many query rows of a call are looked at; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// The case's seed.
    pub seed: u64,
}

impl CasePlan {
    /// Which options and extents meet in its calls.
    fn meeting(&self) -> Meeting {
        let on = CallOption::ALL.into_iter().filter(|option| self.has(*option));
        Meeting::of(on.collect(), self.window, self.scale.value(), &self.dims)
    }

    /// Whether the option is on.
    pub fn has(&self, option: CallOption) -> bool {
        match option {
            CallOption::Scale => self.scale.value().is_some(),
            CallOption::Causal => self.causal,
            CallOption::Mask => self.mask.is_some(),
            CallOption::Bias => self.bias.is_some(),
            CallOption::Softcap => self.softcap.is_some(),
            CallOption::Window => self.window.is_some(),
            CallOption::Sinks => self.sinks.is_some(),
            CallOption::AlibiSlopes => self.alibi.is_some(),
            CallOption::KeyLengths | CallOption::QueryLengths | CallOption::Packed => {
                self.sequences.is_some_and(|sequences| sequences.options().contains(&option))
            }
        }
    }
}

/// The seed of case `index` of a law and a format: other laws, formats and cases do not shift it.
pub fn case_seed(seed: u64, law: &str, dtype: Dtype, index: usize) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"qkvet-seed-1\0");
    hash.update(seed.to_le_bytes());
    hash.update((law.len() as u64).to_le_bytes());
    hash.update(law.as_bytes());
    hash.update(dtype.name().as_bytes());
    hash.update([0]);
    hash.update((index as u64).to_le_bytes());
    let digest = hash.finalize();
    digest.iter().take(8).rev().fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// The plans of a suite for the given laws and formats: law by law, format by format, in the order
/// of the covering arrays.
///
/// Every pair (at strength 2) of shape, values, scale, causal, mask pattern, mask form and bias
/// form that the law admits occurs, up to the suite's limit; with a limit, every single choice is
/// kept where that is possible. Options that the law does not range over are off, and shapes that
/// it cannot tell apart are one.
///
/// Where the suite is extended, plans with softcap, window, sinks, ALiBi, lengths, packed sequences
/// or further value families follow, from a covering array over all options. They are numbered
/// apart, so that they shift no other plan. So are the plans of the law `value` that follow until
/// options meet as often as the suite asks.
///
/// Extents that a user asks for beside those of the suite come in laws that say what a call returns,
/// without options and causal.
///
/// Laws of refusal come last, for a target may die of a call that does not fit, and have few plans,
/// for they are about shapes alone.
pub fn plans(suite: &Suite, laws: &[&CheckedLaw], dtypes: &[Dtype], seed: u64) -> Vec<CasePlan> {
    let mut plans = Vec::new();
    let (mut plain, mut extended) = (Arrays::default(), Arrays::default());
    let refusals =
        |refuses: bool| laws.iter().filter(move |law| law.law.misfit.is_some() == refuses);
    let asked = Suite { shapes: suite.at.clone(), fit: None, ..suite.clone() };
    let results: Vec<&CheckedLaw> =
        laws.iter().copied().filter(|law| law.says_a_result() && !suite.at.is_empty()).collect();
    let sets = [OptionSet::default(), OptionSet::from_iter([CallOption::Causal])];
    plans.extend(plans_with(&asked, &results, dtypes, &sets, 1, seed));
    for law in refusals(false).chain(refusals(true)) {
        let (limit, alone) = match law.law.misfit {
            Some(_) => (Some(suite.limit.map_or(FEWEST, |limit| limit.min(FEWEST))), 0),
            None => (suite.limit, suite.alone),
        };
        let plain = plain.of(suite, Levels::plain(suite, law));
        let extended = Levels::extended(suite, law).and_then(|levels| extended.of(suite, levels));
        for dtype in dtypes {
            let group = Group { law, dtype: *dtype, seed };
            if let Some(array) = &plain {
                group.rows(suite, array, limit, 0, &mut plans);
                group.alone(array, alone, FIRST_ALONE, &mut plans);
            }
            if let (Some(array), Some(section)) = (&extended, &suite.extended) {
                group.rows(suite, array, section.limit, FIRST_EXTENDED, &mut plans);
                group.alone(array, suite.alone, FIRST_EXTENDED_ALONE, &mut plans);
            }
            let asked = suite.together.filter(|_| law.law.law == VALUE_LAW);
            if let (Some(array), Some(quota)) = (extended.as_ref().or(plain.as_ref()), asked) {
                group.together(array, quota, &mut plans);
            }
        }
    }
    plans
}

/// Plans with each of these sets of options on and the others off, as far as a law ranges over
/// them: `rows` for each law, format and shape, law by law, format by format.
pub fn plans_with(
    suite: &Suite,
    laws: &[&CheckedLaw],
    dtypes: &[Dtype],
    sets: &[OptionSet],
    rows: usize,
    seed: u64,
) -> Vec<CasePlan> {
    let mut plans = Vec::new();
    for law in laws {
        let levels = Levels::extended(suite, law).unwrap_or_else(|| Levels::plain(suite, law));
        for dtype in dtypes {
            let mut known = BTreeSet::new();
            for (shape, on) in
                (0..levels.shapes()).flat_map(|at| sets.iter().map(move |on| (at, on)))
            {
                if !known.insert(levels.with(shape, *on, 0)) {
                    continue;
                }
                let first = (known.len() - 1) * rows;
                plans.extend((first..first + rows).map(|at| {
                    let seed = case_seed(seed, &law.law.law, *dtype, FIRST_WITH + at);
                    levels.plan(law, *dtype, &levels.with(shape, *on, at), seed)
                }));
            }
        }
    }
    plans
}

/// Covering arrays that were made so far: laws with the same factors share one.
#[derive(Default)]
struct Arrays(Vec<(Vec<Factor>, Rc<[Row]>)>);

/// What one law ranges over, and rows that cover it.
struct Array {
    levels: Levels,
    factors: Vec<Factor>,
    rows: Rc<[Row]>,
}

impl Arrays {
    /// The array for these levels; none where no shape is admitted.
    fn of(&mut self, suite: &Suite, levels: Levels) -> Option<Array> {
        let factors = levels.factors();
        if factors[0].levels == 0 {
            return None;
        }
        let known =
            self.0.iter().find(|(known, _)| *known == factors).map(|(_, rows)| Rc::clone(rows));
        let rows = known.unwrap_or_else(|| {
            let rows: Rc<[Row]> = covering_array(&factors, usize::from(suite.strength)).into();
            self.0.push((factors.clone(), Rc::clone(&rows)));
            rows
        });
        Some(Array { levels, factors, rows })
    }
}

/// The plans of one law in one format.
struct Group<'a> {
    law: &'a CheckedLaw,
    dtype: Dtype,
    seed: u64,
}

impl Group<'_> {
    /// Where the choice of rows starts: another place for each law and format.
    fn rotation(&self, array: &Array) -> usize {
        case_seed(0, &self.law.law.law, self.dtype, 0) as usize % array.rows.len()
    }

    fn plan(&self, array: &Array, row: &Row, number: usize) -> CasePlan {
        let seed = case_seed(self.seed, &self.law.law.law, self.dtype, number);
        array.levels.plan(self.law, self.dtype, row, seed)
    }

    /// Plans of the covering array, numbered from `first`.
    fn rows(
        &self,
        suite: &Suite,
        array: &Array,
        limit: Option<usize>,
        first: usize,
        plans: &mut Vec<CasePlan>,
    ) {
        let (rows, limit) = (&array.rows, limit.unwrap_or(usize::MAX));
        let mut chosen = sample_evenly(&array.factors, rows, limit, self.rotation(array));
        let cycle = chosen.len();
        while chosen.len() < FEWEST.min(limit) {
            chosen.push(chosen[chosen.len() - cycle] + rows.len());
        }
        let period = chosen.iter().max().map_or(0, |last| last / rows.len() + 1) * rows.len();
        for round in 0..suite.rounds {
            for index in &chosen {
                plans.push(self.plan(
                    array,
                    &rows[index % rows.len()],
                    first + round * period + index,
                ));
            }
        }
    }

    /// Plans until options meet as often as asked; those that the group has count.
    fn together(&self, array: &Array, quota: Together, plans: &mut Vec<CasePlan>) {
        let levels = &array.levels;
        let mut meetings = Meetings::asked(quota, |option| levels.takes(option));
        let is_own = |plan: &&CasePlan| plan.law == self.law.law.law && plan.dtype == self.dtype;
        plans.iter().filter(is_own).for_each(|plan| meetings.add(plan.meeting()));
        let source = Source(case_seed(0, &self.law.law.law, self.dtype, FIRST_TOGETHER));
        let mut draws = source.draws("together");
        for number in FIRST_TOGETHER.. {
            let next = meetings.next(&mut draws, |on, draws| {
                let row = levels.with(draws.below(levels.shapes()), on, draws.below(APART));
                let plan = self.plan(array, &row, number);
                (plan.meeting(), plan)
            });
            let Some(plan) = next else { break };
            plans.push(plan);
        }
    }

    /// Plans with one option on and the others off, numbered from `first`.
    fn alone(&self, array: &Array, count: usize, first: usize, plans: &mut Vec<CasePlan>) {
        let rows = array.levels.alone(count, self.rotation(array));
        plans.extend(rows.iter().enumerate().map(|(at, row)| self.plan(array, row, first + at)));
    }
}
