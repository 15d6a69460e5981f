//! Lines of a pipe that nobody vouches for: bounded memory, foreign lines set aside.

use std::collections::VecDeque;

use qkvet_spec::Quoted;

use crate::wire::quoted;

/// How much of a stray line is kept.
const KEPT: usize = 240;

/// Cuts what comes out of a pipe into messages, which begin with `{`, and strays, which do not.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Longest message in bytes.
    limit: usize,
    line: Vec<u8>,
    messages: VecDeque<Vec<u8>>,
    /// The beginning of the first line that was no message, quoted.
    first_stray: Option<Quoted>,
    too_long: bool,
}

impl Lines {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            messages: VecDeque::new(),
            first_stray: None,
            too_long: false,
        }
    }

    /// Sets the longest message from here on.
    pub(crate) fn limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes what was read.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|b| *b == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            bytes = &bytes[end.map_or(bytes.len(), |end| end + 1)..];
            let message = *self.line.first().or(part.first()).unwrap_or(&b' ') == b'{';
            if message && self.line.len() + part.len() > self.limit {
                self.too_long = true;
                self.line = Vec::new();
                return;
            }
            let room = if message {
                part.len()
            } else {
                KEPT.saturating_sub(self.line.len()).min(part.len())
            };
            self.line.extend_from_slice(&part[..room]);
            if end.is_some() {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.first() == Some(&b'{') {
            self.messages.push_back(line);
        } else if line.iter().any(|b| !b.is_ascii_whitespace()) {
            self.first_stray.get_or_insert_with(|| quoted(&line));
        }
    }

    /// The pipe has ended: a last line without a break counts if it is a whole message.
    pub(crate) fn finish(&mut self) {
        let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&self.line).is_ok();
        if whole || self.line.first() != Some(&b'{') {
            self.close();
        }
    }

    /// The next message, if one is complete.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// A complete message that nobody asked for, if there is one.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        self.messages.front().map(Vec::as_slice)
    }

    /// The beginning of a line that has no end yet.
    pub(crate) fn begun(&self) -> Option<&[u8]> {
        (!self.line.is_empty()).then_some(self.line.as_slice())
    }

    /// Whether a message went beyond the limit; nothing after it can be read.
    pub(crate) fn too_long(&self) -> bool {
        self.too_long
    }

    pub(crate) fn first_stray(&self) -> Option<&Quoted> {
        self.first_stray.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages, the first stray and whether a line was too long, whatever the sizes of the chunks.
    fn check(input: &[u8], messages: &[&str], stray: Option<&str>, too_long: bool) {
        for chunk in [1, 3, 4096] {
            let mut lines = Lines::new(9);
            input.chunks(chunk).for_each(|chunk| lines.push(chunk));
            lines.finish();
            let found: Vec<Vec<u8>> = std::iter::from_fn(|| lines.next()).collect();
            assert_eq!(found, messages.iter().map(|m| m.as_bytes().to_vec()).collect::<Vec<_>>());
            assert_eq!(lines.first_stray(), stray.map(Quoted::new).as_ref());
            assert_eq!(lines.too_long(), too_long);
        }
    }

    #[test]
    fn lines() {
        check(b"", &[], None, false);
        check(b"\n\n  \n", &[], None, false);
        check(b"\n{\"a\":1}\n", &["{\"a\":1}"], None, false);
        check(b"hello\n{}\nhalf", &["{}"], Some("\"hello\""), false);
        check(b"{}\nhalf", &["{}"], Some("\"half\""), false);
        check(b"{\"a\":1}", &["{\"a\":1}"], None, false);
        check(b"{\"a\":", &[], None, false);
        check(b"{1234567}\n", &["{1234567}"], None, false);
        check(b"{12345678}\n", &[], None, true);
        check(b"> {}\n{}\n", &["{}"], Some("\"> {}\""), false);
        check(b"\xff\xfe\n{}", &["{}"], Some("\"\u{fffd}\u{fffd}\""), false);
    }

    #[test]
    fn little_is_kept_of_strays_and_of_what_is_too_long() {
        let mut lines = Lines::new(1000);
        lines.push(&[b'x'; 100_000]);
        assert_eq!(lines.begun().map(<[u8]>::len), Some(KEPT));
        lines.push(b"\n{");
        lines.push(&[b'x'; 100_000]);
        assert!(lines.too_long() && lines.begun().is_none());
    }
}
