//! The knowledge in `specs/`, embedded in the binary: laws, faults, conventions, contracts, suites by id.

use include_dir::{Dir, File, include_dir};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;

use crate::shape::check_law;
use crate::source::{SpecError, parse_yaml};
use crate::{CheckedLaw, Contract, Convention, Dtype, Fault, Law, Suite, nearest};

static SPECS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../specs");

/// Every specification by id, in order of id.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Laws, parsed and shape-checked.
    pub laws: IndexMap<String, CheckedLaw>,
    /// Faults.
    pub faults: IndexMap<String, Fault>,
    /// Conventions.
    pub conventions: IndexMap<String, Convention>,
    /// Contracts.
    pub contracts: IndexMap<String, Contract>,
    /// Suites.
    pub suites: IndexMap<String, Suite>,
}

impl Catalog {
    /// Reads everything embedded and checks that ids are file names and that references lead somewhere.
    ///
    /// # Errors
    /// The first file that does not fit. A release cannot have one: a test loads the catalog.
    pub fn embedded() -> Result<Self, SpecError> {
        let catalog = Self {
            laws: folder("laws", |path, source| {
                let law = law_from_yaml(path, source)?;
                Ok((law.law.law.clone(), law))
            })?,
            faults: folder("faults", |path, source| read(path, source, |fault: &Fault| &fault.fault))?,
            conventions: folder("conventions", |path, source| {
                read(path, source, |convention: &Convention| &convention.convention)
            })?,
            contracts: folder("contracts", |path, source| {
                read(path, source, |contract: &Contract| &contract.contract)
            })?,
            suites: folder("suites", |path, source| read(path, source, |suite: &Suite| &suite.suite))?,
        };
        catalog.check_references()?;
        Ok(catalog)
    }

    /// The contract by which an undeclared target of this format is judged.
    ///
    /// # Errors
    /// When no contract is marked `default` for the format.
    pub fn default_contract(&self, dtype: Dtype) -> Result<&Contract, SpecError> {
        self.contracts.values().find(|contract| contract.dtype == dtype && contract.default).ok_or_else(|| {
            let known = Dtype::CHECKED.map(Dtype::name).join(", ");
            SpecError::plain(format!(
                "contract for {dtype}: expected one with `default: true`, got none\nhint: formats with contracts: {known}"
            ))
        })
    }

    /// Finds one by id.
    ///
    /// # Errors
    /// An unknown id, with the nearest known one.
    pub fn find<'a, T>(what: &str, all: &'a IndexMap<String, T>, id: &str) -> Result<&'a T, SpecError> {
        all.get(id).ok_or_else(|| {
            let hint = match nearest(id, all.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("`qkvet list {what}s` shows the known ones"),
            };
            SpecError::plain(format!("{what} `{id}`: expected a known {what}\nhint: {hint}"))
        })
    }

    /// Adds a law that the user wrote and gives its id.
    ///
    /// # Errors
    /// A law that does not fit, has an id that is taken, or catches a fault that does not exist.
    pub fn add_law(&mut self, path: &str, source: &str) -> Result<String, SpecError> {
        let law = law_from_yaml(path, source)?;
        let id = law.law.law.clone();
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            let message =
                format!("law at {path}: expected an id of lower-case letters, digits and hyphens, got `{id}`");
            return Err(SpecError::plain(message));
        }
        if self.laws.contains_key(&id) {
            let message = format!("law at {path}: expected an id of its own, got `{id}`, which is taken");
            return Err(SpecError::plain(message));
        }
        self.check_catches(&law)?;
        self.laws.insert(id.clone(), law);
        Ok(id)
    }

    fn check_catches(&self, law: &CheckedLaw) -> Result<(), SpecError> {
        for fault in &law.law.catches {
            Self::find("fault", &self.faults, fault)
                .map_err(|error| SpecError::plain(format!("catches of law {}: {error}", law.law.law)))?;
        }
        Ok(())
    }

    fn check_references(&self) -> Result<(), SpecError> {
        self.laws.values().try_for_each(|law| self.check_catches(law))?;
        for suite in self.suites.values() {
            self.suite_laws(suite)?;
        }
        let mut codes: Vec<&str> = self.faults.values().map(|fault| fault.code.as_str()).collect();
        codes.sort_unstable();
        match codes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(SpecError::plain(format!("code {}: expected one fault, got two", pair[0]))),
            None => Ok(()),
        }
    }

    /// The laws a suite names, in order of id; `*` names all.
    ///
    /// # Errors
    /// An unknown law.
    pub fn suite_laws(&self, suite: &Suite) -> Result<Vec<&CheckedLaw>, SpecError> {
        if suite.laws.iter().any(|law| law == "*") {
            return Ok(self.laws.values().collect());
        }
        suite.laws.iter().map(|law| Self::find("law", &self.laws, law)).collect()
    }
}

/// Reads and checks one law.
///
/// # Errors
/// YAML and shape errors, with their place.
pub(crate) fn law_from_yaml(path: &str, source: &str) -> Result<CheckedLaw, SpecError> {
    let law: Law = parse_yaml(path, source)?;
    check_law(law).map_err(|error| SpecError::in_law(path, source, &error))
}

impl CheckedLaw {
    /// Reads and checks one law.
    ///
    /// # Errors
    /// YAML and shape errors, with their place.
    pub fn from_yaml(path: &str, source: &str) -> Result<Self, SpecError> {
        law_from_yaml(path, source)
    }
}

fn read<T: DeserializeOwned>(path: &str, source: &str, id: impl Fn(&T) -> &String) -> Result<(String, T), SpecError> {
    let value: T = parse_yaml(path, source)?;
    Ok((id(&value).clone(), value))
}

fn folder<T>(
    name: &str,
    read: impl Fn(&str, &str) -> Result<(String, T), SpecError>,
) -> Result<IndexMap<String, T>, SpecError> {
    let mut files = Vec::new();
    if let Some(dir) = SPECS.get_dir(name) {
        collect(dir, &mut files);
    }
    let mut all = IndexMap::new();
    for file in files {
        let path = format!("specs/{}", file.path().to_string_lossy().replace('\\', "/"));
        let source = file.contents_utf8().ok_or_else(|| SpecError::plain(format!("file at {path}: expected UTF-8")))?;
        let (id, value) = read(&path, source)?;
        if file.path().file_stem().and_then(|stem| stem.to_str()) != Some(id.as_str()) {
            return Err(SpecError::plain(format!("id at {path}: expected the file name, got `{id}`")));
        }
        if all.insert(id.clone(), value).is_some() {
            return Err(SpecError::plain(format!("id at {path}: expected a new one, got `{id}` again")));
        }
    }
    all.sort_keys();
    Ok(all)
}

fn collect<'a>(dir: &'a Dir<'a>, files: &mut Vec<&'a File<'a>>) {
    files.extend(dir.files().filter(|file| file.path().extension().is_some_and(|ext| ext == "yaml")));
    for inner in dir.dirs() {
        collect(inner, files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_embedded_is_well_formed() {
        let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        for dtype in Dtype::ALL {
            let count = catalog.contracts.values().filter(|c| c.dtype == dtype && c.default).count();
            assert_eq!(count, usize::from(Dtype::CHECKED.contains(&dtype)), "{dtype}");
            assert_eq!(catalog.default_contract(dtype).is_ok(), count == 1, "{dtype}");
        }
        let none = catalog.default_contract(Dtype::Float8E5m2).expect_err("no contract");
        let known = "contract for float8_e5m2: expected one with `default: true`, got none\nhint: formats with contracts: float64, float32, bfloat16, float16";
        assert_eq!(none.to_string(), known);
    }

    #[test]
    fn ill_shaped_laws_are_shown_in_place() {
        let check = |expect: &str, parts: &[&str]| {
            let source = format!(
                "law: x\ntitle: t\ngiven:\n  P: permutation(n_k)\nproof: exact\ncatches: []\nexpect: {expect}\n"
            );
            let error = CheckedLaw::from_yaml("x.yaml", &source).map(|_| ()).expect_err(expect);
            for part in parts {
                assert!(error.rendered.contains(part), "{expect}\n{}\nlacks {part}", error.rendered);
            }
        };
        check(
            "attention(P @ Q, K, V) == attention(Q, K, V)",
            &["x.yaml:7:19", "expected n_k on both sides, got n_k and n_q"],
        );
        check("attention(Q, K, V) == V", &["x.yaml:7:9", "rows of `==`"]);
        check("attenton(Q, K, V) == Q", &["did you mean `attention`?"]);
        check("attention(Q, K, V, maks=P) == Q", &["did you mean `mask`?"]);
        check("attention(Q, K, V)", &["expected a relation"]);
        check("attention(Q, K) == Q", &["expected 3 arguments, got 2"]);
        check("'attention(Q, K, W) == Q'", &["x.yaml:7:26", "name `W`"]);
    }
}
