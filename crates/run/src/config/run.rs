//! The configuration of one run, all of it looked up: nothing that a run is made from is read or
//! resolved later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use qkvet_diagnose::Claim;
use qkvet_gen::frozen::{FrozenCase, OwnCase};
use qkvet_spec::{
    CallOption, Catalog, CheckedLaw, Contract, Convention, DeviationFile, Dtype, Required,
    SpecError, Suite, Verdict, Words,
};

use crate::adapters::NamedTarget;
use crate::record::{Journal, Sharding};

/// Everything a run is made from.
#[derive(Clone, Debug)]
pub struct RunConfig<'a> {
    /// The knowledge.
    pub catalog: &'a Catalog,
    /// The target.
    pub target: &'a NamedTarget,
    /// Where the cases come from.
    pub cases: CaseSource<'a>,
    /// Their laws.
    pub laws: Vec<&'a CheckedLaw>,
    /// Formats.
    pub dtypes: Vec<Dtype>,
    /// Workers, each with a target of its own.
    pub jobs: usize,
    /// Conventions declared.
    pub conventions: Vec<&'a Convention>,
    /// Contracts by format.
    pub contracts: BTreeMap<Dtype, &'a Contract>,
    /// The hashes of the files that this was read from, for the report.
    pub configuration: BTreeMap<String, String>,
    /// Stop at the first finding.
    pub fail_fast: FailFast<'a>,
    /// Begin no case after so long, and leave out those that were not begun.
    pub time: Option<Duration>,
    /// Run only so many cases: the first in the order in which they are put.
    pub until: Option<usize>,
    /// Run only the cases of these ids; absent: all.
    pub only: Option<BTreeSet<String>>,
    /// Folder for cases; absent: nothing is written.
    pub store: Option<PathBuf>,
    /// Run only these cases, and keep what the target answers.
    pub sharding: Option<Sharding>,
    /// Where answers are kept for a run that continues this one.
    pub journal: Option<Journal>,
    /// Hash what comes back, for a comparison of bits.
    pub digests: bool,
    /// Whether what no fault of the atlas explains is identified, by a few more calls. Joined shards
    /// have nobody to ask.
    pub identifies: bool,
    /// Calls that the target is required to answer.
    pub required: Required,
    /// What the target is said to compute in place of the standard. Absent: nothing else.
    pub claim: Option<&'a NamedClaim>,
    /// Whether findings are proposed while the run goes on, for someone who reads them. What is
    /// found in the end does not depend on it.
    pub proposes: bool,
    /// What makes sentences of findings, for scripts that show them.
    pub words: &'a dyn Words,
    /// Set from outside to stop early with a partial report.
    pub stop: &'a AtomicBool,
}

impl<'a> RunConfig<'a> {
    /// A run to the last case by one worker, with nothing declared and nothing kept. Laws, formats
    /// and their contracts are still to be given: without them there is no case.
    pub fn of(
        words: &'a dyn Words,
        catalog: &'a Catalog,
        target: &'a NamedTarget,
        cases: CaseSource<'a>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            catalog,
            target,
            cases,
            laws: Vec::new(),
            dtypes: Vec::new(),
            jobs: 1,
            conventions: Vec::new(),
            contracts: BTreeMap::new(),
            configuration: BTreeMap::new(),
            fail_fast: FailFast::Off,
            only: None,
            time: None,
            until: None,
            store: None,
            sharding: None,
            journal: None,
            digests: false,
            identifies: true,
            required: Required::default(),
            claim: None,
            proposes: false,
            words,
            stop,
        }
    }
}

/// A file of deviations that a target is held against.
#[derive(Clone, Debug)]
pub struct NamedClaim {
    /// The file as it was named.
    pub file: String,
    /// What it says.
    pub claim: Claim,
}

impl NamedClaim {
    /// Reads a file.
    ///
    /// # Errors
    /// YAML that does not fit, what is not in the catalog, what cannot be held together.
    pub fn read(path: &str, source: &str, catalog: &Catalog) -> Result<Self, SpecError> {
        let file = DeviationFile::from_yaml(path, source)?;
        let claim = Claim::new(&file, catalog).map_err(|error| error.inside(path))?;
        Ok(Self { file: path.to_owned(), claim })
    }
}

/// Where the cases of a run come from.
#[derive(Clone, Copy, Debug)]
pub enum CaseSource<'a> {
    /// Made from a suite and a seed.
    Suite {
        /// The suite.
        suite: &'a Suite,
        /// The seed.
        seed: u64,
    },
    /// Frozen cases with their answers, and nothing else.
    Frozen {
        /// What the report calls them.
        name: &'a str,
        /// The folder that they lie in.
        folder: &'a Path,
        /// The seed that they were made with.
        seed: u64,
        /// The cases.
        cases: &'a [FrozenCase],
    },
    /// Calls of the user's own.
    Own {
        /// What the report calls them.
        name: &'a str,
        /// The seed by which rows are drawn.
        seed: u64,
        /// How many query rows of large calls are looked at.
        rows: Option<usize>,
        /// The cases.
        cases: &'a [OwnCase],
    },
}

/// Whether a run ends at its first finding.
#[derive(Clone, Copy, Default)]
pub enum FailFast<'a> {
    /// It goes on.
    #[default]
    Off,
    /// At the first one.
    First,
    /// At the first one that may not be passed over, as far as this can be told before its cause is
    /// known.
    FirstBut(&'a (dyn Fn(&Seen<'_>) -> bool + Sync)),
}

/// A finding as it is seen first.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Id of the law.
    pub law: &'a str,
    /// Format.
    pub dtype: &'a str,
    /// Id of the case.
    pub case: &'a str,
    /// Options of the call.
    pub options: &'a [CallOption],
    /// What it came to.
    pub verdict: Verdict,
}

impl FailFast<'_> {
    /// Whether it may end there at all.
    pub fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    pub(crate) fn ends_at(self, seen: &Seen<'_>) -> bool {
        seen.verdict.fails()
            && match self {
                Self::Off => false,
                Self::First => true,
                Self::FirstBut(is_expected) => !is_expected(seen),
            }
    }
}

impl From<bool> for FailFast<'_> {
    fn from(is_on: bool) -> Self {
        if is_on { Self::First } else { Self::Off }
    }
}

impl fmt::Debug for FailFast<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "Off",
            Self::First => "First",
            Self::FirstBut(_) => "FirstBut",
        })
    }
}
