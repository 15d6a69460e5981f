//! Patterns of names: `*` stands for any text, `?` for one character.

/// Whether the pattern matches the whole text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Behind the last star, and how much of the text it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((behind, taken)) = star {
            star = Some((behind, taken + 1));
            (p, t) = (behind, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether it stands for itself alone.
pub(crate) fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text) in [
            ("*", ""),
            ("a*c", "abbc"),
            ("a?c", "abc"),
            ("*-bias", "causal-is-bias"),
            ("a*b*c", "aXbYbZc"),
            ("", ""),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("?", ""),
            ("a*c", "abcd"),
            ("causal", "causal-is-bias"),
            ("*x", "y"),
            ("é?", "é"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(matches(&"*a".repeat(200), &"a".repeat(4000)));
        assert!(!matches(&format!("{}b", "*a".repeat(200)), &"a".repeat(4000)));
    }
}
