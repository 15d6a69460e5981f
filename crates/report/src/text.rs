//! Small pieces of text.

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

/// A paragraph in lines that fit an ordinary terminal; line breaks of its own stay.
pub fn paragraph(text: &str) -> String {
    textwrap::wrap(text, 80).join("\n")
}

/// A ratio with two significant digits, never rounded down to what it is not.
pub fn ratio(x: f64) -> String {
    if x >= 1000.0 || (x > 0.0 && x < 0.001) { format!("{x:.1e}") } else { format!("{x:.2}") }
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
    fn long_text_is_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }
}
