//! Cases and tokens: what is read is checked against its law.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use qkvet_gen::frozen::{case_from_json, output_from_json, read_group, read_manifest};
use qkvet_gen::{case_id, check_case, from_json, from_token};
use qkvet_spec::{Case, Catalog};

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().expect("specifications"));

fn check(case: &Case) {
    let _ = case_id(case);
    if let Some(law) = CATALOG.laws.get(&case.law) {
        let _ = check_case(law, case);
    }
}

fuzz_target!(|source: &str| {
    if let Ok(case) = from_json(source) {
        check(&case);
    }
    if let Ok(case) = from_token(source) {
        check(&case);
    }
    let _ = case_from_json(source);
    let _ = output_from_json(source);
    let _ = read_group(source);
    let _ = read_manifest(source);
});
