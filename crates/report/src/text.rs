//! Small pieces of text.

pub use qkvet_spec::tell_ratio as ratio;

/// `1,234`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Cut to `width` characters, with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(width).collect();
    if chars.next().is_none() {
        head
    } else {
        format!("{}…", head.chars().take(width.saturating_sub(1)).collect::<String>())
    }
}

/// The text without the colors of terminals.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// A paragraph in lines that fit an ordinary terminal; line breaks of its own stay.
pub fn paragraph(text: &str) -> String {
    textwrap::wrap(text, 80).join("\n")
}

/// A formula in lines that fit an ordinary terminal, broken at spaces alone: `first` stands before its first line and `rest`
/// before the others. What has no space stays whole.
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
        let lines: Vec<String> = hanging("  = ", &sum, "      ").lines().map(str::to_owned).collect();
        assert!(lines.len() == 3 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        assert!(lines[0].starts_with("  = x") && lines[1..].iter().all(|line| line.starts_with("      ")), "{lines:?}");
        assert!(lines.iter().all(|line| line.ends_with('+') || line.ends_with("x_{i}-1")), "{lines:?}");
        let whole = "x".repeat(100);
        assert_eq!(hanging("", &whole, "  "), whole);
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }
}
