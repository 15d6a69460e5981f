//! PDFs by the embedded typesetter: `cargo test -p qkvet-exam --features pdf --test pdf`.

#![cfg(feature = "pdf")]

use qkvet_exam::build::{Request, build};
use qkvet_exam::key::Source;
use qkvet_exam::print::pdfs;
use qkvet_spec::Catalog;

use crate::catalog;

fn has(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn every_sheet_and_key_is_an_accessible_pdf_of_the_same_bytes() {
    let sets =
        Catalog::texts("exams").into_iter().filter(|(path, _)| !path.contains("/questions/"));
    let mut made = 0;
    for (path, text) in sets {
        let set = Source { path: path.clone(), text: text.to_owned() };
        let request = Request { set, own: Vec::new(), variants: 1, seed: 4 };
        let files = build(&request, catalog()).unwrap_or_else(|error| panic!("{error}"));
        let one = pdfs(&files).unwrap_or_else(|error| panic!("{path}: {error}"));
        let two = pdfs(&files).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(one.len(), 2, "{path}");
        for (one, two) in one.iter().zip(&two) {
            assert_eq!(
                (one.path.as_str(), one.secret),
                (two.path.as_str(), one.path.starts_with("key/"))
            );
            assert!(one.bytes == two.bytes, "{}: other bytes", one.path);
            assert!(one.bytes.starts_with(b"%PDF-"), "{}", one.path);
            for word in ["pdfuaid:part", "/MarkInfo", "/StructTreeRoot"] {
                assert!(has(&one.bytes, word), "{}: no {word}", one.path);
            }
            // A date would make other bytes tomorrow.
            assert!(
                !has(&one.bytes, "/CreationDate") && !has(&one.bytes, "xmp:CreateDate"),
                "{}: a date",
                one.path
            );
            made += 1;
        }
    }
    assert!(made >= 12, "{made} PDFs");
}

#[test]
fn what_the_typesetter_refuses_is_an_error() {
    let file = |text: &str| qkvet_exam::build::File {
        path: "student/x-1.typ".to_owned(),
        text: text.to_owned(),
        secret: false,
    };
    let error =
        |text: &str| pdfs(&[file(text)]).err().unwrap_or_else(|| panic!("{text}")).to_string();
    assert!(
        error("#set document(title: \"x\")\n$ x^2 $").contains("PDF of student/x-1.typ"),
        "a formula without words"
    );
    assert!(error("#unknown").contains("unknown"));
    assert!(error("#read(\"/etc/hostname\")").contains("error"));
}
