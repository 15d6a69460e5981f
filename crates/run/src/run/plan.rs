//! The cases of a run: those of a suite, frozen ones, or calls of a user's own.

use qkvet_gen::CasePlan;
use qkvet_gen::frozen::{FrozenCase, OwnCase};
use qkvet_spec::{CallOption, CheckedLaw, Chosen, Dtype, Fit, Suite, Takes};

use super::case::PlannedCase;
use super::error::RunError;
use super::few::few;
use super::order::order;
use crate::config::{CaseSource, RunConfig};
use crate::record::Sharding;

impl<'a> CaseSource<'a> {
    /// What the report calls it.
    pub(super) fn name(&self) -> &'a str {
        match self {
            Self::Suite { suite, .. } => &suite.suite,
            Self::Frozen { name, .. } | Self::Own { name, .. } => name,
        }
    }

    /// The version of the suite; stored cases are what they are.
    pub(super) fn version(&self) -> usize {
        match self {
            Self::Suite { suite, .. } => suite.version,
            Self::Frozen { .. } | Self::Own { .. } => 1,
        }
    }

    /// The seed behind the cases.
    pub(super) fn seed(&self) -> u64 {
        match self {
            Self::Suite { seed, .. } | Self::Frozen { seed, .. } | Self::Own { seed, .. } => *seed,
        }
    }

    /// How many combinations of extents, format and options its calls have at most.
    pub(super) fn most_shapes(&self) -> Option<usize> {
        match self {
            Self::Suite { suite, .. } => suite.most_shapes,
            Self::Frozen { .. } | Self::Own { .. } => None,
        }
    }

    /// By what only some of the cases that there are were chosen.
    pub(super) fn chosen(&self, config: &RunConfig<'_>) -> Vec<Chosen> {
        let is_asked =
            |law: &&CheckedLaw| config.laws.iter().any(|asked| asked.law.law == law.law.law);
        let laws = match self {
            Self::Suite { suite, .. } => {
                config.catalog.suite_laws(suite).is_ok_and(|laws| !laws.iter().all(is_asked))
            }
            Self::Frozen { .. } | Self::Own { .. } => false,
        };
        let present: Vec<Dtype> = match (self, &config.target.entry.dtypes) {
            (_, Some(declared)) => declared.clone(),
            (Self::Suite { suite, .. }, None) => suite.dtypes.clone(),
            (Self::Frozen { cases, .. }, None) => {
                cases.iter().map(|frozen| frozen.case.dtype).collect()
            }
            (Self::Own { cases, .. }, None) => cases.iter().map(|own| own.case.dtype).collect(),
        };
        let dtypes = !present.iter().all(|dtype| config.dtypes.contains(dtype));
        let all = [
            (laws, Chosen::Laws),
            (dtypes, Chosen::Dtypes),
            (config.sharding.is_some(), Chosen::Shard),
            (config.only.is_some(), Chosen::Failed),
        ];
        let all = all.into_iter().filter_map(|(is_so, chosen)| is_so.then_some(chosen));
        let rows = match self {
            Self::Suite { suite, .. } => suite.rows,
            Self::Own { rows, .. } => *rows,
            Self::Frozen { .. } => None,
        };
        all.chain(self.most_shapes().map(|most| Chosen::Shapes { most }))
            .chain(rows.map(|n| Chosen::Rows { n }))
            .collect()
    }

    /// How much of the suite the target takes as it is, where it was made to fit.
    pub(super) fn takes(&self, config: &RunConfig<'_>, fit: Option<&Fit>) -> Option<Takes> {
        let Self::Suite { suite, seed } = self else { return None };
        let fit = fit.or(suite.fit.as_ref())?;
        let whole = Suite { fit: None, most_shapes: None, at: Vec::new(), ..Suite::clone(suite) };
        let plans = qkvet_gen::plans(&whole, &config.laws, &config.dtypes, *seed);
        let is_taken = |plan: &&CasePlan| {
            CallOption::ALL.iter().all(|option| fit.has(*option) || !plan.has(*option))
                && fit.always.iter().all(|option| plan.has(*option))
                && fit.apply(&plan.dims) == plan.dims
        };
        let cases = plans.iter().filter(is_taken).count();
        Some(Takes { cases, of: plans.len() }).filter(|takes| takes.cases < takes.of)
    }

    /// Whether the suite would be another one if it were made to fit: it says itself what it fits,
    /// or its extents do already.
    pub(super) fn is_changed_by(&self, fit: &Fit) -> bool {
        match self {
            Self::Suite { suite, .. } => {
                suite.fit.is_none()
                    && (fit.is_more_than_extents()
                        || suite.most_shapes.is_some()
                        || suite.shapes.iter().any(|dims| fit.apply(dims) != *dims))
            }
            Self::Frozen { .. } | Self::Own { .. } => false,
        }
    }
}

/// The cases of a run.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// In order of the suite, as a report has them.
    pub(super) cases: Vec<PlannedCase<'a>>,
    /// Their numbers in the order in which they are put.
    pub(super) order: Vec<usize>,
}

impl<'a> Plan<'a> {
    /// The cases of the run's laws and formats; those of a suite are made to fit. A shard puts its
    /// own in the order of the whole run.
    ///
    /// # Errors
    /// A case of a shard that cannot be made.
    pub(super) fn of(config: &RunConfig<'a>, fit: Option<&Fit>) -> Result<Self, RunError> {
        let cases: Vec<PlannedCase<'a>> = match config.cases {
            CaseSource::Suite { suite, seed } => {
                let fitted = fit.map(|fit| Suite { fit: Some(fit.clone()), ..suite.clone() });
                let suite = fitted.as_ref().unwrap_or(suite);
                let plans = match suite.most_shapes {
                    Some(most) => few(config, suite, seed, most)?,
                    None => qkvet_gen::plans(suite, &config.laws, &config.dtypes, seed),
                };
                plans.into_iter().map(PlannedCase::Plan).collect()
            }
            CaseSource::Frozen { cases, .. } => {
                let chosen = |frozen: &&FrozenCase| config.dtypes.contains(&frozen.case.dtype);
                cases.iter().filter(chosen).map(PlannedCase::Frozen).collect()
            }
            CaseSource::Own { cases, .. } => {
                let chosen = |own: &&OwnCase| config.dtypes.contains(&own.case.dtype);
                cases.iter().filter(chosen).map(PlannedCase::Own).collect()
            }
        };
        let mut plan = Self { order: order(&cases), cases };
        let shard = config.sharding.as_ref().map(|Sharding { shard, .. }| shard);
        if shard.is_some() || config.only.is_some() {
            let is_own = |case: &PlannedCase<'a>| {
                let id = case.id(&case.case(config)?);
                let is_asked = config.only.as_ref().is_none_or(|only| only.contains(&id));
                Ok::<bool, RunError>(is_asked && shard.is_none_or(|shard| shard.holds(&id)))
            };
            let own = plan.cases.iter().map(is_own).collect::<Result<Vec<_>, _>>()?;
            plan.keep(&own);
        }
        Ok(plan)
    }

    /// Leaves the first so many in the order in which they are put.
    pub(super) fn cut(&mut self, first: usize) {
        let mut kept = vec![false; self.cases.len()];
        self.order.iter().take(first).for_each(|at| kept[*at] = true);
        self.keep(&kept);
    }

    fn keep(&mut self, kept: &[bool]) {
        let mut next = 0..;
        let numbers: Vec<Option<usize>> =
            kept.iter().map(|is_kept| is_kept.then(|| next.next()).flatten()).collect();
        let mut is_kept = kept.iter();
        self.cases.retain(|_| *is_kept.next().unwrap_or(&false));
        self.order = self.order.iter().filter_map(|at| numbers[*at]).collect();
    }
}
