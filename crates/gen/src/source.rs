//! Random words: one `ChaCha8` stream for each row of each variable, and our own maps from words to
//! choices.
//!
//! A row's stream depends on the case's seed, the variable's name and the row's position alone. So
//! an option that is switched off moves no other draw, and a smaller shape keeps the leading part
//! of every tensor.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use sha2::{Digest, Sha256};

/// All randomness of one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source(pub(crate) u64);

/// The streams of one variable.
#[derive(Clone, Debug)]
pub(crate) struct Streams([u8; 32]);

/// One stream.
#[derive(Clone, Debug)]
pub(crate) struct Draws(ChaCha8Rng);

impl Source {
    /// The streams of the variable `name`.
    pub(crate) fn variable(self, name: &str) -> Streams {
        let mut hash = Sha256::new();
        hash.update(b"qkvet-draw-1\0");
        hash.update(self.0.to_le_bytes());
        hash.update(name.as_bytes());
        Streams(hash.finalize().into())
    }

    /// The only stream of the variable `name`.
    pub(crate) fn draws(self, name: &str) -> Draws {
        self.variable(name).row(0, 0, 0)
    }
}

impl Streams {
    /// The stream of row `row` of head `head` of batch item `item`.
    pub(crate) fn row(&self, item: usize, head: usize, row: usize) -> Draws {
        let mut rng = ChaCha8Rng::from_seed(self.0);
        rng.set_stream((item as u64) << 42 | (head as u64) << 21 | row as u64);
        Draws(rng)
    }
}

impl Draws {
    /// A whole number below `n`; 0 for `n = 0`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// A whole number from `-reach` to `reach`, as a float.
    pub(crate) fn symmetric(&mut self, reach: u32) -> f64 {
        self.below(2 * reach as usize + 1) as f64 - f64::from(reach)
    }

    /// True once in `n` draws.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// 1 or −1.
    pub(crate) fn sign(&mut self) -> f64 {
        if self.one_in(2) { 1.0 } else { -1.0 }
    }

    /// The top `bits` bits of a word.
    pub(crate) fn bits(&mut self, bits: u32) -> u64 {
        self.0.next_u64() >> (64 - bits)
    }

    /// Standard normal, cut at ±6 and rounded to a multiple of 1/256: last-place differences
    /// between platforms vanish.
    pub(crate) fn normal(&mut self) -> f64 {
        let drawn: f64 = StandardNormal.sample(&mut self.0);
        (drawn.clamp(-6.0, 6.0) * 256.0).round() / 256.0
    }

    /// A uniformly random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    /// `count` of the numbers below `n`, ascending.
    pub(crate) fn subset(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all.sort_unstable();
        all
    }
}
