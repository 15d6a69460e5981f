//! Random words: one `ChaCha8` stream for each thing that is drawn, by its name.
//!
//! A stream depends on the seed and the name alone, so that a part that is added or left out moves no other draw.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

/// One stream.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of a name under a seed.
    pub fn new(seed: u64, name: &[&str]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"qkvet-exam-1\0");
        hash.update(seed.to_le_bytes());
        for part in name {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(ChaCha8Rng::from_seed(hash.finalize().into()))
    }

    /// A whole number below `n`; 0 for `n = 0`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from((u128::from(self.0.next_u64()) * n as u128) >> 64).unwrap_or(0)
    }

    /// A whole number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(0);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// The numbers below `n` in random order.
    pub fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for at in (1..n).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned_and_apart() {
        let words = |name: &[&str]| (0..4).map(|_| Stream::new(1, name).below(1000)).collect::<Vec<_>>();
        assert_eq!(words(&["a"]), words(&["a"]));
        let mut one = Stream::new(1, &["ab", "c"]);
        let mut other = Stream::new(1, &["a", "bc"]);
        assert_ne!(
            (0..8).map(|_| one.below(1000)).collect::<Vec<_>>(),
            (0..8).map(|_| other.below(1000)).collect::<Vec<_>>()
        );
        let mut order = Stream::new(2, &["x"]).shuffled(9);
        order.sort_unstable();
        assert_eq!(order, (0..9).collect::<Vec<_>>());
        let draws: Vec<i64> = {
            let mut stream = Stream::new(3, &["y"]);
            (0..200).map(|_| stream.between(-1, 1)).collect()
        };
        assert!([-1, 0, 1].iter().all(|x| draws.contains(x)) && draws.iter().all(|x| (-1..=1).contains(x)));
    }
}
