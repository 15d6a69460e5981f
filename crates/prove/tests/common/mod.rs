//! What tests of refuted statements share.

/// Extents of counterexamples are no larger.
pub(crate) const MAX_EXTENT: usize = 3;

/// The largest number of rows or columns among the matrices of a counterexample.
pub(crate) fn largest_extent(example: &str) -> usize {
    let matrices =
        example.lines().filter_map(|line| line.split_once(" = ")).map(|(_, value)| value);
    let rows = matrices.filter_map(|matrix| matrix.strip_prefix("[[")?.strip_suffix("]]"));
    rows.flat_map(|rows| {
        let rows: Vec<&str> = rows.split("], [").collect();
        let cols = rows.iter().map(|row| row.split(", ").count());
        cols.chain([rows.len()]).collect::<Vec<_>>()
    })
    .max()
    .unwrap_or(0)
}
