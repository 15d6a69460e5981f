//! Errors of YAML point at their place.

use qkvet_spec::*;

/// Bytes of a file at most.
const MAX_BYTES: usize = 1 << 20;

fn check(source: &str, parts: &[&str]) {
    let error = parse_yaml::<Law>("x.yaml", source).expect_err(source);
    for part in parts {
        assert!(error.to_string().contains(part), "{source}\n{error}\nlacks {part}");
    }
}

/// A thread has 2 MB of stack, whatever the brackets of a file ask for.
#[test]
fn brackets_have_a_depth() {
    let nested = |depth: usize| format!("a:\n  {}1{}\n", "[".repeat(depth), "]".repeat(depth));
    let read = |depth| parse_yaml::<serde_json::Value>("x.yaml", &nested(depth));
    assert!(read(24).is_ok());
    let error = read(40).expect_err("too deep").to_string();
    assert!(error.contains("x.yaml:2") && error.contains("brackets in each other"), "{error}");
}

#[test]
fn bad_yaml_is_shown_in_place() {
    check(
        "law: a\ntitle: b\nproof: exact\nexpct: c\ncatches: []\n",
        &["x.yaml:4", "expct", "did you mean `expect`?"],
    );
    check("law: a\nlaw: b\n", &["x.yaml:2", "duplicate"]);
    check("law: a\ntitle: [b\nproof: exact\n", &["x.yaml:2:8"]);
    check(
        "law: a\ntitle: b\ncatches: [x\nproof: exact\n",
        &["x.yaml:4", "a bracket or a quote is open"],
    );
    check("law: a\ntitle: b\n", &["missing field", "the entry that ends here has none"]);
    check(
        "law: a\ntitle: b\nproof: exakt\ncatches: []\n",
        &["x.yaml:3", "exakt", "did you mean `exact`?"],
    );
    check("law: [\n", &["x.yaml"]);
    check("law: a\ncatches:\n\t- x\n", &["x.yaml:3:2", "write spaces for the tab"]);
    check("law: a\n", &["x.yaml", "title"]);
    check("law: \"a\ntitle: b\n", &["x.yaml", "text that is no YAML", "a quote is open"]);
    check("law: a\ntitle: *b\n", &["x.yaml:2", "YAML"]);
    check("law: a\ntitle: ~\n", &["x.yaml:2", "expected a text"]);
    check(
        "law: a\ntitle: t\nproof: exact\ncatches: []\nwhere: n_kk > 2\n",
        &["x.yaml:5", "n_kk", "did you mean `n_k`?"],
    );
    check("", &["empty file"]);
    check(&format!("law: {}", "a".repeat(MAX_BYTES)), &["at most"]);
}

#[test]
fn parts_of_blocks_are_located_in_their_own_lines() {
    let block = "a: |\n  one x\n\n    two y\n  three\nb: c\n";
    let text = "one x\n\n  two y\nthree\n";
    for offset in [3, 7] {
        let formula = Formula { text: text.to_owned(), offset: Some(offset) };
        let place = |word: &str| {
            let at = text.find(word).unwrap_or_else(|| panic!("no {word}"));
            located(block, &formula, at..at + word.len()).map(|span| &block[span])
        };
        for word in ["one", "x", "two y", "y", "three"] {
            assert_eq!(place(word), Some(word), "{offset}");
        }
    }
    let folded = Formula { text: "one x two y three".to_owned(), offset: Some(3) };
    assert_eq!(located(block, &folded, 4..5), None);
    let quoted = Formula { text: "x + y".to_owned(), offset: Some(3) };
    assert_eq!(located("a: \"x + y\"\n", &quoted, 4..5), Some(8..9));
}

#[test]
fn numbers_are_told_as_they_stand() {
    let read = parse_yaml::<std::collections::BTreeMap<String, u32>>;
    let error = read("x.yaml", "a: 1\nb: two\n").expect_err("no number");
    assert_eq!(error.summary, "x.yaml:2:4: expected a whole number from 0, got `two`");
}

#[test]
fn what_is_no_finite_number_is_an_error_or_text() {
    let error =
        parse_yaml::<serde_json::Value>("x.yaml", "a: 1\nb: .nan\n").expect_err("not finite");
    assert!(
        error.summary.starts_with("x.yaml:2:4: expected a finite number, got `.nan`"),
        "{error}"
    );
    let read: serde_json::Value = parse_yaml_of_answers("x.yaml", "a: 1\nb: [.nan, -.inf]\n")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read, serde_json::json!({"a": 1, "b": [".nan", "-.inf"]}));
    let error =
        parse_yaml::<std::collections::BTreeMap<String, Kind>>("x.yaml", "a: {one: (1, n)}\n");
    let error = error.map(|_| ()).expect_err("a comma");
    assert!(error.to_string().contains("a comma in it needs quotes"), "{error}");
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[expect(dead_code, reason = "read alone")]
    One(String),
}

#[test]
fn alias_bombs_end_in_an_error() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    assert!(parse_yaml::<Suite>("bomb.yaml", &bomb).is_err());
    assert!(parse_yaml::<Suite>("deep.yaml", &"[".repeat(20_000)).is_err());
}
