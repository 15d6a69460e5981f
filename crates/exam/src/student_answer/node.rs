//! Answers as they stand in files: text, whatever it is written as there.

use std::fmt;
use std::ops::Range;

use qkvet_spec::Spanned;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Lists in lists.
const MAX_DEPTH: usize = 16;

/// Whether nothing stands in an answer, or only empty brackets.
pub fn is_missing(answer: &str) -> bool {
    answer.chars().all(|c| c.is_whitespace() || "[](){},;".contains(c))
}

/// A list as text.
fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

/// Named values as text.
fn named(entries: impl Iterator<Item = (String, String)>) -> String {
    let all: Vec<String> = entries.map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{{{}}}", all.join(", "))
}

/// A value of JSON as text; numbers keep their digits.
///
/// # Errors
/// What is no JSON, or lists too deep.
pub(crate) fn of_json(raw: &RawValue) -> Result<String, serde_json::Error> {
    json(raw, MAX_DEPTH)
}

fn json(raw: &RawValue, depth: usize) -> Result<String, serde_json::Error> {
    let text = raw.get();
    if depth == 0 {
        let most = format!("expected at most {MAX_DEPTH} lists in each other, got more");
        return Err(serde_json::Error::custom(most));
    }
    Ok(match text.as_bytes().first() {
        Some(b'[') => {
            let all: Vec<&RawValue> = serde_json::from_str(text)?;
            list(&all.into_iter().map(|raw| json(raw, depth - 1)).collect::<Result<Vec<_>, _>>()?)
        }
        Some(b'{') => {
            let entry = |(name, raw): (String, &RawValue)| Ok((name, json(raw, depth - 1)?));
            let all = entries(raw)?.into_iter().map(entry);
            named(all.collect::<Result<Vec<_>, serde_json::Error>>()?.into_iter())
        }
        Some(b'"') => serde_json::from_str(text)?,
        Some(b'n') => String::new(),
        _ => text.to_owned(),
    })
}

/// The entries of a JSON object in order.
///
/// # Errors
/// What is none, or names one twice.
pub(crate) fn entries(raw: &RawValue) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    let JsonEntries(all) = serde_json::from_str(raw.get())?;
    Ok(all)
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

    /// What kind of value it is: `a list`.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.0.value {
            Any::Missing => "nothing",
            Any::Text(_) | Any::Scalar(_) => "a text",
            Any::List(_) => "a list",
            Any::Named(_) => "named entries",
        }
    }

    /// Whether it is neither a list nor named entries.
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self.0.value, Any::List(_) | Any::Named(_))
    }

    /// Its text, scalars as they stand in `source`.
    pub(crate) fn text(&self, source: &str) -> String {
        match &self.0.value {
            Any::Missing => String::new(),
            Any::Text(text) => text.clone(),
            Any::Scalar(read) => {
                let typed = source.get(span(&self.0)).map_or("", str::trim);
                // An alias points elsewhere, and a span may be of another kind of text.
                let is_typed = typed.starts_with(|c: char| {
                    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')
                });
                if is_typed { typed.to_owned() } else { read.clone() }
            }
            Any::List(all) => list(&all.iter().map(|node| node.text(source)).collect::<Vec<_>>()),
            Any::Named(all) => {
                named(all.iter().map(|(name, node)| (name.value.clone(), node.text(source))))
            }
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
