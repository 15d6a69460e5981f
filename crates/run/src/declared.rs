//! What callers that bring a function of their own process name: conventions, contracts, a suite
//! and what is chosen of it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use qkvet_spec::{Catalog, CheckedLaw, Dtype, SpecError, Suite, Unexpected};

use crate::answer::Criteria;
pub use crate::config::Declared;
use crate::config::TargetEntry;

/// The catalog that is built in, read once.
///
/// # Errors
/// A specification of this build that does not fit.
pub fn embedded() -> Result<&'static Catalog, SpecError> {
    static CATALOG: OnceLock<Result<Catalog, SpecError>> = OnceLock::new();
    CATALOG.get_or_init(Catalog::embedded).as_ref().map_err(Clone::clone)
}

impl Declared<'static> {
    /// What callers of this process declare, for calls in the given formats.
    ///
    /// # Errors
    /// As [`Declared::of`]; no contract for a format that has no default.
    pub fn new(flags: &[String], names: &[String], dtypes: &[Dtype]) -> Result<Self, SpecError> {
        let (catalog, entry) = (embedded()?, TargetEntry::default());
        // A format in which no case is called has contracts all the same, which must be named.
        if let [dtype] = dtypes
            && !Dtype::CHECKED.contains(dtype)
        {
            let [name] = names else {
                let known = catalog.contracts.values().filter(|contract| contract.dtype == *dtype);
                let known =
                    known.map(|contract| contract.contract.as_str()).collect::<Vec<_>>().join(", ");
                let expected = format!("one of {known}");
                return Err(Unexpected::at(format!("contract for {dtype}"), expected)
                    .got("none")
                    .into());
            };
            let contract = catalog.contract(name)?;
            let contracts = BTreeMap::from([(contract.dtype, contract)]);
            return Ok(Self { contracts, ..Self::of(&entry, flags, &[], &[], catalog)? });
        }
        Ok(Self::of(&entry, flags, names, dtypes, catalog)?)
    }

    /// What answers in a format are judged by.
    ///
    /// # Errors
    /// No contract for the format.
    pub fn criteria(&self, dtype: Dtype) -> Result<Criteria<'_>, SpecError> {
        Ok(Criteria {
            catalog: embedded()?,
            conventions: &self.conventions,
            contract: self.contract(dtype)?,
        })
    }
}

/// What is checked: a suite, and what is chosen of it.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The suite.
    pub suite: &'static Suite,
    /// Its laws, or those that were named.
    pub laws: Vec<&'static CheckedLaw>,
    /// Its formats, or those that were named.
    pub dtypes: Vec<Dtype>,
}

impl Selection {
    /// No formats or laws means those of the suite.
    ///
    /// # Errors
    /// An unknown suite or law.
    pub fn new(suite: &str, laws: &[String], dtypes: &[Dtype]) -> Result<Self, SpecError> {
        let catalog = embedded()?;
        let suite = Catalog::find("suite", &catalog.suites, suite)?;
        let laws = match laws {
            [] => catalog.suite_laws(suite)?,
            ids => ids.iter().map(|id| catalog.asking_law(id)).collect::<Result<_, _>>()?,
        };
        let dtypes = if dtypes.is_empty() { suite.dtypes.clone() } else { dtypes.to_vec() };
        Ok(Self { suite, laws, dtypes })
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Meaning;

    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_looked_up() {
        let found = Declared::new(&strings(&["causal=upper-left"]), &[], &[Dtype::Float32])
            .expect("known names");
        assert_eq!(found.contract(Dtype::Float32).expect("a contract").contract, "f32");
        assert!(found.contract(Dtype::Float64).is_err());
        assert_ne!(found.meaning(), Meaning::standard());
        let refused = |flags: &[&str], names: &[&str], dtype| {
            let error =
                Declared::new(&strings(flags), &strings(names), &[dtype]).expect_err("a refusal");
            error.to_string()
        };
        assert!(
            refused(&["causl=upper-left"], &[], Dtype::Float32).contains("did you mean `causal`?")
        );
        assert!(refused(&[], &["f33"], Dtype::Float32).contains("f33"));
        assert!(refused(&[], &[], Dtype::Float8E4m3fn).contains("expected one of e4m3"));
    }

    #[test]
    fn a_selection_is_the_suite_unless_named() {
        let all = Selection::new("smoke", &[], &[]).expect("a suite");
        assert!(all.laws.len() > 40 && all.dtypes.len() == 4);
        let one = Selection::new("smoke", &strings(&["value"]), &[Dtype::Float64]).expect("a law");
        assert_eq!((one.laws.len(), one.dtypes.as_slice()), (1, &[Dtype::Float64][..]));
        let error = Selection::new("smok", &[], &[]).expect_err("a refusal");
        assert!(error.to_string().contains("did you mean `smoke`?"), "{error}");
        assert!(Selection::new("smoke", &strings(&["valu"]), &[]).is_err());
    }
}
