//! Frozen cases: of a folder, or made from a suite.

use std::path::Path;

use qkvet_gen::build;
use qkvet_gen::frozen::{FrozenCase, LargerEntry, freeze, frozen_plans};
use qkvet_run::config::CaseSource;
use qkvet_run::frozen::{FileFormat, FrozenFolder, read_cases};
use qkvet_spec::{CallOption, Catalog, CheckedLaw, Dtype, Fit, Suite, Unexpected};

use super::setup::{self, suite};
use crate::exit::Failure;

/// The law that every frozen case belongs to.
pub(super) fn law(catalog: &Catalog) -> Result<&CheckedLaw, Failure> {
    Ok(Catalog::find("law", &catalog.laws, qkvet_spec::VALUE_LAW)?)
}

/// Frozen cases as a run takes them.
pub(super) fn source(folder: &FrozenFolder) -> CaseSource<'_> {
    let seed = folder.manifest.as_ref().map_or(0, |manifest| manifest.seed);
    CaseSource::Frozen { name: &folder.name, folder: &folder.folder, seed, cases: &folder.cases }
}

/// Formats of the cases, in the order in which they come.
pub(super) fn dtypes(cases: &[FrozenCase]) -> Vec<Dtype> {
    let mut found = Vec::new();
    for case in cases {
        if !found.contains(&case.case.dtype) {
            found.push(case.case.dtype);
        }
    }
    found
}

/// What is not there.
pub(super) fn notices(folder: &FrozenFolder) -> Vec<String> {
    match folder.absent.len() {
        0 => Vec::new(),
        n => {
            vec![format!(
                "{n} larger cases are not in the folder: `qkvet export FOLDER --larger --out OTHER` makes them"
            )]
        }
    }
}

/// Which frozen cases.
pub(super) struct Wanted<'a> {
    /// A suite or a folder.
    pub(super) cases: &'a str,
    /// Formats by name; none: all.
    pub(super) dtypes: &'a [String],
    /// Options that the calls may have, by name; none: all.
    pub(super) options: &'a [String],
    /// Seed of a suite.
    pub(super) seed: u64,
    /// The larger ones too.
    pub(super) larger: bool,
}

/// Frozen cases, read from a folder or made from a suite.
pub(super) fn frozen_cases(
    catalog: &Catalog,
    args: &Wanted<'_>,
) -> Result<Vec<FrozenCase>, Failure> {
    let dtypes_wanted =
        if args.dtypes.is_empty() { None } else { Some(setup::dtypes(args.dtypes)?) };
    let wanted = |dtype: Dtype| dtypes_wanted.as_ref().is_none_or(|wanted| wanted.contains(&dtype));
    if args.options.len() > 1 && args.options.iter().any(|name| name == "none") {
        let expected = "options, or `none` alone";
        return Err(Unexpected::at("--options", expected).got(args.options.join(",")).into());
    }
    let is_taken = |option: &CallOption| args.options.iter().any(|name| name == option.name());
    let taken: Option<Vec<CallOption>> =
        (!args.options.is_empty()).then(|| CallOption::ALL.into_iter().filter(is_taken).collect());
    let mut cases = Vec::new();
    if Path::new(args.cases).is_dir() {
        let folder = read_cases(Path::new(args.cases))?;
        cases.extend(folder.cases.iter().filter(|case| wanted(case.case.dtype)).cloned());
        if args.larger
            && let Some(manifest) = &folder.manifest
        {
            let suite = suite(catalog, &manifest.suite)?;
            let absent: Vec<&LargerEntry> =
                folder.absent.iter().filter(|entry| wanted(entry.dtype)).collect();
            cases.extend(larger_of(catalog, &suite, manifest.seed, &absent)?);
        }
    } else {
        let mut suite = suite(catalog, args.cases)?;
        if let Some(taken) = &taken {
            let own = suite.fit.take().unwrap_or_default();
            let options = taken.iter().copied().filter(|option| own.has(*option)).collect();
            suite.fit = Fit { options: Some(options), ..own }.if_any();
        }
        let dtypes: Vec<Dtype> =
            suite.dtypes.iter().copied().filter(|dtype| wanted(*dtype)).collect();
        let plans = frozen_plans(catalog, &suite, &dtypes, args.seed)?;
        let larger = if args.larger { plans.larger } else { Vec::new() };
        for plan in plans.text.iter().chain(&larger) {
            let case = build(law(catalog)?, plan)?;
            cases.push(freeze(catalog, &case)?);
        }
    }
    if let Some(taken) = taken {
        cases.retain(|case| case.case.options.on().iter().all(|option| taken.contains(&option)));
    }
    if cases.is_empty() {
        let place = format!("cases of {}", args.cases);
        let got = "none of these formats and options";
        return Err(Unexpected::at(place, "some to write").got(got).into());
    }
    Ok(cases)
}

/// The larger cases that a manifest lists, made again and compared with their hashes.
fn larger_of(
    catalog: &Catalog,
    suite: &Suite,
    seed: u64,
    absent: &[&LargerEntry],
) -> Result<Vec<FrozenCase>, Failure> {
    let mut cases = Vec::new();
    for plan in frozen_plans(catalog, suite, &suite.dtypes, seed)?.larger {
        let case = build(law(catalog)?, &plan)?;
        let id = qkvet_gen::case_id(&case);
        let Some(entry) = absent.iter().find(|entry| entry.id == id) else { continue };
        let frozen = freeze(catalog, &case)?;
        entry.check(&FileFormat::Safetensors.case_bytes(&frozen)?)?;
        cases.push(frozen);
    }
    if cases.len() != absent.len() {
        let missing =
            absent.iter().filter(|entry| !cases.iter().any(|case| case.id == entry.id)).count();
        let place = format!("larger cases of {}", suite.suite);
        return Err(Unexpected::at(place, format!("{} of the manifest", absent.len()))
            .got(format!("{missing} that this version does not make"))
            .into());
    }
    Ok(cases)
}
