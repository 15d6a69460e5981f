//! One case of a run: as it is planned, and once it is judged.

use qkvet_diagnose::describe_call;
use qkvet_engine::interpret::References;
use qkvet_engine::law::{CallRecord, OnViews, Outcome};
use qkvet_gen::frozen::{FrozenCase, OwnCase};
use qkvet_gen::{CasePlan, build, case_id, outputs_digest};
use qkvet_spec::{
    CallOption, Case, CaseRecord, CheckedLaw, Convention, Dims, Dtype, Evidence, Form, Handling,
    Quoted, RightLayout, Unexpected, Values, Verdict,
};

use super::error::RunError;
use crate::config::RunConfig;

/// One case to be judged.
#[derive(Clone, Debug)]
pub(super) enum PlannedCase<'a> {
    /// Made when it is needed.
    Plan(CasePlan),
    /// As it was frozen.
    Frozen(&'a FrozenCase),
    /// A call of the user's own.
    Own(&'a OwnCase),
}

impl PlannedCase<'_> {
    /// Law id.
    pub(super) fn law(&self) -> &str {
        match self {
            Self::Plan(plan) => &plan.law,
            Self::Frozen(frozen) => &frozen.case.law,
            Self::Own(own) => &own.case.law,
        }
    }

    /// Format.
    pub(super) fn dtype(&self) -> Dtype {
        match self {
            Self::Plan(plan) => plan.dtype,
            Self::Frozen(frozen) => frozen.case.dtype,
            Self::Own(own) => own.case.dtype,
        }
    }

    /// Extents of the call.
    pub(super) fn dims(&self) -> Dims {
        match self {
            Self::Plan(plan) => plan.dims,
            Self::Frozen(frozen) => frozen.case.dims,
            Self::Own(own) => own.case.dims,
        }
    }

    /// Elements of the inputs, and the law's own extents.
    pub(super) fn size(&self) -> usize {
        let d = self.dims();
        let own = match self {
            Self::Plan(plan) => plan.law_dims.iter().sum(),
            Self::Frozen(_) | Self::Own(_) => 0,
        };
        d.b * (d.h_q * d.n_q * d.d_k + d.h_k * d.n_k * (d.d_k + d.d_v)) + own
    }

    /// Whether its values are such that an output may tell which keys a query sees.
    pub(super) fn is_routed(&self) -> bool {
        matches!(self, Self::Plan(plan) if plan.values == Values::Routed && !plan.tiny)
    }

    /// What it is drawn from, if it is.
    pub(super) fn plan(&self) -> Option<&CasePlan> {
        match self {
            Self::Plan(plan) => Some(plan),
            Self::Frozen(_) | Self::Own(_) => None,
        }
    }

    /// The file that it was read from, if it is the user's own.
    pub(super) fn file(&self) -> Option<&str> {
        match self {
            Self::Own(own) => Some(&own.file),
            Self::Plan(_) | Self::Frozen(_) => None,
        }
    }

    /// Whether it is judged as it is, and nothing else is asked.
    pub(super) fn is_frozen(&self) -> bool {
        matches!(self, Self::Frozen(_))
    }

    /// Whether the option is on.
    pub(super) fn uses(&self, option: CallOption) -> bool {
        match self {
            Self::Plan(plan) => plan.has(option),
            Self::Frozen(frozen) => frozen.case.options.has(option),
            Self::Own(own) => own.case.options.has(option),
        }
    }

    /// How many options are on.
    pub(super) fn options(&self) -> usize {
        CallOption::ALL.iter().filter(|option| self.uses(**option)).count()
    }

    /// The law, among those of the run.
    pub(super) fn checked_law<'a>(
        &self,
        config: &RunConfig<'a>,
    ) -> Result<&'a CheckedLaw, Unexpected> {
        let law = self.law();
        let found = config.laws.iter().find(|known| known.law.law == law).copied();
        // Calls that are put besides are of a law that the run may not have.
        let found = found.or_else(|| config.catalog.laws.get(law));
        found.ok_or_else(|| Unexpected::at(format!("law {law}"), "one of the run's laws"))
    }

    /// The case itself.
    pub(super) fn case(&self, config: &RunConfig<'_>) -> Result<Case, RunError> {
        match self {
            Self::Plan(plan) => build(self.checked_law(config)?, plan)
                .map_err(|error| RunError::Case { law: plan.law.clone(), error }),
            Self::Frozen(frozen) => Ok(frozen.case.clone()),
            Self::Own(own) => Ok(own.case.clone()),
        }
    }

    /// Its id.
    pub(super) fn id(&self, case: &Case) -> String {
        match self {
            Self::Plan(_) => case_id(case),
            Self::Frozen(frozen) => frozen.id.clone(),
            Self::Own(own) => own.id.clone(),
        }
    }
}

/// For which layout a result is right, where it is for one alone.
pub(crate) fn right_on(evidence: &Evidence) -> Option<RightLayout> {
    let on_views = evidence.contiguous.then_some(RightLayout::Views);
    if evidence.strided { Some(RightLayout::Contiguous) } else { on_views }
}

/// One case that was judged: what the report says of it, and what the later steps need besides.
#[derive(Clone, Debug)]
pub(super) struct JudgedCase<'a> {
    pub(super) planned: PlannedCase<'a>,
    pub(super) record: CaseRecord,
    /// Its calls. A case that did not fail keeps none.
    pub(super) calls: Vec<CallRecord>,
    /// What else views gave, where it failed in both layouts.
    pub(super) on_views: Option<Box<OnViews>>,
    /// The same case by its numbers alone, where it failed for a wider format.
    pub(super) by_numbers: Option<Box<Self>>,
    /// Where the numbers come from that its results were compared with.
    pub(super) references: References,
    /// How its calls were put and answered.
    pub(super) handling: Handling,
    /// Whether a call cost the target its process.
    pub(super) ended: bool,
    /// Why a call was not made, if one was not: the target cannot be asked any more.
    pub(super) unasked: Option<Quoted>,
    /// How many of its calls decided: those that were answered, and the one that came to nothing.
    pub(super) asked: usize,
    /// Whether it was right when it was asked again.
    pub(super) once: bool,
    /// How many cases were put before it.
    pub(super) turn: usize,
    /// Where the run is held against a file of deviations: whether that explains wrong results, or
    /// contradicts right ones.
    pub(super) claimed: Option<bool>,
    /// Whether it was declined, and the target is required to answer it.
    pub(super) is_required: bool,
}

impl<'a> JudgedCase<'a> {
    /// A case of which nothing is known.
    pub(super) fn skipped(planned: &PlannedCase<'a>, case: &Case) -> Self {
        Self {
            planned: planned.clone(),
            record: CaseRecord {
                id: planned.id(case),
                law: planned.law().to_owned(),
                dtype: planned.dtype().to_string(),
                call: describe_call(case),
                dims: case.dims,
                options: case.options.on().iter().collect(),
                verdict: Verdict::Skipped,
                margin: None,
                evidence: None,
                replay: None,
                finding: None,
                known: false,
                digest: None,
            },
            calls: Vec::new(),
            on_views: None,
            by_numbers: None,
            references: References::default(),
            handling: Handling::default(),
            ended: false,
            unasked: None,
            asked: 0,
            once: false,
            turn: 0,
            claimed: None,
            is_required: false,
        }
    }

    /// The same case with what its calls came to, and a hash of what they gave if it passed and
    /// `has_digest`.
    pub(super) fn decided(mut self, outcome: Outcome, ended: bool, has_digest: bool) -> Self {
        let Outcome { verdict, margin, evidence, calls, references, on_views } = outcome;
        if verdict == Verdict::Skipped {
            let unasked = evidence.map(|evidence| evidence.said(usize::MAX));
            return Self { ended, unasked, ..self };
        }
        let has_digest = has_digest && verdict == Verdict::Pass && !calls.is_empty();
        let outputs = calls.iter().map(|record| &record.output);
        self.record.digest = has_digest.then(|| outputs_digest(outputs.clone()));
        self.handling =
            outputs.map(|output| output.handling).fold(Handling::default(), Handling::and);
        let is_measured = matches!(verdict, Verdict::Pass | Verdict::Suspect | Verdict::Fail);
        self.record.margin = Some(margin).filter(|margin| is_measured && margin.is_finite());
        (self.record.verdict, self.record.evidence) = (verdict, evidence);
        let has_nothing = !matches!(verdict, Verdict::Fail | Verdict::Nondet | Verdict::Unguarded)
            || self.form() == Some(Form::Kind);
        self.asked = calls.len() + usize::from(has_nothing);
        if matches!(verdict, Verdict::Fail | Verdict::Unguarded) {
            (self.calls, self.on_views) = (calls, on_views);
        }
        Self { references, ended, ..self }
    }

    /// The same case held against a file of deviations: wrong results that it explains pass.
    pub(super) fn claimed(mut self, claimed: Option<bool>) -> Self {
        self.claimed = claimed;
        if claimed == Some(true) {
            (self.calls, self.on_views) = (Vec::new(), None);
            (self.record.margin, self.record.evidence) = (None, None);
            self.record.verdict = Verdict::Pass;
        }
        self
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.record.verdict
    }

    /// Whether it uses an option: it is drawn with it, or its law sets it in a call that is kept.
    pub(super) fn uses(&self, option: CallOption) -> bool {
        self.planned.uses(option) || self.calls.iter().any(|it| it.call.options.has(option))
    }

    /// For which layout it is right, if it failed on the other alone.
    pub(super) fn right_on(&self) -> Option<RightLayout> {
        self.record.evidence.as_ref().and_then(right_on)
    }

    /// What is wrong with the form of a result, if it is its form.
    pub(super) fn form(&self) -> Option<Form> {
        self.record.evidence.as_ref().and_then(|evidence| evidence.form)
    }

    /// Whether a relation is what it refutes.
    pub(super) fn is_relation(&self) -> bool {
        self.record.evidence.as_ref().is_some_and(|evidence| evidence.relation)
    }

    /// Whether it can have to do with a convention: it uses one of its options, if that has some.
    pub(super) fn may_show(&self, convention: &Convention) -> bool {
        let options = &convention.options;
        options.is_empty() || options.iter().any(|option| self.planned.uses(*option))
    }

    /// Whether nothing that came back is wrong, where something did.
    pub(super) fn is_right(&self) -> bool {
        matches!(self.verdict(), Verdict::Pass | Verdict::Suspect | Verdict::Inconclusive)
            || self.verdict() == Verdict::Unsupported && self.asked > 1
    }

    /// Whether the case cost the target its process, or may have.
    pub(super) fn broke(&self) -> bool {
        self.ended
            || matches!(self.verdict(), Verdict::Crash | Verdict::Timeout)
            || self.record.evidence.as_ref().is_some_and(|evidence| evidence.broke_protocol)
    }

    /// The same case with what views gave, where contiguous inputs gave other wrong results.
    pub(super) fn on_views(mut self) -> Self {
        if let Some(on_views) = self.on_views.take() {
            (self.record.evidence, self.calls) = (Some(on_views.evidence), on_views.calls);
        }
        self
    }
}
