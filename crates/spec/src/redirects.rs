//! Names that are no longer used: ids and codes live for ever, where they lead to others.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::Redirect;
use crate::source::parse_yaml;

/// Old names and what they lead to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirects {
    redirects: Vec<Redirect>,
}

impl Redirects {
    /// Those of `specs/redirects.yaml`.
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<Redirects> = OnceLock::new();
        EMBEDDED.get_or_init(|| {
            let (path, text) =
                ("specs/redirects.yaml", include_str!("../../../specs/redirects.yaml"));
            parse_yaml(path, text).unwrap_or_default()
        })
    }

    /// The redirect of an old name, whatever the case of its letters.
    pub fn of(&self, name: &str) -> Option<&Redirect> {
        self.redirects.iter().find(|one| one.from.eq_ignore_ascii_case(name))
    }

    /// Old names of what is called so now.
    pub fn to<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.redirects.iter().filter(move |one| one.to == name).map(|one| one.from.as_str())
    }

    /// The name that is used now; of several with `+` between them each for itself.
    pub fn current<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if !name.split('+').any(|part| self.of(part).is_some()) {
            return name.into();
        }
        let parts = name.split('+').map(|part| self.of(part).map_or(part, |one| &one.to));
        parts.collect::<Vec<_>>().join("+").into()
    }

    /// What is to be said of the old names in a name.
    pub fn notices<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Redirect> {
        name.split('+').filter_map(|part| self.of(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

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
        assert!(!Redirects::embedded().redirects.is_empty());
        for Redirect { from, to, .. } in &Redirects::embedded().redirects {
            assert!(is_used(to) && !is_used(from), "{from}: {to}");
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
}
