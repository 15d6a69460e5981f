//! Fewer of many.

/// At most `most` of `all`, spread evenly over them, the first among them.
pub fn sample_evenly<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(most).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_all_and_many_are_thinned_evenly() {
        let of =
            |n: usize| sample_evenly(&(0..n).collect::<Vec<_>>(), 4).copied().collect::<Vec<_>>();
        assert_eq!(of(0), [0; 0]);
        assert_eq!(of(4), [0, 1, 2, 3]);
        assert_eq!(of(9), [0, 3, 6]);
    }
}
