//! `cargo xtask prose`: sentences that are hard to read, counted. The count may only fall.
//!
//! A sentence is hard if it has more than 30 words, or one of the phrases that stand in place of a
//! noun or of a verb with a subject.

use std::fs;
use std::path::{Path, PathBuf};

use crate::step::{self, Failure};

const MAX_WORDS: usize = 30;
const PHRASES: [&str; 17] = [
    "is told",
    "are told",
    "was told",
    "is asked",
    "are asked",
    "is warned",
    "was seen",
    "what is",
    "what was",
    "what a",
    "whoever",
    "that of",
    "those of",
    "those that",
    "one that",
    "says nothing",
    "beside",
];
/// Pages that programs write, and what a released version said.
const GENERATED: [&str; 3] = ["docs/laws.md", "docs/adequacy.md", "docs/language.md"];
/// Fields of specifications that people read.
const FIELDS: [&str; 6] = ["title", "tell", "look", "fix", "about", "standard"];
/// The largest count that the check admits.
const LIMIT: &str = "xtask/prose.txt";

/// A sentence that is hard to read, and why.
struct Hard {
    file: PathBuf,
    line: usize,
    why: String,
    sentence: String,
}

/// Lists them; fails if there are more than the file says.
pub(crate) fn run() -> Result<(), Failure> {
    let all = hard_sentences()?;
    for Hard { file, line, why, sentence } in &all {
        println!("{}:{line}: {why}: {sentence}", file.display());
    }
    compare(all.len())
}

/// Fails if there are more than the file says.
pub(crate) fn check() -> Result<(), Failure> {
    compare(hard_sentences()?.len())
}

fn compare(n: usize) -> Result<(), Failure> {
    let limit: usize = read(Path::new(LIMIT))?
        .trim()
        .parse()
        .map_err(|_| Failure::Setup(format!("{LIMIT}: expected a number")))?;
    match n.cmp(&limit) {
        std::cmp::Ordering::Greater => Err(Failure::Step(format!(
            "{n} sentences are hard to read, {limit} were: `cargo xtask prose` lists them"
        ))),
        std::cmp::Ordering::Less => {
            eprintln!("==> prose: {n} hard sentences, {limit} were: write {n} into {LIMIT}");
            Ok(())
        }
        std::cmp::Ordering::Equal => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(step::root().join(path))
        .map_err(|error| Failure::Setup(format!("{}: {error}", path.display())))
}

fn hard_sentences() -> Result<Vec<Hard>, Failure> {
    let mut all = Vec::new();
    let listed = step::output(step::command("git").args(["ls-files", "-z"]))?;
    let listed = String::from_utf8_lossy(&listed);
    for name in listed.split_terminator('\0') {
        let file = PathBuf::from(name);
        if GENERATED.contains(&name) {
            continue;
        }
        let paragraphs = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => markdown(&read(&file)?),
            Some("yaml") if name.starts_with("specs/") => fields(&read(&file)?),
            Some("rs") if name.starts_with("crates/cli/src/args/") => help(&read(&file)?),
            _ => continue,
        };
        for (line, text) in paragraphs {
            all.extend(sentences(&text).filter_map(|sentence| {
                let why = why_hard(&sentence)?;
                Some(Hard { file: file.clone(), line, why, sentence })
            }));
        }
    }
    Ok(all)
}

/// Paragraphs and items of lists with their first line; neither code nor tables.
fn markdown(text: &str) -> Vec<(usize, String)> {
    let (mut all, mut is_code): (Vec<(usize, String)>, bool) = (Vec::new(), false);
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        is_code ^= line.starts_with("```");
        let is_item = line.starts_with("- ") || line.starts_with(|c: char| c.is_ascii_digit());
        if is_code || line.is_empty() || line.starts_with(['`', '|', '#', '<']) && !is_open {
            is_open = false;
        } else if let Some((_, open)) = all.last_mut().filter(|_| is_open && !is_item) {
            open.push(' ');
            open.push_str(line);
        } else {
            all.push((at + 1, line.to_owned()));
            is_open = true;
        }
    }
    all
}

/// Values of the fields that people read, each in one line.
fn fields(text: &str) -> Vec<(usize, String)> {
    let value = |(at, line): (usize, &str)| {
        let (field, value) = line.split_once(": ")?;
        let value = value.trim_matches('"').to_owned();
        FIELDS.contains(&field.trim()).then_some((at + 1, value))
    };
    text.lines().enumerate().filter_map(value).collect()
}

/// Doc comments, which are the help of commands and flags.
fn help(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        match (line.trim().strip_prefix("/// "), all.last_mut()) {
            (Some(doc), Some((_, open))) if is_open => *open += &format!(" {doc}"),
            (Some(doc), _) => all.push((at + 1, doc.to_owned())),
            (None, _) => {}
        }
        is_open = line.trim().starts_with("///");
    }
    all
}

fn sentences(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace(". ", ".\n").replace("? ", "?\n").replace(": ", ":\n");
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn why_hard(sentence: &str) -> Option<String> {
    let words: Vec<&str> =
        sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).collect();
    if words.len() > MAX_WORDS {
        return Some(format!("{} words", words.len()));
    }
    let plain = format!(" {} ", words.join(" ").to_lowercase());
    let has = |phrase: &&str| plain.contains(&format!(" {phrase} "));
    PHRASES.into_iter().find(has).map(|phrase| format!("`{phrase}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_sentences_are_found() {
        let long = "word ".repeat(31);
        for hard in [long.as_str(), "It is told on standard error.", "Whoever reads this."] {
            assert!(why_hard(hard).is_some(), "{hard}");
        }
        assert_eq!(why_hard("qkvet prints a warning."), None);
    }

    #[test]
    fn code_tables_and_headings_are_no_prose() {
        let page = "# A\n\nOne\nline.\n\n```\ncode\n```\n| a |\n- item\n  more\n- next\n";
        let found: Vec<String> = markdown(page).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["One line.", "- item more", "- next"]);
        assert_eq!(fields("law: x\ntitle: \"A law\"\n"), [(2, "A law".to_owned())]);
        assert_eq!(help("    /// One\n    /// two\n    x: u8,\n"), [(1, "One two".to_owned())]);
    }
}
