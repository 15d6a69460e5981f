//! `qkvet prove`: every law reaches what its file claims, and a user's own law is proved, refuted
//! or refused.

use qkvet_tests::{Finished, Folder, root, temp, text};

fn prove(words: &str) -> Finished {
    root().run(format!("prove {words}"))
}

#[test]
fn every_law_reaches_what_it_claims_and_most_are_proved_for_all_shapes() {
    let report = prove("--format json").report(0);
    let laws = report["laws"].as_array().expect("laws");
    let is_proved = |law: &&serde_json::Value| law["status"] == "proved" && law["shapes"] == "all";
    let proved = laws.iter().filter(is_proved).count();
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
        prove(&format!("weighted-shift --steps --style {style}")).expect(0, &[sign]);
    }
    prove("dot-product-scale --steps --style latex")
        .expect(0, &["\n    \\mathbb{E}[k_{t}^{2}] = 1\n"]);
    prove("weighted-shift --style latex").expect(2, &["--steps"]);
    prove("weighted-shift --steps --format markdown").expect(2, &["`--format human`"]);
}

#[test]
fn an_explanation_shows_the_proof_that_prove_prints() {
    let id = "key-value-permutation-invariance";
    let explained = root().run(format!("explain {id}"));
    explained.expect(0, &["keys-permuted-without-values", "rewrite"]);
    let printed = prove(&format!("{id} --steps"));
    let (_, proof) = printed.stdout.split_once("\n\n").expect("a law, then its proof");
    assert!(proof.lines().count() > 4, "{proof}");
    assert!(
        explained.stdout.ends_with(&format!("\n\n{}\n", proof.trim_end())),
        "{}",
        explained.stdout
    );
    for line in proof.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    root().run("explain inputs-unchanged").expect(0, &["definition"]);
}

#[test]
fn a_page_has_the_proofs_of_the_laws_that_are_asked_for() {
    let page = prove("key-value-permutation-invariance weighted-shift --format markdown");
    page.expect(0, &["\n### weighted-shift\n"]);
    let checked_in = root().read("docs/laws.md");
    let sections: Vec<&str> = page.stdout.split("\n### ").skip(1).collect();
    assert_eq!(sections.len(), 2);
    for section in sections {
        let section = section.split("\n<a id=").next().unwrap_or_default().trim();
        assert!(
            checked_in.contains(section),
            "docs/laws.md lacks, run `cargo xtask regen`:\n{section}"
        );
    }
}

/// The status of one law of a file, and what was printed of it.
fn own(law: &str, flags: &str) -> Finished {
    let folder = temp();
    folder.write("mine.yaml", law);
    folder.run(format!("prove --file mine.yaml {flags}"))
}

#[test]
fn a_law_of_a_users_own_is_proved_refuted_or_refused() {
    let law = |expect: &str, flags: &str| {
        let text = format!(
            "law: mine\ntitle: Mine\ngiven:\n  P: permutation(n_k)\nexpect: {expect}\noptions: [scale]\nproof: rewrite\ncatches: []\n"
        );
        own(&text, flags)
    };
    let proved = law("weights(Q, P @ K) == weights(Q, K) @ P.T", "--format json").report(0);
    assert_eq!(
        (&proved["laws"][0]["status"], &proved["laws"][0]["shapes"]),
        (&"proved".into(), &"all".into())
    );
    let wrong = "attention(Q, P @ K, V) == attention(Q, K, V)";
    assert_eq!(text(&law(wrong, "--format json").report(1)["laws"][0]["status"]), "refuted");
    law(wrong, "--steps").expect(1, &["e/(e + 1)"]);
    law("attention(Q, P @ K, P @ V) == P @ attention(Q, K, V)", "").expect(2, &["n_k", "n_q"]);
    prove("no-such-law").expect(2, &["no-such-law"]);
}
