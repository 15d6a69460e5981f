//! Sentences and texts of targets: what can be shown, and nothing else.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Approx, Aspect, Breakage, Cause, Coverage, Declined, Element, Evidence, Expectation, Got, Note,
    Number, Origin, Pipe, Relates, ResultName, Trouble, Warning, format_shape,
};

/// How a file of tests begins that qkvet wrote, behind the sign of a comment: it may be written over,
/// and is no part of a target.
pub const WRITTEN: &str = "Written by qkvet:";

/// A sentence for people. It can be shown, and nothing can be read out of it:
///
/// ```
/// let shown = qkvet_spec::Sentence::new("wrong results").to_string();
/// assert_eq!(shown.len(), 13);
/// ```
///
/// ```compile_fail
/// qkvet_spec::Sentence::new("QK221 is wrong").contains("QK221");
/// ```
///
/// ```compile_fail
/// assert!(qkvet_spec::Sentence::new("wrong") == qkvet_spec::Sentence::new("wrong"));
/// ```
///
/// ```compile_fail
/// assert!(qkvet_spec::Sentence::new("wrong") == "wrong");
/// ```
///
/// ```compile_fail
/// let _: usize = qkvet_spec::Sentence::new("7").parse().unwrap();
/// ```
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Sentence(String);

impl Sentence {
    /// A sentence. Modules of words alone make them.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Evidence {
    /// Where it is seen: `attention(Q, K, V) at [b=0, h=1, i=0, c=3]`.
    pub fn format_place(&self) -> Sentence {
        let of = match self.place.its_output {
            true => format!("{} (its output)", self.place.of),
            false => self.place.of.clone(),
        };
        Sentence(match (self.place.what, self.form) {
            (Aspect::Whole, _) | (Aspect::Form, None) => of,
            (Aspect::Element(element), _) => format!("{of} at {}", index(element)),
            (Aspect::Form, Some(form)) => format!("{form} of {of}"),
            (Aspect::Inputs, _) => format!("inputs of {of}"),
            (Aspect::Repeated, _) => format!("identical calls of {of}"),
        })
    }

    /// What was expected: `0.25 ± 1.2e-8   (exact value)`.
    pub fn format_expected(&self) -> Sentence {
        Sentence(match &self.expected {
            Expectation::Number { relation: Relates::Bits, number, from } => {
                format!("the bits of {} = {}", origin(from), plain(number.value))
            }
            Expectation::Number { from, .. } => {
                format!("{}   ({})", self.format_needed(), origin(from))
            }
            Expectation::EveryTime(Some(number)) => format!("{} every time", approx(*number)),
            Expectation::EveryTime(None) => "the same number every time".to_owned(),
            Expectation::Unchanged => "the same bits after the call".to_owned(),
            Expectation::Result => "a result".to_owned(),
            Expectation::ResultAsOthers => {
                "a result: a call of the same shape and options with other numbers got one"
                    .to_owned()
            }
            Expectation::Tensor => "a tensor of floating-point numbers".to_owned(),
            Expectation::Protocol => "an answer of the protocol".to_owned(),
            Expectation::Refusal(shapes) => format!("a refusal: {shapes}"),
            Expectation::Shape(shape) => format_shape(shape),
            Expectation::Format(dtype) => dtype.to_string(),
            Expectation::Second(result) => {
                let name = result.name();
                format!("a second result, asked for by return_{name}")
            }
        })
    }

    /// What was expected, without where it comes from: `at most 0.25 ± 1.2e-8`.
    pub fn format_needed(&self) -> Sentence {
        match &self.expected {
            Expectation::Number { relation, number, .. } => {
                let symbol = match relation {
                    Relates::AtMost => "at most ",
                    Relates::AtLeast => "at least ",
                    Relates::Equal | Relates::Bits => "",
                };
                Sentence(format!("{symbol}{}", approx(*number)))
            }
            _ => self.format_expected(),
        }
    }

    /// What came: `0.5`, or what the target said.
    pub fn format_got(&self) -> Sentence {
        Sentence(match &self.got {
            Got::Number(number) => approx(*number),
            Got::Then(first, then) => format!("{}, then {}", plain(*first), plain(*then)),
            Got::Changed => {
                "other bits: the call wrote into query, key, value, mask or bias".to_owned()
            }
            Got::One => "one result".to_owned(),
            Got::Shape(shape) => format_shape(shape),
            Got::Format(dtype) => dtype.to_string(),
            Got::Numbers(shape) => format!("numbers of shape {}", format_shape(shape)),
            Got::Said(said) => said.0.clone(),
            Got::Broke { how, detail } => how.display_with(detail.as_ref()).0,
        })
    }

    /// The end of its standard error.
    pub fn format_stderr(&self) -> Option<Sentence> {
        self.stderr.as_ref().map(|text| Sentence(text.0.clone()))
    }

    /// How the target broke; of what it said the first line, of so many characters at most.
    pub fn breakage(&self, most: usize) -> Breakage {
        match &self.got {
            Got::Broke { how: Breakage::Protocol { field }, .. } => {
                Breakage::Protocol { field: field.line(most) }
            }
            Got::Broke { how, .. } => how.clone(),
            _ => Breakage::Said(self.said(most)),
        }
    }

    /// The first line of what the target said, of so many characters at most.
    pub fn said(&self, most: usize) -> Quoted {
        match &self.got {
            Got::Said(said) => said.line(most),
            _ => Quoted(self.format_got().0).line(most),
        }
    }
}

impl Breakage {
    /// `exited with code 3`, `was killed by signal 11 (SIGSEGV)`.
    pub fn display(&self) -> Sentence {
        Sentence(match self {
            Self::Said(said) if said.0.trim().is_empty() => "no message".to_owned(),
            Self::Said(said) => said.0.clone(),
            Self::Exited(code) => format!("exited with code {code}"),
            Self::Killed { signal, name } => match name.as_deref() {
                Some("SIGKILL") => {
                    format!("was killed by signal {signal} (SIGKILL, perhaps for lack of memory)")
                }
                Some(name) => format!("was killed by signal {signal} ({name})"),
                None => format!("was killed by signal {signal}"),
            },
            Self::Closed(Pipe::Input) => "closed its standard input and went on".to_owned(),
            Self::Closed(Pipe::Output) => "closed its standard output and went on".to_owned(),
            Self::Silent { milliseconds } => {
                format!("no answer within {} s", Duration::from_millis(*milliseconds).as_secs_f64())
            }
            Self::Memory { mebibytes } => {
                format!("took more than {mebibytes} MiB of memory (--memory)")
            }
            Self::Protocol { field } if field.0.is_empty() => "broke the protocol".to_owned(),
            Self::Protocol { field } => format!("broke the protocol: {}", field.0),
            Self::Later(_) => "broke in a way that a later version of qkvet knows".to_owned(),
        })
    }

    fn display_with(&self, detail: Option<&Quoted>) -> Sentence {
        let Some(Quoted(detail)) = detail else { return self.display() };
        Sentence(match self {
            Self::Protocol { .. } => format!("broke the protocol: {detail}"),
            Self::Silent { .. } => {
                format!("{}, only a line without its line break: {detail}", self.display())
            }
            _ => format!("{} in the middle of {detail}", self.display()),
        })
    }
}

impl Trouble {
    /// How it broke, with the line that it had begun or what is wrong with its message.
    pub fn display(&self) -> Sentence {
        self.how.display_with(self.detail.as_ref())
    }
}

impl Declined {
    /// What was declined and why: `UNSUPPORTED softcap is not offered`.
    pub fn display(&self) -> Sentence {
        Sentence(match self.verdict {
            Some(verdict) => format!("{verdict} {}", self.reason.0),
            None => self.reason.0.clone(),
        })
    }
}

impl Coverage {
    /// What was declined, in a line.
    pub fn format_declined(&self) -> Sentence {
        let reasons = self.declined.iter().map(|one| one.display().0);
        Sentence(reasons.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Evidence {
    /// `attention(Q, K, V) at [i=0, c=1]: expected 0.25 (exact value), got 0.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = self.format_expected().0.replace("   (", " (");
        write!(f, "{}: expected {expected}, got {}", self.format_place(), self.format_got())
    }
}

fn index(Element { b, h, i, c }: Element) -> String {
    let axes = [("b", b), ("h", h), ("i", Some(i)), ("c", Some(c))];
    let axes = axes.into_iter().filter_map(|(axis, at)| Some(format!("{axis}={}", at?)));
    format!("[{}]", axes.collect::<Vec<_>>().join(", "))
}

fn origin(from: &Origin) -> &str {
    match from {
        Origin::Exact(ResultName::Output) => "exact value",
        Origin::Exact(ResultName::Weights) => "exact weight",
        Origin::Exact(ResultName::Lse) => "exact log-sum-exp",
        Origin::Expression(text) => text,
    }
}

/// A number and its error, the error rounded up to two digits.
fn approx(Approx { value, error }: Approx) -> String {
    if error.0 == 0.0 || value.0.is_nan() {
        plain(value)
    } else {
        format!("{} ± {}", plain(value), radius(error.0))
    }
}

/// Shortest text that reads back as the same number.
fn plain(Number(x): Number) -> String {
    let plain = format!("{x}");
    if plain.len() <= 20 { plain } else { format!("{x:e}") }
}

/// Two digits, never less than the number.
fn radius(x: f64) -> String {
    if !x.is_finite() {
        return "∞".to_owned();
    }
    // Rounding to two digits changes less than 5 %.
    let text = format!("{x:.1e}");
    if text.parse::<f64>().is_ok_and(|shown| shown < x) {
        format!("{:.1e}", x * 1.05)
    } else {
        text
    }
}

/// A text that a target wrote: the message of an exception, what is told of its end. Nothing looks
/// into it for a name, a code or a place; it is told from another one, and shown.
///
/// ```compile_fail
/// qkvet_spec::Quoted::new("QK221").contains("QK221");
/// ```
///
/// ```compile_fail
/// let _: &str = qkvet_spec::Quoted::new("QK221").as_ref();
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Quoted(String);

impl fmt::Debug for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: Into<String>> From<T> for Quoted {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Quoted {
    /// A text of a target.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be shown.
    pub fn display(&self) -> Sentence {
        Sentence(self.0.clone())
    }

    /// The text for what escapes it: `quote.rs` and `words.rs` of the reports, and nothing else.
    pub fn open_to_escape<T>(&self, escape: impl FnOnce(&str) -> T) -> T {
        escape(&self.0)
    }

    /// The first line that is not blank, of so many characters at most.
    fn line(&self, most: usize) -> Self {
        let line = self.0.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self(line.chars().take(most).collect())
    }

    /// Whether both say the same but for the digits in them, which hold numbers and addresses that
    /// change.
    pub fn is_like(&self, other: &Self) -> bool {
        let [x, y] = [self, other].map(|text| text.0.chars().filter(|c| !c.is_ascii_digit()));
        x.eq(y)
    }
}

/// Where a hint is followed: how a convention is declared there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `--convention causal=upper-left`.
    #[default]
    CommandLine,
    /// `convention="causal=upper-left"`, an argument in Python.
    Python,
    /// `.convention("causal=upper-left")`, a method of a suite in Rust.
    RustSuite,
    /// `convention = "causal=upper-left"`, in a macro in Rust.
    RustMacro,
}

/// What makes sentences of findings. The verdicts, names and files of a run do not depend on it.
pub trait Words: fmt::Debug + Sync {
    /// What is wrong, in one line.
    fn title(&self, cause: &Cause) -> Sentence;

    /// What explains it and how well, and what else is to be known.
    fn cause(&self, cause: &Cause, notes: &[Note]) -> Option<Sentence>;

    /// What to do: a declaration, a fix, an explanation.
    fn hint(&self, cause: &Cause, notes: &[Note], dialect: Dialect) -> Option<Sentence>;

    /// What should be known and changed no verdict.
    fn warning(&self, warning: &Warning) -> Sentence;
}
