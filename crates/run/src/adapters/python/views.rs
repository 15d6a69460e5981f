//! Which calls of a Python function are put as views, known without asking it.

use qkvet_spec::Call;

/// Whether query, key and value are handed over as views, as `gets_views` of the worker decides it:
/// by the shapes of query and key, and where there are heads and positions to be exchanged.
pub fn gets_views(call: &Call) -> bool {
    let shapes = (&call.query.shape, &call.key.shape);
    let is_exchanged =
        |shape: &Vec<usize>| matches!(shape.as_slice(), [_, heads, n, ..] if *heads > 1 && *n > 1);
    // Both languages write lists alike.
    (is_exchanged(shapes.0) || is_exchanged(shapes.1))
        && crc32fast::hash(format!("{shapes:?}").as_bytes()) >> 31 == 1
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32fast::hash(b""), 0);
    }
}
