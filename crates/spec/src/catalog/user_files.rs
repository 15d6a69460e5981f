//! What a user adds: laws and conventions of their own, from files that are handed over as text. An
//! id that is taken is an error.

use super::law_from_yaml;
use crate::source::{SpecError, parse_yaml};
use crate::{Catalog, Convention, Unexpected};

impl Catalog {
    /// Adds a law from a file that the user names in a command, and gives its id.
    ///
    /// # Errors
    /// As [`Self::add_own_law`].
    pub fn add_law(&mut self, path: &str, source: &str) -> Result<String, SpecError> {
        let id = self.add_own_law(path, source)?;
        self.law_files.insert(id.clone(), path.to_owned());
        Ok(id)
    }

    /// Adds a law of the user's folder of specifications, and gives its id.
    ///
    /// # Errors
    /// A law that does not fit, has an id that is taken, or catches a fault that does not exist.
    pub fn add_own_law(&mut self, path: &str, source: &str) -> Result<String, SpecError> {
        let law = law_from_yaml(path, source)?;
        let id = law.law.law.clone();
        check_own_id("law", path, &id, self.laws.contains_key(&id))?;
        self.check_catches(&law)?;
        self.laws.insert(id.clone(), law);
        Ok(id)
    }

    /// Adds a convention of the user's folder of specifications, and gives its id.
    ///
    /// # Errors
    /// A convention that does not fit, has an id or a `field=value` that is taken, is the standard
    /// of its field, names another standard than the others of its field, or changes nothing.
    pub fn add_own_convention(&mut self, path: &str, source: &str) -> Result<String, SpecError> {
        let convention: Convention = parse_yaml(path, source)?;
        let Convention { convention: id, field, value, standard_value, .. } = &convention;
        let named =
            self.conventions.values().find(|known| (&known.field, &known.value) == (field, value));
        check_own_id("convention", path, id, self.conventions.contains_key(id) || named.is_some())?;
        let wrong = |expected: &str, got: &str| {
            Err(Unexpected::at_path("convention", path, expected).got(got).into())
        };
        if *id != format!("{field}-{value}") {
            return wrong(
                &format!("the id `{field}-{value}`, field and value"),
                &format!("`{id}`"),
            );
        }
        if value == standard_value {
            return wrong("a value other than the standard one", &format!("`{value}` for both"));
        }
        if let Some(known) = self.conventions.values().find(|known| known.field == *field)
            && known.standard_value != *standard_value
        {
            return wrong(
                &format!("`standard_value: {}`, as of {}", known.standard_value, known.convention),
                &format!("`{standard_value}`"),
            );
        }
        if convention.meaning.is_empty() {
            return wrong("something under `meaning`", "nothing");
        }
        let id = id.clone();
        self.conventions.insert(id.clone(), convention);
        Ok(id)
    }
}

fn check_own_id(what: &str, path: &str, id: &str, is_taken: bool) -> Result<(), Unexpected> {
    if id.is_empty()
        || !id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    {
        let expected = "an id of lower-case letters, digits and hyphens";
        return Err(Unexpected::at_path(what, path, expected).quoted(id));
    }
    if is_taken {
        let hint = format!(
            "`qkvet list {what}s` shows those that are; one of `specs:` in qkvet.yaml is called by its id"
        );
        return Err(Unexpected::at_path(what, path, "an id of its own")
            .got(format!("`{id}`, which is taken"))
            .hint(hint));
    }
    Ok(())
}
