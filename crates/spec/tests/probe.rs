//! What probing finds, as a meaning.

use qkvet_spec::*;

#[test]
fn a_difference_is_a_patch() {
    let base = Meaning::standard();
    assert!(MeaningPatch::between(&base, &base).is_empty());
    let stages = vec![Stage::Bias, Stage::Scale];
    let other =
        Meaning { causal: Causal::UpperLeft, causal_offset: -1, stages, ..Meaning::standard() };
    let patch = MeaningPatch::between(&base, &other);
    let names: Vec<String> = patch.entries().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["causal", "causal_offset", "stages"]);
    assert_eq!(patch.apply(&base), other);
}
