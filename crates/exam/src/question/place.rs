//! Places in the files of questions, as the YAML parser gives them.

use std::ops::Range;

use qkvet_spec::parse_yaml;

use crate::given::YamlNode;

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
