//! Tables of Markdown, and what programs print round arrays.

use std::borrow::Cow;

/// Text whose tables are rows between semicolons, without lines and words that programs print round
/// arrays.
pub(super) fn plain_lines(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if let Some(table) = markdown(text) {
        return Cow::Owned(table);
    }
    let lines = text.split_once('\n').map_or("", |(first, _)| first).trim_end();
    let is_head = lines.ends_with(':')
        && ["Matrix{", "Vector{", "Array{"].iter().any(|kind| lines.contains(kind));
    // `3×3 Matrix{Int64}:`
    let text = if is_head { &text[lines.len()..] } else { text };
    if let Some((before, rest)) = text.split_once("grad_fn=<")
        && let Some((_, behind)) = rest.split_once('>')
    {
        return Cow::Owned(format!("{}{behind}", before.trim_end().trim_end_matches(',')));
    }
    match text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        Some(inner) if !inner.contains(['<', '>']) => Cow::Owned(format!("({inner})")),
        _ => Cow::Borrowed(text),
    }
}

/// The rows of a table, without a head and without names of rows.
fn markdown(text: &str) -> Option<String> {
    let mut rows: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let inner = line.strip_prefix('|')?.strip_suffix('|')?;
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        if !cells
            .iter()
            .all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')))
        {
            rows.push(cells);
        }
    }
    let is_word =
        |cell: &&str| !cell.starts_with(|c: char| c.is_ascii_digit() || "+-−.½¼¾√\\(".contains(c));
    if rows.len() > 1 && rows[0].iter().all(is_word) {
        rows.remove(0);
    }
    if rows.iter().all(|row| row.len() > 1 && row.first().is_some_and(is_word)) {
        rows.iter_mut().for_each(|row| {
            row.remove(0);
        });
    }
    // A line of its own between bars is no table.
    (rows.len() > 1).then(|| {
        let rows: Vec<String> = rows.iter().map(|row| format!("[{}]", row.join(", "))).collect();
        format!("[{}]", rows.join(", "))
    })
}
