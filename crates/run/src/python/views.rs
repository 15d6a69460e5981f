//! Which calls of a Python function are put as views, known without asking it.

use qkvet_spec::Call;

/// Whether query, key and value are handed over as views, as `gets_views` of the worker decides it: by the shapes of query and key,
/// and where there are heads and positions to be exchanged.
pub(crate) fn gets_views(call: &Call) -> bool {
    let shapes = (&call.query.shape, &call.key.shape);
    let is_exchanged = |shape: &Vec<usize>| matches!(shape.as_slice(), [_, heads, n, ..] if *heads > 1 && *n > 1);
    // Both languages write lists alike.
    (is_exchanged(shapes.0) || is_exchanged(shapes.1)) && crc32(format!("{shapes:?}").as_bytes()) >> 31 == 1
}

/// The checksum of zlib.
fn crc32(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shifted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
