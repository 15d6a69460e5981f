//! Questions, sheets, keys and grading as people use them.
//!
//! One program, for each one is linked with all that it tests.

mod class;
mod corrupted;
mod designs;
mod fractions;
mod grading;
mod options;
mod own_question;
#[cfg(feature = "pdf")]
mod pdf;
mod questions;
mod seeds;
mod sheets;
mod solutions;
mod sources;
mod stress;
mod undecided;
mod variants;

use std::sync::LazyLock;

use qkvet_exam::question::Library;
use qkvet_spec::Catalog;

fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> =
        LazyLock::new(|| Catalog::embedded().unwrap_or_else(|error| panic!("{error}")));
    &CATALOG
}

fn library() -> Library {
    Library::embedded(catalog()).unwrap_or_else(|error| panic!("{error}"))
}
