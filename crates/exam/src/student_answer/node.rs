//! An answer as it stands in a file: text, lists and names, without a meaning yet.

use std::fmt;
use std::ops::Range;

use qkvet_spec::Spanned;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ReadError;

/// Lists in lists.
const MAX_DEPTH: usize = 16;

/// Text, a list, named entries, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Nothing.
    Missing,
    /// A scalar as it was typed, without quotes.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Named entries in order.
    Named(Vec<(String, Node)>),
}

impl Node {
    /// What kind of value it is: `a list`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "nothing",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Named(_) => "named entries",
        }
    }

    /// Whether there is nothing in it.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::List(all) => all.iter().all(Self::is_missing),
            Self::Named(all) => all.iter().all(|(_, node)| node.is_missing()),
        }
    }

    /// The same with signs of ordinary width: `０．５` is `0.5`.
    #[must_use]
    pub fn half_width(&self) -> Self {
        match self {
            Self::Missing => Self::Missing,
            Self::Text(text) => Self::Text(text.chars().map(half_width).collect()),
            Self::List(all) => Self::List(all.iter().map(Self::half_width).collect()),
            Self::Named(all) => Self::Named(
                all.iter().map(|(name, node)| (name.clone(), node.half_width())).collect(),
            ),
        }
    }

    /// A value of JSON; numbers keep their digits.
    ///
    /// # Errors
    /// What is no JSON, or lists too deep.
    pub fn from_json(raw: &RawValue) -> Result<Self, serde_json::Error> {
        Self::json(raw, MAX_DEPTH)
    }

    fn json(raw: &RawValue, depth: usize) -> Result<Self, serde_json::Error> {
        let text = raw.get();
        if depth == 0 {
            return Err(serde_json::Error::custom(ReadError::More {
                most: MAX_DEPTH,
                what: "lists in each other",
            }));
        }
        Ok(match text.as_bytes().first() {
            Some(b'[') => {
                let all: Vec<&RawValue> = serde_json::from_str(text)?;
                Self::List(
                    all.into_iter()
                        .map(|raw| Self::json(raw, depth - 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            Some(b'{') => {
                let JsonEntries(all) = serde_json::from_str(text)?;
                let entry =
                    |(name, raw): (String, &RawValue)| Ok((name, Self::json(raw, depth - 1)?));
                Self::Named(all.into_iter().map(entry).collect::<Result<_, serde_json::Error>>()?)
            }
            Some(b'"') => Self::Text(serde_json::from_str(text)?),
            Some(b'n') => Self::Missing,
            _ => Self::Text(text.to_owned()),
        })
    }
}

/// The sign of ordinary width, U+FF01 to U+FF5E being those of ASCII in the same order.
fn half_width(c: char) -> char {
    match c {
        '\u{3000}' => ' ',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

/// Entries of a JSON object in order, none named twice.
struct JsonEntries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonEntries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all: Self::Value = Vec::new();
                while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
                    if all.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("duplicate entry `{name}`")));
                    }
                    all.push((name, raw));
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(Entries).map(Self)
    }
}

/// A value of YAML, whose scalars are known by where they stand.
#[derive(Clone, Debug)]
pub(crate) struct YamlNode(Spanned<Any>);

#[derive(Clone, Debug)]
enum Any {
    Missing,
    Text(String),
    /// A number or a word such as `true`, whose text is read from the file.
    Scalar(String),
    List(Vec<YamlNode>),
    Named(Vec<(Spanned<String>, YamlNode)>),
}

/// The bytes of a value in the file.
fn span<T>(of: &Spanned<T>) -> Range<usize> {
    let span = of.referenced.span();
    let whole = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let start = whole(span.byte_offset());
    start..start.saturating_add(whole(span.byte_len()))
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::<Any>::deserialize(deserializer).map(Self)
    }
}

impl YamlNode {
    /// Byte offset in the file.
    pub(crate) fn offset(&self) -> usize {
        span(&self.0).start
    }

    /// The entry of this name, or of this number from 1, and where its name or it begins. The one
    /// entry that says of which kind the others are is passed over.
    pub(crate) fn entry(&self, word: &str) -> Option<(Range<usize>, &Self)> {
        match &self.0.value {
            Any::Named(all) => {
                let found = all.iter().find(|(name, _)| name.value == word);
                match (found, all.as_slice()) {
                    (Some((name, node)), _) => Some((span(name), node)),
                    (None, [(_, one)]) => one.entry(word),
                    (None, _) => None,
                }
            }
            Any::List(all) => {
                let node = all.get(word.parse::<usize>().ok()?.checked_sub(1)?)?;
                Some((node.offset()..node.offset() + 1, node))
            }
            _ => None,
        }
    }

    /// The node, its scalars as they stand in `source`.
    pub(crate) fn node(&self, source: &str) -> Node {
        match &self.0.value {
            Any::Missing => Node::Missing,
            Any::Text(text) => Node::Text(text.clone()),
            Any::Scalar(read) => {
                let typed = source.get(span(&self.0)).map_or("", str::trim);
                // An alias points elsewhere, and a span may be of another kind of text.
                let is_typed = typed.starts_with(|c: char| {
                    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')
                });
                Node::Text(if is_typed { typed.to_owned() } else { read.clone() })
            }
            Any::List(all) => Node::List(all.iter().map(|node| node.node(source)).collect()),
            Any::Named(all) => Node::Named(
                all.iter().map(|(name, node)| (name.value.clone(), node.node(source))).collect(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfAny;
        impl<'de> Visitor<'de> for OfAny {
            type Value = Any;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, text, a list or named entries")
            }

            fn visit_bool<E>(self, x: bool) -> Result<Any, E> {
                Ok(Any::Scalar(x.to_string()))
            }

            fn visit_i64<E>(self, x: i64) -> Result<Any, E> {
                Ok(Any::Scalar(x.to_string()))
            }

            fn visit_u64<E>(self, x: u64) -> Result<Any, E> {
                Ok(Any::Scalar(x.to_string()))
            }

            fn visit_f64<E>(self, x: f64) -> Result<Any, E> {
                Ok(Any::Scalar(x.to_string()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Any, E> {
                Ok(Any::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Any, E> {
                Ok(Any::Missing)
            }

            fn visit_none<E>(self) -> Result<Any, E> {
                Ok(Any::Missing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Any, A::Error> {
                let mut all = Vec::new();
                while let Some(node) = seq.next_element()? {
                    all.push(node);
                }
                Ok(Any::List(all))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any, A::Error> {
                let mut all = Vec::new();
                while let Some((name, node)) = map.next_entry()? {
                    all.push((name, node));
                }
                Ok(Any::Named(all))
            }
        }
        deserializer.deserialize_any(OfAny)
    }
}
