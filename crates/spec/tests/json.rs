//! Errors of JSON show what stands where, and what should.

use qkvet_spec::parse_json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read alone")]
struct Page {
    run: usize,
    list: Option<Vec<f64>>,
    pair: Option<(bool, String)>,
    word: Option<Word>,
    raw: Option<Box<RawValue>>,
    own: Option<Box<Page>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "read alone")]
enum Word {
    Pass,
    Fail(i64),
}

#[test]
fn errors_are_facts_with_plain_words() {
    for (text, told) in [
        ("5", ": the number `5`, expected an object at line 1 column 1"),
        ("[]", ": invalid length 0, expected an object at line 1 column 2"),
        ("{}", ": missing field `run` at line 1 column 2"),
        (
            r#"{"run": "x"}"#,
            "run: the text \"x\", expected a whole number from 0 at line 1 column 11",
        ),
        (
            r#"{"run": -1}"#,
            "run: the number `-1`, expected a whole number from 0 at line 1 column 10",
        ),
        ("{\"run\": 1,\n\"list\": {}}", "list: an object, expected a list at line 2 column 8"),
        (
            r#"{"run": 1, "list": [1, 2.5, true]}"#,
            "list[2]: the word `true`, expected a number at line 1 column 32",
        ),
        (
            r#"{"run": 1, "pair": [true]}"#,
            "pair: invalid length 1, expected a list of 2 at line 1 column 25",
        ),
        (
            r#"{"run": 1, "pair": [true, "a", 1]}"#,
            "pair: invalid length 3, expected a list of 2 at line 1 column 32",
        ),
        (
            r#"{"run": 1, "pair": [1, "a"]}"#,
            "pair[0]: the number `1`, expected true or false at line 1 column 21",
        ),
        (
            r#"{"run": 1, "word": "FAUL"}"#,
            "word: unknown word `FAUL`, expected one of `pass`, `fail` at line 1 column 25",
        ),
        (
            r#"{"run": 1, "word": {"fail": null}}"#,
            "word.fail: null, expected a number at line 1 column 32",
        ),
        (
            r#"{"raw": {"a": [1]}, "run": 1, "runs": 1}"#,
            ": unknown field `runs`, expected one of `run`, `list`, `pair`, `word`, `raw`, `own` at line 1 column 36",
        ),
        (
            r#"{"run": 1, "own": {"run": 2, "list": [null]}}"#,
            "own.list[0]: null, expected a number at line 1 column 42",
        ),
        (r#"{"run": 1, "run": 2}"#, ": duplicate field `run` at line 1 column 16"),
        (
            r#"{"run": 2.5}"#,
            "run: the number `2.5`, expected a whole number from 0 at line 1 column 11",
        ),
    ] {
        let error = parse_json::<Page>(text).expect_err(text);
        assert_eq!(format!("{}: {error}", error.path), told, "{text}");
    }
}

#[test]
fn what_is_no_json_is_told_by_what_is_open() {
    for (text, told) in [
        ("", "a file that is cut off in a value at line 1 column 0"),
        ("[1, \"a]\\\"", "a file that is cut off in a string at line 1 column 9"),
        ("[1, {}", "a file that is cut off in a list at line 1 column 6"),
        ("{\"a\": [],", "a file that is cut off in an object at line 1 column 9"),
        ("\u{0}", "text that is no JSON at line 1 column 1"),
        ("[1,\n2 3]", "text that is no JSON, expected `,` or `]` at line 2 column 3"),
        ("{\"a\" 1}", "text that is no JSON, expected `:` at line 1 column 6"),
        ("{\"a\": \"b\" 1}", "text that is no JSON, expected `,` or `}` at line 1 column 11"),
        ("[]\n]", "more text behind its end at line 2 column 1"),
        ("[1,]", "a comma with nothing behind it at line 1 column 4"),
        ("{a: 1}", "a key without quotes at line 1 column 2"),
    ] {
        let error = parse_json::<Value>(text).expect_err(text);
        assert_eq!(error.to_string(), told, "{text}");
        assert_eq!(error.is_cut_off(), told.contains("cut off"));
    }
}
