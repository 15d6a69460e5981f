//! Text of numbers and matrices, to rows of the texts of their entries.

use super::{Node, Stated};

/// Entries of one answer.
pub const MOST_CELLS: usize = 4096;

/// How the entries of an answer are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One entry.
    One(String),
    /// A list: a row, or a column.
    Flat(Vec<String>),
    /// Rows.
    Rows(Vec<Vec<String>>),
}

/// The entries of an answer: lists of the file itself, or text such as `[[1, 2], [3, 4]]`, `1 2; 3 4`, `(2, 3)` and LaTeX's `bmatrix`.
///
/// # Errors
/// Named entries, lists of different kinds, too many entries.
pub fn layout(node: &Node) -> Result<Layout, String> {
    let layout = match node {
        Node::Missing => return Err("expected numbers, got nothing".to_owned()),
        Node::Text(text) => lists(text),
        Node::Named(_) => return Err("expected numbers, got named entries".to_owned()),
        Node::List(items) => {
            let cells = |items: &[Node]| -> Result<Vec<String>, String> {
                let cell = |item: &Node| match item {
                    Node::Text(text) => Ok(text.trim().to_owned()),
                    Node::Missing => Ok(String::new()),
                    _ => Err("expected rows of numbers, got lists of different depth".to_owned()),
                };
                items.iter().map(cell).collect()
            };
            let rows: Option<Vec<&Vec<Node>>> =
                items.iter().map(|item| if let Node::List(row) = item { Some(row) } else { None }).collect();
            match rows {
                Some(rows) if !rows.is_empty() => {
                    Layout::Rows(rows.into_iter().map(|row| cells(row)).collect::<Result<_, _>>()?)
                }
                _ => Layout::Flat(cells(items)?),
            }
        }
    };
    let n = match &layout {
        Layout::One(_) => 1,
        Layout::Flat(row) => row.len(),
        Layout::Rows(rows) => rows.iter().map(Vec::len).sum(),
    };
    if n > MOST_CELLS { Err(format!("expected at most {MOST_CELLS} entries, got {n}")) } else { Ok(layout) }
}

/// The layout of text.
pub fn lists(text: &str) -> Layout {
    let text = without_environment(text.trim());
    let text = text.as_str();
    if let Some(inner) = bracketed(text, '[', ']').or_else(|| tuple(text)) {
        let rows: Option<Vec<&str>> = split(inner, |c| matches!(c, ',' | ';' | '\n'))
            .into_iter()
            .map(|row| bracketed(row, '[', ']').or_else(|| tuple(row)))
            .collect();
        if let Some(rows) = rows
            && !rows.is_empty()
        {
            return Layout::Rows(rows.into_iter().map(cells).collect());
        }
        // Rows side by side, as NumPy prints them.
        let apart = split(inner, char::is_whitespace);
        let rows: Option<Vec<&str>> = apart.into_iter().map(|row| bracketed(row, '[', ']')).collect();
        if let Some(rows) = rows
            && !rows.is_empty()
        {
            return Layout::Rows(rows.into_iter().map(cells).collect());
        }
        let rows = split(inner, |c| c == ';');
        return if rows.len() > 1 {
            Layout::Rows(rows.into_iter().map(cells).collect())
        } else {
            Layout::Flat(cells(inner))
        };
    }
    let rows = split(text, |c| matches!(c, ';' | '\n'));
    if rows.len() > 1 {
        return Layout::Rows(rows.into_iter().map(cells).collect());
    }
    match cells(text) {
        many if many.len() > 1 => Layout::Flat(many),
        _ => Layout::One(text.to_owned()),
    }
}

/// Entries of a row: between commas or `&`; plain numbers also between spaces.
fn cells(row: &str) -> Vec<String> {
    let entries = split(row, |c| matches!(c, ',' | '&'));
    if entries.len() == 1 {
        let apart: Vec<&str> = row.split_whitespace().collect();
        let is_number = |text: &&str| {
            text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | '−')) && Stated::read(text).is_ok()
        };
        if apart.len() > 1 && apart.len() <= MOST_CELLS && apart.iter().all(is_number) {
            return apart.into_iter().map(str::to_owned).collect();
        }
    }
    entries.into_iter().map(|entry| unquoted(entry).to_owned()).collect()
}

/// Notebooks have fractions in quotes.
fn unquoted(text: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text).trim()
}

/// Parts between separators outside all brackets, without empty ones.
fn split(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            c if depth == 0 && is_separator(c) => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// What is between brackets that hold all of a text.
fn bracketed(text: &str, open: char, close: char) -> Option<&str> {
    let text = text.trim();
    let inner = text.strip_prefix(open)?.strip_suffix(close)?;
    let mut depth = 0_i32;
    for c in inner.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    (depth == 0).then_some(inner.trim())
}

/// Round brackets with commas in them.
fn tuple(text: &str) -> Option<&str> {
    bracketed(text, '(', ')').filter(|inner| split(inner, |c| c == ',').len() > 1 || inner.ends_with(','))
}

/// A matrix of LaTeX as rows between semicolons.
fn without_environment(text: &str) -> String {
    const KINDS: [&str; 4] = ["bmatrix", "pmatrix", "matrix", "array"];
    let text = text.trim_matches('$').trim();
    for kind in KINDS {
        let (begin, end) = (format!("\\begin{{{kind}}}"), format!("\\end{{{kind}}}"));
        if let Some(inner) = text.strip_prefix(begin.as_str()).and_then(|rest| rest.strip_suffix(end.as_str())) {
            return inner.replace("\\\\", ";").replace('\n', " ");
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        match lists(text) {
            Layout::Rows(rows) => rows,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn matrices_are_typed_in_many_ways() {
        let plain = rows("[[1, 2], [3, 4]]");
        assert_eq!(plain, [["1", "2"], ["3", "4"]]);
        for text in [
            "1 2; 3 4",
            "[[1 2]\n [3 4]]",
            "((1, 2), (3, 4))",
            "1, 2\n3, 4",
            r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}",
            "[1 2; 3 4]",
            "[1, 2], [3, 4]",
        ] {
            let read = if text == "[1, 2], [3, 4]" { rows(&format!("[{text}]")) } else { rows(text) };
            assert_eq!(read, plain, "{text}");
        }
        assert_eq!(rows("[[1/2, (e+1)/2], [f(1, 2), 0]]"), [["1/2", "(e+1)/2"], ["f(1, 2)", "0"]]);
        assert_eq!(rows("[[\"1/2\", 1], ['e', 0]]"), [["1/2", "1"], ["e", "0"]]);
        assert_eq!(lists("(2, 3)"), Layout::Flat(vec!["2".to_owned(), "3".to_owned()]));
        assert_eq!(lists("1 -2 .5"), Layout::Flat(vec!["1".to_owned(), "-2".to_owned(), ".5".to_owned()]));
        for one in ["(e^{sqrt(2)/2}+1)/(2e^{sqrt(2)/2}+1)", "(1+2)", "3 + 4", "", "(1", "][", "1/2"] {
            assert!(matches!(lists(one), Layout::One(_)), "{one}");
        }
    }
}
