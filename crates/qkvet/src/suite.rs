//! A suite on implementations of this process: what is chosen, and a run of it.

use std::fmt;
use std::sync::atomic::AtomicBool;

use qkvet_engine::law::{Judge, evaluate};
use qkvet_gen::{check_case, from_token};
use qkvet_report::English;
use qkvet_run::adapters::{Again, NamedTarget, OpenTarget, OwnTarget};
use qkvet_run::config::{CaseSource, RunConfig};
use qkvet_run::declared::{Declared, Selection, embedded};
use qkvet_run::run::{run, self_test};
use qkvet_spec::{Case, Catalog, CheckedLaw, Dialect, Dtype, Judgment, Summary, Unexpected};

use crate::Error;
use crate::attention::{Attention, Supports};
use crate::element::Element;
use crate::target::{Answering, OfFormat, Own};

/// Never set: a test that is to end is ended from outside.
static STOP: AtomicBool = AtomicBool::new(false);

/// The laws of the suite `core` on an implementation in the format `T`.
pub fn suite<T: Element>(target: impl Attention<T> + 'static) -> Suite {
    Suite {
        formats: vec![Box::new(OfFormat::<T, _>::new(target))],
        supports: None,
        suite: "core".to_owned(),
        seed: 0,
        laws: Vec::new(),
        conventions: Vec::new(),
        contracts: Vec::new(),
        known: Vec::new(),
    }
}

/// What is to be run. [`Suite::main`] is a whole test binary, [`Suite::check`] a run within a test
/// of yours.
#[must_use = "a suite is run by `main` or `check`"]
pub struct Suite {
    formats: Vec<Box<dyn Answering>>,
    supports: Option<Supports>,
    suite: String,
    seed: u64,
    laws: Vec<String>,
    conventions: Vec<String>,
    contracts: Vec<String>,
    known: Vec<(String, String)>,
}

impl Suite {
    /// The implementation in another format too.
    pub fn and<T: Element>(mut self, target: impl Attention<T> + 'static) -> Self {
        self.formats.push(Box::new(OfFormat::<T, _>::new(target)));
        self
    }

    /// Another suite: `qkvet list suites` has them.
    pub fn suite(self, suite: &str) -> Self {
        Self { suite: suite.to_owned(), ..self }
    }

    /// Other cases of the same kind.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Only this law, and others that are named so.
    pub fn law(mut self, law: &str) -> Self {
        self.laws.push(law.to_owned());
        self
    }

    /// A choice other than the standard, `field=value`.
    pub fn convention(mut self, convention: &str) -> Self {
        self.conventions.push(convention.to_owned());
        self
    }

    /// The arithmetic that is claimed, other than the loosest of its format.
    pub fn contract(mut self, contract: &str) -> Self {
        self.contracts.push(contract.to_owned());
        self
    }

    /// What is offered, instead of what [`Attention::supports`] says. For closures.
    pub fn supports(self, supports: Supports) -> Self {
        Self { supports: Some(supports), ..self }
    }

    /// A law that is known to fail, with the reason: its tests must fail, and are told when they do
    /// not.
    pub fn known(mut self, law: &str, reason: &str) -> Self {
        self.known.push((law.to_owned(), reason.to_owned()));
        self
    }

    /// Runs all of it at once. Known failures are findings as others.
    ///
    /// # Errors
    /// Unknown names, two implementations for one format, a suite without any of the formats.
    pub fn check(self) -> Result<Report, Error> {
        let prepared = self.prepared(replay_line)?;
        let Selection { laws, dtypes, .. } = &prepared.selection;
        Ok(Report { summary: prepared.run(laws.clone(), dtypes.clone())? })
    }

    /// The verdict on the case that the token of a finding holds.
    ///
    /// # Errors
    /// As [`Suite::check`], and a token that holds no case.
    pub fn replay(self, token: &str) -> Result<Judgment, Error> {
        let prepared = self.prepared(replay_line)?;
        let (law, case) = prepared.case(token)?;
        prepared.judged(law, &case)
    }

    /// Names looked up, with the line that shows a case again.
    pub(crate) fn prepared(self, again: fn(&Again<'_>) -> String) -> Result<Prepared, Error> {
        let own = Own::new(self.formats, self.supports);
        let dtypes = own.dtypes();
        if let Some(twice) =
            dtypes.iter().enumerate().find(|(at, dtype)| dtypes[..*at].contains(dtype))
        {
            let place = format!("format {}", twice.1);
            return Err(Unexpected::at(place, "one implementation").got("two").into());
        }
        let selection = Selection::new(&self.suite, &self.laws, &[])?;
        let shared: Vec<Dtype> =
            selection.suite.dtypes.iter().copied().filter(|one| dtypes.contains(one)).collect();
        let selection = Selection { dtypes: shared, ..selection };
        if selection.dtypes.is_empty() {
            let names = |dtypes: &[Dtype]| {
                dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
            };
            let place = format!("formats of suite {}", self.suite);
            let expected = format!("one of {}", names(&selection.suite.dtypes));
            return Err(Unexpected::at(place, expected).got(names(&dtypes)).into());
        }
        for (law, _) in &self.known {
            Catalog::find("law", &embedded()?.laws, law)?;
        }
        let declared = Declared::new(&self.conventions, &self.contracts, &selection.dtypes)?;
        let opened = own.clone();
        let own_target =
            OwnTarget::new(move || OpenTarget::live(opened.clone(), Vec::new()), again);
        let target = NamedTarget::new("attention", own_target);
        Ok(Prepared { own, target, selection, declared, seed: self.seed, known: self.known })
    }
}

/// A suite whose names are looked up.
pub(crate) struct Prepared {
    pub(crate) own: Own,
    target: NamedTarget,
    pub(crate) selection: Selection,
    pub(crate) declared: Declared<'static>,
    pub(crate) seed: u64,
    pub(crate) known: Vec<(String, String)>,
}

impl Prepared {
    /// The cases of some laws and formats.
    pub(crate) fn run(
        &self,
        laws: Vec<&'static CheckedLaw>,
        dtypes: Vec<Dtype>,
    ) -> Result<Summary, Error> {
        let cases = CaseSource::Suite { suite: self.selection.suite, seed: self.seed };
        let config = RunConfig {
            laws,
            conventions: self.declared.conventions.clone(),
            contracts: self.declared.by_dtype(),
            dtypes,
            ..RunConfig::of(&English, embedded()?, &self.target, cases, &STOP)
        };
        run(&config, &mut |_| {})
    }

    /// The case of a token, and its law.
    pub(crate) fn case(&self, token: &str) -> Result<(&'static CheckedLaw, Case), Error> {
        let case = from_token(token)?;
        let law = embedded()?.asking_law(&case.law)?;
        check_case(law, &case)?;
        self.declared.contract(case.dtype)?;
        Ok((law, case))
    }

    /// The verdict on a case.
    pub(crate) fn judged(&self, law: &CheckedLaw, case: &Case) -> Result<Judgment, Error> {
        self_test()?;
        let criteria = self.declared.criteria(case.dtype)?;
        let meaning = criteria.meaning();
        let judge = Judge { meaning: &meaning, contract: criteria.contract };
        let outcome = evaluate(law, case, judge, &mut self.own.clone())?;
        Ok(criteria.judgment_of_case(outcome))
    }

    /// The reason why a law is known to fail.
    pub(crate) fn known(&self, law: &str) -> Option<&str> {
        self.known.iter().find(|(known, _)| known == law).map(|(_, reason)| reason.as_str())
    }
}

/// The line of a finding in a test of the caller's own.
fn replay_line(again: &Again<'_>) -> String {
    format!(".replay(\"{}\") in place of .check()", again.token)
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Report {
    summary: Summary,
}

impl Report {
    /// Everything that is known of the run; the same as of `qkvet check --format json`.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether the run came to its end, something was checked and everything checked held;
    /// calls that should have been refused apart ([`Unguarded`](qkvet_spec::Verdict::Unguarded)).
    pub fn is_ok(&self) -> bool {
        let Summary { findings, stopped, .. } = &self.summary;
        !findings.iter().any(|one| one.verdict.fails())
            && stopped.is_none()
            && self.summary.checked() > 0
    }

    /// Asserts that it is.
    ///
    /// # Panics
    /// There is a finding, or nothing was checked.
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.is_ok(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.summary.findings {
            writeln!(f, "{}\n", qkvet_report::finding_text(finding, Dialect::RustSuite))?;
        }
        let n = self.summary.checked();
        match self.summary.findings.len() {
            _ if n == 0 => {
                write!(f, "nothing was checked: {}", self.summary.coverage.format_declined())
            }
            0 => write!(f, "no finding in {n} checked cases"),
            1 => write!(f, "1 finding in {n} checked cases"),
            findings => write!(f, "{findings} findings in {n} checked cases"),
        }
    }
}
