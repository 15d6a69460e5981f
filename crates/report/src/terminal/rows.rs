//! Labeled rows of a report, broken at the width of the terminal.

use std::fmt::Write;

use textwrap::core::display_width;

use crate::text::{cut, in_lines, visible, visible_line, whole_words};

/// Room before the value of a row.
pub(super) const LABEL: usize = 12;
/// Prose is broken into lines of at most this many characters, however wide a terminal is.
const WIDTH: usize = 100 - LABEL;
/// Less than this is no room for anything: a narrower terminal wraps lines itself.
const NARROWEST: usize = 40;
/// Longest value where no terminal is: whoever searches a file wants whole lines, and nobody a
/// message of megabytes.
pub(super) const MAX_LEN: usize = 2000;

/// Rows for a terminal of `columns`, or for a file.
pub(super) struct Rows {
    pub(super) text: String,
    /// Room for the value of a row.
    pub(super) width: usize,
    /// The folder of relative paths, where files are links.
    pub(super) links: Option<String>,
}

impl Rows {
    pub(super) fn new(columns: Option<usize>) -> Self {
        let width = columns.map_or(MAX_LEN, |columns| columns.saturating_sub(LABEL).max(NARROWEST));
        Self { text: String::new(), width, links: None }
    }

    /// A place in a file, as a link where there are links.
    pub(super) fn place(&self, path: &str, line: usize) -> String {
        let shown = format!("{}:{line}", visible_line(path));
        let Some(folder) = &self.links else { return shown };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._~-".contains(&byte);
        let encoded: String = path
            .bytes()
            .map(|byte| match is_plain(byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            })
            .collect();
        format!("\u{1b}]8;;file://{encoded}\u{1b}\\{shown}\u{1b}]8;;\u{1b}\\")
    }

    pub(super) fn line(&mut self, text: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{text}");
    }

    /// Lines without a label. Colors take no room.
    pub(super) fn headline(&mut self, text: &str) {
        for text in text.lines() {
            let options = whole_words(self.width.saturating_add(LABEL)).subsequent_indent("      ");
            self.line(&in_lines(text, options));
        }
    }

    /// A row whose lines are cut at the width.
    pub(super) fn row(&mut self, label: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let shown: Vec<String> =
            value.lines().map(|text| cut(&visible(text), self.width)).collect();
        self.line(&format!("  {label:9} {}", shown.join(&format!("\n{:LABEL$}", ""))));
    }

    /// A row to be copied: neither cut nor broken into lines.
    pub(super) fn command(&mut self, label: &str, text: &str) {
        self.line(&format!("  {label:9} {}", visible_line(text)));
    }

    /// Commands of which each has a line, or one for both where there is room.
    pub(super) fn commands(&mut self, label: &str, first: &str, second: Option<&str>) {
        let both = second.map(|second| format!("{first}   or  {second}"));
        match both.filter(|both| display_width(both) <= self.width) {
            Some(both) => self.command(label, &both),
            None => {
                self.command(label, first);
                second.into_iter().for_each(|second| self.command("or", second));
            }
        }
    }

    /// A row that is broken into lines rather than cut.
    pub(super) fn wrapped(&mut self, label: &str, value: &str) {
        let lines = textwrap::wrap(value, whole_words(self.width.min(WIDTH)));
        self.row(label, &lines.join("\n"));
    }

    /// A row that is broken where a terminal ends, and one line in a file.
    pub(super) fn told(&mut self, label: &str, value: &str) {
        if self.width >= MAX_LEN { self.row(label, value) } else { self.wrapped(label, value) }
    }

    /// A row of entries that is broken between them alone.
    pub(super) fn listed(&mut self, label: &str, entries: &[String], mark: &str) {
        self.row(label, &apart(entries, mark, self.width.min(WIDTH)));
    }
}

/// Entries with a mark behind each but the last, in lines that are broken between them alone.
fn apart(entries: &[String], mark: &str, width: usize) -> String {
    // A space that is no place to break a line, as long as lines are broken.
    const HARD: &str = "\u{a0}";
    let joined = entries.iter().map(|entry| entry.replace(' ', HARD)).collect::<Vec<_>>();
    let joined = joined.join(&format!("{} ", mark.replace(' ', HARD)));
    let lines = textwrap::wrap(&joined, whole_words(width).break_words(false));
    lines
        .iter()
        .map(|line| line.trim_end_matches(HARD).replace(HARD, " "))
        .collect::<Vec<_>>()
        .join("\n")
}
