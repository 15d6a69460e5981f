//! Names of a question as people write them.

/// Longer words are not taken for several names side by side.
const MAX_LETTERS: usize = 60;

/// The name that is meant: itself, or without its `_`, as pages that are copied lose it, or with
/// small letters for large ones.
pub(crate) fn known<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let only = |is_it: &dyn Fn(&str) -> bool| {
        let mut meant = names.iter().filter(|name| is_it(name));
        meant.next().filter(|_| meant.next().is_none()).copied()
    };
    let has_index = |name: &str| name.contains('_');
    let is_first = |name: &str| name.starts_with(|c| word.starts_with(c));
    let bare = |name: &str| name.replace('_', "").to_lowercase();
    let exactly = names.iter().find(|name| **name == word).copied();
    exactly
        .or_else(|| only(&|name| has_index(name) && name.replace('_', "") == word.replace('_', "")))
        .or_else(|| only(&|name| has_index(name) && is_first(name) && bare(name) == bare(word)))
        // `x` for `X` where there is no `x`.
        .or_else(|| only(&|name| name.to_lowercase() == word.to_lowercase()))
}

/// The first two ways to read a word as names side by side, each at its first letters.
pub(super) fn split<'a>(word: &str, names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    if word.len() <= MAX_LETTERS {
        parts(word, names, &mut Vec::new(), &mut all);
    }
    if all.is_empty() && word.len() <= MAX_LETTERS {
        // `Xwq`: the last name in small letters.
        for (at, _) in word.char_indices().skip(1) {
            if let Some(last) = known(&word[at..], names) {
                let mut first = Vec::new();
                parts(&word[..at], names, &mut Vec::new(), &mut first);
                all.extend(first.into_iter().map(|mut first| {
                    first.push(last);
                    first
                }));
            }
        }
        all.dedup();
        all.truncate(2);
    }
    all
}

fn parts<'a>(
    word: &str,
    names: &[&'a str],
    before: &mut Vec<&'a str>,
    all: &mut Vec<Vec<&'a str>>,
) {
    if word.is_empty() {
        all.push(before.clone());
        return;
    }
    for name in names {
        let bare = name.replace('_', "");
        for written in [Some(*name), (bare != *name).then_some(bare.as_str())].into_iter().flatten()
        {
            if all.len() >= 2 {
                return;
            }
            if let Some(rest) = word.strip_prefix(written).filter(|_| !written.is_empty()) {
                before.push(name);
                parts(rest, names, before, all);
                before.pop();
            }
        }
    }
}
