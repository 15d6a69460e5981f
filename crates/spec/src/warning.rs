//! What a run has to say besides its verdicts: notices while it runs, and warnings that stand in
//! the report too.

use serde::{Deserialize, Deserializer};

use crate::{Fit, KnownDeviation, Quoted, Redirect, Unexpected};

/// Something a person should know while waiting.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The cases of a suite are made to fit what the target takes.
    Fitted {
        /// Id of the suite.
        suite: String,
        /// What the target takes.
        fit: Box<Fit>,
    },
    /// The first calls of every new combination of extents and options take far longer than others.
    Compiled,
    /// All cases are judged again under conventions that nobody declared.
    JudgedAgain {
        /// The conventions, `field=value`.
        conventions: Vec<String>,
    },
}

/// Something a person must know when the run is over, too; the verdicts do not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// No case lies in the domain that the target is required to answer.
    NothingRequired {
        /// The domain.
        required: String,
    },
    /// The target wrote lines to the protocol's pipe that were no messages.
    StrayLines {
        /// The first of them.
        first: Quoted,
    },
    /// The program offers what is not known here.
    UnknownOffers {
        /// The first of them.
        first: Vec<UnknownOffer>,
        /// How many more there are.
        more: usize,
    },
    /// A program has not answered for a while. It is told while waiting, and no report has it.
    Silence {
        /// The message that has no answer yet.
        message: &'static str,
    },
    /// The function returned the memory of an earlier result that was still in use.
    ResultReused {
        /// Cases in which it did.
        cases: usize,
    },
    /// Only the cases were asked that did not hold in the run before.
    OnlyFailed,
    /// Calls had few combinations of extents, format and options, as the user wished.
    FewShapes {
        /// So many at most.
        most: usize,
    },
    /// Of each call only some query rows were looked at, as the user wished.
    SomeRows {
        /// So many, if there are more.
        n: usize,
        /// What they are drawn by.
        seed: u64,
    },
    /// The run was ended on purpose before its last case.
    Cut {
        /// Cases that were run: the first in the order in which they are put.
        cases: usize,
        /// Cases that there are.
        of: usize,
    },
    /// Cases could not be written to the store.
    CasesLost {
        /// The first of them, and why.
        error: Box<Unexpected>,
    },
    /// A file that the run was configured by changed, came or went before its end.
    ConfigurationChanged {
        /// Which, and what it was.
        error: Box<Unexpected>,
    },
    /// A known deviation has a name that is no longer used.
    OldName {
        /// The file of known deviations.
        file: String,
        /// Number of the entry, from 1.
        entry: usize,
        /// The old name and the new one.
        redirect: Redirect,
    },
    /// Nothing shows a known deviation in the formats that the run had. It may hold in others.
    PartlyGone {
        /// The deviation.
        entry: Box<KnownDeviation>,
        /// The formats of the run, by name.
        dtypes: Vec<String>,
    },
    /// A warning of another run, whose report or shard has its sentence alone.
    Recorded {
        /// The sentence.
        text: Quoted,
    },
}

/// A name in what a program says to support that is not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOffer {
    /// The list that has it: `dtypes`, `options`, `outputs`, `payloads`.
    pub list: &'static str,
    /// The name, quoted.
    pub name: Quoted,
    /// The known name that is nearest, if one is near.
    pub nearest: Option<String>,
}

impl<'de> Deserialize<'de> for Warning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Quoted::deserialize(deserializer).map(|text| Self::Recorded { text })
    }
}
