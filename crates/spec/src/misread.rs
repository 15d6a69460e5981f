//! What a reader of YAML or JSON found in place of what it expected, and the words of it for
//! whoever wrote the file: no type of Rust, no term of a parser.

use std::fmt;

use serde::de::Unexpected;

/// Why a document is not what it should be.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Misread {
    /// A value of another kind.
    #[error("{got}, expected {expected}")]
    Kind {
        /// What stands there.
        got: Got,
        /// What should.
        expected: Expected,
    },
    /// Something else, and the parser does not say what.
    #[error("expected {expected}")]
    NotThis {
        /// What should stand there.
        expected: Expected,
    },
    /// A word or number that is none of the kind.
    #[error("expected {expected}, got `{}`", typed.escape_debug())]
    Typed {
        /// As it stands in the file.
        typed: String,
        /// What should.
        expected: Expected,
    },
    /// Too few entries, or too many.
    #[error("invalid length {got}, expected {expected}")]
    Length {
        /// How many there are.
        got: usize,
        /// What should stand there.
        expected: Expected,
    },
    /// A word that none of the known ones is.
    #[error("unknown word `{word}`, expected {}", one_of(known))]
    Word {
        /// The word.
        word: String,
        /// The known ones.
        known: Vec<&'static str>,
    },
    /// A name of an entry that none of the known ones is.
    #[error("unknown field `{field}`, expected {}", one_of(known))]
    Field {
        /// The name.
        field: String,
        /// The known ones.
        known: Vec<&'static str>,
    },
    /// An entry that is missing.
    #[error("missing field `{field}`")]
    Missing {
        /// Its name.
        field: &'static str,
    },
    /// Two entries of one name.
    #[error("duplicate field{}", field.as_ref().map_or_else(String::new, |field| format!(" `{field}`")))]
    Twice {
        /// The name, if it is one.
        field: Option<String>,
    },
    /// A value that its own type refuses, in the words of that type.
    #[error("{says}")]
    Refused {
        /// The words.
        says: Words,
    },
    /// More than a reader takes.
    #[error("expected fewer {what} than this file has")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
    /// Lists in lists without end.
    #[error("expected fewer brackets in each other")]
    TooDeep,
    /// The end of the file.
    #[error("expected more, got the end of the file")]
    End,
    /// A line of YAML that is no entry.
    #[error("expected `key: value`, got no `:`")]
    NoColon,
    /// Text that is no YAML.
    #[error("text that is no YAML")]
    NotYaml {
        /// Whether a bracket or a quote has no end.
        is_open: bool,
    },
    /// A tab where YAML has spaces.
    #[error("a tab in the indentation")]
    Tab,
    /// Several entries where the name of one says what its value is.
    #[error("expected one entry")]
    NotOne,
    /// YAML that no file here needs.
    #[error("expected plain YAML: no tags, no merge keys, no anchors but those of the file")]
    NotPlain,
    /// JSON that ends too early.
    #[error("a file that is cut off in {inside}")]
    CutOff {
        /// What is open at its end.
        inside: Inside,
    },
    /// Text that is no JSON.
    #[error("text that is no JSON{}", alternatives(expected))]
    NotJson {
        /// The signs of which one should stand there, if few can.
        expected: &'static [char],
    },
    /// Text after a whole document.
    #[error("more text behind its end")]
    MoreText,
    /// A list or object of JSON that ends with a comma.
    #[error("a comma with nothing behind it")]
    TrailingComma,
    /// A key of JSON that is no text.
    #[error("a key without quotes")]
    BareKey,
}

impl Misread {
    /// What does not fit, and the known words of which one should stand there.
    pub(crate) fn unknown(&self) -> Option<(&str, &[&'static str])> {
        match self {
            Self::Word { word: name, known } | Self::Field { field: name, known } => {
                Some((name, known))
            }
            _ => None,
        }
    }

    /// Whether the text is no JSON.
    pub fn is_no_json(&self) -> bool {
        use Misread::{BareKey, CutOff, MoreText, NotJson, TrailingComma};
        matches!(self, CutOff { .. } | NotJson { .. } | MoreText | TrailingComma | BareKey)
    }

    /// What is expected, and what stands there, where both are known.
    pub fn sides(&self) -> Option<(String, String)> {
        match self {
            Self::Kind { got, expected } => Some((expected.to_string(), got.to_string())),
            Self::Length { got, expected } => {
                Some((expected.to_string(), format!("invalid length {got}")))
            }
            Self::Word { word, known } => Some((one_of(known), format!("unknown word `{word}`"))),
            _ => None,
        }
    }

    /// A value where another kind is expected, as serde says it: what is expected is the words of
    /// a visitor.
    pub(crate) fn kind(got: Unexpected<'_>, expected: impl fmt::Display) -> Self {
        Self::Kind { got: got.into(), expected: Expected::told(expected) }
    }
}

/// Words of a visitor, a type or a parser, which have no facts but these: they can be shown.
#[derive(Clone, Debug)]
pub struct Words(String);

impl Words {
    pub(crate) fn new(words: impl fmt::Display) -> Self {
        Self(words.to_string())
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value that stands in a document.
#[derive(Clone, Debug)]
pub enum Got {
    /// `true` or `false`.
    Truth(bool),
    /// A whole number that is not negative.
    Whole(u64),
    /// Another whole number.
    Negative(i64),
    /// Another number.
    Number(f64),
    /// A text.
    Text(String),
    /// `null`.
    Null,
    /// A list.
    List,
    /// Entries by name.
    Object,
    /// Something that no reader here gives, in the words of serde or of the parser.
    Other(Words),
}

impl From<Unexpected<'_>> for Got {
    fn from(got: Unexpected<'_>) -> Self {
        match got {
            Unexpected::Bool(x) => Self::Truth(x),
            Unexpected::Unsigned(n) => Self::Whole(n),
            Unexpected::Signed(n) => Self::Negative(n),
            Unexpected::Float(x) => Self::Number(x),
            Unexpected::Str(text) => Self::Text(text.to_owned()),
            Unexpected::Unit => Self::Null,
            Unexpected::Seq => Self::List,
            Unexpected::Map => Self::Object,
            other => Self::Other(Words::new(other)),
        }
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(x) => write!(f, "the word `{x}`"),
            Self::Whole(n) => write!(f, "the number `{n}`"),
            Self::Negative(n) => write!(f, "the number `{n}`"),
            Self::Number(x) => write!(f, "the number `{x:?}`"),
            Self::Text(text) => write!(f, "the text {text:?}"),
            Self::Null => f.write_str("null"),
            Self::List => f.write_str("a list"),
            Self::Object => f.write_str("an object"),
            Self::Other(words) => words.fmt(f),
        }
    }
}

/// What should stand in a document.
#[derive(Clone, Debug)]
pub enum Expected {
    /// A whole number that is not negative.
    Whole,
    /// A number.
    Number,
    /// A number that is finite.
    Finite,
    /// A text.
    Text,
    /// `true` or `false`.
    Truth,
    /// `null`.
    Null,
    /// A list.
    List,
    /// A list of so many.
    Items(usize),
    /// Entries by name, in JSON.
    Object,
    /// Entries by name, in YAML.
    Entries,
    /// A word out of some.
    Word,
    /// What a visitor of a type says.
    Told(Words),
}

impl Expected {
    pub(crate) fn told(words: impl fmt::Display) -> Self {
        Self::Told(Words::new(words))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "a whole number from 0",
            Self::Number => "a number",
            Self::Finite => "a finite number",
            Self::Text => "a text",
            Self::Truth => "true or false",
            Self::Null => "null",
            Self::List => "a list",
            Self::Items(n) => return write!(f, "a list of {n}"),
            Self::Object => "an object",
            Self::Entries => "`key: value`",
            Self::Word => "a known word",
            Self::Told(words) => return words.fmt(f),
        })
    }
}

/// What is open at the end of JSON that is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// A text.
    Text,
    /// A list.
    List,
    /// An object.
    Object,
    /// Nothing: a value is missing as a whole.
    Value,
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::List => "a list",
            Self::Object => "an object",
            Self::Value => "a value",
        })
    }
}

fn one_of(known: &[&str]) -> String {
    let one_of = if known.len() > 1 { "one of " } else { "" };
    format!("{one_of}`{}`", known.join("`, `"))
}

fn alternatives(signs: &[char]) -> String {
    match signs {
        [] => String::new(),
        _ => {
            let all: Vec<String> = signs.iter().map(|sign| format!("`{sign}`")).collect();
            format!(", expected {}", all.join(" or "))
        }
    }
}
