//! Answers that are picked from what stands on the sheet: options, statements, lines, columns.

/// Signs between picks.
const BETWEEN: &str = ",;|[](){}\"'`$*.:=>→⟶⇒–-/\\";

/// Words between picks that say nothing.
const FILLERS: [&str; 18] = [
    "then",
    "and",
    "finally",
    "to",
    "rightarrow",
    "the",
    "statement",
    "statements",
    "attends",
    "query",
    "column",
    "col",
    "key",
    "keys",
    "row",
    "token",
    "answer",
    "line",
];

/// Words for the places of picks.
const ORDINALS: [(&str, &str); 16] = [
    ("first", "1"),
    ("second", "2"),
    ("third", "3"),
    ("fourth", "4"),
    ("fifth", "5"),
    ("sixth", "6"),
    ("1st", "1"),
    ("2nd", "2"),
    ("3rd", "3"),
    ("4th", "4"),
    ("5th", "5"),
    ("6th", "6"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
];

/// Words after which a letter is not what was picked.
const DOUBTS: [&str; 12] = [
    "or", "not", "maybe", "perhaps", "neither", "either", "and", "but", "wrong", "none", "both",
    "unsure",
];

/// What is picked for each of several things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picks {
    /// True or false.
    Truths(usize),
    /// Columns by number.
    Columns(usize),
    /// Letters of lines, at most so many.
    Lines(usize),
}

impl Picks {
    /// A pick in its one form.
    fn pick(self, word: &str) -> Option<String> {
        let small = word.to_lowercase();
        match self {
            Self::Truths(_) => Some(
                match small.as_str() {
                    "true" | "t" | "yes" | "y" | "right" | "correct" | "1" => "true",
                    "false" | "f" | "no" | "n" | "wrong" | "incorrect" | "0" => "false",
                    _ => return None,
                }
                .to_owned(),
            ),
            Self::Columns(_) => {
                let digits = small.trim_start_matches(|c: char| c.is_alphabetic() || c == '_');
                let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
                is_number.then(|| digits.to_owned())
            }
            Self::Lines(_) => {
                (small.len() == 1 && small.chars().all(|c| c.is_ascii_lowercase())).then_some(small)
            }
        }
    }
}

/// The picks of an answer in order; what is none stands there as it was written.
pub(crate) fn picks(text: &str, kind: Picks) -> Vec<String> {
    let marked: String = text
        .chars()
        .map(|c| match c {
            '✓' | '✔' | '☑' | '✅' => " T ".to_owned(),
            '✗' | '✘' | '✕' | '❌' | '☒' => " F ".to_owned(),
            c => c.to_string(),
        })
        .collect();
    // Of two, `T/F` may be what stands on the sheet, and `2/3` is a fraction.
    let keeps_bar = matches!(kind, Picks::Truths(2) | Picks::Columns(_));
    let is_between = |c: char| c.is_whitespace() || BETWEEN.contains(c) && !(keeps_bar && c == '/');
    let ordinal = |word: &str| {
        let small = word.to_lowercase();
        ORDINALS
            .iter()
            .find(|(name, _)| *name == small)
            .map_or(word.to_owned(), |(_, n)| (*n).to_owned())
    };
    let words: Vec<String> = marked
        .split(is_between)
        .filter(|word| !word.is_empty() && !FILLERS.contains(&word.to_lowercase().as_str()))
        .map(ordinal)
        .collect();
    let (n, most) = match kind {
        Picks::Truths(n) | Picks::Columns(n) => (n, n),
        Picks::Lines(most) => (0, most),
    };
    // `TTF`, `132`
    if let [word] = words.as_slice()
        && (2..=most).contains(&word.chars().count())
        && word.chars().all(|c| kind.pick(&c.to_string()).is_some())
    {
        return word.chars().filter_map(|c| kind.pick(&c.to_string())).collect();
    }
    let has_marks = marked.contains(['>', '→', ':', '=', '.', ')', '⇒'])
        || marked.contains("attends")
        || marked.contains("row");
    let may_be_labelled =
        words.len() == n.saturating_mul(2) || n == 0 && words.len().is_multiple_of(2);
    if may_be_labelled
        && (has_marks || n == 0)
        && let Some(picked) = labelled(&words, kind)
    {
        return picked;
    }
    words.into_iter().map(|word| kind.pick(&word).unwrap_or(word)).collect()
}

/// Picks behind the numbers or letters of what they are for.
fn labelled(words: &[String], kind: Picks) -> Option<Vec<String>> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for pair in words.chunks(2) {
        let [name, pick] = pair else { return None };
        let bare =
            name.trim_start_matches(|c: char| c.is_alphabetic() && name.len() > 1 || c == '_');
        let at = match bare.as_bytes() {
            [letter] if letter.is_ascii_alphabetic() && !matches!(kind, Picks::Lines(_)) => {
                usize::from(letter.to_ascii_lowercase() - b'a')
            }
            _ => bare.parse::<usize>().ok()?.checked_sub(1)?,
        };
        all.push((at, kind.pick(pick)?));
    }
    all.sort();
    all.iter()
        .enumerate()
        .all(|(at, (own, _))| at == *own)
        .then(|| all.into_iter().map(|(_, pick)| pick).collect())
}

/// The option that is picked, by number from 0: by its letter, perhaps with its text or a reason
/// behind it, by its number if `by_number`, or by its text.
pub(crate) fn option(text: &str, n: usize, texts: &[String], by_number: bool) -> Option<usize> {
    let wanted = bare(text);
    let mut same = (0..texts.len()).filter(|at| !wanted.is_empty() && bare(&texts[*at]) == wanted);
    if let (Some(at), None) = (same.next(), same.next()) {
        return Some(at);
    }
    let is_sign = |c: char| c.is_whitespace() || "()[]{}\"'`$*.:;,=_-–".contains(c);
    let mut rest = text.trim_matches(is_sign);
    loop {
        let word = ["the", "my", "option", "answer", "choice", "is"].iter().find(|word| {
            rest.split_at_checked(word.len()).is_some_and(|(start, behind)| {
                start.eq_ignore_ascii_case(word) && behind.starts_with(is_sign)
            })
        });
        let Some(word) = word else { break };
        rest = rest[word.len()..].trim_matches(is_sign);
    }
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let (name, reason) = rest.split_at(end);
    let at = match name.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => usize::from(letter.to_ascii_lowercase() - b'a'),
        _ if by_number => name.parse::<usize>().ok()?.checked_sub(1)?,
        _ => return None,
    };
    let is_one = reason.trim_matches(is_sign).is_empty();
    (at < n && (is_one || is_reason(reason, at, n, texts))).then_some(at)
}

/// Whether what stands behind a letter is its text or a reason, and leaves no doubt.
fn is_reason(text: &str, at: usize, n: usize, texts: &[String]) -> bool {
    let own = text.trim_start_matches([')', '.', ':', ' ', '(']);
    if texts.get(at).is_some_and(|other| bare(other) == bare(own)) {
        return true;
    }
    let is_other_text =
        texts.iter().any(|other| !bare(other).is_empty() && bare(text).contains(&bare(other)));
    let letter = |word: &str| {
        let [letter] = word.as_bytes() else { return false };
        letter.is_ascii_uppercase() && usize::from(letter - b'A') < n
    };
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let first = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
    let begins = text.trim_start().starts_with([',', ':', '.', ')', ';', '-', '–', '(', '*'])
        || ["because", "since", "as"].contains(&first.as_str());
    begins
        && !is_other_text
        && !DOUBTS.contains(&first.as_str())
        && !words.iter().any(|word| {
            letter(word) || ["or", "maybe", "perhaps"].contains(&word.to_lowercase().as_str())
        })
        && !text.contains(['?', '/'])
}

/// Text without spaces and the signs of formulas, in small letters.
fn bare(text: &str) -> String {
    let text = text.trim().trim_end_matches('.').trim_matches(['"', '\'']);
    let is_sign = |c: &char| c.is_whitespace() || matches!(c, '$' | '*' | '`');
    text.chars().filter(|c| !is_sign(c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_letters_and_numbers() {
        let texts = ["twice", "half", "1/2"].map(str::to_owned);
        for (given, at) in [
            ("b", Some(1)),
            ("(B)", Some(1)),
            ("2", Some(1)),
            ("d", None),
            ("0", None),
            ("B and C", None),
            ("", None),
            ("option B", Some(1)),
            ("Option (b)", Some(1)),
            ("answer: b.", Some(1)),
            ("option", None),
            ("option B or C", None),
            ("optional", None),
            ("B, because it is not large", Some(1)),
            ("B: half", Some(1)),
            ("B) twice", None),
            ("half", Some(1)),
            ("not half", None),
        ] {
            assert_eq!(option(given, 3, &texts, true), at, "{given}");
        }
        assert_eq!(option("2", 3, &texts, false), None);
    }
}
