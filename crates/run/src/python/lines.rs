//! Lines of a pipe that nobody vouches for: bounded memory, foreign lines set aside.

use std::io::{self, BufRead};

/// One thing read from the pipe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line that begins with `{`, without its line break.
    Message(Vec<u8>),
    /// The beginning of a line that does not.
    Stray(Vec<u8>),
    /// A message longer than the limit; nothing after it can be read.
    TooLong,
}

/// How much of a stray line is kept.
const KEPT: usize = 240;

/// The next line, `None` at the end. Blank lines are passed over. A last line without a break counts.
pub(crate) fn next_line(pipe: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    loop {
        let chunk = pipe.fill_buf()?;
        let end = chunk.iter().position(|b| *b == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let used = end.map_or(chunk.len(), |end| end + 1);
        let message = *line.first().or(part.first()).unwrap_or(&b' ') == b'{';
        if message && line.len() + part.len() > limit {
            return Ok(Some(Line::TooLong));
        }
        let room = if message { part.len() } else { KEPT.saturating_sub(line.len()).min(part.len()) };
        line.extend_from_slice(&part[..room]);
        pipe.consume(used);
        if end.is_none() && used > 0 {
            continue;
        }
        if line.iter().any(|b| !b.is_ascii_whitespace()) {
            return Ok(Some(if line[0] == b'{' { Line::Message(line) } else { Line::Stray(line) }));
        }
        line.clear();
        if used == 0 {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn all(input: &[u8], limit: usize) -> Vec<Line> {
        let mut pipe = BufReader::with_capacity(3, input);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut pipe, limit).unwrap() {
            let last = line == Line::TooLong;
            lines.push(line);
            if last {
                break;
            }
        }
        lines
    }

    #[test]
    fn lines() {
        let message = |text: &str| Line::Message(text.into());
        let stray = |text: &str| Line::Stray(text.into());
        assert_eq!(all(b"", 9), []);
        assert_eq!(all(b"\n\n  \n", 9), []);
        assert_eq!(all(b"\n{\"a\":1}\n", 9), [message("{\"a\":1}")]);
        assert_eq!(all(b"hello\n{}\nhalf", 9), [stray("hello"), message("{}"), stray("half")]);
        assert_eq!(all(b"{12345678}\n", 9), [Line::TooLong]);
        assert_eq!(all(b"{1234567}\n", 9), [message("{1234567}")]);
        assert_eq!(all(&[b'x'; 5000], 9), [Line::Stray(vec![b'x'; KEPT])]);
        assert_eq!(all(b"\xff\xfe\n{}", 9), [Line::Stray(vec![0xff, 0xfe]), message("{}")]);
    }
}
