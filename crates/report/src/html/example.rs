//! The worked example as tables.

use qkvet_spec::{Numbers, Steps, WorkedExample};

use crate::markdown::short;
use crate::text::{ratio, visible};

/// Two tables: how the weights of a query come about, and what they make of the values.
pub(super) struct ExampleView {
    pub(super) caption: String,
    pub(super) keys: Table,
    /// Keys that are not shown.
    pub(super) more_keys: usize,
    pub(super) result: String,
    pub(super) columns: Table,
    /// Columns that are not shown.
    pub(super) more_columns: usize,
}

/// Rows of cells under a header.
pub(super) struct Table {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A number in a table.
pub(super) struct Cell {
    pub(super) text: String,
    /// Whether it is not what it should be; a mark says so too.
    pub(super) differs: bool,
}

impl Cell {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), differs: false }
    }
}

/// Columns of values that are shown beside the weights.
const MAX_VALUES: usize = 3;

pub(super) fn example(example: &WorkedExample) -> ExampleView {
    let WorkedExample { item, head, query, .. } = *example;
    ExampleView {
        caption: format!("Query [b={item}, h={head}, i={query}] of {}", visible(&example.call)),
        keys: keys(example),
        more_keys: example.n_k.saturating_sub(example.keys.len()),
        result: example.result.clone(),
        columns: columns(example),
        more_columns: example.width.saturating_sub(example.columns.len()),
    }
}

fn at(numbers: &Numbers, at: usize) -> f64 {
    numbers.0.get(at).copied().unwrap_or(f64::NAN)
}

/// A row for each key: product, stages, logit, softmax in two steps, the values that it weighs, and
/// logit and weight with the cause; one for a sink, and one for the sums where all keys are shown.
fn keys(example: &WorkedExample) -> Table {
    let WorkedExample { expected, supposed, values, .. } = example;
    // The last stage is the logit, but for keys that are hidden.
    let inner = expected.stages.len().saturating_sub(1);
    let sink = expected.sink.as_ref().and_then(|sink| sink.0.first()).copied();
    let highest = expected.logits.0.iter().copied().chain(sink).fold(f64::NEG_INFINITY, f64::max);
    let exponential =
        |logit: f64| if highest.is_finite() { libm::exp(logit - highest) } else { 0.0 };
    let shown: Vec<usize> = example.columns.iter().copied().take(MAX_VALUES).collect();
    let n_values = if values.len() == example.keys.len() { shown.len() } else { 0 };
    let mut header = vec!["key j".to_owned(), "q · k".to_owned()];
    header
        .extend(expected.stages.iter().take(inner).map(|stage| visible(&stage.stage).into_owned()));
    let last = expected
        .stages
        .last()
        .map_or_else(String::new, |stage| format!(" ({})", visible(&stage.stage)));
    header.extend([format!("logit{last}"), "exp(logit − max)".to_owned(), "weight".to_owned()]);
    header.extend(shown.iter().take(n_values).map(|c| format!("v[j, {c}]")));
    if supposed.is_some() {
        header.extend(["logit with the cause".to_owned(), "weight with the cause".to_owned()]);
    }
    let width = header.len();
    let row = |(row, key): (usize, &usize)| {
        let mut cells =
            vec![Cell::plain(key.to_string()), Cell::plain(short(at(&expected.products, row)))];
        cells.extend(
            expected
                .stages
                .iter()
                .take(inner)
                .map(|stage| Cell::plain(short(at(&stage.scores, row)))),
        );
        cells.push(Cell::plain(logit(expected, row)));
        cells.push(Cell::plain(short(exponential(at(&expected.logits, row)))));
        cells.push(Cell::plain(short(at(&expected.weights, row))));
        cells.extend((0..n_values).map(|column| Cell::plain(short(at(&values[row], column)))));
        if let Some(other) = supposed {
            cells.push(compared(logit(other, row), &logit(expected, row)));
            cells
                .push(compared(short(at(&other.weights, row)), &short(at(&expected.weights, row))));
        }
        cells
    };
    let mut rows: Vec<Vec<Cell>> = example.keys.iter().enumerate().map(row).collect();
    // A row with texts at the columns of logit, exponential, weight and values.
    let beside = |name: &str, texts: Vec<String>| {
        let before = std::iter::once(name.to_owned()).chain(vec![String::new(); inner + 1]);
        let mut cells: Vec<Cell> = before.chain(texts).map(Cell::plain).collect();
        cells.resize_with(width, || Cell::plain(""));
        cells
    };
    if let Some(sink) = sink {
        rows.push(beside("sink", vec![short(sink), short(exponential(sink))]));
    }
    if example.keys.len() == example.n_k && highest.is_finite() {
        let sum: f64 = expected.logits.0.iter().copied().chain(sink).map(exponential).sum();
        let weighed = |column: usize| -> f64 {
            // What has no weight does not count, whatever it is.
            let seen = expected.weights.0.iter().zip(values).filter(|(weight, _)| **weight != 0.0);
            let weighed = seen.map(|(weight, values)| weight * at(values, column));
            weighed.sum()
        };
        let mut texts = vec![String::new(), short(sum), short(expected.weights.0.iter().sum())];
        texts.extend((0..n_values).map(|column| short(weighed(column))));
        rows.push(beside(if n_values == 0 { "sum" } else { "sum, of v weighted" }, texts));
    }
    Table { header, rows }
}

fn logit(steps: &Steps, row: usize) -> String {
    let logit = at(&steps.logits, row);
    if logit == f64::NEG_INFINITY { "hidden (−∞)".to_owned() } else { short(logit) }
}

fn compared(text: String, own: &str) -> Cell {
    let differs = text != own;
    Cell { text: if differs { format!("≠ {text}") } else { text }, differs }
}

/// A row for each column of the result: exact, allowed, got, how far out, and what the cause gives.
fn columns(example: &WorkedExample) -> Table {
    let mut header: Vec<String> =
        ["column", "exact", "allowed error", "got", "distance"].map(str::to_owned).to_vec();
    if example.simulated.is_some() {
        header.push("the cause gives".to_owned());
    }
    let row = |(row, column): (usize, &usize)| {
        let (exact, allowed, got) =
            (at(&example.exact, row), at(&example.allowed, row), at(&example.got, row));
        let far = (got - exact).abs();
        let is_right = far <= allowed || (got.is_nan() && exact.is_nan());
        let share = far / allowed;
        let distance = match (is_right, share.is_finite()) {
            (true, true) => format!("within: {} of the bound", ratio(share)),
            (true, false) => "within".to_owned(),
            (false, true) => format!("✗ {} times the bound", ratio(share)),
            (false, false) => "✗ outside".to_owned(),
        };
        let mut cells = vec![
            Cell::plain(column.to_string()),
            Cell::plain(format!("{exact:?}")),
            Cell::plain(short(allowed)),
            Cell { text: format!("{got:?}"), differs: !is_right },
            Cell { text: distance, differs: !is_right },
        ];
        cells.extend(
            example
                .simulated
                .as_ref()
                .map(|simulated| Cell::plain(format!("{:?}", at(simulated, row)))),
        );
        cells
    };
    Table { header, rows: example.columns.iter().enumerate().map(row).collect() }
}
