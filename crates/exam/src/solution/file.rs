//! A worked solution as a file.

use indexmap::IndexMap;
use qkvet_prove::exact::Real;
use qkvet_spec::{SpecError, Unexpected, name_hint, parse_yaml};
use serde::Deserialize;

use super::names::{STEPS, Step};
use crate::plural::counted;
use crate::question::line_of;
use crate::student_answer::{Form, ParsedNumber, ReadError, YamlNode, is_missing, read_table};
use crate::{Place, Spot};

/// Rows and columns of one matrix.
const MAX_EXTENT: usize = 24;

/// What a solution may start from.
const GIVEN: [&str; 8] = ["X", "W_Q", "W_K", "W_V", "Q", "K", "V", "scale"];

/// The beginning of a solution file.
pub const TEMPLATE: &str = include_str!("template.yaml");

/// Numbers of a solution that do not fit.
#[derive(Debug, thiserror::Error)]
enum Misfit {
    #[error(transparent)]
    Unread(#[from] ReadError),
    #[error("expected 1 to {} rows and columns, got {rows} × {cols}", MAX_EXTENT)]
    Extents { rows: usize, cols: usize },
    #[error("row {row}: expected {expected} numbers as in the first, got {got}")]
    Ragged { row: usize, expected: usize, got: usize },
    #[error("expected {}, got {}", counted(*expected, what), counted(*got, what))]
    Count { what: &'static str, expected: usize, got: usize },
    #[error("expected one number, got {rows} × {cols}")]
    NoNumber { rows: usize, cols: usize },
    #[error("expected a step that is not given")]
    Given,
}

impl Misfit {
    /// The error at the numbers of this name.
    fn at(&self, (path, source): (&str, &str), name: &str, node: &YamlNode) -> SpecError {
        let hint = matches!(self, Self::Unread(_) | Self::Extents { .. } | Self::Ragged { .. })
            .then_some(
                "write a matrix by rows, [[1, 2], [3, 4]], and numbers as 0.25, 5/2 or exp(1/2)",
            );
        let at = node.offset();
        SpecError::at(path, source, at..at + 1, &format!("`{name}`: {self}"), hint)
    }
}

/// A matrix or a number of a solution.
#[derive(Clone, Debug)]
pub struct Entry {
    /// By rows.
    pub rows: Vec<Vec<ParsedNumber>>,
    /// The line in the file.
    pub place: Place,
}

impl Entry {
    /// Fewest decimals of the entries that have some.
    pub(super) fn decimals(&self) -> Option<usize> {
        let decimals = self.rows.iter().flatten().filter_map(|x| match x.form {
            Form::Decimal(decimals) if decimals > 0 => Some(decimals),
            _ => None,
        });
        decimals.min()
    }

    /// The numbers, by rows.
    pub(super) fn values(&self) -> Vec<Vec<Real>> {
        self.rows.iter().map(|row| row.iter().map(|x| x.value.clone()).collect()).collect()
    }

    /// Rows and columns.
    pub(super) fn extents(&self) -> (usize, usize) {
        (self.rows.len(), self.rows.first().map_or(0, Vec::len))
    }
}

/// A worked solution: what was given, and what was written in each step.
#[derive(Clone, Debug)]
pub struct WrittenSolution {
    /// Its name.
    pub title: String,
    /// What was given: `X` and weights, or `Q`, `K` and `V`; perhaps the factor `scale`.
    pub given: IndexMap<String, Entry>,
    /// The steps that were written, in the order of the solution.
    pub steps: Vec<(Step, Entry)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    solution: Option<String>,
    given: IndexMap<String, YamlNode>,
    steps: IndexMap<String, YamlNode>,
}

impl WrittenSolution {
    /// Reads a solution.
    ///
    /// # Errors
    /// What cannot be read, with its place.
    pub fn from_yaml(path: &str, source: &str) -> Result<Self, SpecError> {
        let file: File = parse_yaml(path, source)?;
        let mut given = IndexMap::new();
        for (name, node) in &file.given {
            if !GIVEN.contains(&name.as_str()) {
                return Err(unknown(path, source, ("given", name), node, &GIVEN));
            }
            if let Some(entry) = entry(path, source, name, node)? {
                given.insert(name.clone(), entry);
            }
        }
        for name in ["Q", "K", "V"] {
            let weights = format!("W_{name}");
            let is_derived = given.contains_key("X") && given.contains_key(&weights);
            if is_derived == given.contains_key(name) {
                let got = if is_derived { "both" } else { "neither" };
                let expected = format!("`{name}`, or `X` and `{weights}`");
                return Err(Unexpected::at_path("given", path, expected).got(got).into());
            }
        }
        if let Err((name, misfit)) = fits(&given) {
            return Err(misfit.at((path, source), name, &file.given[name]));
        }
        let mut steps = Vec::new();
        for (name, node) in &file.steps {
            let Some(step) = Step::of_name(name) else {
                return Err(unknown(path, source, ("steps", name), node, &STEPS.map(Step::name)));
            };
            if let Some(entry) = entry(path, source, name, node)? {
                if given.contains_key(name) {
                    return Err(Misfit::Given.at((path, source), name, node));
                }
                steps.push((step, entry));
            }
        }
        steps.sort_by_key(|(step, _)| *step);
        if steps.is_empty() {
            let expected = "numbers for one at least";
            return Err(Unexpected::at_path("steps", path, expected).got("none").into());
        }
        Ok(Self { title: file.solution.unwrap_or_else(|| path.to_owned()), given, steps })
    }
}

/// Whether what is given can be multiplied; else the name of what does not fit, and why.
fn fits(given: &IndexMap<String, Entry>) -> Result<(), (&'static str, Misfit)> {
    let extents = |name: &str| given.get(name).map(Entry::extents);
    let wrong = |name, what, expected, got| Err((name, Misfit::Count { what, expected, got }));
    if let Some((rows, cols)) = extents("scale").filter(|extents| *extents != (1, 1)) {
        return Err(("scale", Misfit::NoNumber { rows, cols }));
    }
    // Rows and columns of queries, keys and values, and what was given for them.
    let mut all = Vec::new();
    for (name, weights) in [("Q", "W_Q"), ("K", "W_K"), ("V", "W_V")] {
        match (extents(name), extents("X"), extents(weights)) {
            (Some(own), ..) => all.push((name, own)),
            (None, Some((n, d)), Some((rows, cols))) if rows == d => all.push((weights, (n, cols))),
            (None, Some((_, d)), Some((rows, _))) => return wrong(weights, "row", d, rows),
            _ => {}
        }
    }
    let [(_, queries), (keys, of_keys), (values, of_values)] = all[..] else { return Ok(()) };
    if queries.1 != of_keys.1 {
        return wrong(keys, "column", queries.1, of_keys.1);
    }
    if of_keys.0 != of_values.0 {
        return wrong(values, "row", of_keys.0, of_values.0);
    }
    Ok(())
}

fn unknown(
    path: &str,
    source: &str,
    (what, name): (&str, &str),
    node: &YamlNode,
    known: &[&str],
) -> SpecError {
    let message = format!("{what}: expected one of the known names, got `{}`", name.escape_debug());
    let span = node.offset()..node.offset() + 1;
    SpecError::at(path, source, span, &message, Some(&name_hint(name, known)))
}

/// Numbers, or nothing where nothing was written.
fn entry(
    path: &str,
    source: &str,
    name: &str,
    node: &YamlNode,
) -> Result<Option<Entry>, SpecError> {
    let wrong = |misfit: Misfit| misfit.at((path, source), name, node);
    let text = node.text(source);
    if is_missing(&text) {
        return Ok(None);
    }
    let rows = read_table(&text).map_err(|reason| wrong(reason.into()))?;
    let cols = rows.first().map_or(0, Vec::len);
    if rows.len() > MAX_EXTENT || cols > MAX_EXTENT || cols == 0 {
        return Err(wrong(Misfit::Extents { rows: rows.len(), cols }));
    }
    if let Some(at) = rows.iter().position(|row| row.len() != cols) {
        return Err(wrong(Misfit::Ragged { row: at + 1, expected: cols, got: rows[at].len() }));
    }
    let line = line_of(source, node.offset());
    Ok(Some(Entry { rows, place: Place::new(path, Spot::Line(line)) }))
}
