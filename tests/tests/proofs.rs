//! `qkvet prove`: every law reaches what its file claims, and a user's own law is proved, refuted or refused.

#![expect(clippy::disallowed_methods, reason = "writes a law file of a user")]

use std::fs;

use qkvet_tests::{Finished, root, run};

fn prove(args: &[&str]) -> Finished {
    run(root(), &[&["prove"], args].concat())
}

#[test]
fn every_law_reaches_what_it_claims_and_most_are_proved_for_all_shapes() {
    let report = prove(&["--format", "json"]).expect(0, &[]).json();
    let laws = report["laws"].as_array().expect("laws");
    let proved = laws.iter().filter(|law| law["status"] == "proved" && law["shapes"] == "all").count();
    assert!(laws.len() >= 55 && proved >= 30, "{proved} of {}", laws.len());
    assert!(laws.iter().all(|law| law["id"].is_string() && law["method"].is_string() && law["steps"].is_u64()));
}

#[test]
fn steps_are_printed_in_every_notation() {
    for (style, sign) in [
        ("unicode", "softmax(S) W + 𝟏_{n_q} c"),
        ("latex", "\\mathbf{1}"),
        ("typst", "softmax"),
        ("mathml", "<math"),
        ("words", "softmax"),
    ] {
        prove(&["weighted-shift", "--steps", "--style", style]).expect(0, &[sign, "the weights of a row add up to 1"]);
    }
}

#[test]
fn a_law_of_a_users_own_is_proved_refuted_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let law = |expect: &str| {
        let path = folder.path().join("mine.yaml");
        let text = format!(
            "law: mine\ntitle: Mine\ngiven:\n  P: permutation(n_k)\nexpect: {expect}\noptions: [scale]\nproof: rewrite\ncatches: []\n"
        );
        fs::write(&path, text).expect("a file");
        prove(&["--steps", "--file", &path.display().to_string()])
    };
    law("weights(Q, P @ K) == weights(Q, K) @ P.T").expect(0, &["proved for all shapes"]);
    law("attention(Q, P @ K, V) == attention(Q, K, V)").expect(1, &["refuted", "e/(e + 1)"]);
    law("attention(Q, P @ K, P @ V) == P @ attention(Q, K, V)").expect(2, &["n_k", "n_q"]);
    prove(&["no-such-law"]).expect(2, &["no-such-law"]);
}
