//! What a finding is called in files that are kept: the codes of its faults, else the words of its
//! title.

use std::collections::BTreeMap;

use qkvet_spec::{Finding, FindingKind, Summary};

/// Longest name; a longer one ends at a word.
const LONGEST: usize = 60;

/// `QK221`, `QK221+QK310`, `convention:causal=upper-left`, or
/// `wrong-results-that-no-known-fault-explains`. Words with digits are left out: a message may hold
/// numbers and addresses that change.
pub fn finding_name(finding: &Finding) -> String {
    let declared = finding.hint.as_deref().filter(|_| finding.kind == FindingKind::Convention);
    let declared = declared.and_then(|hint| hint.split_once("--convention ")?.1.split(',').next());
    if let Some(declared) = declared.filter(|declared| !declared.contains(char::is_whitespace)) {
        return format!("convention:{declared}");
    }
    let codes = codes(&finding.title);
    if codes.is_empty() {
        words(&finding.title)
    } else {
        codes.iter().map(|(code, _)| *code).collect::<Vec<_>>().join("+")
    }
}

/// Whether the finding names what is wrong: a fault, or a convention. Of any other it is known only
/// where it was seen.
pub fn has_cause(finding: &Finding) -> bool {
    finding.kind == FindingKind::Convention || !codes(&finding.title).is_empty()
}

/// Titles of the faults that a run found, by their codes.
pub fn titles(summary: &Summary) -> BTreeMap<String, String> {
    let all = summary.findings.iter().flat_map(|finding| codes(&finding.title));
    all.map(|(code, title)| (code.to_owned(), title.to_owned())).collect()
}

/// Each code with its title.
pub(crate) fn codes(title: &str) -> Vec<(&str, &str)> {
    let parts = title.split(", with ");
    let all: Vec<Option<(&str, &str)>> = parts
        .map(|part| {
            let (code, rest) = part.split_once(' ').unwrap_or((part, ""));
            let digits = code.strip_prefix("QK")?;
            (digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit()))
                .then_some((code, rest))
        })
        .collect();
    // A title with `, with ` in it is one title.
    match all.as_slice() {
        [Some(first), rest @ ..] if rest.iter().any(Option::is_none) => {
            vec![(first.0, title.split_once(' ').map_or("", |(_, rest)| rest))]
        }
        _ => all.into_iter().flatten().collect(),
    }
}

fn words(title: &str) -> String {
    let mut name = String::new();
    // The part of an address behind a letter is no word either.
    for chunk in
        title.split_whitespace().filter(|chunk| !chunk.contains(|c: char| c.is_ascii_digit()))
    {
        for word in chunk.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            if name.len() + 1 + word.len() > LONGEST && !name.is_empty() {
                return name;
            }
            if !name.is_empty() {
                name.push('-');
            }
            name.extend(word.chars().take(LONGEST));
        }
    }
    if name.is_empty() { "untitled".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names() {
        assert_eq!(codes("QK221 by remainder"), [("QK221", "by remainder")]);
        assert_eq!(
            codes("QK221 by remainder, with QK310 keys, too"),
            [("QK221", "by remainder"), ("QK310", "keys, too")]
        );
        assert_eq!(codes("QK221 a row, with a hole"), [("QK221", "a row, with a hole")]);
        assert!(codes("wrong results").is_empty());
        assert_eq!(
            words("RuntimeError: CUDA error at 0x7f3a, code 700"),
            "runtimeerror-cuda-error-at-code"
        );
        assert_eq!(words("wrong shape of the output"), "wrong-shape-of-the-output");
        assert_eq!(words("12 34"), "untitled");
        assert!(words(&"long ".repeat(100)).len() <= LONGEST);
        assert_eq!(words("a # b: \u{1b}[2J"), "a-b");
    }
}
