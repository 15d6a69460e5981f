//! Digits in groups of three, and what stands behind a number.

use super::ParsedNumber;

/// Signs between groups of three digits.
const BETWEEN: [char; 9] = [',', ' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '’', '_', '\t'];

/// One number whose digits stand in groups of three, as `3,132`, `11 475.5` and `1\,674`, without
/// what is between them; nothing for any other text. The first group has no leading 0, so that
/// `0,707` is none.
pub fn ungrouped(text: &str) -> Option<String> {
    let text = text.trim().replace("\\,", "\u{2009}").replace("{,}", ",");
    let (sign, digits) = match text.chars().next()? {
        '-' | '−' => ("-", text.trim_start_matches(['-', '−']).trim_start()),
        '+' => ("", text.trim_start_matches('+').trim_start()),
        _ => ("", text.as_str()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let between = whole.chars().find(|c| BETWEEN.contains(c))?;
    let groups: Vec<&str> = whole.split(between).collect();
    let is_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let (first, others) = groups.split_first()?;
    let is_first = (1..=3).contains(&first.len()) && is_digits(first) && !first.starts_with('0');
    if !is_first
        || !is_digits(fraction)
        || !others.iter().all(|group| group.len() == 3 && is_digits(group))
    {
        return None;
    }
    let point = if digits.contains('.') { "." } else { "" };
    Some(format!("{sign}{}{point}{fraction}", groups.concat()))
}

/// A number and the word or sign behind it, as `18 keys` and `21.81%`; nothing where there is no
/// number, or nothing else.
pub fn with_unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| {
        !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '−' | '+' | ' ' | '\'' | '\u{a0}'))
    })?;
    let (number, unit) = (text[..end].trim(), text[end..].trim().trim_start_matches('\\'));
    let is_unit = unit == "%"
        || (unit.chars().all(|c| {
            c.is_alphabetic() || c.is_whitespace() || matches!(c, '/' | '²' | '³' | '°' | '.')
        }) && !unit.is_empty());
    let is_number = ParsedNumber::read(number).is_ok() || ungrouped(number).is_some();
    (is_unit && is_number && (unit == "%" || ParsedNumber::read(text).is_err()))
        .then_some((number, unit))
}

/// Text without a name and a sign before it: of `s = 4/25`, `x ≈ 2` and `≈ 3.350` what is behind
/// the sign.
pub fn unlabelled(text: &str) -> &str {
    let is_sign = |c: char| matches!(c, '=' | '≈' | '≃' | '≅' | '~');
    let (start, end) = match text.split_once("\\approx") {
        Some(parts) => parts,
        None => match text.split_once(is_sign) {
            Some(parts) => parts,
            None => return text,
        },
    };
    let (name, value) = (start.trim(), end.trim());
    let is_name = name.chars().count() <= 12
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\\' | '{' | '}' | '\''));
    if is_name && !value.is_empty() && !value.contains(is_sign) && !value.contains("\\approx") {
        value
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three_are_one_number() {
        for (text, plain) in [
            ("3,132", Some("3132")),
            ("1,674.50", Some("1674.50")),
            ("11 475", Some("11475")),
            ("-11\u{202f}475\u{202f}000", Some("-11475000")),
            ("1\\,674", Some("1674")),
            ("1'000", Some("1000")),
            ("0,707", None),
            ("3,13", None),
            ("3,1322", None),
            ("1,234 567", None),
            ("1234,567", None),
            ("1 2", None),
            ("3.132", None),
            ("1.5,000", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(ungrouped(text).as_deref(), plain, "{text}");
        }
    }

    #[test]
    fn names_and_signs_before_a_number_are_left_out() {
        for (text, value) in [
            ("s = 4/25", "4/25"),
            ("≈ 3.350", "3.350"),
            ("x≈2", "2"),
            ("~ 0.5", "0.5"),
            ("= -1", "-1"),
            ("s_1 = [[1, 2]]", "[[1, 2]]"),
            ("\\sigma = 3", "3"),
            ("\\approx 3.35", "3.35"),
            ("2 = 3", "2 = 3"),
            ("x = y = 3", "x = y = 3"),
            ("ln(38) ≈ 3.638", "ln(38) ≈ 3.638"),
            ("x =", "x ="),
            ("3/4", "3/4"),
        ] {
            assert_eq!(unlabelled(text), value, "{text}");
        }
    }

    #[test]
    fn what_stands_behind_a_number_is_named() {
        for (text, expected) in [
            ("18 keys", Some(("18", "keys"))),
            ("21.81%", Some(("21.81", "%"))),
            ("21.81 \\%", Some(("21.81", "%"))),
            ("3,132 kg", Some(("3,132", "kg"))),
            ("5 m/s", Some(("5", "m/s"))),
            ("2e", None),
            ("2 exp(1)", None),
            ("keys", None),
            ("18", None),
            ("seven keys", None),
            ("%", None),
        ] {
            assert_eq!(with_unit(text), expected, "{text}");
        }
    }
}
