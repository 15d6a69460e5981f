//! How many of what, in words.

/// `1 variant`, `2 variants`: the noun in the singular, or with an s.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Points of a question or a sheet.
pub(crate) fn of_points(points: u32) -> String {
    counted(usize::try_from(points).unwrap_or(usize::MAX), "point")
}
