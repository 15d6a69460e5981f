//! What a parser of JSON says, in words for whoever wrote or keeps the file: no type of Rust, no
//! term of a parser.

/// A message of `serde_json` about a document that does not fit, its place behind it as before.
pub fn json_trouble(message: &str) -> String {
    let (text, place) = message.split_at(message.rfind(" at line ").unwrap_or(message.len()));
    if let Some(inside) = text.strip_prefix("EOF while parsing ") {
        return format!("a file that is cut off in {inside}{place}");
    }
    if let Some(text) = malformed(text) {
        return format!("{text}{place}");
    }
    let (got, expected) = match text.split_once(", expected ") {
        Some((got, expected)) => (got, Some(named(expected))),
        None => (text, None),
    };
    let mut got = got.replace("unknown variant `", "unknown word `");
    for (theirs, ours) in [
        ("invalid type: map", "an object"),
        ("invalid type: sequence", "a list"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("integer `", "the number `"),
        ("floating point `", "the number `"),
        ("boolean `", "the word `"),
        ("string \"", "the text \""),
    ] {
        if let Some(rest) = got.strip_prefix(theirs) {
            got = format!("{ours}{rest}");
        }
    }
    expected.map_or_else(
        || format!("{got}{place}"),
        |expected| format!("{got}, expected {expected}{place}"),
    )
}

/// What a text is that is no JSON, or that has other keys than it should.
fn malformed(text: &str) -> Option<String> {
    for (theirs, ours) in [
        ("missing field ", "no "),
        ("unknown field ", "unknown key "),
        ("duplicate field ", "twice "),
    ] {
        if let Some(rest) = text.strip_prefix(theirs) {
            return Some(format!("{ours}{rest}"));
        }
    }
    Some(match text {
        "expected value" | "expected ident" => "text that is no JSON".to_owned(),
        "trailing characters" => "more text behind its end".to_owned(),
        "trailing comma" => "a comma with nothing behind it".to_owned(),
        "key must be a string" => "a key without quotes".to_owned(),
        _ if text.starts_with("expected ") => format!("text that is no JSON, {text}"),
        _ => return None,
    })
}

/// What was expected.
fn named(expected: &str) -> String {
    match expected.split(' ').next().unwrap_or_default() {
        "struct" | "internally" | "adjacently" | "map" => "an object".to_owned(),
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number".to_owned(),
        "i64" | "i32" | "f64" | "f32" => "a number".to_owned(),
        "sequence" | "tuple" => "a list".to_owned(),
        "enum" => "a known word".to_owned(),
        "unit" => "null".to_owned(),
        "a" if expected.starts_with("a sequence") => "a list".to_owned(),
        "a" if expected == "a string" => "a text".to_owned(),
        "a" if expected == "a boolean" => "true or false".to_owned(),
        _ => expected.to_owned(),
    }
}

/// The same for a message of the parser of YAML, which has no place in it.
pub(crate) fn yaml_trouble(message: &str) -> String {
    for (theirs, ours) in [
        ("expected sequence start", "expected a list"),
        ("expected mapping start", "expected `key: value`"),
        ("expected string scalar", "expected a text"),
        ("unexpected end of input", "expected more, got the end of the file"),
        ("simple key expected ':'", "expected `key: value`, got no `:`"),
    ] {
        if let Some(rest) = message.strip_prefix(theirs) {
            return format!("{ours}{rest}");
        }
    }
    if let Some(which) = message.strip_prefix("budget breached: ") {
        let what = if which.starts_with("Depth") { "brackets in each other" } else { "entries" };
        return format!("expected fewer {what} than this file has");
    }
    if message == "recursion limit exceeded" {
        return "expected fewer brackets in each other".to_owned();
    }
    if let Some((number, _)) =
        message.strip_prefix("non-finite float ").and_then(|rest| rest.split_once(" rejected"))
    {
        return format!("expected a finite number, got {number}");
    }
    message.replace("unknown variant `", "unknown word `")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsers_speak_plainly() {
        for (message, told) in [
            (
                "EOF while parsing a string at line 3 column 5",
                "a file that is cut off in a string at line 3 column 5",
            ),
            (
                "invalid type: map, expected a sequence at line 1 column 2",
                "an object, expected a list at line 1 column 2",
            ),
            (
                "invalid length 0, expected struct Summary with 8 elements",
                "invalid length 0, expected an object",
            ),
            (
                "invalid type: string \"x\", expected u64 at line 1 column 9",
                "the text \"x\", expected a whole number at line 1 column 9",
            ),
            (
                "invalid value: integer `-1`, expected usize",
                "the number `-1`, expected a whole number",
            ),
            ("invalid type: boolean `true`, expected a string", "the word `true`, expected a text"),
            (
                "unknown variant `FAUL`, expected one of `PASS`, `FAIL`",
                "unknown word `FAUL`, expected one of `PASS`, `FAIL`",
            ),
            ("missing field `run` at line 1 column 2", "no `run` at line 1 column 2"),
            (
                "unknown field `x`, expected `y` at line 1 column 2",
                "unknown key `x`, expected `y` at line 1 column 2",
            ),
            ("expected value at line 1 column 1", "text that is no JSON at line 1 column 1"),
            (
                "trailing characters at line 2 column 1",
                "more text behind its end at line 2 column 1",
            ),
            (
                "expected `,` or `]` at line 1 column 8",
                "text that is no JSON, expected `,` or `]` at line 1 column 8",
            ),
        ] {
            assert_eq!(json_trouble(message), told);
        }
        assert_eq!(yaml_trouble("expected sequence start"), "expected a list");
        for (message, told) in [
            (
                "budget breached: Nodes { nodes: 20001 }",
                "expected fewer entries than this file has",
            ),
            (
                "budget breached: Depth { depth: 65 }",
                "expected fewer brackets in each other than this file has",
            ),
            ("recursion limit exceeded", "expected fewer brackets in each other"),
            (
                "non-finite float `.nan` rejected by the configured policy",
                "expected a finite number, got `.nan`",
            ),
        ] {
            assert_eq!(yaml_trouble(message), told);
        }
        assert_eq!(yaml_trouble("missing field `reason`"), "missing field `reason`");
    }
}
