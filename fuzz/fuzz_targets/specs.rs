//! Specifications: every kind of YAML file that is read, types and shapes of laws too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qkvet_gen::check_suite;
use qkvet_spec::{CheckedLaw, Contract, Convention, Fault, Modifier, Suite, parse_yaml};

fuzz_target!(|source: &str| {
    let _ = CheckedLaw::from_yaml("x.yaml", source);
    let _ = parse_yaml::<Fault>("x.yaml", source);
    let _ = parse_yaml::<Convention>("x.yaml", source);
    let _ = parse_yaml::<Contract>("x.yaml", source);
    let _ = parse_yaml::<Modifier>("x.yaml", source);
    if let Ok(suite) = parse_yaml::<Suite>("x.yaml", source) {
        let _ = check_suite(&suite);
    }
});
