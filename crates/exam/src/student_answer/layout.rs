//! Text of numbers and matrices, to rows of the texts of their entries.

use std::ops::Range;

use super::expression::{TIMES, is_fraction_sign};
use super::{Node, ParsedNumber, ReadError, read_expression};

/// Entries of one answer.
pub const MAX_CELLS: usize = 4096;

/// Longest text of a factor on a matrix.
const MAX_FACTOR: usize = 100;

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

/// The entries of an answer: lists of the file itself, or text such as `[[1, 2], [3, 4]]`,
/// `1 2; 3 4`, `(2, 3)` and LaTeX's `bmatrix`.
///
/// # Errors
/// Named entries, lists of different kinds, too many entries.
pub fn layout(node: &Node) -> Result<Layout, ReadError> {
    let layout = match node {
        Node::Missing => return Err(ReadError::Nothing),
        Node::Text(text) => lists(text),
        Node::Named(_) => return Err(ReadError::Named),
        Node::List(items) => {
            let cells = |items: &[Node]| -> Result<Vec<String>, ReadError> {
                let cell = |item: &Node| match item {
                    Node::Text(text) => Ok(text.trim().to_owned()),
                    Node::Missing => Ok(String::new()),
                    _ => Err(ReadError::Depth),
                };
                items.iter().map(cell).collect()
            };
            let rows: Option<Vec<&Vec<Node>>> = items
                .iter()
                .map(|item| if let Node::List(row) = item { Some(row) } else { None })
                .collect();
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
    if n > MAX_CELLS {
        Err(ReadError::TooMany { most: MAX_CELLS, what: "entries", got: n })
    } else {
        Ok(layout)
    }
}

/// The layout of text.
pub fn lists(text: &str) -> Layout {
    let text = without_environment(without_call(undressed(text)));
    // `1400;` is one number, and `[1, 2].` ends a sentence.
    let text = text.trim_end_matches([';', '\n', ' ']);
    let text = text.strip_suffix('.').filter(|text| text.ends_with([']', ')'])).unwrap_or(text);
    if let Some(column) = column(text) {
        return column;
    }
    if let Some(scaled) = scaled(text) {
        return scaled;
    }
    if let Some(inner) = bracketed(text, '[', ']').or_else(|| tuple(text)).or_else(|| braces(text))
    {
        let rows: Option<Vec<&str>> = split(inner, |c| matches!(c, ',' | ';' | '\n'))
            .into_iter()
            .map(|row| {
                bracketed(row, '[', ']').or_else(|| bracketed(row, '{', '}')).or_else(|| tuple(row))
            })
            .collect();
        if let Some(rows) = rows
            && !rows.is_empty()
        {
            return Layout::Rows(rows.into_iter().map(cells).collect());
        }
        // Rows side by side, as NumPy prints them.
        let apart = split(inner, char::is_whitespace);
        let rows: Option<Vec<&str>> =
            apart.into_iter().map(|row| bracketed(row, '[', ']')).collect();
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
    if let Some(rows) = bare_rows(text) {
        return Layout::Rows(rows.into_iter().map(cells).collect());
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

/// Text without the signs of LaTeX round a formula, and without a box.
fn undressed(text: &str) -> &str {
    let text = text.trim();
    let inner = [("\\(", "\\)"), ("\\[", "\\]"), ("\\boxed{", "}"), ("$$", "$$"), ("$", "$")]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    inner.map_or(text, undressed)
}

/// Signs of a transposed vector.
const TRANSPOSED: [&str; 7] = ["^T", "^{T}", "^\\top", "^{\\top}", "ᵀ", "^⊤", ".T"];

/// A column that is written as a transposed row, `(4.1, -3.9)^T`.
fn column(text: &str) -> Option<Layout> {
    let row = TRANSPOSED.iter().find_map(|sign| text.strip_suffix(sign))?;
    let entries = cells(bracketed(row, '[', ']').or_else(|| tuple(row))?);
    let is_flat =
        entries.len() > 1 && !entries.iter().any(|entry| entry.contains(['[', ';', '\n']));
    is_flat.then(|| Layout::Rows(entries.into_iter().map(|entry| vec![entry]).collect()))
}

/// Rows in brackets without brackets around all of them: `[1, 2], [3, 4]`, `(1 2), (3 4)`.
fn bare_rows(text: &str) -> Option<Vec<&str>> {
    let parts = [split(text, |c| matches!(c, ',' | ';' | '\n')), split(text, char::is_whitespace)];
    parts
        .into_iter()
        .filter(|parts| parts.len() > 1)
        .find_map(|parts| parts.into_iter().map(bare_row).collect())
}

/// A row in brackets. Round ones are those of a number, unless more than one stands in them.
fn bare_row(text: &str) -> Option<&str> {
    let round = || bracketed(text, '(', ')').filter(|inner| cells(inner).len() > 1);
    bracketed(text, '[', ']').or_else(|| braces(text)).or_else(round)
}

/// A matrix with a factor before or behind it, `1/sqrt(2) * [[1, -1]]` and `[[1, 2]] / 3`: each
/// entry has the factor.
fn scaled(text: &str) -> Option<Layout> {
    let at = only_list(text)?;
    let (before, behind) = (text[..at.start].trim(), text[at.end..].trim());
    if before.is_empty() && behind.is_empty() || before.len().max(behind.len()) > MAX_FACTOR {
        return None;
    }
    let is_factor = |text: &str| !is_sum(text) && read_expression(text).is_ok();
    let before = match before {
        "" => String::new(),
        "-" | "−" => "-".to_owned(),
        before => {
            let factor =
                TIMES.iter().find_map(|times| before.strip_suffix(times)).unwrap_or(before);
            is_factor(factor).then(|| format!("({factor})*"))?
        }
    };
    let behind =
        match (behind.strip_prefix('/'), TIMES.iter().find_map(|times| behind.strip_prefix(times)))
        {
            _ if behind.is_empty() => String::new(),
            (Some(divisor), _) => is_factor(divisor).then(|| format!("/{divisor}"))?,
            (None, Some(factor)) => is_factor(factor).then(|| format!("*{factor}"))?,
            (None, None) => return None,
        };
    let with = |row: Vec<String>| -> Vec<String> {
        row.into_iter().map(|cell| format!("{before}({cell}){behind}")).collect()
    };
    match lists(&text[at]) {
        Layout::One(_) => None,
        Layout::Flat(row) if row.len() > MAX_CELLS => None,
        Layout::Rows(rows) if rows.iter().map(Vec::len).sum::<usize>() > MAX_CELLS => None,
        Layout::Flat(row) => Some(Layout::Flat(with(row))),
        Layout::Rows(rows) => Some(Layout::Rows(rows.into_iter().map(with).collect())),
    }
}

/// Where the only list of a text stands: in square brackets, in others with a comma in them, or in
/// an environment of LaTeX.
fn only_list(text: &str) -> Option<Range<usize>> {
    if let Some(start) = text.find("\\begin{") {
        let end = text
            .find("\\end{")
            .and_then(|at| Some(at + text[at..].find('}')? + 1))
            .filter(|end| start < *end)?;
        return (text.matches("\\begin{").count() == 1).then_some(start..end);
    }
    let (mut depth, mut start, mut found) = (0_usize, 0, None);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => {
                start = if depth == 0 { at } else { start };
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                let group = start..at + 1;
                let is_list = || {
                    text[start..].starts_with('[')
                        || split(&text[start + 1..at], |c| c == ',').len() > 1
                };
                if depth == 0 && is_list() && found.replace(group).is_some() {
                    return None;
                }
            }
            _ => {}
        }
    }
    found.filter(|_| depth == 0)
}

/// Whether a sign of a sum stands outside of brackets, other than before a number.
fn is_sum(text: &str) -> bool {
    let (mut depth, mut before) = (0_i32, '^');
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '+' | '-' | '−' | '–'
                if depth == 0 && !matches!(before, '^' | '*' | '/' | '·' | '×') =>
            {
                return true;
            }
            _ => {}
        }
        before = c;
    }
    false
}

/// What stands in a call of a library that makes an array: of `np.array([1, 2])` the list.
fn without_call(text: &str) -> &str {
    const CALLS: [&str; 6] =
        ["np.array", "numpy.array", "array", "torch.tensor", "tensor", "torch.Size"];
    let inner = |call: &&str| bracketed(text.strip_prefix(*call)?, '(', ')');
    CALLS.iter().find_map(inner).unwrap_or(text)
}

/// Entries of a row: between commas or `&`; plain numbers also between spaces.
fn cells(row: &str) -> Vec<String> {
    let entries = split(row, |c| matches!(c, ',' | '&'));
    if entries.len() == 1 {
        let apart: Vec<&str> = row.split_whitespace().collect();
        let is_number = |text: &&str| {
            text.starts_with(|c: char| {
                c.is_ascii_digit() || matches!(c, '-' | '.' | '−') || is_fraction_sign(c)
            }) && ParsedNumber::read(text).is_ok()
        };
        if apart.len() > 1 && apart.len() <= MAX_CELLS && apart.iter().all(is_number) {
            return apart.into_iter().map(str::to_owned).collect();
        }
    }
    entries.into_iter().map(|entry| unquoted(entry).to_owned()).collect()
}

/// Notebooks have fractions in quotes.
fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(text)
        .trim()
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
    bracketed(text, '(', ')')
        .filter(|inner| split(inner, |c| c == ',').len() > 1 || inner.ends_with(','))
}

/// Braces with commas in them.
fn braces(text: &str) -> Option<&str> {
    bracketed(text, '{', '}').filter(|inner| split(inner, |c| c == ',').len() > 1)
}

/// A matrix of LaTeX as rows between semicolons.
fn without_environment(text: &str) -> String {
    const KINDS: [&str; 4] = ["bmatrix", "pmatrix", "matrix", "array"];
    let text = text.trim_matches('$').trim();
    for kind in KINDS {
        let (begin, end) = (format!("\\begin{{{kind}}}"), format!("\\end{{{kind}}}"));
        if let Some(inner) =
            text.strip_prefix(begin.as_str()).and_then(|rest| rest.strip_suffix(end.as_str()))
        {
            return inner.replace("\\\\", ";").replace('\n', " ");
        }
    }
    // The rows of one without its environment.
    if text.contains('&') && text.contains("\\\\") && !text.contains("\\begin") {
        return text.replace("\\\\", ";").replace('\n', " ");
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

    /// Whether each entry is a number.
    fn is_read(text: &str) -> bool {
        match lists(text) {
            Layout::Rows(rows) => rows.concat().iter().all(|cell| ParsedNumber::read(cell).is_ok()),
            Layout::Flat(row) => row.iter().all(|cell| ParsedNumber::read(cell).is_ok()),
            Layout::One(one) => ParsedNumber::read(&one).is_ok(),
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
            "[1, 2]\n[3, 4]",
            "[1 2] [3 4]",
            "(1 2), (3 4)",
            "(1, 2), (3, 4)",
            "{{1,2},{3,4}}",
            "{1, 2}, {3, 4}",
            r"1 & 2 \\ 3 & 4",
            "np.array([[1, 2], [3, 4]])",
        ] {
            assert_eq!(rows(text), plain, "{text}");
        }
        assert_eq!(rows("[[1/2, (e+1)/2], [f(1, 2), 0]]"), [["1/2", "(e+1)/2"], ["f(1, 2)", "0"]]);
        assert_eq!(rows("[[\"1/2\", 1], ['e', 0]]"), [["1/2", "1"], ["e", "0"]]);
        assert_eq!(lists("(2, 3)"), Layout::Flat(vec!["2".to_owned(), "3".to_owned()]));
        assert_eq!(
            lists("1 -2 .5"),
            Layout::Flat(vec!["1".to_owned(), "-2".to_owned(), ".5".to_owned()])
        );
        assert_eq!(lists("torch.Size([1, 2])"), lists("(1, 2)"));
        assert_eq!(lists("1400;"), Layout::One("1400".to_owned()));
        for text in ["(4.1, -3.9)^T", "[4.1, -3.9]ᵀ", r"(4.1, -3.9)^\top", "[4.1 -3.9]^{T}"] {
            assert_eq!(rows(text), [["4.1"], ["-3.9"]], "{text}");
        }
        assert_eq!(lists("[½ 1 -2¼]"), Layout::Flat(["½", "1", "-2¼"].map(str::to_owned).to_vec()));
        for other in ["[[1, 2], [3, 4]]^T", "(1, 2)^T^T", &format!("1{}", "^T".repeat(100_000))] {
            assert!(!is_read(other), "{}", &other[..20.min(other.len())]);
        }
        // Brackets around numbers are no rows.
        assert_eq!(
            lists("(1/2), (3/4)"),
            Layout::Flat(vec!["(1/2)".to_owned(), "(3/4)".to_owned()])
        );
        for one in ["(e^{sqrt(2)/2}+1)/(2e^{sqrt(2)/2}+1)", "(1+2)", "3 + 4", "", "(1", "][", "1/2"]
        {
            assert!(matches!(lists(one), Layout::One(_)), "{one}");
        }
    }

    #[test]
    fn a_factor_goes_to_each_entry() {
        let values = |text: &str| -> Vec<Vec<String>> {
            let value = |cell: &String| {
                let read = ParsedNumber::read(cell)
                    .unwrap_or_else(|error| panic!("{text}: {cell}: {error}"));
                read.value.digits(3)
            };
            match lists(text) {
                Layout::Rows(rows) => {
                    rows.iter().map(|row| row.iter().map(value).collect()).collect()
                }
                Layout::Flat(row) => vec![row.iter().map(value).collect()],
                Layout::One(one) => panic!("{text}: {one}"),
            }
        };
        for text in [
            "1/sqrt(2) * [[1, -1], [0, 2]]",
            "1/√2 [[1, -1], [0, 2]]",
            "(1/2^(1/2)) · [1 -1; 0 2]",
            r"\frac{1}{\sqrt2}\begin{bmatrix} 1 & -1 \\ 0 & 2 \end{bmatrix}",
            r"$\frac{1}{\sqrt{2}} \cdot \begin{pmatrix} 1 & -1 \\ 0 & 2 \end{pmatrix}$",
            "[[1, -1], [0, 2]] / sqrt(2)",
            "-[[-1, 1], [0, -2]] / 2 * sqrt(2)",
            "2^{-1/2} {{1, -1}, {0, 2}}",
        ] {
            assert_eq!(values(text), [["0.707", "-0.707"], ["0.000", "1.414"]], "{text}");
        }
        assert_eq!(values("1/2 (1, 2)"), [["0.500", "1.000"]]);
        // What may be meant otherwise is no factor.
        for text in [
            "1 + 1/2 * [[1, 2], [3, 4]]",
            "[[1, 2], [3, 4]] / 2 + 1",
            "1e-3 [[1, 2], [3, 4]]",
            "1 / [[1, 2], [3, 4]]",
            "[[1, 2], [3, 4]] [[1, 2], [3, 4]]",
            "K [[1, 2], [3, 4]]",
            "[[1, 2], [3, 4]]^2",
            format!("{} [[1, 2], [3, 4]]", "1*".repeat(100)).as_str(),
            format!("2 * [{}]", "1, ".repeat(5000)).as_str(),
        ] {
            assert!(!is_read(text), "{text}");
        }
    }
}
