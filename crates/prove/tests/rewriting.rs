//! Laws of the repository, proved for all shapes by rewriting.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_prove::rewrite::{Found, check, prove};
use qkvet_prove::unfold::unfold;
use qkvet_spec::{Catalog, Proof};

#[test]
fn every_law_that_claims_a_proof_by_rewriting_has_one() {
    let catalog = Catalog::embedded().unwrap();
    let mut missing = Vec::new();
    for law in catalog.laws.values() {
        let id = &law.law.law;
        let claims = match unfold(law) {
            Ok(claims) => claims,
            Err(error) => {
                println!("{id}: {error}");
                if law.law.proof == Proof::Rewrite {
                    missing.push(id.clone());
                }
                continue;
            }
        };
        for claim in claims {
            let found = prove(&claim.left, &claim.right, &claim.names);
            let outcome = match &found {
                Found::Chain(chain) => {
                    check(chain, &claim.right, &claim.names).unwrap();
                    format!("{} steps", chain.steps.len())
                }
                other => format!("{other:?}: {} = {}", claim.left, claim.right),
            };
            println!("{id}: {outcome}");
            if law.law.proof == Proof::Rewrite && !matches!(found, Found::Chain(_)) {
                missing.push(id.clone());
            }
        }
    }
    assert!(missing.is_empty(), "no proof of {missing:?}");
}
