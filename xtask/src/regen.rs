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
    let mut wanted = generate()?;
    let qkvet = step::qkvet("debug")?;
    let page = step::output(step::command(&qkvet).args(["adequacy", "--format", "markdown"]))?;
    wanted.insert(PathBuf::from(ADEQUACY), page);
    for path in differences(&wanted, &present()?) {
        let place = step::root().join(&path);
        let written = match wanted.get(&path) {
            Some(contents) => write(&place, contents),
            None => fs::remove_file(&place),
        };
        written.map_err(|error| Failure::Setup(format!("{}: {error}", path.display())))?;
        eprintln!(
            "==> {} {}",
            if wanted.contains_key(&path) { "wrote" } else { "removed" },
            path.display()
        );
    }
    Ok(())
}

/// Paths whose contents are not what would be generated now; leaves the tree as it is.
pub(crate) fn stale() -> Result<Vec<PathBuf>, Failure> {
    Ok(differences(&generate()?, &present()?))
}

fn generate() -> Result<Files, Failure> {
    step::build()?;
    let qkvet = step::qkvet("debug")?;
    let names = step::output(step::command(&qkvet).args(["schema", "--list"]))?;
    let names = String::from_utf8_lossy(&names);
    if names.trim().is_empty() {
        return Err(Failure::Step("`qkvet schema --list` names no schema".to_owned()));
    }
    let mut files = Files::new();
    for name in names.split_whitespace() {
        let schema = step::output(step::command(&qkvet).args(["schema", name]))?;
        files.insert(Path::new(SCHEMAS).join(format!("{name}.json")), schema);
    }
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

/// The generated files as they lie in the tree.
fn present() -> Result<Files, Failure> {
    let folder = step::root().join(SCHEMAS);
    let failed = |error: std::io::Error| Failure::Setup(format!("{SCHEMAS}: {error}"));
    let mut files = Files::from([(PathBuf::from(BOUNDS), bounds()?.into_bytes())]);
    for page in [LAWS, LANGUAGE] {
        if let Ok(contents) = fs::read(step::root().join(page)) {
            files.insert(PathBuf::from(page), contents);
        }
    }
    if !folder.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json")
            && let Some(name) = path.file_name()
        {
            files.insert(Path::new(SCHEMAS).join(name), fs::read(&path).map_err(failed)?);
        }
    }
    Ok(files)
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
