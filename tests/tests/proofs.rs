//! `qkvet prove`: every law reaches what its file claims, and a user's own law is proved, refuted
//! or refused.

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
    let proved =
        laws.iter().filter(|law| law["status"] == "proved" && law["shapes"] == "all").count();
    assert!(laws.len() >= 90 && proved >= 80, "{proved} of {}", laws.len());
    assert!(
        laws.iter()
            .all(|law| law["id"].is_string() && law["method"].is_string() && law["steps"].is_u64())
    );
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
        prove(&["weighted-shift", "--steps", "--style", style])
            .expect(0, &[sign, "the weights of a row add up to 1"]);
    }
    prove(&["dot-product-scale", "--steps", "--style", "latex"])
        .expect(0, &["\n    \\mathbb{E}[k_{t}^{2}] = 1\n"]);
    prove(&["weighted-shift", "--style", "latex"]).expect(2, &["--steps"]);
    prove(&["weighted-shift", "--steps", "--format", "markdown"])
        .expect(2, &["expected `--format human`"]);
}

#[test]
fn an_explanation_shows_the_proof_that_prove_prints() {
    let id = "key-value-permutation-invariance";
    let explained = run(root(), &["explain", id]);
    explained.expect(0, &["catches keys-permuted-without-values", "true by rewrite"]);
    let printed = prove(&[id, "--steps"]);
    let (_, proof) = printed.stdout.split_once("\n\n").expect("a law, then its proof");
    assert!(proof.contains("the transpose of a permutation undoes it"), "{proof}");
    assert!(
        explained.stdout.ends_with(&format!("\n\n{}\n", proof.trim_end())),
        "{}",
        explained.stdout
    );
    for line in proof.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    run(root(), &["explain", "inputs-unchanged"]).expect(0, &["true by definition"]);
}

#[test]
fn a_page_has_the_proofs_of_the_laws_that_are_asked_for() {
    let page =
        prove(&["key-value-permutation-invariance", "weighted-shift", "--format", "markdown"]);
    page.expect(
        0,
        &[
            "\n## Card\n",
            "\n### weighted-shift\n",
            "- status: proved by rewrite, 2 steps, for all shapes\n",
            "[QK401](../specs/faults/indices/keys-permuted-without-values.yaml) keys-permuted-without-values",
            "<details><summary>The proof in 7 steps</summary>",
            "        the weights of a row add up to 1\n",
            "2 laws: 2 proved.",
        ],
    );
    let checked_in = std::fs::read_to_string(root().join("docs/laws.md")).expect("docs/laws.md");
    for section in page.stdout.split("\n### ").skip(1) {
        let section = section.split("\n<a id=").next().unwrap_or_default().trim();
        assert!(
            checked_in.contains(section),
            "docs/laws.md lacks, run `cargo xtask regen`:\n{section}"
        );
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
    law("attention(Q, P @ K, V) == attention(Q, K, V)")
        .expect(1, &["\nclaims rewrite; refuted\n", "e/(e + 1)"]);
    law("attention(Q, P @ K, P @ V) == P @ attention(Q, K, V)").expect(2, &["n_k", "n_q"]);
    prove(&["no-such-law"]).expect(2, &["no-such-law"]);
}

/// The readme's law is one that a reader may take as it stands: its id is free.
#[test]
fn the_law_of_the_readme_is_proved_as_a_users_own() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let laws: Vec<&str> =
        readme.split("```yaml\n").skip(1).filter(|block| block.starts_with("law: ")).collect();
    let [law] = laws.as_slice() else { panic!("README.md: expected one law, got {}", laws.len()) };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.yaml");
    fs::write(&path, law.split("```").next().unwrap_or_default()).expect("a file");
    prove(&["--steps", "--file", &path.display().to_string()])
        .expect(0, &["proved for all shapes"]);
}
