//! Plans: what a case is made from, and the combinations that a suite asks for.

use qkvet_spec::{BroadcastForm, CallOption, CheckedLaw, Dims, Domain, Dtype, MaskPattern, Suite, Values};
use sha2::{Digest, Sha256};

use crate::cover::{Factor, Row, covering_array, thinned};
use crate::source::Source;
use crate::usage::Usage;

/// A law gets at least this many cases per format, if the limit lets it: its variables are drawn anew for each.
const FEWEST: usize = 6;

/// Factors that are options of the call: scale, causal, mask, bias.
const OPTIONS: [usize; 4] = [2, 3, 4, 6];

/// Case numbers of rows with one option alone start here, so that they do not shift the others.
const FIRST_ALONE: usize = 1 << 24;

/// Everything a case is made from, small and ordered: what shrinking works on.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// How query, key and value are drawn.
    pub values: Values,
    /// Entries 0 and 1 in place of the value family: the last step of shrinking.
    pub tiny: bool,
    /// The case's seed.
    pub seed: u64,
}

/// The scale of a call. Each explicit one is exact in every format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScaleChoice {
    /// None given.
    Default,
    /// 1/2.
    Half,
    /// 3/32: far from the default of every ordinary width.
    Small,
    /// −3/8: the order of the keys is reversed.
    Negative,
    /// 1: scores are the dot products.
    One,
    /// 0, which is not "none given": every visible key weighs the same.
    Zero,
}

impl ScaleChoice {
    /// Every choice, simplest first.
    pub const ALL: [Self; 6] = [Self::Default, Self::Half, Self::Small, Self::Negative, Self::One, Self::Zero];

    /// The factor given to the call.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Default => None,
            Self::Half => Some(0.5),
            Self::Small => Some(0.093_75),
            Self::Negative => Some(-0.375),
            Self::One => Some(1.0),
            Self::Zero => Some(0.0),
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

/// The plans of a suite for the given laws and formats: law by law, format by format, in the order of the covering array.
///
/// Every pair (at strength 2) of shape, values, scale, causal, mask pattern, mask form and bias form that the law admits
/// occurs, up to the suite's limit; with a limit, every single choice is kept where that is possible. Options that the law
/// does not range over are off, and shapes that it cannot tell apart are one.
pub fn plans(suite: &Suite, laws: &[&CheckedLaw], dtypes: &[Dtype], seed: u64) -> Vec<CasePlan> {
    let mut plans = Vec::new();
    let mut arrays: Vec<(Vec<Factor>, Vec<Row>)> = Vec::new();
    for law in laws {
        let levels = Levels::new(suite, law);
        if levels.shapes.is_empty() {
            continue;
        }
        let factors = levels.factors();
        let at = arrays.iter().position(|(known, _)| *known == factors).unwrap_or_else(|| {
            arrays.push((factors.clone(), covering_array(&factors, usize::from(suite.strength))));
            arrays.len() - 1
        });
        let rows = &arrays[at].1;
        let limit = suite.limit.unwrap_or(usize::MAX);
        for dtype in dtypes {
            let rotation = case_seed(0, &law.law.law, *dtype, 0) as usize % rows.len();
            let mut chosen = thinned(&factors, rows, limit, rotation);
            let cycle = chosen.len();
            while chosen.len() < FEWEST.min(limit) {
                chosen.push(chosen[chosen.len() - cycle] + rows.len());
            }
            let period = chosen.iter().max().map_or(0, |last| last / rows.len() + 1) * rows.len();
            for round in 0..suite.rounds {
                for index in &chosen {
                    let seed = case_seed(seed, &law.law.law, *dtype, round * period + index);
                    plans.push(levels.plan(law, *dtype, &rows[index % rows.len()], seed));
                }
            }
            for (number, row) in alone(&factors, suite.alone, rotation).iter().enumerate() {
                let seed = case_seed(seed, &law.law.law, *dtype, FIRST_ALONE + number);
                plans.push(levels.plan(law, *dtype, row, seed));
            }
        }
    }
    plans
}

/// Rows with every option off, `2 · count` of them, then with one option on and the others off, `count` for each: many
/// targets take few options or one at a time, and a covering array rarely leaves one alone.
fn alone(factors: &[Factor], count: usize, rotation: usize) -> Vec<Row> {
    let row = |n: usize, option: Option<usize>| {
        let pick = |levels: usize, stride: usize| (rotation + option.unwrap_or(0) + n * stride) % levels.max(1);
        let level = |(at, factor): (usize, &Factor)| match (at, factor.needs) {
            (0, _) => Some(pick(factor.levels, 5)),
            (1, _) => Some(pick(factor.levels, 3)),
            (at, _) if Some(at) == option => Some(1 + pick(factor.levels - 1, 1)),
            (_, Some(needs)) => (Some(needs) == option).then(|| pick(factor.levels, 1)),
            (_, None) => Some(0),
        };
        factors.iter().enumerate().map(level).collect()
    };
    let mut rows: Vec<Row> = (0..2 * count).map(|n| row(n, None)).collect();
    for option in OPTIONS.into_iter().filter(|option| factors[*option].levels > 1) {
        rows.extend((0..count).map(|n| row(n, Some(option))));
    }
    rows
}

/// What each factor of the covering array ranges over for one law.
struct Levels {
    shapes: Vec<Dims>,
    values: Vec<Values>,
    scales: Vec<ScaleChoice>,
    causal: bool,
    masks: Vec<MaskPattern>,
    mask_forms: Vec<BroadcastForm>,
    bias_forms: Vec<BroadcastForm>,
}

impl Levels {
    fn new(suite: &Suite, law: &CheckedLaw) -> Self {
        let usage = Usage::of(law);
        let has = |option| law.law.options.contains(&option);
        let mut shapes = Vec::new();
        for dims in suite.shapes.iter().filter(|dims| usage.admits(law, dims)) {
            let dims = usage.reduce(dims, &suite.shapes[0]);
            if !shapes.contains(&dims) {
                shapes.push(dims);
            }
        }
        let scales = ScaleChoice::ALL
            .into_iter()
            .filter(|scale| match scale {
                ScaleChoice::Default => true,
                ScaleChoice::Zero => has(CallOption::Scale) && !usage.margin,
                _ => has(CallOption::Scale),
            })
            .collect();
        let list = |option, forms: &[BroadcastForm]| if has(option) { distinct(forms) } else { Vec::new() };
        let masked = has(CallOption::Mask) && !suite.masks.is_empty() && !suite.broadcast.is_empty();
        Self {
            shapes,
            values: usage.families(&suite.values),
            scales,
            causal: has(CallOption::Causal),
            masks: if masked { distinct(&suite.masks) } else { Vec::new() },
            mask_forms: if masked { distinct(&suite.broadcast) } else { Vec::new() },
            bias_forms: list(CallOption::Bias, &suite.broadcast),
        }
    }

    /// Shape, values, scale, causal, mask pattern (0: off), mask form (only with a mask), bias form (0: off).
    fn factors(&self) -> Vec<Factor> {
        let free = |levels| Factor { levels, needs: None };
        vec![
            free(self.shapes.len()),
            free(self.values.len()),
            free(self.scales.len()),
            free(1 + usize::from(self.causal)),
            free(1 + self.masks.len()),
            Factor { levels: self.mask_forms.len(), needs: Some(4) },
            free(1 + self.bias_forms.len()),
        ]
    }

    fn plan(&self, law: &CheckedLaw, dtype: Dtype, row: &Row, seed: u64) -> CasePlan {
        let level = |factor: usize| row[factor].unwrap_or(0);
        let optional = |factor: usize| level(factor).checked_sub(1);
        let law_dims = law.given.iter().filter_map(|given| match given.domain {
            Domain::Dim { low, high } => Some(Source(seed).draws(&given.names[0]).between(low, high)),
            _ => None,
        });
        CasePlan {
            law: law.law.law.clone(),
            dtype,
            dims: self.shapes[level(0)],
            law_dims: law_dims.collect(),
            scale: self.scales[level(2)],
            causal: level(3) == 1,
            mask: optional(4).map(|pattern| (self.masks[pattern], self.mask_forms[level(5)])),
            bias: optional(6).map(|form| self.bias_forms[form]),
            values: self.values[level(1)],
            tiny: false,
            seed,
        }
    }
}

fn distinct<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(item) {
            kept.push(*item);
        }
    }
    kept
}
