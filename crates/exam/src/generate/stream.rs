//! Random words: one `ChaCha8` stream for each thing that is drawn, by its name.
//!
//! A stream depends on the seed and the name alone, so that a part that is added or left out moves
//! no other draw.

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
}

/// Where choices come from.
pub(crate) trait Choose {
    /// A whole number below `n`; 0 for `n = 0`.
    fn below(&mut self, n: usize) -> usize;

    /// A whole number from `low` to `high`, both included.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(0);
        low + i64::try_from(self.below(span)).unwrap_or(0)
    }

    /// The numbers below `n` in some order.
    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for at in (1..n).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }
}

impl Choose for Stream {
    fn below(&mut self, n: usize) -> usize {
        Self::below(self, n)
    }
}

impl Stream {
    /// A whole number below `n`; 0 for `n = 0`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from((u128::from(self.0.next_u64()) * n as u128) >> 64).unwrap_or(0)
    }

    /// A whole number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        Choose::between(self, low, high)
    }

    /// The numbers below `n` in random order.
    pub fn shuffled(&mut self, n: usize) -> Vec<usize> {
        Choose::shuffled(self, n)
    }
}

/// All ways to choose, one after the other: the last choice changes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Odometer {
    /// What was chosen this time, and of how many.
    digits: Vec<(usize, usize)>,
    at: usize,
}

impl Choose for Odometer {
    fn below(&mut self, n: usize) -> usize {
        if self.at == self.digits.len() {
            self.digits.push((0, n));
        }
        self.at += 1;
        self.digits[self.at - 1].0
    }
}

impl Odometer {
    /// Goes on to the next way; `false` after the last.
    pub(crate) fn next(&mut self) -> bool {
        self.digits.truncate(self.at);
        self.at = 0;
        while let Some((digit, n)) = self.digits.pop() {
            if digit + 1 < n {
                self.digits.push((digit + 1, n));
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odometer_goes_through_all_ways_once() {
        let (mut odometer, mut all) = (Odometer::default(), Vec::new());
        loop {
            let first = odometer.below(3);
            // How many there are to choose from depends on what was chosen.
            all.push((first, odometer.below(first + 1), odometer.between(-1, 0)));
            if !odometer.next() {
                break;
            }
        }
        let expected: Vec<_> =
            (0..3).flat_map(|x| (0..=x).flat_map(move |y| [(x, y, -1), (x, y, 0)])).collect();
        assert_eq!(all, expected);
        assert!(!odometer.next());
        let mut orders = Vec::new();
        let mut odometer = Odometer::default();
        loop {
            orders.push(odometer.shuffled(4));
            if !odometer.next() {
                break;
            }
        }
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 24);
    }

    #[test]
    fn streams_are_pinned_and_apart() {
        let words =
            |name: &[&str]| (0..4).map(|_| Stream::new(1, name).below(1000)).collect::<Vec<_>>();
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
        assert!(
            [-1, 0, 1].iter().all(|x| draws.contains(x))
                && draws.iter().all(|x| (-1..=1).contains(x))
        );
    }
}
