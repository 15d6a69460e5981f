//! Words and maps that a document of another origin has to get right.

use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::GenError;

/// Longest id.
const MAX_LEN: usize = 64;

/// Whether this can be an id of a fault, contract, convention, suite or group.
pub(super) fn check_word(word: &str, place: &str) -> Result<(), GenError> {
    let fits = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_".contains(&c);
    if (1..=MAX_LEN).contains(&word.len()) && word.bytes().all(fits) {
        return Ok(());
    }
    Err(GenError::new("word", place, "lower-case words joined by hyphens", format!("`{word:.64}`")))
}

/// Whether this has the form of a case id.
pub(super) fn check_id(id: &str, place: &str) -> Result<(), GenError> {
    let digits = id.strip_prefix("c-").unwrap_or_default();
    if digits.len() == 16 && digits.bytes().all(is_hex) {
        return Ok(());
    }
    Err(GenError::new("id", place, "`c-` and 16 hexadecimal digits", format!("`{id:.64}`")))
}

/// Whether this has the form of a SHA-256.
pub(super) fn check_hash(hash: &str, place: &str) -> Result<(), GenError> {
    if hash.len() == 64 && hash.bytes().all(is_hex) {
        return Ok(());
    }
    Err(GenError::new("sha256", place, "64 hexadecimal digits", format!("`{hash:.64}`")))
}

fn is_hex(c: u8) -> bool {
    c.is_ascii_digit() || (b'a'..=b'f').contains(&c)
}

/// A map in the order of the document; a name that comes twice is an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Unique<T>(pub(super) IndexMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Unique<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor(PhantomData))
    }
}

struct UniqueVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for UniqueVisitor<T> {
    type Value = Unique<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("entries by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique<T>, A::Error> {
        let mut all = IndexMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "entry `{name:.64}`: expected once, got twice"
                )));
            }
            all.insert(name, map.next_value()?);
        }
        Ok(Unique(all))
    }
}
