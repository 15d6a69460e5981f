//! Meanings and their patches.

use qkvet_spec::*;

#[test]
fn standard_is_made_of_constants_that_parse() {
    let standard = Meaning::standard();
    assert_eq!(MeaningPatch::default().apply(&standard), standard);
    assert!(MeaningPatch::default().is_empty());
}

#[test]
fn a_patch_changes_only_its_fields() {
    let patch = MeaningPatch { causal: Some(Causal::UpperLeft), ..MeaningPatch::default() };
    let patched = patch.apply(&Meaning::standard());
    assert_eq!(patched, Meaning { causal: Causal::UpperLeft, ..Meaning::standard() });
}
