//! Files of a corpus, changed in places that a fixed seed draws, for parsers of bytes of others.

#![allow(clippy::disallowed_methods, reason = "tests read the files they change")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::root;

/// Changed files that each parser gets, beside those that are right.
const CHANGED: usize = 1_500;
/// A file that takes longer is a hang: the slowest right ones take a hundredth of this.
const MAX_LEN: Duration = Duration::from_secs(20);
/// No changed file is longer.
pub const MAX_BYTES: usize = 1 << 16;

/// Words of a fixed stream (`SplitMix64`).
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap_or(0)
    }
}

/// What is put in place of something: ends of ranges, marks of the formats, what is no text.
const TOKENS: [&[u8]; 48] = [
    b"0",
    b"-1",
    b"1",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"1e308",
    b"1e999",
    b"NaN",
    b"-0.0",
    b"1e-400",
    b"4294967296",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"\"\"",
    b"[[[[[[[[",
    b"{\"a\":",
    b"\xff",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\n",
    b"\r\n",
    b"\t",
    b": ",
    b"- ",
    b"&a ",
    b"*a",
    b"!!int ",
    b"<<: ",
    b"|\n",
    b"---\n",
    b"#",
    b"@",
    b"(",
    b")))",
    b"E[",
    b"]",
    b"**",
    b"attention(",
    b"n_k",
    b"\xf0\x9f\x92\xa9",
    b"PK\x05\x06",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"9999999999",
];

/// A file of the corpus, changed in one to four places.
fn changed(corpus: &[Vec<u8>], words: &mut Words) -> Vec<u8> {
    let mut bytes = corpus[words.below(corpus.len())].clone();
    for _ in 0..1 + words.below(4) {
        let len = bytes.len();
        let at = words.below(len + 1);
        let end = (at + 1 + words.below(16)).min(len).max(at);
        match words.below(9) {
            0 if at < len => bytes[at] ^= 1 << words.below(8),
            1 if at < len => bytes[at] = words.next().to_le_bytes()[0],
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                for _ in 0..1 + words.below(64) {
                    bytes.splice(at..at, piece.iter().copied());
                }
            }
            4 => bytes.truncate(at),
            5 => {
                let other = &corpus[words.below(corpus.len())];
                let from = words.below(other.len() + 1);
                let to = (from + words.below(200)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            6 => {
                // A number becomes another one, where numbers are.
                if let Some(from) =
                    bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found)
                {
                    let to = from
                        + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    bytes.splice(from..to, TOKENS[words.below(12)].iter().copied());
                }
            }
            7 => drop(bytes.splice(at..end, TOKENS[words.below(TOKENS.len())].iter().copied())),
            _ => drop(bytes.splice(at..at, TOKENS[words.below(TOKENS.len())].iter().copied())),
        }
        bytes.truncate(MAX_BYTES);
    }
    bytes
}

/// How long to go on after the fixed number.
fn extra() -> Duration {
    let seconds = std::env::var("QKVET_TEST_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

/// Gives a parser the corpus, every file of which it has to take, and changed files.
///
/// # Panics
/// When the parser does, takes long, refuses a file of the corpus or none of the changed ones.
pub fn check(name: &str, corpus: &[Vec<u8>], parse: impl Fn(&[u8]) -> bool) {
    let mut words = Words(
        name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte))),
    );
    let mut seen = [0_usize; 2];
    let tried = |bytes: &[u8], at: usize| {
        let start = Instant::now();
        let taken = catch_unwind(AssertUnwindSafe(|| parse(bytes)))
            .unwrap_or_else(|_| panic!("{name}: a panic on file {at}: {}", shown(bytes)));
        let time = start.elapsed();
        assert!(time < MAX_LEN, "{name}: {time:?} for file {at}: {}", shown(bytes));
        taken
    };
    for (at, bytes) in corpus.iter().enumerate() {
        assert!(tried(bytes, at), "{name}: file {at} is right and was refused: {}", shown(bytes));
    }
    let start = Instant::now();
    let mut at = 0;
    while at < CHANGED || start.elapsed() < extra() {
        let bytes = changed(corpus, &mut words);
        seen[usize::from(tried(&bytes, at))] += 1;
        at += 1;
    }
    assert!(seen[0] > 0, "{name}: none of {at} changed files was refused");
    #[expect(clippy::print_stdout, reason = "how much was tried is what a long run is for")]
    {
        println!("{name}: {at} changed files, {} refused, {} taken", seen[0], seen[1]);
    }
}

/// The bytes as a string of Rust, to be put into a test of its own.
fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(4_000)];
    format!("b\"{}\" ({} bytes)", cut.escape_ascii(), bytes.len())
}

/// Files of a folder of the repository and those below, by the end of their names.
///
/// # Panics
/// When there is no such folder.
#[must_use]
pub fn files(folder: &str, end: &str) -> Vec<Vec<u8>> {
    files_in(&root().join(folder), end)
}

/// The same of any folder.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn files_in(folder: &Path, end: &str) -> Vec<Vec<u8>> {
    fn walk(folder: &Path, end: &str, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, end, found);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, end, &mut found);
    found.sort();
    found.iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

/// Text, or nothing to parse.
#[must_use]
pub fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
