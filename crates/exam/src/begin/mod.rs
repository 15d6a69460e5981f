//! The beginning of a problem set of one's own: files with comments that build as they stand.

/// Path and text of the files: the set, and one question beside it.
pub fn files(name: &str) -> [(String, String); 2] {
    let named = |text: &str| text.replace("NAME", name);
    [
        (format!("{name}.yaml"), named(include_str!("set.yaml"))),
        (format!("questions/{name}-weights.yaml"), named(include_str!("question.yaml"))),
    ]
}

/// Whether a name can be the id of a problem set.
pub fn is_id(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 60
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn ids_are_short_words() {
        assert!(is_id("week-3") && is_id("a"));
        assert!(["", "3-weeks", "../x", "a b", "A", "a.yaml"].iter().all(|name| !is_id(name)));
    }
}
