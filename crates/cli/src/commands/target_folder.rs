//! Names of folders and files for targets.

use std::collections::BTreeSet;

use qkvet_report::free_name;

/// A name of a folder for a target that no other one of `taken` has.
pub(super) fn name_of(target: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = target.chars().map(plain).collect();
    free_name(name.trim_start_matches(['.', '-']), '-', taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_each_has_its_own() {
        let mut taken = BTreeSet::new();
        let all = ["a/b.py:f", "a-b.py:f", "../x y", "a/b.py:f"];
        let names = all.map(|target| name_of(target, &mut taken));
        assert_eq!(names, ["a-b.py-f", "a-b.py-f-2", "x-y", "a-b.py-f-3"]);
    }
}
