//! The worst error of each law and format in units of its bound, as a table for people who ask for
//! it.

use std::collections::BTreeMap;
use std::fmt::Write;

use qkvet_spec::{Summary, Verdict};

use crate::text::{cut, ratio, visible_line};

/// Room for a number.
const COLUMN: usize = 12;

/// What is known of a law in a format.
#[derive(Default)]
struct Cell {
    worst: f64,
    is_wrong: bool,
}

/// The largest of all.
pub(crate) fn worst_margin(summary: &Summary) -> Option<f64> {
    summary.coverage.margins.values().copied().reduce(f64::max)
}

/// The table, a law a line in the order of the suite, in lines of at most so many characters. A
/// cross stands where a case is proved wrong; what nothing was measured of is no line.
pub(crate) fn margins(summary: &Summary, columns: usize) -> String {
    let (mut dtypes, mut laws): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut cells: BTreeMap<(&str, &str), Cell> = BTreeMap::new();
    for record in &summary.records {
        let Some(margin) = record.margin else { continue };
        let (law, dtype) = (record.law.as_str(), record.dtype.as_str());
        if !dtypes.contains(&dtype) {
            dtypes.push(dtype);
        }
        if !laws.contains(&law) {
            laws.push(law);
        }
        let cell = cells.entry((law, dtype)).or_default();
        cell.worst = cell.worst.max(margin);
        cell.is_wrong |= record.verdict == Verdict::Fail;
    }
    let mut out = String::new();
    if laws.is_empty() {
        out.push_str("  margins   nothing was measured\n");
        return out;
    }
    let longest = laws.iter().map(|law| law.chars().count()).max().unwrap_or(0);
    let room = columns.saturating_sub(2 + COLUMN * dtypes.len()).clamp(12, longest.max(12));
    let numbers = |law: &str| -> String {
        let shown = |dtype: &&str| match cells.get(&(law, *dtype)) {
            Some(Cell { worst, is_wrong: false }) => ratio(*worst),
            Some(Cell { worst, is_wrong: true }) => format!("✗ {}", ratio(*worst)),
            None => "–".to_owned(),
        };
        dtypes.iter().map(|dtype| format!("{:>COLUMN$}", shown(dtype))).collect()
    };
    // Writing to a string does not fail.
    let _ = writeln!(out, "  margins   worst error over its bound; 1 is the bound");
    let heads: String =
        dtypes.iter().map(|dtype| format!("{:>COLUMN$}", visible_line(dtype))).collect();
    let _ = writeln!(out, "  {:room$}{heads}", "law");
    for law in laws {
        let _ = writeln!(out, "  {:room$}{}", cut(&visible_line(law), room), numbers(law));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_each_law_and_format_is_told() {
        let mut summary: Summary =
            serde_json::from_str(include_str!("../tests/report.json")).expect("a report");
        let record = summary
            .records
            .iter()
            .find(|record| record.verdict == Verdict::Pass)
            .expect("one that held")
            .clone();
        let with = |law: &str, dtype: &str, margin: Option<f64>, verdict| qkvet_spec::CaseRecord {
            law: law.to_owned(),
            dtype: dtype.to_owned(),
            margin,
            verdict,
            ..record.clone()
        };
        summary.records = vec![
            with("value", "float32", Some(0.25), Verdict::Pass),
            with("value", "float32", Some(0.5), Verdict::Pass),
            with("value", "float16", Some(40.0), Verdict::Fail),
            with("single-key", "float32", Some(0.0), Verdict::Pass),
            with("shape", "float32", None, Verdict::Pass),
        ];
        let text = margins(&summary, 80);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["law", "float32", "float16"], "{text}");
        assert_eq!(
            (&lines[2][..], &lines[3][..]),
            (&["value", "0.50", "✗", "40.00"][..], &["single-key", "0.00", "–"][..]),
            "{text}"
        );
        assert_eq!(lines.len(), 4, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        summary.records.clear();
        assert!(margins(&summary, 80).contains("nothing was measured"));
    }
}
