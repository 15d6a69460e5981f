//! YAML text to values, and errors that show the place: file, line, column, expected, found,
//! nearest known name.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::de::DeserializeOwned;
use serde_yaml::budget::BudgetBreach;
use serde_yaml::granit_parser::ErrorKind;
use serde_yaml::options::NonFiniteFloatPolicy;
use serde_yaml::{Error, ExternalMessageSource};

use crate::misread::{Expected, Got, Misread, Words};
use crate::shape::LawError;
use crate::syntax::ExprError;
use crate::{Formula, Unexpected, nearest};

/// Larger files are refused before they are read as YAML.
const MAX_BYTES: usize = 1 << 20;
/// Brackets in each other. A level may take 50 kB of the stack, of which a thread has 2 MB.
const MAX_DEPTH: usize = 32;
/// Nodes of an ordinary document.
const MAX_NODES: usize = 20_000;
/// The same for files with an entry for each case.
const MAX_LARGE_BYTES: usize = 64 << 20;
const MAX_LARGE_NODES: usize = 4_000_000;

/// An error in a specification or configuration file, rendered with the offending line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rendered}{}", hinted(hints))]
pub struct SpecError {
    /// One line: `<what> at <file>:<line>:<column>: <message>`.
    pub summary: String,
    /// The message with the source line.
    rendered: String,
    /// The message alone.
    pub message: String,
    /// Line and column of its place in a file, from 1.
    pub place: Option<(usize, usize)>,
    /// What to do about it, beyond what the excerpt says.
    pub hints: Box<[String]>,
}

fn hinted(hints: &[String]) -> String {
    hints.iter().map(|hint| format!("\nhint: {hint}")).collect()
}

impl SpecError {
    /// What to do about it besides.
    #[must_use]
    pub fn hint(self, hint: &str) -> Self {
        let hints = self.hints.into_iter().chain([hint.to_owned()]).collect();
        Self { hints, ..self }
    }

    /// An error at a byte range of `source`.
    pub fn at(
        path: &str,
        source: &str,
        span: Range<usize>,
        message: &str,
        hint: Option<&str>,
    ) -> Self {
        Self::labelled(path, source, span, message, hint, Vec::new())
    }

    /// The same, with words at other places.
    fn labelled(
        path: &str,
        source: &str,
        span: Range<usize>,
        message: &str,
        hint: Option<&str>,
        labels: Vec<(Range<usize>, String)>,
    ) -> Self {
        let span = whole_characters(source, &span);
        let line = source[..span.start].matches('\n').count() + 1;
        let column = source[..span.start].chars().rev().take_while(|c| *c != '\n').count() + 1;
        let label = |(span, text)| {
            AnnotationKind::Context.span(whole_characters(source, &span)).label(text)
        };
        let snippet = Snippet::source(source)
            .path(path)
            .annotation(AnnotationKind::Primary.span(span))
            .annotations(labels.into_iter().map(label));
        let mut group = Group::with_title(Level::ERROR.primary_title(message)).element(snippet);
        if let Some(hint) = hint {
            group = group.element(Level::HELP.with_name("hint").message(hint));
        }
        let rendered = Renderer::plain().render(&[group]).trim_end().to_owned();
        Self {
            summary: format!("{path}:{line}:{column}: {message}"),
            rendered,
            message: message.to_owned(),
            place: Some((line, column)),
            hints: Box::default(),
        }
    }

    /// An error inside one formula of a law: what the parts are stands below them, and where their
    /// names are declared.
    pub fn in_law(path: &str, source: &str, error: &LawError) -> Self {
        let LawError { place, formula, error, declared } = error;
        let ExprError { span, message, hint, labels } = error;
        let message = format!("{message} at {place}");
        let formula = formula.as_ref();
        let span = match formula {
            Some(formula) => located(source, formula, span.clone())
                .or_else(|| formula.offset.map(|offset| offset..offset + 1))
                .unwrap_or(0..0),
            None => 0..0,
        };
        let here = labels
            .iter()
            .filter_map(|(at, text)| Some((located(source, formula?, at.clone())?, text.clone())));
        let there = declared.iter().filter_map(|(formula, text)| {
            Some((located(source, formula, 0..formula.text.len())?, text.clone()))
        });
        Self::labelled(path, source, span, &message, hint.as_deref(), here.chain(there).collect())
    }
}

impl From<Unexpected> for SpecError {
    fn from(error: Unexpected) -> Self {
        let summary = format!("{error:#}");
        let (message, rendered) = (summary.clone(), summary.clone());
        Self { summary, rendered, message, place: None, hints: error.hints.into() }
    }
}

/// Where a part of a text stands in the file that it came from: of a block under `|` in its own
/// line. Nothing where lines were folded.
pub fn located(source: &str, formula: &Formula, span: Range<usize>) -> Option<Range<usize>> {
    let offset = formula.offset?;
    let quote = usize::from(matches!(source.as_bytes().get(offset), Some(b'"' | b'\'')));
    let at = offset + quote;
    let is_verbatim = source.get(at..at + formula.text.len()) == Some(formula.text.as_str());
    if is_verbatim {
        return Some(at + span.start..at + span.end);
    }
    let start = in_block(source, offset, &formula.text, span.start)?;
    let end = start + span.len();
    // A part that goes on in the next line is shown from its start.
    Some(if source.get(start..end) == formula.text.get(span) {
        start..end
    } else {
        start..start + 1
    })
}

/// Where a byte of a block stands, whose lines are those of the file without their indentation.
fn in_block(source: &str, offset: usize, text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let (line, column) =
        (before.matches('\n').count(), at - before.rfind('\n').map_or(0, |end| end + 1));
    let start_of_line = source.get(..offset)?.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = Vec::new();
    let mut start = start_of_line;
    for line in source.get(start_of_line..)?.split_inclusive('\n') {
        lines.push((start, line));
        start += line.len();
    }
    let same = |of_file: &str, own: &str| of_file.trim() == own.trim();
    let own: Vec<&str> = text.lines().collect();
    // The text begins in the line of its offset, or in the one below a `|` there.
    let first = (0..lines.len().min(2)).find(|first| {
        own.iter()
            .enumerate()
            .all(|(at, own)| lines.get(first + at).is_some_and(|(_, line)| same(line, own)))
    })?;
    let (start, of_file) = lines.get(first + line)?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    Some(start + indent(of_file) + column.checked_sub(indent(own.get(line)?))?)
}

fn whole_characters(source: &str, span: &Range<usize>) -> Range<usize> {
    let start = floor_boundary(source, span.start);
    start..ceil_boundary(source, span.end.max(start))
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Reads one YAML document.
///
/// # Errors
/// Oversized text, malformed YAML, duplicate or unknown keys, alias bombs, wrong types: each with
/// its place.
pub fn parse_yaml<T: DeserializeOwned>(path: &str, source: &str) -> Result<T, SpecError> {
    parse_within(path, source, (MAX_BYTES, MAX_NODES), NonFiniteFloatPolicy::Reject)
}

/// Reads one YAML document that people fill in: what is no finite number there, as `.nan`, is the
/// text of it, so that it costs its own entry alone.
///
/// # Errors
/// As [`parse_yaml`].
pub fn parse_yaml_of_answers<T: DeserializeOwned>(
    path: &str,
    source: &str,
) -> Result<T, SpecError> {
    parse_within(path, source, (MAX_BYTES, MAX_NODES), NonFiniteFloatPolicy::AsString)
}

/// Reads one YAML document that holds an entry for each of many cases.
///
/// # Errors
/// As [`parse_yaml`].
pub fn parse_large_yaml<T: DeserializeOwned>(path: &str, source: &str) -> Result<T, SpecError> {
    parse_within(path, source, (MAX_LARGE_BYTES, MAX_LARGE_NODES), NonFiniteFloatPolicy::Reject)
}

fn parse_within<T: DeserializeOwned>(
    path: &str,
    source: &str,
    (max_bytes, max_nodes): (usize, usize),
    not_finite: NonFiniteFloatPolicy,
) -> Result<T, SpecError> {
    if source.len() > max_bytes {
        let expected = format!("at most {max_bytes} bytes");
        return Err(Unexpected::at_path("file", path, expected).got(source.len()).into());
    }
    if source.trim().is_empty() {
        return Err(Unexpected::at_path("file", path, "a YAML mapping")
            .got("an empty file")
            .into());
    }
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_nodes: max_nodes, max_events: max_nodes.saturating_mul(50), max_depth: MAX_DEPTH, max_aliases: 64, max_anchors: 64 },
        with_snippet: false,
        non_finite_float_policy: not_finite,
    };
    serde_yaml::from_str_with_options(source, options).map_err(|error| {
        let error = error.without_snippet();
        let Some(place) = error.location() else {
            return Unexpected::within(path, misread(error, "")).into();
        };
        let start = place.span().byte_offset().and_then(|at| usize::try_from(at).ok());
        // What cannot be scanned has a line and a column alone.
        let start = start
            .filter(|at| *at > 0)
            .unwrap_or_else(|| offset_of(source, place.line(), place.column()));
        let len = place.span().byte_len().and_then(|len| usize::try_from(len).ok()).unwrap_or(1);
        let span = start..start.saturating_add(len);
        let misread = misread(error, source.get(span.clone()).unwrap_or_default());
        let hint = hint(&misread);
        SpecError::at(path, source, span, &misread.to_string(), hint.as_deref())
    })
}

/// The byte at a line and a column, both from 1.
fn offset_of(source: &str, line: u64, column: u64) -> usize {
    let index = |n: u64| usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
    let start: usize = source.split_inclusive('\n').take(index(line)).map(str::len).sum();
    let rest = source.get(start..).unwrap_or_default();
    start
        + rest
            .chars()
            .take_while(|c| *c != '\n')
            .take(index(column))
            .map(char::len_utf8)
            .sum::<usize>()
}

/// What the parser found; `typed` is what stands at the place.
fn misread(error: &Error, typed: &str) -> Misread {
    let typed = typed.to_owned();
    match error {
        Error::AliasError { error, .. } => misread(error, &typed),
        Error::SerdeUnknownField { field, expected, .. } => {
            Misread::Field { field: field.clone(), known: expected.clone() }
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            Misread::Word { word: variant.clone(), known: expected.clone() }
        }
        Error::SerdeMissingField { field, .. } => Misread::Missing { field },
        Error::DuplicateMappingKey { key, .. } => Misread::Twice { field: key.clone() },
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => Misread::Kind {
            got: Got::Other(Words::new(unexpected)),
            expected: Expected::told(expected),
        },
        Error::SerdeInvalidLength { len, expected, .. } => {
            Misread::Length { got: *len, expected: Expected::told(expected) }
        }
        Error::InvalidScalar { ty: "floating point", .. } => {
            Misread::Typed { typed, expected: Expected::Number }
        }
        Error::InvalidScalar {
            ty: "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64",
            ..
        } => Misread::Typed { typed, expected: Expected::Whole },
        Error::InvalidBooleanStrict { .. } => Misread::Typed { typed, expected: Expected::Truth },
        Error::NonFiniteFloat { value, .. } => {
            Misread::Typed { typed: value.clone(), expected: Expected::Finite }
        }
        Error::Unexpected { expected: "sequence start", .. } => {
            Misread::NotThis { expected: Expected::List }
        }
        Error::Unexpected { expected: "mapping start", .. } => {
            Misread::NotThis { expected: Expected::Entries }
        }
        Error::Unexpected { expected: "string scalar", .. } | Error::NullIntoString { .. } => {
            Misread::NotThis { expected: Expected::Text }
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            Misread::TooMany { what: "brackets in each other" }
        }
        Error::Budget { .. } => Misread::TooMany { what: "entries" },
        Error::Eof { .. } => Misread::End,
        Error::ExpectedMappingEndAfterEnumVariantValue { .. } => Misread::NotOne,
        // The words of the type that refuses its value.
        Error::Message { msg, .. } => {
            Misread::Refused { says: Words::new(msg.lines().next().unwrap_or_default()) }
        }
        Error::ExternalMessage { source, .. } => match source.as_ref() {
            ExternalMessageSource::Parser(error) => unscanned(error.kind()),
            _ => Misread::NotPlain,
        },
        _ => Misread::NotPlain,
    }
}

/// Why a text cannot be taken apart.
fn unscanned(kind: &ErrorKind) -> Misread {
    use ErrorKind::{
        ExpectedBlockMappingKey, ExpectedBlockSequenceEntry, ExpectedDocumentStart,
        ExpectedFlowMappingSeparator, ExpectedFlowSequenceSeparator, ExpectedNodeContent,
        InvalidColonPlacement, InvalidQuotedScalarIndent, RecursionLimitExceeded,
        SimpleKeyExpected, TabInBlockIndentation, TabNotAllowed, UnclosedFlowCollection,
        UnclosedQuotedScalar,
    };
    match kind {
        RecursionLimitExceeded => Misread::TooDeep,
        SimpleKeyExpected => Misread::NoColon,
        TabNotAllowed | TabInBlockIndentation => Misread::Tab,
        InvalidColonPlacement
        | ExpectedDocumentStart
        | ExpectedNodeContent
        | ExpectedBlockMappingKey
        | ExpectedFlowMappingSeparator
        | ExpectedFlowSequenceSeparator
        | ExpectedBlockSequenceEntry
        | InvalidQuotedScalarIndent
        | UnclosedFlowCollection { .. }
        | UnclosedQuotedScalar => Misread::NotYaml { is_open: true },
        _ => Misread::NotYaml { is_open: false },
    }
}

/// What to do about it.
fn hint(misread: &Misread) -> Option<String> {
    if let Some((word, known)) = misread.unknown() {
        return nearest(word, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
    }
    let hint = match misread {
        Misread::Missing { .. } => "the entry that ends here has none; see the line above it too",
        Misread::NotOne => {
            "here one entry stands alone; a value with a comma in it needs quotes, as in `{shape: \"(1, n)\"}`"
        }
        Misread::Tab => "YAML is indented with spaces: write spaces for the tab",
        Misread::NotYaml { is_open: true } => {
            "a bracket or a quote is open: close it here or above"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
