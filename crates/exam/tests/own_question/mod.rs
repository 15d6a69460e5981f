//! Variants of a question that a test writes itself.

use std::collections::BTreeSet;

use qkvet_exam::ExamError;
use qkvet_exam::generate::{Instance, instantiate};
use qkvet_exam::question::Library;

use crate::catalog;

/// The first `n` variants of the question `own`, and why there are no more.
pub(crate) fn variants(library: &Library, n: usize) -> (Vec<Instance<'_>>, Option<ExamError>) {
    let question = library.get("own").unwrap_or_else(|| panic!("no question"));
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    for variant in 1..=n {
        match instantiate(
            question,
            &[0],
            (5, &[variant.to_string().as_str()], variant),
            &mut seen,
            catalog(),
        ) {
            Ok(posed) => all.push(posed),
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}
