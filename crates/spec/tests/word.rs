//! Words of the law language are told as the checker has them.

use qkvet_spec::shape::Dim;
use qkvet_spec::{Catalog, CheckedLaw, IndexExpr, Word, WordKind};

fn word(kind: WordKind, name: &str) -> Word {
    Word::all()
        .into_iter()
        .find(|word| word.kind == kind && word.name == name)
        .unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn every_word_has_a_line_and_a_use_that_fits() {
    let all = Word::all();
    for kind in WordKind::ALL {
        assert!(all.iter().any(|word| word.kind == kind), "{kind:?}");
    }
    for word in &all {
        let Word { kind, name, usage, meaning } = word;
        assert!(
            !meaning.is_empty() && !meaning.contains('\n') && !meaning.ends_with('.'),
            "{name}: {meaning}"
        );
        let twice = all.iter().filter(|other| other.kind == *kind && other.name == *name);
        // A minus has one operand or two.
        assert!(name == "-" || twice.count() == 1, "{name}");
        match kind {
            WordKind::Field | WordKind::Proof | WordKind::Observation | WordKind::Misfit => {
                assert!(usage.contains(name));
            }
            _ if meaning.contains("only in `where:`") => {
                IndexExpr::new(usage).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            _ => assert!(word.types().is_some(), "{name}"),
        }
    }
}

#[test]
fn names_are_those_of_the_checker() {
    let text = "law: x\ntitle: t\nexpect: zzzzzzzz == K\noptions: []\nproof: exact\ncatches: []\n";
    let error = CheckedLaw::from_yaml("x.yaml", text).expect_err("no such name").to_string();
    let known = error.split("known: ").nth(1).unwrap_or_else(|| panic!("{error}"));
    let mut known: Vec<&str> = known.trim().split(", ").collect();
    let all = Word::all();
    let mut told: Vec<&str> = all
        .iter()
        .filter(|word| word.kind == WordKind::Name && !word.meaning.contains("only in `where:`"))
        .map(|word| word.name.as_str())
        .collect();
    known.sort_unstable();
    told.sort_unstable();
    assert_eq!(told, known);
}

#[test]
fn types_are_those_of_the_checker() {
    let typed = |kind, name: &str| word(kind, name).types().unwrap_or_else(|| panic!("{name}"));
    let (parts, whole) = typed(WordKind::Function, "drop_row");
    let parts: Vec<_> = parts.iter().map(|(text, ty)| (text.as_str(), ty.as_str())).collect();
    assert_eq!(parts, [("A", "a matrix (n, m)"), ("i", "an index")]);
    let rows = Dim::symbol("n").minus(&Dim::constant(1));
    assert_eq!(whole, format!("a matrix ({rows}, m)"));
    assert_eq!(
        typed(WordKind::Domain, "opposed").1,
        "a matrix (b, h_q, n_q, d_k) and a matrix (b, h_k, n_k, d_k)"
    );
    assert_eq!(typed(WordKind::Relation, "in").1, "a statement");
    assert!(word(WordKind::Operator, "%").types().is_none());
}

#[test]
fn a_use_is_found_wherever_a_law_speaks() {
    let text = "law: x\ntitle: t\ngiven:\n  P: permutation(n_k)\nlet:\n  c: exp(1)\nwhere: 1 < n_k\n\
                expect: P @ K == c * K.T.T\noptions: []\nproof: exact\ncatches: []\n";
    let law = CheckedLaw::from_yaml("x.yaml", text).unwrap_or_else(|error| panic!("{error}"));
    let uses = [
        (WordKind::Domain, "permutation"),
        (WordKind::Function, "exp"),
        (WordKind::Relation, "<"),
        (WordKind::Relation, "=="),
        (WordKind::Operator, "@"),
        (WordKind::Operator, ".T"),
        (WordKind::Name, "K"),
        (WordKind::Name, "n_k"),
        (WordKind::Field, "let"),
        (WordKind::Proof, "exact"),
    ];
    for (kind, name) in uses {
        assert!(word(kind, name).is_in(&law), "{name}");
    }
    let others = [
        (WordKind::Domain, "mask"),
        (WordKind::Function, "exact"),
        (WordKind::Relation, "<="),
        (WordKind::Operator, "-"),
        (WordKind::Name, "Q"),
        (WordKind::Field, "options"),
        (WordKind::Field, "through"),
        (WordKind::Observation, "inputs-unchanged"),
        (WordKind::Misfit, "key-width"),
    ];
    for (kind, name) in others {
        assert!(!word(kind, name).is_in(&law), "{name}");
    }
}

#[test]
fn the_law_beside_a_word_has_the_shortest_line() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let laws = || catalog.laws.values();
    let row = word(WordKind::Function, "row");
    let line = |law: &CheckedLaw| row.line_in(law).unwrap_or_default();
    let shown = row.law(laws()).map(line).unwrap_or_default();
    assert!(shown.starts_with("expect: "), "{shown}");
    let shorter =
        laws().map(line).find(|line| line.starts_with("expect: ") && line.len() < shown.len());
    assert_eq!(shorter, None);
    // In no statement, as a domain never is.
    let mask = word(WordKind::Domain, "mask");
    let line = mask.law(laws()).and_then(|law| mask.line_in(law));
    assert_eq!(line, Some("M: mask(n_q, n_k)".to_owned()));
}
