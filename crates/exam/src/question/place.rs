//! Places in the files of questions, as the YAML parser gives them.

use std::ops::Range;

use qkvet_spec::parse_yaml;

use crate::student_answer::YamlNode;

/// Where the last word of a path such as `parts.2.answer.places` stands; of one that is not there,
/// the nearest above it.
pub(crate) fn span_of(source: &str, path: &str) -> Range<usize> {
    let Ok(root) = parse_yaml::<YamlNode>("", source) else { return 0..0 };
    let (mut node, mut span) = (&root, 0..0);
    for word in path.split('.') {
        if let Some((at, entry)) = node.entry(word) {
            (node, span) = (entry, at);
        }
    }
    span
}

/// The line of a byte, from 1.
pub(crate) fn line_of(source: &str, at: usize) -> usize {
    source.get(..at).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::span_of;

    /// A word of a path that stands in a text before its entry is not taken for it.
    #[test]
    fn places_are_those_of_the_parser() {
        let source = "title: \"load: - a\"\nload: 3\nparts:\n  - prompt: \"answer: places: 0\"\n    answer: {value: {of: x, places: 13}}\n    mistakes:\n      - says: \"- says\"\n      - {gives: y}\n";
        for (path, text) in [
            ("load", "load: 3"),
            ("parts.1.answer.places", "places: 13"),
            ("parts.1.answer.of", "of: x"),
            ("parts.1.mistakes.1.says", "says: \"- says\""),
            ("parts.1.mistakes.2.gives", "gives: y"),
            ("parts.2", "parts:"),
            ("parts.1.points", "prompt: \"answer"),
        ] {
            let span = span_of(source, path);
            assert!(source[span.start..].starts_with(text), "{path}: {:?}", &source[span]);
        }
        assert_eq!(span_of("a: [", "a"), 0..0);
    }
}
