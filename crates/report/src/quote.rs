//! Text of others: as a scalar of YAML, in a line, as the words of a name.

use qkvet_spec::Quoted;

use crate::glob::matches;

/// What is called that has no words.
pub(crate) const UNTITLED: &str = "untitled";
/// Longest name; a longer one ends at a word.
const MAX_LEN: usize = 60;

/// The words of what a target said, as a name is made of them.
pub(crate) fn words_of(said: &Quoted) -> String {
    said.open_to_escape(|text| {
        let words = words(text);
        if words == UNTITLED { format!("{UNTITLED}-{:08x}", sum(text)) } else { words }
    })
}

/// A sum over all but digits, which tells texts without words apart (FNV-1a).
fn sum(text: &str) -> u32 {
    let bytes = text.bytes().filter(|byte| !byte.is_ascii_digit());
    bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Whether what a target said fits a pattern, as a whole or by its words.
pub(crate) fn is_quoted_like(said: &Quoted, pattern: &str) -> bool {
    said.open_to_escape(|text| matches(pattern, text) || matches(pattern, &words(text)))
}

/// The words of a text, in lower case and with hyphens between them. Words with digits are left
/// out: a message may hold numbers and addresses that change.
pub(crate) fn words(text: &str) -> String {
    let mut name = String::new();
    // The part of an address behind a letter is no word either.
    for chunk in
        text.split_whitespace().filter(|chunk| !chunk.contains(|c: char| c.is_ascii_digit()))
    {
        for word in chunk.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            if name.len() + 1 + word.len() > MAX_LEN && !name.is_empty() {
                return name;
            }
            if !name.is_empty() {
                name.push('-');
            }
            name.extend(word.chars().take(MAX_LEN));
        }
    }
    if name.is_empty() { UNTITLED.to_owned() } else { name }
}

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
    fn texts_become_words() {
        assert_eq!(
            words("RuntimeError: CUDA error at 0x7f3a, code 700"),
            "runtimeerror-cuda-error-at-code"
        );
        assert_eq!(words("wrong shape of the output"), "wrong-shape-of-the-output");
        assert_eq!(words("12 34"), "untitled");
        assert!(words(&"long ".repeat(100)).len() <= MAX_LEN);
        assert_eq!(words("a # b: \u{1b}[2J"), "a-b");
    }

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
