//! Where the numbers that a result is compared with come from.

use std::collections::BTreeMap;
use std::fmt;

/// Where a row of reference numbers comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// The enclosure in binary64.
    Enclosure,
    /// The enclosure, where nothing is rounded.
    Exact,
    /// What the meaning says of a query that sees no key.
    Defined,
    /// Integers of as many bits as it takes: the enclosure was too wide.
    ArbitraryPrecision,
    /// Certified digits that were stored with the case.
    Stored,
}

impl Reference {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::Enclosure, Self::Exact, Self::Defined, Self::ArbitraryPrecision, Self::Stored];

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Enclosure => "enclosure",
            Self::Exact => "exact",
            Self::Defined => "defined",
            Self::ArbitraryPrecision => "arbitrary-precision",
            Self::Stored => "stored",
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Rows by where their reference comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References(BTreeMap<Reference, usize>);

impl References {
    /// Counts rows.
    pub fn add(&mut self, rows: &[Reference]) {
        for row in rows {
            *self.0.entry(*row).or_default() += 1;
        }
    }

    /// Those that occur, with how many rows each.
    pub fn iter(&self) -> impl Iterator<Item = (Reference, usize)> {
        self.0.iter().map(|(reference, rows)| (*reference, *rows))
    }
}
