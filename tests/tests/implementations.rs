//! The table of `docs/implementations.md` is what `qkvet check` says now.

use qkvet_tests::implementations::{IMPLEMENTATIONS, Implementation};
use qkvet_tests::{Folder, has_python, is_thorough, root};

/// Half of them each, so that they run side by side.
fn page_is_what_check_says(implementations: &[Implementation]) {
    if !has_python() {
        return;
    }
    let page = root().read("docs/implementations.md");
    for one in implementations {
        let row = one.row();
        assert!(
            page.contains(&row),
            "docs/implementations.md lacks:\n{row}\nhint: `cargo xtask libraries`"
        );
    }
}

#[test]
fn functions_and_layers_of_torch_are_as_the_page_says() {
    page_is_what_check_says(&IMPLEMENTATIONS[..3]);
}

/// JAX compiles for each shape. The standard tests ask the layer of Flax: that of Keras is the same
/// by other names, and the function is asked in `python_targets` and `libraries`.
#[test]
fn jax_and_its_layers_are_as_the_page_says() {
    page_is_what_check_says(if is_thorough() {
        &IMPLEMENTATIONS[3..6]
    } else {
        &IMPLEMENTATIONS[4..5]
    });
}

#[test]
fn operators_of_onnx_are_as_the_page_says() {
    page_is_what_check_says(&IMPLEMENTATIONS[6..]);
}
