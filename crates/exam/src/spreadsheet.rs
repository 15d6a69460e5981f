//! Cells of tables that are opened in spreadsheets.

use std::borrow::Cow;

/// The text of a cell. What a spreadsheet would take for a formula begins with an apostrophe:
/// students and authors choose words.
pub(crate) fn guarded(text: &str) -> Cow<'_, str> {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') if text.parse::<f64>().is_err() => {
            Cow::Owned(format!("'{text}"))
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn what_a_spreadsheet_takes_for_a_formula_is_text() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+x", "'+x"),
            ("- a list", "'- a list"),
            ("\t=1", "'\t=1"),
            ("-2.5", "-2.5"),
            ("+3", "+3"),
            ("a = b", "a = b"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), written);
        }
    }
}
