//! Small pieces of text.

use std::borrow::Cow;
use std::collections::BTreeSet;

use textwrap::core::display_width;

pub use qkvet_spec::format_ratio as ratio;

/// `1,234`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// `1 case`, `1,234 cases`.
pub(crate) fn cases(n: usize) -> String {
    format!("{} case{}", count(n), if n == 1 { "" } else { "s" })
}

/// The name, or the first of it with a number behind `sign` that none of `taken` is, which it joins.
pub fn free_name(name: &str, sign: char, taken: &mut BTreeSet<String>) -> String {
    let mut free = name.to_owned();
    for n in 2.. {
        // Some systems take names for one that differ in capitals alone.
        if taken.insert(free.to_lowercase()) {
            break;
        }
        free = format!("{name}{sign}{n}");
    }
    free
}

/// Cut to `width` columns of a terminal, with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    // Where the text fits, and where it would if an ellipsis followed.
    let (mut columns, mut fitting) = (0, 0);
    for (at, c) in text.char_indices() {
        columns += display_width(c.encode_utf8(&mut [0; 4]));
        if columns > width {
            return format!("{}…", &text[..fitting]);
        }
        if columns < width {
            fitting = at + c.len_utf8();
        }
    }
    text.to_owned()
}

/// The text with what a terminal, a browser or a reader could take for something else made visible:
/// control characters but line breaks and tabs, marks that turn the direction of text, and
/// characters without a width.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|c| if is_hidden(c) { c.escape_unicode().to_string() } else { c.to_string() })
        .collect()
}

/// The same for what has one line: a break in it is shown, so that a name looks like no second
/// line.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let shown = visible(text);
    if shown.contains('\n') { Cow::Owned(shown.replace('\n', "\\n")) } else { shown }
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// A document of JSON with the same characters escaped as JSON does it, and no command of a CI
/// service in it: the same document.
pub(crate) fn visible_json(text: String) -> String {
    let changed = match visible_json_part(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    changed.unwrap_or(text)
}

/// The same of a part of a document that ends in no text of it.
pub(crate) fn visible_json_part(text: &str) -> Cow<'_, str> {
    // Outside of texts no document has a number sign.
    let text = if text.contains(MARK) {
        Cow::Owned(text.replace(MARK, "#\\u0023["))
    } else {
        Cow::Borrowed(text)
    };
    if !text.contains(is_hidden) {
        return text;
    }
    let escaped = |c: char| {
        if is_hidden(c) {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// What begins a command in the older form, wherever it stands in a line.
const MARK: &str = "##[";

/// Whether the line begins like a command of a workflow.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("::")
}

/// The text with a mark in what a CI service would take for commands of its own: `::error` where a
/// line begins, `##[error]` anywhere.
pub fn no_command(text: &str) -> Cow<'_, str> {
    without_commands(text, "\\::", "##\\[")
}

/// The same for HTML and XML, where it stays the same document.
pub(crate) fn no_command_markup(text: &str) -> Cow<'_, str> {
    without_commands(text, "&#58;:", "#&#35;[")
}

fn without_commands<'a>(text: &'a str, start: &str, mark: &str) -> Cow<'a, str> {
    if !text.lines().any(is_command) && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let marked = |line: &str| {
        let (space, rest) = line.split_at(line.len() - line.trim_start().len());
        let line = if is_command(line) {
            format!("{space}{start}{}", &rest[2..])
        } else {
            line.to_owned()
        };
        line.replace(MARK, mark)
    };
    text.split_inclusive('\n').map(marked).collect()
}

/// Text between tags or in an attribute of HTML and XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What XML forbids beside control characters.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The first line.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The text without the colors of terminals.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// How lines are broken where names with hyphens stay whole.
pub(crate) fn whole_words<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// The text in lines; a point between two parts ends a line, and begins none.
pub(crate) fn in_lines(text: &str, options: textwrap::Options<'_>) -> String {
    // A space that is no place to break a line.
    let text = text.replace(" · ", "\u{a0}· ");
    textwrap::wrap(&text, options).join("\n").replace("\u{a0}·", " ·")
}

/// A paragraph in lines that fit an ordinary terminal; line breaks of its own stay.
pub fn paragraph(text: &str) -> String {
    textwrap::wrap(text, 80).join("\n")
}

/// A formula in lines that fit an ordinary terminal, broken at spaces alone: `first` stands before
/// its first line and `rest` before the others. What has no space stays whole.
pub fn hanging(first: &str, text: &str, rest: &str) -> String {
    let options = textwrap::Options::new(80)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1234567), "1,234,567");
    }

    #[test]
    fn formulas_hang() {
        let sum = vec!["x_{i}-1"; 20].join(" + ");
        let lines: Vec<String> =
            hanging("  = ", &sum, "      ").lines().map(str::to_owned).collect();
        assert!(
            lines.len() == 3 && lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:?}"
        );
        assert!(
            lines[0].starts_with("  = x")
                && lines[1..].iter().all(|line| line.starts_with("      ")),
            "{lines:?}"
        );
        assert!(
            lines.iter().all(|line| line.ends_with('+') || line.ends_with("x_{i}-1")),
            "{lines:?}"
        );
        let whole = "x".repeat(100);
        assert_eq!(hanging("", &whole, "  "), whole);
    }

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(visible("plain\ttext\n"), "plain\ttext\n");
        assert_eq!(visible("\u{1b}[2J\u{202e}x\r"), "\\u{1b}[2J\\u{202e}x\\u{d}");
        assert_eq!(
            visible("\u{9b}\u{61c}\u{2066}\u{2060}\u{e0041}"),
            "\\u{9b}\\u{61c}\\u{2066}\\u{2060}\\u{e0041}"
        );
        assert_eq!(visible_line("a\nb"), "a\\nb");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(
            (cut("注意注意", 8), cut("注意注意", 7), cut("注意", 2)),
            ("注意注意".into(), "注意注…".into(), "…".into())
        );
    }

    #[test]
    fn a_document_stays_what_it_is() {
        let value =
            serde_json::json!({ "a\u{9b}": "\u{1b}[2J\u{202e}\u{feff}\u{e0041}\n\"\\##[error]x" });
        let text = visible_json(serde_json::to_string_pretty(&value).expect("JSON"));
        assert!(!text.contains(is_hidden) && !text.contains(MARK), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn commands_of_services_are_marked() {
        let text = "a\n::error::x\n  ::add-mask::y\n##[group]z\nb :: c ##[x]\n";
        assert_eq!(
            no_command(text),
            "a\n\\::error::x\n  \\::add-mask::y\n##\\[group]z\nb :: c ##\\[x]\n"
        );
        assert_eq!(no_command_markup("<a\n\u{2003}::x='##['>"), "<a\n\u{2003}&#58;:x='#&#35;['>");
        assert!(matches!(no_command("a :: b #[c] ##"), Cow::Borrowed(_)));
    }
}
