//! The knowledge in `specs/`, embedded in the binary: laws, faults, conventions, contracts, suites
//! by id.

mod user_files;

use std::sync::OnceLock;

use include_dir::{Dir, File, include_dir};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;

use crate::modifier::compose;
use crate::shape::check_law;
use crate::source::{SpecError, parse_yaml};
use crate::{
    CheckedLaw, Contract, Convention, Dtype, Fault, FaultFamily, Law, Modifier, Redirects, Suite,
    Unexpected, nearest,
};

static SPECS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../specs");

/// Every specification by id, in order of id.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Laws, parsed and shape-checked.
    pub laws: IndexMap<String, CheckedLaw>,
    /// Faults.
    pub faults: IndexMap<String, Fault>,
    /// Families of faults.
    pub families: IndexMap<String, FaultFamily>,
    /// Conventions.
    pub conventions: IndexMap<String, Convention>,
    /// Contracts.
    pub contracts: IndexMap<String, Contract>,
    /// Modifiers of contracts.
    pub modifiers: IndexMap<String, Modifier>,
    /// Suites.
    pub suites: IndexMap<String, Suite>,
    /// Files of the laws that the user named in the command, by id.
    pub law_files: IndexMap<String, String>,
}

impl Catalog {
    /// Everything embedded: read once, and checked that ids are file names and that references lead
    /// somewhere.
    ///
    /// # Errors
    /// The first file that does not fit. A release cannot have one: a test loads the catalog.
    pub fn embedded() -> Result<Self, SpecError> {
        static READ: OnceLock<Catalog> = OnceLock::new();
        if let Some(catalog) = READ.get() {
            return Ok(catalog.clone());
        }
        let catalog = Self::read()?;
        Ok(READ.get_or_init(|| catalog).clone())
    }

    fn read() -> Result<Self, SpecError> {
        let catalog = Self {
            laws: folder("laws", |path, source| {
                let law = law_from_yaml(path, source)?;
                Ok((law.law.law.clone(), law))
            })?,
            faults: folder("faults", |path, source| {
                let (id, fault) = read(path, source, |fault: &Fault| &fault.fault)?;
                let family = path.rsplit('/').nth(1).unwrap_or_default().to_owned();
                Ok((id, Fault { family, ..fault }))
            })?,
            families: folder("families", |path, source| {
                read(path, source, |family: &FaultFamily| &family.family)
            })?,
            conventions: folder("conventions", |path, source| {
                read(path, source, |convention: &Convention| &convention.convention)
            })?,
            contracts: folder("contracts", |path, source| {
                read(path, source, |contract: &Contract| &contract.contract)
            })?,
            modifiers: folder("contracts/modifiers", |path, source| {
                read(path, source, |modifier: &Modifier| &modifier.modifier)
            })?,
            suites: folder("suites", |path, source| {
                read(path, source, |suite: &Suite| &suite.suite)
            })?,
            law_files: IndexMap::new(),
        };
        catalog.check_references()?;
        Ok(catalog)
    }

    /// The contract by which an undeclared target of this format is judged.
    ///
    /// # Errors
    /// When no contract is marked `default` for the format.
    pub fn default_contract(&self, dtype: Dtype) -> Result<&Contract, Unexpected> {
        self.contracts
            .values()
            .find(|contract| contract.dtype == dtype && contract.default)
            .ok_or_else(|| {
                let known = Dtype::CHECKED.map(Dtype::name).join(", ");
                Unexpected::at(format!("contract for {dtype}"), "one with `default: true`")
                    .got("none")
                    .hint(format!("formats with contracts: {known}"))
            })
    }

    /// The contract of this name: an id, or `base+modifier+modifier` in any order of modifiers.
    ///
    /// # Errors
    /// An unknown id, with the nearest known one; modifiers without a contract; modifiers that do
    /// not fit the base or each other.
    pub fn contract(&self, name: &str) -> Result<Contract, Unexpected> {
        let mut parts = name.split('+').map(str::trim);
        let base = parts.next().unwrap_or_default();
        if (base.is_empty() && name.contains('+')) || self.is_modifier(base) {
            return Err(self.without_contract(name));
        }
        let base = Self::find("contract", &self.contracts, base)?;
        compose(base, parts.map(|part| self.modifier(part)).collect::<Result<_, _>>()?)
    }

    fn is_modifier(&self, name: &str) -> bool {
        self.modifiers.values().any(|one| matches!(one.called(name), Ok(Some(_))))
    }

    /// The error for modifiers with no contract in front of them.
    fn without_contract(&self, name: &str) -> Unexpected {
        let modifiers = name.trim_matches(|c: char| c == '+' || c.is_whitespace());
        if let Some(error) = modifiers.split('+').find_map(|part| self.modifier(part.trim()).err())
        {
            return error;
        }
        let hint = self.behind_a_contract(modifiers).map_or_else(
            || "`qkvet list contracts` shows the known ones".to_owned(),
            |whole| format!("behind the contract that they change, such as {whole}"),
        );
        let expected = "a contract in front of its modifiers";
        Unexpected::at(format!("contract `{name}`"), expected).got("modifiers alone").hint(hint)
    }

    /// `base+modifier+modifier` with the first contract that the modifiers fit, if there is one.
    pub fn behind_a_contract(&self, modifiers: &str) -> Option<String> {
        let whole = |base: &String| self.contract(&format!("{base}+{modifiers}")).ok();
        self.contracts.keys().find_map(whole).map(|contract| contract.contract)
    }

    /// The modifier of this name, its number filled in.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one.
    pub fn modifier(&self, name: &str) -> Result<Modifier, Unexpected> {
        let called = self.modifiers.values().map(|one| one.called(name));
        match called.filter_map(Result::transpose).next() {
            Some(found) => found,
            None => Self::find("modifier", &self.modifiers, name).cloned(),
        }
    }

    /// Finds one by id, or by an id that it had before.
    ///
    /// # Errors
    /// An unknown id, with the nearest known one.
    pub fn find<'a, T>(
        what: &str,
        all: &'a IndexMap<String, T>,
        id: &str,
    ) -> Result<&'a T, Unexpected> {
        let current = Redirects::embedded().current(id);
        all.get(id).or_else(|| all.get(&*current)).ok_or_else(|| {
            let hint = match nearest(id, all.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                // Modifiers are listed beside the contracts.
                None => {
                    format!(
                        "`qkvet list {}s` shows the known ones",
                        if what == "modifier" { "contract" } else { what }
                    )
                }
            };
            Unexpected::at(format!("{what} `{id}`"), format!("a known {what}")).hint(hint)
        })
    }

    /// The file of a specification that is built in, as in
    /// `specs/laws/card/row-stochasticity.yaml`: `kind` is the folder (`laws`) and `id` the file
    /// name.
    pub fn file(kind: &str, id: &str) -> Option<String> {
        let mut files = Vec::new();
        collect(SPECS.get_dir(kind)?, &mut files);
        let of_id = |file: &&&File<'_>| file.path().file_stem().is_some_and(|stem| stem == id);
        files.iter().find(of_id).map(|file| shown_path(file))
    }

    /// Path and text of every YAML file in a folder of `specs/` and below it, in order of path:
    /// what other crates read by their own types.
    pub fn texts(folder: &str) -> Vec<(String, &'static str)> {
        let mut files = Vec::new();
        if let Some(dir) = SPECS.get_dir(folder) {
            collect(dir, &mut files);
        }
        let mut texts: Vec<_> = files
            .into_iter()
            .filter_map(|file| Some((shown_path(file), file.contents_utf8()?)))
            .collect();
        texts.sort_unstable();
        texts
    }

    fn check_catches(&self, law: &CheckedLaw) -> Result<(), Unexpected> {
        let place = format!("catches of law {}", law.law.law);
        for fault in &law.law.catches {
            Self::find("fault", &self.faults, fault).map_err(|error| error.inside(&place))?;
        }
        match law.law.catches.first() {
            Some(fault) if !law.asks() => {
                Err(Unexpected::at(place, "none for a law that asks no target").quoted(fault))
            }
            _ => Ok(()),
        }
    }

    fn check_references(&self) -> Result<(), Unexpected> {
        self.laws.values().try_for_each(|law| self.check_catches(law))?;
        for suite in self.suites.values() {
            self.suite_laws(suite)?;
        }
        for modifier in self.modifiers.values() {
            self.check_modifier(modifier)?;
        }
        for fault in self.faults.values() {
            Self::find("family", &self.families, &fault.family)?;
        }
        let mut codes: Vec<&str> = self.faults.values().map(|fault| fault.code.as_str()).collect();
        codes.sort_unstable();
        match codes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Unexpected::at(format!("code {}", pair[0]), "one fault").got("two")),
            None => Ok(()),
        }
    }

    /// A modifier changes something, and composes with every base that it fits.
    fn check_modifier(&self, modifier: &Modifier) -> Result<(), Unexpected> {
        let id = &modifier.modifier;
        let (place, takes_number) = (format!("modifier {id}"), id.ends_with("-N"));
        if takes_number == modifier.number.is_empty() {
            let expected = "`number` for an id that ends in -N, and only for it";
            return Err(Unexpected::at(place, expected));
        }
        if modifier.allows.is_empty() && modifier.promises.is_empty() && !takes_number {
            return Err(Unexpected::at(place, "`allows` or `promises`").got("neither"));
        }
        let name = if takes_number { id.replace("-N", "-64") } else { id.clone() };
        let fitting = self.contracts.values().filter(|contract| modifier.fits(contract.dtype));
        fitting
            .map(|base| self.contract(&format!("{}+{name}", base.contract)))
            .try_for_each(|one| one.map(|_| ()))
    }

    /// The laws that ask a target something, in order of id.
    pub fn asking_laws(&self) -> impl Iterator<Item = &CheckedLaw> {
        self.laws.values().filter(|law| law.asks())
    }

    /// The law of this id, which asks a target something.
    ///
    /// # Errors
    /// An unknown law; one about numbers alone.
    pub fn asking_law(&self, id: &str) -> Result<&CheckedLaw, Unexpected> {
        let law = Self::find("law", &self.laws, id)?;
        if law.asks() {
            return Ok(law);
        }
        let name =
            self.law_files.get(id).map_or_else(|| id.to_owned(), |file| format!("--file {file}"));
        Err(Unexpected::at(format!("law {id}"), "one that asks a target something")
            .got("one about numbers alone")
            .hint(format!("`qkvet prove {name}` proves it")))
    }

    /// The laws a suite names, in order of id; `*` names all that ask a target something.
    ///
    /// # Errors
    /// An unknown law, or one that asks nothing.
    pub fn suite_laws(&self, suite: &Suite) -> Result<Vec<&CheckedLaw>, Unexpected> {
        if suite.laws.iter().any(|law| law == "*") {
            return Ok(self.asking_laws().collect());
        }
        suite.laws.iter().map(|law| self.asking_law(law)).collect()
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

fn read<T: DeserializeOwned>(
    path: &str,
    source: &str,
    id: impl Fn(&T) -> &String,
) -> Result<(String, T), SpecError> {
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
    // Modifiers lie inside the folder of the contracts and are read on their own.
    files.retain(|file| {
        name.contains("modifiers") || !file.path().starts_with("contracts/modifiers")
    });
    let mut all = IndexMap::new();
    for file in files {
        let path = shown_path(file);
        let source =
            file.contents_utf8().ok_or_else(|| Unexpected::at_path("file", &path, "UTF-8"))?;
        let (id, value) = read(&path, source)?;
        if file.path().file_stem().and_then(|stem| stem.to_str()) != Some(id.as_str()) {
            return Err(Unexpected::at_path("id", path, "the file name").quoted(id).into());
        }
        if all.insert(id.clone(), value).is_some() {
            return Err(Unexpected::at_path("id", path, "a new one")
                .got(format!("`{id}` again"))
                .into());
        }
    }
    all.sort_keys();
    Ok(all)
}

/// The same on every system.
fn shown_path(file: &File<'_>) -> String {
    format!("specs/{}", file.path().to_string_lossy().replace('\\', "/"))
}

fn collect<'a>(dir: &'a Dir<'a>, files: &mut Vec<&'a File<'a>>) {
    files.extend(
        dir.files().filter(|file| file.path().extension().is_some_and(|ext| ext == "yaml")),
    );
    for inner in dir.dirs() {
        collect(inner, files);
    }
}
