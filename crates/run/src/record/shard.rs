//! Which cases a shard holds.

use std::fmt;
use std::str::FromStr;

use super::Recording;

/// Part `number` of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    number: u32,
    count: u32,
}

/// A run of one shard: which it is, and where its answers are kept.
#[derive(Clone, Debug)]
pub struct Sharding {
    /// The part of the cases that is run.
    pub shard: Shard,
    /// What the target answered.
    pub recording: Recording,
}

impl Shard {
    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Whether the case of this id is its own: the id's hexadecimal digits, modulo the number of
    /// shards, plus one.
    ///
    /// The id is a hash of the case, so every shard gets about as many, and adding a law moves no
    /// other case.
    pub fn holds(self, case_id: &str) -> bool {
        let digits = case_id.trim_start_matches("c-");
        let hash = u64::from_str_radix(digits.get(..16).unwrap_or(digits), 16).unwrap_or(0);
        hash % u64::from(self.count) + 1 == u64::from(self.number)
    }
}

/// A text that names no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected i/n with 1 <= i <= n, such as 2/3")]
pub struct NoShard;

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err(NoShard),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_number_of_a_count() {
        for text in ["1/1", "1/3", "3/3"] {
            assert_eq!(text.parse::<Shard>().map(|shard| shard.to_string()).as_deref(), Ok(text));
        }
        for text in
            ["0/3", "4/3", "a/b", "1", "1/", "/1", "-1/3", "1/0", "0/0", "1/3/3", "1/99999999999"]
        {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_case_falls_to_one_shard() {
        for (id, number) in
            [("c-0000000000000000", 1), ("c-0000000000000005", 3), ("c-ffffffffffffffff", 1)]
        {
            for at in 1..=3 {
                assert_eq!(Shard { number: at, count: 3 }.holds(id), at == number, "{id} {at}");
            }
        }
    }
}
