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
    pub(super) sink: Option<String>,
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

pub(super) fn example(example: &WorkedExample) -> ExampleView {
    let WorkedExample { item, head, query, .. } = *example;
    ExampleView {
        caption: format!("Query [b={item}, h={head}, i={query}] of {}", visible(&example.call)),
        keys: keys(example),
        more_keys: example.n_k.saturating_sub(example.keys.len()),
        sink: example.expected.sink.as_ref().and_then(|sink| sink.0.first()).map(|sink| short(*sink)),
        result: example.result.clone(),
        columns: columns(example),
        more_columns: example.width.saturating_sub(example.columns.len()),
    }
}

fn at(numbers: &Numbers, at: usize) -> f64 {
    numbers.0.get(at).copied().unwrap_or(f64::NAN)
}

/// A row for each key: product, stages, logit, weight, and the last two with the cause.
fn keys(example: &WorkedExample) -> Table {
    let WorkedExample { expected, supposed, .. } = example;
    // The last stage is the logit, but for keys that are hidden.
    let inner = expected.stages.len().saturating_sub(1);
    let mut header = vec!["key j".to_owned(), "q · k".to_owned()];
    header.extend(expected.stages.iter().take(inner).map(|stage| visible(&stage.stage).into_owned()));
    let last = expected.stages.last().map_or_else(String::new, |stage| format!(" ({})", visible(&stage.stage)));
    header.extend([format!("logit{last}"), "weight".to_owned()]);
    if supposed.is_some() {
        header.extend(["logit with the cause".to_owned(), "weight with the cause".to_owned()]);
    }
    let row = |(row, key): (usize, &usize)| {
        let mut cells = vec![Cell::plain(key.to_string()), Cell::plain(short(at(&expected.products, row)))];
        cells.extend(expected.stages.iter().take(inner).map(|stage| Cell::plain(short(at(&stage.scores, row)))));
        cells.extend([Cell::plain(logit(expected, row)), Cell::plain(short(at(&expected.weights, row)))]);
        if let Some(other) = supposed {
            cells.push(compared(logit(other, row), &logit(expected, row)));
            cells.push(compared(short(at(&other.weights, row)), &short(at(&expected.weights, row))));
        }
        cells
    };
    Table { header, rows: example.keys.iter().enumerate().map(row).collect() }
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
    let mut header: Vec<String> = ["column", "exact", "allowed error", "got", "distance"].map(str::to_owned).to_vec();
    if example.simulated.is_some() {
        header.push("the cause gives".to_owned());
    }
    let row = |(row, column): (usize, &usize)| {
        let (exact, allowed, got) = (at(&example.exact, row), at(&example.allowed, row), at(&example.got, row));
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
        cells.extend(example.simulated.as_ref().map(|simulated| Cell::plain(format!("{:?}", at(simulated, row)))));
        cells
    };
    Table { header, rows: example.columns.iter().enumerate().map(row).collect() }
}
