//! Places in documents that are named elsewhere exist: `docs/PAGE.md#anchor` in Rust, YAML and
//! Markdown, and links between pages. The checker is also shown something that it has to reject.
#![expect(clippy::disallowed_methods, reason = "reads the sources, which is the point")]

mod first_page;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::edges::{root, tracked_files};

/// What may name a place.
const READ: [&str; 4] = ["rs", "yaml", "md", "py"];

#[test]
fn every_place_that_is_named_exists() {
    let texts: BTreeMap<PathBuf, String> = tracked_files()
        .into_iter()
        .filter(|path| {
            path.extension().is_some_and(|extension| READ.iter().any(|one| extension == *one))
        })
        .map(|path| {
            (
                path.clone(),
                std::fs::read_to_string(root().join(&path)).expect("a source is readable text"),
            )
        })
        .collect();
    // What this file names is not there on purpose.
    let others = texts.iter().filter(|(path, _)| !Path::new(file!()).ends_with(path));
    let places: Vec<Place> = others.flat_map(|(path, text)| places(path, text)).collect();
    assert!(places.len() > 50, "only {} places are named", places.len());
    let found: Vec<String> = places.iter().filter_map(|place| missing(place, &texts)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_place_that_is_not_there_is_found() {
    let page = "# Bounds\n\n<a id=\"exp\"></a>\n## The exponential\n\n```\n## no heading\n```\n### `fl(x)`, rounded — twice\n";
    let texts = BTreeMap::from([(PathBuf::from("docs/bounds.md"), page.to_owned())]);
    let check = |at: &str, text: &str| -> Vec<Option<String>> {
        places(Path::new(at), text).iter().map(|place| missing(place, &texts)).collect()
    };
    for good in [
        "see docs/bounds.md#exp.",
        "`docs/bounds.md#the-exponential`",
        "docs/bounds.md#flx-rounded--twice",
        "no place",
    ] {
        assert!(check("crates/engine/src/exp.rs", good).iter().all(Option::is_none), "{good}");
    }
    for good in [
        "[e](bounds.md#exp)",
        "[e](../docs/bounds.md#exp)",
        "[b](bounds.md#bounds)",
        "[h](https://a.b/c.md#d)",
    ] {
        assert!(check("docs/contracts.md", good).iter().all(Option::is_none), "{good}");
    }
    assert_eq!(check("docs/bounds.md", "[e](#exp), [x](#exq)").iter().flatten().count(), 1);
    for bad in [
        "docs/bounds.md#exq",
        "a\ndocs/bounds.md#no-heading",
        "docs/bound.md#exp",
        "(docs/bounds.md#Exp)",
    ] {
        let got: Vec<String> =
            check("crates/engine/src/exp.rs", bad).into_iter().flatten().collect();
        assert_eq!(got.len(), 1, "{bad}: {got:?}");
        assert!(got[0].starts_with("crates/engine/src/exp.rs:"), "{got:?}");
    }
    assert_eq!(check("docs/contracts.md", "[e](bounds.md#exq)").iter().flatten().count(), 1);
}

/// An anchor that a line of a file names.
struct Place {
    file: PathBuf,
    line: usize,
    page: PathBuf,
    anchor: String,
}

/// Every `PAGE.md#anchor` of a text, and in a page every link to an anchor of its own. Addresses of
/// the web are not ours.
fn places(file: &Path, text: &str) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices('#') {
            let anchor: String = line[at + 1..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || "-_".contains(*c))
                .collect();
            let from = line[..at].rfind(|c: char| !(c.is_alphanumeric() || "-_./:".contains(c)));
            let named = &line[from
                .map_or(0, |from| from + line[from..].chars().next().map_or(1, char::len_utf8))
                ..at];
            let is_page = named.ends_with(".md") && !named.contains("://");
            let is_own = is_markdown(file) && line[..at].ends_with("](");
            if anchor.is_empty() || !(is_page || is_own) {
                continue;
            }
            // A document names others from where it lies, everything else from the root.
            let is_link = is_markdown(file) && line[..at - named.len()].ends_with("](");
            let page = match () {
                () if is_own => file.to_owned(),
                () if is_link => from_here(file, named),
                () => PathBuf::from(named),
            };
            found.push(Place { file: file.to_owned(), line: index + 1, page, anchor });
        }
    }
    found
}

/// A complaint about a place whose page or heading is not there.
fn missing(place: &Place, texts: &BTreeMap<PathBuf, String>) -> Option<String> {
    let Place { file, line, page, anchor } = place;
    let known = texts.get(page).map(|text| anchors(text));
    let got = match known {
        None => "no such page".to_owned(),
        Some(known) if known.contains(anchor) => return None,
        Some(known) => format!("only {}", known.join(", ")),
    };
    Some(format!("{}:{line}: expected {}#{anchor}, got {got}", file.display(), page.display()))
}

/// What a page may be entered by: `<a id="…">`, and its headings as GitHub calls them.
fn anchors(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code {
            continue;
        }
        let ids = line.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        found.extend(ids.map(|(id, _)| id.to_owned()));
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let kept = title.trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            found.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

fn is_markdown(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// The path from the root of what a file calls `named`.
fn from_here(file: &Path, named: &str) -> PathBuf {
    let mut path = file.parent().map(Path::to_owned).unwrap_or_default();
    for part in named.split('/') {
        match part {
            "." => {}
            ".." => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}
