//! Text of others as a scalar of YAML.

/// Words that YAML readers take for something else than text.
const TAKEN: [&str; 12] =
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];

/// The text as it is where nobody could take it for something else, else in double quotes.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+'))
        && !TAKEN.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// In double quotes; whatever could end the line or move a cursor is written by its number.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if crate::text::visible(c.encode_utf8(&mut [0; 4])).len() > c.len_utf8()
                || c == '\u{fffe}'
                || c == '\u{ffff}' =>
            {
                let code = u32::from(c);
                out.push_str(&if code > 0xffff {
                    format!("\\U{code:08x}")
                } else {
                    format!("\\u{code:04x}")
                });
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text() {
        for plain in ["core", "bf16-flash+split-kv", "causal-is-bias"] {
            assert_eq!(scalar(plain), plain);
        }
        for (text, written) in [
            ("", "\"\""),
            ("no", "\"no\""),
            ("a: b", "\"a: b\""),
            ("1.0", "\"1.0\""),
            ("a\n# b\u{1b}", "\"a\\n# b\\u001b\""),
            ("\u{85}\u{2028}", "\"\\u0085\\u2028\""),
            ("\u{e0041}", "\"\\U000e0041\""),
            ("\"\\", "\"\\\"\\\\\""),
        ] {
            assert_eq!(scalar(text), written);
        }
    }
}
