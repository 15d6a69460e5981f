//! The argument names that the worker reads from a signature.

use crate::runtime::SIGNATURE;

/// Option or result → the names that an argument of a Python function may take it by, our own
/// first: the table `OPTIONS` of the runtime.
pub fn argument_names() -> Vec<(&'static str, Vec<&'static str>)> {
    let table = SIGNATURE.split_once("OPTIONS = {\n").map_or("", |(_, rest)| rest);
    let lines = table.lines().map_while(|line| line.split_once(": ("));
    let quoted = |text: &'static str| text.split('"').skip(1).step_by(2);
    lines
        .filter_map(|(name, names)| Some((quoted(name).next()?, quoted(names).collect())))
        .collect()
}

#[cfg(test)]
mod tests {
    use qkvet_spec::CallOption;

    use super::*;

    #[test]
    fn every_option_has_its_own_name_among_its_arguments() {
        let known = argument_names();
        assert!(known.iter().all(|(name, names)| names.first() == Some(name)), "{known:?}");
        for option in CallOption::ALL.into_iter().filter(|option| *option != CallOption::Packed) {
            assert!(known.iter().any(|(name, _)| *name == option.name()), "{option}");
        }
        let names = |name: &str| {
            known.iter().find(|(known, _)| *known == name).map(|(_, names)| names.as_slice())
        };
        assert_eq!(names("key_offsets"), Some(["key_offsets", "cu_seqlens_k"].as_slice()));
        assert_eq!(names("return_lse"), Some(["return_lse", "return_softmax_lse"].as_slice()));
    }
}
