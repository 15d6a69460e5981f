//! `cargo xtask regen`: the files that are written by a program and kept in the repository.
//!
//! Contents are made in memory, so that `check` can compare without touching the tree. Of
//! `docs/bounds.md` only the tables between two markers are generated.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::step::{self, Failure};

/// The folder of the JSON Schemas. All of its JSON files are generated.
const SCHEMAS: &str = "docs/schema";

/// The page with the tables of the program `sharpness`, and what they begin with.
const BOUNDS: &str = "docs/bounds.md";
const BEGIN: &str = "<!-- written by `cargo xtask regen` -->\n";

/// The end of what is written into a page.
const END: &str = "<!-- until here -->";

/// The page with every law and its proof. All of it is generated.
const LAWS: &str = "docs/laws.md";

/// The page with every word of the language of laws. All of it is generated.
const LANGUAGE: &str = "docs/language.md";

/// The page with the kill matrix. All of it is generated, and compared by a test, as it takes
/// minutes.
const ADEQUACY: &str = "docs/adequacy.md";

/// Contents by path from the root of the workspace.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Writes what changed and removes what is no longer generated.
pub(crate) fn run() -> Result<(), Failure> {
    step::build()?;
    // The command holds the schemas: the other files are made by one that holds the new ones.
    if write_differences(&schemas()?)? {
        step::build()?;
    }
    let mut wanted = generate()?;
    let qkvet = step::qkvet("debug")?;
    let page = step::output(step::command(&qkvet).args(["adequacy", "--format", "markdown"]))?;
    wanted.insert(PathBuf::from(ADEQUACY), page);
    write_differences(&wanted)?;
    Ok(())
}

/// Whether a file was written or removed.
fn write_differences(wanted: &Files) -> Result<bool, Failure> {
    let differences = differences(wanted, &present(wanted)?);
    for path in &differences {
        let place = step::root().join(path);
        let (done, word) = match wanted.get(path) {
            Some(contents) => (write(&place, contents), "wrote"),
            None => (fs::remove_file(&place), "removed"),
        };
        done.map_err(|error| Failure::Setup(format!("{}: {error}", path.display())))?;
        eprintln!("==> {word} {}", path.display());
    }
    Ok(!differences.is_empty())
}

/// Paths whose contents are not what would be generated now; leaves the tree as it is.
pub(crate) fn stale() -> Result<Vec<PathBuf>, Failure> {
    step::build()?;
    let wanted = generate()?;
    Ok(differences(&wanted, &present(&wanted)?))
}

/// The JSON Schema of every file format, from the types.
fn schemas() -> Result<Files, Failure> {
    let printed = step::output(&mut step::command(step::example("schemas")?))?;
    let schemas: BTreeMap<String, String> = serde_json::from_slice(&printed)
        .map_err(|error| Failure::Step(format!("the printed schemas are not JSON: {error}")))?;
    let file = |(name, text): (String, String)| {
        (Path::new(SCHEMAS).join(format!("{name}.json")), text.into_bytes())
    };
    Ok(schemas.into_iter().map(file).collect())
}

fn generate() -> Result<Files, Failure> {
    let qkvet = step::qkvet("debug")?;
    let mut files = schemas()?;
    // Exit code 1, a law that is not what its file claims, is a failure here too.
    files.insert(
        PathBuf::from(LAWS),
        step::output(step::command(&qkvet).args(["prove", "--format", "markdown"]))?,
    );
    files.insert(
        PathBuf::from(LANGUAGE),
        step::output(step::command(&qkvet).args(["explain", "language"]))?,
    );
    let page = with_tables(BOUNDS, &bounds()?, BEGIN, &tables()?)?;
    files.insert(PathBuf::from(BOUNDS), page.into_bytes());
    Ok(files)
}

/// What the program `sharpness` prints: the same on every machine.
fn tables() -> Result<String, Failure> {
    let printed = step::output(&mut step::command(step::example("sharpness")?))?;
    String::from_utf8(printed).map_err(|error| Failure::Step(format!("sharpness: {error}")))
}

/// The page of this name with the tables put between the marker `begin` and the next end.
pub(crate) fn with_tables(
    name: &str,
    page: &str,
    begin: &str,
    tables: &str,
) -> Result<String, Failure> {
    let parts =
        page.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    match parts {
        Some((before, after)) => Ok(format!("{before}{begin}\n{}\n\n{END}{after}", tables.trim())),
        None => {
            Err(Failure::Step(format!("{name}: expected {} and {END}, got not both", begin.trim())))
        }
    }
}

fn bounds() -> Result<String, Failure> {
    fs::read_to_string(step::root().join(BOUNDS))
        .map_err(|error| Failure::Setup(format!("{BOUNDS}: {error}")))
}

/// The files as they lie in the tree, and all schemas.
fn present(wanted: &Files) -> Result<Files, Failure> {
    let mut paths: Vec<PathBuf> = wanted.keys().cloned().collect();
    let failed = |error: std::io::Error| Failure::Setup(format!("{SCHEMAS}: {error}"));
    for entry in fs::read_dir(step::root().join(SCHEMAS)).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "json") {
            paths.push(Path::new(SCHEMAS).join(name));
        }
    }
    let read = |path: PathBuf| Some((path.clone(), fs::read(step::root().join(path)).ok()?));
    Ok(paths.into_iter().filter_map(read).collect())
}

/// Paths that are in only one of the two, or differ.
fn differences(wanted: &Files, present: &Files) -> Vec<PathBuf> {
    let mut paths: Vec<&PathBuf> = wanted.keys().chain(present.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().filter(|path| wanted.get(*path) != present.get(*path)).cloned().collect()
}

fn write(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter()
            .map(|(path, contents)| (PathBuf::from(path), contents.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn tables_lie_between_the_markers_whatever_was_there() {
        let with = |page: &str, tables: &str| with_tables(BOUNDS, page, BEGIN, tables);
        let page = format!("above\n{BEGIN}old\n{END}\nbelow\n");
        let once = with(&page, "new\n").unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, format!("above\n{BEGIN}\nnew\n\n{END}\nbelow\n"));
        assert_eq!(with(&once, "new").unwrap_or_else(|failure| panic!("{failure}")), once);
        assert!(with(&format!("{END}{BEGIN}"), "new").is_err());
    }

    #[test]
    fn differences_are_the_missing_the_changed_and_the_orphaned() {
        let wanted = files(&[("changed", "2"), ("missing", "1"), ("same", "1")]);
        let present = files(&[("changed", "1"), ("orphan", "1"), ("same", "1")]);
        let expected: Vec<PathBuf> = ["changed", "missing", "orphan"].map(PathBuf::from).into();
        assert_eq!(differences(&wanted, &present), expected);
        assert!(differences(&wanted, &wanted).is_empty());
    }
}
