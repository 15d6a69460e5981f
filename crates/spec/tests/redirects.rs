//! Old names lead to names in use.

use std::collections::BTreeMap;

use qkvet_spec::*;

#[test]
fn old_names_lead_to_names_in_use() {
    let catalog = Catalog::embedded().expect("the catalog");
    let questions = Catalog::texts("exams/questions");
    let is_used = |name: &str| {
        catalog.laws.contains_key(name)
            || catalog.conventions.contains_key(name)
            || catalog.contracts.contains_key(name)
            || catalog.modifiers.contains_key(name)
            || catalog.suites.contains_key(name)
            || questions.iter().any(|(path, _)| path.ends_with(&format!("/{name}.yaml")))
            || catalog.faults.values().any(|fault| fault.fault == name || fault.code == name)
    };
    let text = include_str!("../../../specs/redirects.yaml");
    let all: BTreeMap<String, Vec<Redirect>> = parse_yaml("redirects.yaml", text).expect("a list");
    assert!(!all["redirects"].is_empty());
    for Redirect { from, to, .. } in &all["redirects"] {
        assert!(is_used(to) && !is_used(from), "{from}: {to}");
        assert_eq!(Redirects::embedded().current(from), to.as_str());
    }
}

#[test]
fn each_part_of_a_name_is_redirected() {
    let text = "redirects: [{from: QK230, to: QK221, since: 0.2.0}]";
    let redirects: Redirects = parse_yaml("r.yaml", text).expect("redirects");
    assert_eq!(redirects.current("qk230+QK310"), "QK221+QK310");
    assert_eq!(redirects.current("QK2*"), "QK2*");
    assert_eq!(redirects.to("QK221").collect::<Vec<_>>(), ["QK230"]);
    let notice = redirects.notices("QK310+QK230").next().expect("a notice").to_string();
    assert_eq!(notice, "`QK230` is called `QK221` since version 0.2.0");
}
