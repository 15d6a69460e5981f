//! What a run judges: cases that plans make, or frozen ones.

use qkvet_engine::ball::Ball;
use qkvet_engine::interpret::{Expected, Reference, interpret};
use qkvet_engine::law::{Judge, Outcome, judge_call};
use qkvet_engine::lowering::Want;
use qkvet_gen::frozen::{FrozenCase, call_of};
use qkvet_gen::{CasePlan, build, case_id};
use qkvet_spec::{
    Call, CallOption, Case, CheckedLaw, Chosen, Dims, Dtype, Fit, Meaning, Suite, Target, Threads,
    Unexpected, Values,
};

use super::{CaseSource, RunConfig, RunError};
use crate::record::Sharding;

impl<'a> CaseSource<'a> {
    /// What the report calls it.
    pub(super) fn name(&self) -> &'a str {
        match self {
            Self::Suite { suite, .. } => &suite.suite,
            Self::Frozen { name, .. } => name,
        }
    }

    /// The seed behind the cases.
    pub(super) fn seed(&self) -> u64 {
        match self {
            Self::Suite { seed, .. } | Self::Frozen { seed, .. } => *seed,
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
            Self::Frozen { .. } => false,
        };
        let present: Vec<Dtype> = match (self, &config.target.entry.dtypes) {
            (_, Some(declared)) => declared.clone(),
            (Self::Suite { suite, .. }, None) => suite.dtypes.clone(),
            (Self::Frozen { cases, .. }, None) => {
                cases.iter().map(|frozen| frozen.case.dtype).collect()
            }
        };
        let dtypes = !present.iter().all(|dtype| config.dtypes.contains(dtype));
        let all = [
            (laws, Chosen::Laws),
            (dtypes, Chosen::Dtypes),
            (config.sharding.is_some(), Chosen::Shard),
        ];
        all.into_iter().filter_map(|(is_so, chosen)| is_so.then_some(chosen)).collect()
    }

    /// Whether the suite would be another one if it were made to fit: it says itself what it fits,
    /// or its extents do already.
    pub(super) fn is_changed_by(&self, fit: &Fit) -> bool {
        match self {
            Self::Suite { suite, .. } => {
                suite.fit.is_none() && suite.shapes.iter().any(|dims| fit.apply(dims) != *dims)
            }
            Self::Frozen { .. } => false,
        }
    }

    /// The cases of the run's laws and formats, in order; those of a suite are made to fit.
    ///
    /// # Errors
    /// A case of a shard that cannot be made.
    pub(super) fn planned(
        &self,
        config: &RunConfig<'a>,
        fit: Option<&Fit>,
    ) -> Result<Vec<Planned<'a>>, RunError> {
        let all = self.all(config, fit);
        let Some(Sharding { shard, .. }) = &config.sharding else { return Ok(all) };
        let mut own = Vec::new();
        for planned in all {
            if shard.holds(&planned.id(&planned.case(config)?)) {
                own.push(planned);
            }
        }
        Ok(own)
    }

    fn all(&self, config: &RunConfig<'a>, fit: Option<&Fit>) -> Vec<Planned<'a>> {
        match *self {
            Self::Suite { suite, seed } => {
                let fitted = fit.map(|fit| Suite { fit: Some(fit.clone()), ..suite.clone() });
                let suite = fitted.as_ref().unwrap_or(suite);
                let plans = qkvet_gen::plans(suite, &config.laws, &config.dtypes, seed);
                plans.into_iter().map(Planned::Plan).collect()
            }
            Self::Frozen { cases, .. } => {
                let chosen = |frozen: &&FrozenCase| config.dtypes.contains(&frozen.case.dtype);
                cases.iter().filter(chosen).map(Planned::Frozen).collect()
            }
        }
    }
}

/// One case to be judged.
#[derive(Clone, Debug)]
pub(super) enum Planned<'a> {
    /// Made when it is needed.
    Plan(CasePlan),
    /// As it was frozen.
    Frozen(&'a FrozenCase),
}

impl Planned<'_> {
    /// Law id.
    pub(super) fn law(&self) -> &str {
        match self {
            Self::Plan(plan) => &plan.law,
            Self::Frozen(frozen) => &frozen.case.law,
        }
    }

    /// Format.
    pub(super) fn dtype(&self) -> Dtype {
        match self {
            Self::Plan(plan) => plan.dtype,
            Self::Frozen(frozen) => frozen.case.dtype,
        }
    }

    /// Extents of the call.
    pub(super) fn dims(&self) -> Dims {
        match self {
            Self::Plan(plan) => plan.dims,
            Self::Frozen(frozen) => frozen.case.dims,
        }
    }

    /// Elements of the inputs, and the law's own extents.
    pub(super) fn size(&self) -> usize {
        let d = self.dims();
        let own = match self {
            Self::Plan(plan) => plan.law_dims.iter().sum(),
            Self::Frozen(_) => 0,
        };
        d.b * (d.h_q * d.n_q * d.d_k + d.h_k * d.n_k * (d.d_k + d.d_v)) + own
    }

    /// Whether its values are such that an output may tell which keys a query sees.
    pub(super) fn is_routed(&self) -> bool {
        matches!(self, Self::Plan(plan) if plan.values == Values::Routed && !plan.tiny)
    }

    /// Whether the option is on.
    pub(super) fn uses(&self, option: CallOption) -> bool {
        match self {
            Self::Plan(plan) => plan.has(option),
            Self::Frozen(frozen) => frozen.case.options.has(option),
        }
    }

    /// The law, among those of the run.
    pub(super) fn checked_law<'a>(
        &self,
        config: &RunConfig<'a>,
    ) -> Result<&'a CheckedLaw, Unexpected> {
        let law = self.law();
        let found = config.laws.iter().find(|known| known.law.law == law).copied();
        found.ok_or_else(|| Unexpected::at(format!("law {law}"), "one of the run's laws"))
    }

    /// The case itself.
    pub(super) fn case(&self, config: &RunConfig<'_>) -> Result<Case, RunError> {
        match self {
            Self::Plan(plan) => build(self.checked_law(config)?, plan)
                .map_err(|error| RunError::Case { law: plan.law.clone(), error }),
            Self::Frozen(frozen) => Ok(frozen.case.clone()),
        }
    }

    /// Its id.
    pub(super) fn id(&self, case: &Case) -> String {
        match self {
            Self::Plan(_) => case_id(case),
            Self::Frozen(frozen) => frozen.id.clone(),
        }
    }
}

/// For each row, whether a format may overflow on the way to it: only where there is no bound does
/// it matter, and is asked.
fn overflows(judge: Judge<'_>, call: &Call, bounds: &[f64]) -> Vec<bool> {
    let d = call.dims();
    match bounds.iter().any(|bound| bound.is_infinite()) {
        true => interpret(judge.meaning, call, judge.contract, Want::Output).overflows,
        false => vec![false; d.b * d.h_q * d.n_q],
    }
}

/// Judges the one call of a frozen case by its frozen answer. For a target that declares another
/// convention, or a contract without frozen bounds, the answer is enclosed anew.
pub(super) fn judge_frozen(
    frozen: &FrozenCase,
    judge: Judge<'_>,
    target: &mut dyn Target,
) -> Result<Outcome, RunError> {
    let call = call_of(&frozen.case)
        .map_err(|error| RunError::Case { law: frozen.case.law.clone(), error })?;
    let expected = match frozen.bounds.get(&judge.contract.contract) {
        Some(bounds) if *judge.meaning == Meaning::standard() => Expected {
            dtype: frozen.case.dtype,
            shape: frozen.answer.shape,
            exact: frozen.answer.values.iter().map(|answer| Ball::exact(answer.to_f64())).collect(),
            hard: bounds.clone(),
            probable: bounds.clone(),
            rows: vec![Reference::Stored; frozen.answer.shape[..3].iter().product()],
            overflows: overflows(judge, &call, bounds),
        },
        _ => interpret(judge.meaning, &call, judge.contract, Want::Output),
    };
    Ok(judge_call("attention(Q, K, V)", &call, |_| expected.clone(), target))
}

/// The law whose cases all run on the library's own number of threads.
pub(super) const ALWAYS: &str = "repeatability";
/// One in so many of the other cases does.
pub(super) const ONE_IN: u32 = 10;

/// The number of threads of a case. It depends on the case alone, so that shards and replays do as
/// the run did.
pub fn threads_of(id: &str, law: &str) -> Threads {
    let is_threaded = law == ALWAYS || crc32fast::hash(id.as_bytes()).is_multiple_of(ONE_IN);
    if is_threaded { Threads::Library } else { Threads::One }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_case_in_ten_runs_on_several_threads_and_all_of_repeatability() {
        let ids: Vec<String> = (0..10_000).map(|n| format!("c-{n:016x}")).collect();
        let threaded = ids.iter().filter(|id| threads_of(id, "value") == Threads::Library).count();
        assert!((800..1200).contains(&threaded), "{threaded}");
        assert!(ids.iter().all(|id| threads_of(id, ALWAYS) == Threads::Library));
    }
}
