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
