//! Numbers in ascending order as spans for people.

/// `0–3`, or `5`.
pub fn span([first, last]: [usize; 2]) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// `0–3, 5`, or `none`.
pub fn spans(numbers: &[usize]) -> String {
    if numbers.is_empty() {
        return "none".to_owned();
    }
    numbers
        .chunk_by(|one, next| one.checked_add(1) == Some(*next))
        .map(|row| span([row[0], row[row.len() - 1]]))
        .collect::<Vec<_>>()
        .join(", ")
}
