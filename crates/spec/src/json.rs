//! JSON text to values, and errors that show what stands where, and what should.
//!
//! `serde_json` reads. Where it fails, its error has a place and a sentence, so that the document
//! is read a second time, value by value, for what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected as Visited, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::misread::{Expected, Inside, Misread, Words};

/// The newtype that `serde_json` reads by itself.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// JSON that does not fit.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{misread} at line {line} column {column}")]
pub struct JsonError {
    /// What is wrong.
    pub misread: Misread,
    /// The value that does not fit, `tensors.output.shape[1]`; empty if it is the document.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in bytes from 1.
    pub column: usize,
}

impl JsonError {
    /// Whether the text ends too early.
    pub fn is_cut_off(&self) -> bool {
        matches!(self.misread, Misread::CutOff { .. })
    }
}

/// Reads one JSON document.
///
/// # Errors
/// [`JsonError`] for text that is no JSON, or has other values than `T`.
pub fn parse_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsonError> {
    let at = |misread, path, error: &serde_json::Error| {
        Err(JsonError { misread, path, line: error.line(), column: error.column() })
    };
    serde_json::from_str(text).or_else(|first| match serde_json::from_str(text) {
        Ok(raw) => T::deserialize(Node(raw))
            .or_else(|Fault { misread, path, .. }| at(misread, path, &first)),
        Err(error) => at(malformed(text, &error), String::new(), &error),
    })
}

/// What is wrong with a text that is no JSON.
fn malformed(text: &str, error: &serde_json::Error) -> Misread {
    let line: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let bytes = text.as_bytes();
    let here = line + error.column().saturating_sub(1);
    let end = if error.is_eof() { bytes.len() } else { here.min(bytes.len()) };
    let (open, [before, last]) = open_at(&bytes[..end]);
    if error.is_eof() {
        let inside = match open {
            Some(b'"') => Inside::Text,
            Some(b'[') => Inside::List,
            Some(_) => Inside::Object,
            None => Inside::Value,
        };
        return Misread::CutOff { inside };
    }
    let ends_value = !matches!(last, b'[' | b'{' | b',' | b':' | 0);
    match (open, bytes.get(here)) {
        (None, _) if ends_value => Misread::MoreText,
        (Some(_), Some(b']' | b'}')) if last == b',' => Misread::TrailingComma,
        (Some(b'{'), Some(next)) if matches!(last, b'{' | b',') && *next != b'"' => {
            Misread::BareKey
        }
        (Some(b'['), _) if ends_value => Misread::NotJson { expected: &[',', ']'] },
        (Some(b'{'), _) if last == b'"' && matches!(before, b'{' | b',') => {
            Misread::NotJson { expected: &[':'] }
        }
        (Some(b'{'), _) if ends_value => Misread::NotJson { expected: &[',', '}'] },
        _ => Misread::NotJson { expected: &[] },
    }
}

/// The quote or bracket that is open at the end, and the last two signs, of a text the first.
fn open_at(bytes: &[u8]) -> (Option<u8>, [u8; 2]) {
    let (mut open, mut signs) = (Vec::new(), [0; 2]);
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        match (open.last(), byte) {
            (Some(b'"'), b'\\') => _ = bytes.next(),
            (Some(b'"'), b'"') => _ = open.pop(),
            (Some(b'"'), _) => {}
            (_, byte) if byte.is_ascii_whitespace() => {}
            (_, byte) => {
                signs = [signs[1], byte];
                match byte {
                    b'"' | b'[' | b'{' => open.push(byte),
                    b']' | b'}' => _ = open.pop(),
                    _ => {}
                }
            }
        }
    }
    (open.pop(), signs)
}

/// What is wrong with a value, and its path.
#[derive(Debug)]
struct Fault {
    misread: Misread,
    path: String,
    /// Whether what was expected is known already.
    is_settled: bool,
}

impl Fault {
    /// Says what was expected of the value whose reader failed, in place of the visitor's words.
    fn expecting(mut self, by_reader: Expected) -> Self {
        if let Misread::Kind { expected, .. } | Misread::Length { expected, .. } = &mut self.misread
            && !self.is_settled
        {
            *expected = by_reader;
        }
        self
    }

    fn inside(self, step: String) -> Self {
        let Self { misread, path, .. } = self;
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        Self { misread, path: format!("{step}{dot}{path}"), is_settled: true }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.misread.fmt(f)
    }
}

impl std::error::Error for Fault {}

impl From<Misread> for Fault {
    fn from(misread: Misread) -> Self {
        Self { misread, path: String::new(), is_settled: false }
    }
}

impl Error for Fault {
    fn custom<T: fmt::Display>(says: T) -> Self {
        Misread::Refused { says: Words::new(says) }.into()
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn Visited) -> Self {
        Misread::kind(got, expected).into()
    }

    fn invalid_value(got: Unexpected<'_>, expected: &dyn Visited) -> Self {
        Misread::kind(got, expected).into()
    }

    fn invalid_length(got: usize, expected: &dyn Visited) -> Self {
        Misread::Length { got, expected: Expected::told(expected) }.into()
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Misread::Word { word: word.to_owned(), known: known.to_vec() }.into()
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Misread::Field { field: field.to_owned(), known: known.to_vec() }.into()
    }

    fn missing_field(field: &'static str) -> Self {
        Misread::Missing { field }.into()
    }

    fn duplicate_field(field: &'static str) -> Self {
        Misread::Twice { field: Some(field.to_owned()) }.into()
    }
}

/// A value of a document that is JSON throughout.
struct Node<'de>(&'de RawValue);

impl<'de> Node<'de> {
    fn part<T: Deserialize<'de>>(&self) -> Result<T, Fault> {
        serde_json::from_str(self.0.get()).map_err(Fault::custom)
    }
}

/// Methods that say what they expect, unless the visitor takes what is there.
macro_rules! expecting {
    ($($method:ident($($arg:ident: $type:ty),*) $expected:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, Fault> {
            self.deserialize_any(visitor).map_err(|fault| fault.expecting($expected))
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.get().as_bytes().first() {
            Some(b'[') => {
                let mut items = Items { all: self.part()?, next: 0 };
                let value = visitor.visit_seq(&mut items)?;
                let got = items.all.len();
                if items.next < got {
                    let expected = Expected::Items(items.next);
                    return Err(Misread::Length { got, expected }.into());
                }
                Ok(value)
            }
            Some(b'{') => visitor.visit_map(self.part::<Entries<'_>>()?),
            _ => match self.part()? {
                Value::Null => visitor.visit_unit(),
                Value::Bool(x) => visitor.visit_bool(x),
                Value::String(text) => visitor.visit_string(text),
                Value::Number(n) => match (n.as_u64(), n.as_i64()) {
                    (Some(n), _) => visitor.visit_u64(n),
                    (_, Some(n)) => visitor.visit_i64(n),
                    _ => visitor.visit_f64(n.as_f64().unwrap_or(f64::NAN)),
                },
                Value::Array(_) | Value::Object(_) => Err(Fault::custom("more than one value")),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.get() == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == RAW_VALUE {
            return self.0.deserialize_newtype_struct(name, visitor).map_err(Fault::custom);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0.get().as_bytes().first() {
            Some(b'"') => visitor.visit_enum(self.part::<Cow<'_, str>>()?.into_deserializer()),
            Some(b'{') => {
                visitor.visit_enum(MapAccessDeserializer::new(self.part::<Entries<'_>>()?))
            }
            _ => self.deserialize_any(visitor).map_err(|fault| fault.expecting(Expected::Word)),
        }
    }

    expecting! {
        deserialize_bool() Expected::Truth;
        deserialize_i8() Expected::Number;
        deserialize_i16() Expected::Number;
        deserialize_i32() Expected::Number;
        deserialize_i64() Expected::Number;
        deserialize_u8() Expected::Whole;
        deserialize_u16() Expected::Whole;
        deserialize_u32() Expected::Whole;
        deserialize_u64() Expected::Whole;
        deserialize_f32() Expected::Number;
        deserialize_f64() Expected::Number;
        deserialize_char() Expected::Text;
        deserialize_str() Expected::Text;
        deserialize_string() Expected::Text;
        deserialize_unit() Expected::Null;
        deserialize_unit_struct(_name: &'static str) Expected::Null;
        deserialize_seq() Expected::List;
        deserialize_tuple(n: usize) Expected::Items(n);
        deserialize_tuple_struct(_name: &'static str, n: usize) Expected::Items(n);
        deserialize_map() Expected::Object;
        deserialize_struct(_name: &'static str, _fields: &'static [&'static str]) Expected::Object;
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf identifier ignored_any }
}

struct Items<'de> {
    all: Vec<&'de RawValue>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let at = self.next;
        let Some(raw) = self.all.get(at) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(Node(raw)).map(Some).map_err(|fault| fault.inside(format!("[{at}]")))
    }
}

/// The entries of an object in their order, those of one name twice.
struct Entries<'de> {
    all: std::vec::IntoIter<(Cow<'de, str>, &'de RawValue)>,
    current: Option<(String, &'de RawValue)>,
}

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&Expected::Object, f)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some((name, raw)) = map.next_entry::<String, _>()? {
                    all.push((name.into(), raw));
                }
                Ok(all)
            }
        }
        let all = source.deserialize_map(Pairs)?.into_iter();
        Ok(Self { all, current: None })
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((name, raw)) = self.all.next() else { return Ok(None) };
        self.current = Some((name.clone().into_owned(), raw));
        let name: CowStrDeserializer<'de, Fault> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (name, raw) =
            self.current.take().ok_or_else(|| Fault::custom("a value without a key"))?;
        seed.deserialize(Node(raw)).map_err(|fault| fault.inside(name))
    }
}
