//! Visible sets: predicates over `i`, `j`, extents, lengths, windows and tiles that stand for a part
//! of what hides keys, or join it.

use qkvet_spec::{
    CallOption, Causal, CountOf, MeaningPatch, Obedience, Twist, WindowBounds, WindowSide,
};

use super::word::{Words, expr};

/// Where query `i` stands among the keys, and what that costs beyond the plain ones.
const POSITIONS: [(&str, f64); 9] = [
    ("i", 0.0),
    ("i + n_k - n_q", 0.0),
    ("i + key_length - query_length", 1.0),
    ("i + n_q - n_k", 2.0),
    ("n_q - 1 - i", 2.0),
    ("n_k - 1 - i", 2.0),
    ("i + max(n_k - n_q, 0)", 2.0),
    ("i + key_length - n_q", 2.0),
    ("i + n_k - query_length", 2.0),
];

pub(super) fn add(words: &mut Words<'_>) {
    causal(words);
    window(words);
    window_loops(words);
    lengths(words);
    also(words);
    let shift = |by: i64| match by {
        0 => String::new(),
        by if by < 0 => format!(" - {}", -by),
        by => format!(" + {by}"),
    };
    for by in [-2i64, -1, 1, 2] {
        let bits = if by.abs() == 1 { 3.0 } else { 5.0 };
        let causal_offset = Some(by);
        let patch = MeaningPatch { causal_offset, ..MeaningPatch::default() };
        words.meaning(&[CallOption::Causal], bits, patch);
        let patch = MeaningPatch { key_length_offset: Some(by), ..MeaningPatch::default() };
        words.meaning(&[CallOption::KeyLengths], bits, patch);
        let keys = expr(&format!("n_k{}", shift(by)));
        words.meaning(&[], bits + 1.0, MeaningPatch { keys, ..MeaningPatch::default() });
    }
}

/// `j REL position + k`, and its tiles.
fn diagonals(tiles: &[usize]) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for (position, cost) in POSITIONS {
        for relation in ["<=", ">=", ">", "<"] {
            for by in -2i64..=2 {
                let by_text = match by {
                    0 => String::new(),
                    by if by < 0 => format!(" - {}", -by),
                    by => format!(" + {by}"),
                };
                let bits = 5.0 + cost + 2.0 * by.unsigned_abs() as f64;
                all.push((format!("j {relation} {position}{by_text}"), bits));
            }
        }
    }
    for t in tiles {
        for (position, _) in &POSITIONS[..2] {
            all.push((format!("j / {t} <= ({position}) / {t}"), 9.0));
            all.push((format!("j / {t} < ({position}) / {t}"), 10.0));
            all.push((format!("j % {t} <= ({position}) % {t}"), 11.0));
            all.push((format!("j <= {position} or j < {t}"), 10.0));
            all.push((format!("j <= {position} + {t}"), 10.0));
        }
        all.push((format!("j <= i % {t} + n_k - n_q"), 10.0));
        all.push((format!("j <= i / {t} * {t} + {t} - 1 + n_k - n_q"), 9.0));
    }
    all.push(("j == i + n_k - n_q".to_owned(), 8.0));
    all.push(("j != i + n_k - n_q".to_owned(), 8.0));
    all.push(("j == 0".to_owned(), 7.0));
    all
}

fn causal(words: &mut Words<'_>) {
    let tiles = words.scope.tiles.clone();
    for (atom, bits) in diagonals(&tiles) {
        let patch = MeaningPatch {
            causal: Some(Causal::Ignored),
            unseen: expr(&format!("causal and not ({atom})")),
            ..MeaningPatch::default()
        };
        words.meaning(&[CallOption::Causal], bits + 2.0, patch);
        let patch =
            MeaningPatch { unseen: expr(&format!("not ({atom})")), ..MeaningPatch::default() };
        words.meaning(&[], bits + 4.0, patch);
    }
    let mut rows: Vec<(String, f64)> = [
        ("i / (h_q / h_k)", 6.0),
        ("i % (h_q / h_k)", 7.0),
        ("i * (h_q / h_k)", 7.0),
        ("i * (h_q / h_k) + h % (h_q / h_k)", 8.0),
        ("(i * (h_q / h_k) + h % (h_q / h_k)) % n_q", 9.0),
        ("(i * (h_q / h_k) + h % (h_q / h_k)) % query_length", 10.0),
        ("(h % (h_q / h_k) * n_q + i) / (h_q / h_k)", 9.0),
        ("(i * h_q + h) % n_q", 9.0),
        ("i / 2", 6.0),
        ("2 * i", 6.0),
        ("i / h_q", 7.0),
        ("i + h", 8.0),
        ("i + item", 8.0),
        ("0", 5.0),
        ("n_q - 1", 5.0),
    ]
    .map(|(text, bits)| (text.to_owned(), bits))
    .to_vec();
    for t in &tiles {
        let all =
            [format!("i / {t} * {t}"), format!("i / {t} * {t} + {t} - 1"), format!("i % {t}")];
        rows.extend(all.map(|row| (row, 8.0)));
    }
    for (row, bits) in rows {
        // The same for the window, whose row has no field of its own.
        let at = format!("{row} + n_k - n_q");
        let beyond = format!("j < {at} - window_left or j > {at} + window_right");
        let patch = MeaningPatch {
            causal: Some(Causal::Ignored),
            window: Some(WindowBounds::Ignored),
            unseen: expr(&format!("causal and j > {at} or window and ({beyond})")),
            ..MeaningPatch::default()
        };
        words.meaning(&[CallOption::Window], bits + 1.0, patch);
        let patch = MeaningPatch { causal_row: expr(&row), ..MeaningPatch::default() };
        words.meaning(&[CallOption::Causal], bits, patch);
    }
    loops(words);
    stages(words);
}

/// Loops of two stages, the first without a test: where it ends too late it shows keys, and those
/// that the second one sees too count twice.
fn stages(words: &mut Words<'_>) {
    let scope = words.scope;
    for t in scope.powers() {
        for s in scope.powers() {
            let first = format!("(i / {t} * {t} + n_k - n_q)");
            let end = format!("({first} + {s} - 1) / {s} * {s}");
            for (begin, bits) in [(first.clone(), 11.0), (format!("{first} / {s} * {s}"), 12.0)] {
                let both = format!("j >= {begin} and j < {end} and j <= i + n_k - n_q");
                let twice = format!("1 + (causal and {both})");
                let counts = |times| Twist::Counts { times, of: CountOf::Both };
                let shown = expr(&format!("causal and j < {end}"));
                let patch = MeaningPatch { shown, ..MeaningPatch::default() };
                words.add(&[CallOption::Causal], bits, patch, expr(&twice).map(counts));
            }
        }
    }
}

/// Where the last query of a tile of `t` stands among the keys.
fn last_row(t: usize) -> String {
    format!("(min(i / {t} * {t} + {t}, n_q) - 1 + n_k - n_q)")
}

/// Loops over tiles of keys that end by the first or the last row of a tile of queries: what ends
/// too early hides keys, and without another test, or with one in the last tile alone, keys are shown
/// that should not be.
fn loops(words: &mut Words<'_>) {
    let scope = words.scope;
    for t in scope.powers() {
        for s in scope.powers() {
            let first = format!("(i / {t} * {t} + n_k - n_q) / {s} * {s} + {s}");
            let last = format!(
                "(min(i / {t} * {t} + {t}, query_length) + key_length - query_length - 1) / {s} * {s} + {s}"
            );
            let row = last_row(t);
            let rounded = format!("({row} + {s} - 1) / {s} * {s}");
            for end in [first, rounded] {
                let unseen = expr(&format!("causal and j >= {end}"));
                let patch = MeaningPatch { unseen, ..MeaningPatch::default() };
                words.meaning(&[CallOption::Causal], 11.0, patch);
            }
            let beyond = format!("j > i + n_k - n_q and j >= ({row}) / {s} * {s}");
            for unseen in [format!("causal and j >= {last}"), format!("causal and {beyond}")] {
                let patch = MeaningPatch {
                    causal: Some(Causal::Ignored),
                    unseen: expr(&unseen),
                    ..MeaningPatch::default()
                };
                words.meaning(&[CallOption::Causal], 11.0, patch);
            }
        }
    }
}

/// Loops over tiles of `s` keys that `t` queries share, of windows and masks: what begins too late or
/// ends too early hides keys; tiles in which nothing else is tested show them.
fn window_loops(words: &mut Words<'_>) {
    let scope = words.scope;
    let none = MeaningPatch::default;
    for t in scope.powers() {
        let first = format!("(i / {t} * {t} + n_k - n_q)");
        let last = last_row(t);
        for s in scope.powers() {
            let begin = |row: &str| format!("max({row} - window_left, 0) / {s} * {s}");
            let tiles = format!("(min(n_k, window_left + {t}) + {s} - 1) / {s} * {s}");
            for hidden in [
                format!("j < {}", begin(&last)),
                format!("j < ({first} - window_left + {s} - 1) / {s} * {s}"),
                format!("j >= ({first} + window_right) / {s} * {s} + {s}"),
                format!("j >= ({last} + window_right + 1) / {s} * {s}"),
                format!("j >= {last} / {s} * {s} + {s}"),
                format!("j >= max({first} - window_left, 0) + {tiles}"),
                format!("j >= {} + {tiles}", begin(&first)),
            ] {
                let unseen = expr(&format!("window and {hidden}"));
                words.meaning(&[CallOption::Window], 11.0, MeaningPatch { unseen, ..none() });
            }
            let end = format!("({last} + window_right) / {s} * {s} + {s}");
            let patch = MeaningPatch {
                window: Some(WindowBounds::Ignored),
                unseen: expr(&format!("window and (j < {} or j >= {end})", begin(&first))),
                ..none()
            };
            words.meaning(&[CallOption::Window], 11.0, patch);
            // Tiles wholly below the causal limit of the first row are taken as they are.
            let whole = format!(
                "causal and window and j >= {} and j < min({first} + 1, n_k) / {s} * {s}",
                begin(&first)
            );
            let patch = MeaningPatch { shown: expr(&whole), ..none() };
            words.meaning(&[CallOption::Window, CallOption::Causal], 11.0, patch);
            let shown = expr(&format!("mask and j < {first} / {s} * {s}"));
            words.meaning(&[CallOption::Mask], 11.0, MeaningPatch { shown, ..none() });
        }
    }
}

fn window(words: &mut Words<'_>) {
    for (position, cost) in POSITIONS {
        let (left, right) =
            (format!("{position} - window_left"), format!("{position} + window_right"));
        let patch = MeaningPatch {
            window: Some(WindowBounds::Ignored),
            unseen: expr(&format!("window and (j < {left} or j > {right})")),
            ..MeaningPatch::default()
        };
        words.meaning(&[CallOption::Window], 6.0 + cost, patch);
    }
    let ignored = Some(WindowSide::Ignored);
    let tiles = words.scope.tiles.clone();
    let sides =
        [("window_left", "window_right", "-", "<"), ("window_right", "window_left", "+", ">")];
    for (side, other, sign, beyond) in sides {
        let mut add = |bits: f64, atom: String| {
            let unseen = expr(&format!("window and ({atom})"));
            let patch = match side {
                "window_left" => {
                    MeaningPatch { window_left: ignored, unseen, ..MeaningPatch::default() }
                }
                _ => MeaningPatch { window_right: ignored, unseen, ..MeaningPatch::default() },
            };
            words.meaning(&[CallOption::Window], bits, patch);
        };
        let widths = [
            (side.to_owned(), 0.0),
            (other.to_owned(), 2.0),
            (format!("{side} / 2"), 2.0),
            (format!("2 * {side}"), 2.0),
            ("0".to_owned(), 2.0),
        ];
        for (position, cost) in &POSITIONS[..5] {
            for (width, more) in &widths {
                for by in -2i64..=2 {
                    let bits = 7.0 + cost + more + 2.0 * by.unsigned_abs() as f64;
                    add(bits, format!("j {beyond} {position} {sign} {width} + {by}"));
                }
            }
        }
        // A buffer of the last keys, whose slots are taken for positions.
        if side == "window_left" {
            let gone = "j < key_length - window_left - 1";
            add(9.0, gone.to_owned());
            add(9.0, format!("causal and ({gone} or j % (window_left + 1) > i + n_k - n_q)"));
        }
        for t in &tiles {
            for (position, _) in &POSITIONS[..2] {
                add(11.0, format!("j / {t} {beyond} ({position} {sign} {side}) / {t}"));
            }
        }
    }
}

fn lengths(words: &mut Words<'_>) {
    let mut ends: Vec<(String, f64)> = vec![
        ("query_length".to_owned(), 3.0),
        ("n_k - key_length".to_owned(), 3.0),
        ("key_length / 2".to_owned(), 3.0),
        ("key_length + query_length".to_owned(), 3.0),
        ("max(key_length, 1)".to_owned(), 3.0),
    ];
    for t in &words.scope.tiles {
        ends.push((format!("(key_length + {}) / {t} * {t}", t - 1), 5.0));
        ends.push((format!("key_length / {t} * {t}"), 5.0));
        ends.push((format!("min(key_length, {t})"), 6.0));
        ends.push((format!("key_length - (key_length % {t} == 0) * {t}"), 7.0));
    }
    for (end, bits) in ends {
        let at = "i + key_length - query_length";
        let past = format!("causal and j > {at}");
        let beyond = format!("window and (j < {at} - window_left or j > {at} + window_right)");
        let patch = MeaningPatch {
            key_lengths: Some(Obedience::Ignored),
            causal: Some(Causal::Ignored),
            window: Some(WindowBounds::Ignored),
            unseen: expr(&format!("key_lengths and j >= {end} or {past} or {beyond}")),
            ..MeaningPatch::default()
        };
        words.meaning(&[CallOption::KeyLengths], 4.0 + bits, patch);
    }
}

/// What hides more keys.
fn also(words: &mut Words<'_>) {
    let mut atoms: Vec<(String, f64)> = Vec::new();
    for end in [
        "n_k - n_q",
        "n_k - n_q - 1",
        "h_k",
        "b",
        "n_k - 1",
        "n_k - 2",
        "n_k / 2",
        "n_q",
        "d_k",
        "d_v",
        "n_k / 2 * 2",
        "0",
        "h_q",
        "1",
    ] {
        for relation in [">=", "==", "<=", "<", ">"] {
            atoms.push((format!("j {relation} {end}"), 6.0));
        }
    }
    for t in &words.scope.tiles {
        atoms.extend([
            (format!("j >= {t}"), 7.0),
            (format!("j < n_k - {t}"), 8.0),
            (format!("j >= n_k / {t} * {t}"), 7.0),
            (format!("j >= max({t}, n_k / {t} * {t})"), 8.0),
            (format!("j >= n_k - (n_k % {t} == 0) * {t}"), 9.0),
            (format!("j < {t}"), 8.0),
            (format!("j == {t}"), 9.0),
            (format!("j / {t} == i / {t}"), 10.0),
            (format!("j / {t} != i / {t}"), 9.0),
            (format!("j / {t} == (n_k - 1) / {t}"), 9.0),
            (format!("j < {t} and n_k > {t}"), 9.0),
            (format!("j % {t} != 0"), 9.0),
            (format!("(i + j) % {t} != 0"), 10.0),
            (format!("j / {t} % 2 == 1"), 9.0),
        ]);
        let mut rests = vec![0, 1, t - 1, t / 2];
        rests.dedup();
        for rest in rests {
            atoms.push((format!("j % {t} == {rest}"), 8.0));
            atoms.push((format!("j % {t} == {rest} and j >= {t}"), 10.0));
        }
        atoms.push((format!("j > i + n_k - n_q + {t}"), 9.0));
        atoms.push((format!("j < i + n_k - n_q - {t}"), 9.0));
    }
    for limit in [256, 512, 1024] {
        atoms.push((format!("j >= {limit}"), 8.0));
    }
    for t in words.scope.tiles.iter().filter(|t| *t % 4 == 0) {
        for s in words.scope.tiles.iter().filter(|s| *s % 4 == 0 && *s < t) {
            atoms.push((format!("j % {t} >= {s}"), 10.0));
        }
    }
    // Rows that see nothing.
    let none = MeaningPatch::default;
    for row in ["i >= key_length", "i + n_k - n_q >= key_length"] {
        let unseen = expr(&format!("key_lengths and {row}"));
        words.meaning(&[CallOption::KeyLengths], 7.0, MeaningPatch { unseen, ..none() });
    }
    for row in ["i >= n_k", "i == 0", "i == n_q - 1", "i >= n_q / 2"] {
        atoms.push((row.to_owned(), 6.0));
    }
    for t in &words.scope.tiles {
        atoms.extend([
            (format!("i >= {t}"), 7.0),
            (format!("i >= n_q / {t} * {t}"), 7.0),
            (format!("i >= max({t}, n_q / {t} * {t})"), 8.0),
            (format!("i % {t} == {t} - 1"), 8.0),
            (format!("i / {t} == (n_q - 1) / {t}"), 9.0),
        ]);
    }
    for (atom, bits) in atoms {
        words.meaning(&[], bits + 2.0, MeaningPatch { unseen: expr(&atom), ..none() });
    }
    // Tiles below the causal diagonal of as many queries, in which nothing else is looked at.
    for t in words.scope.tiles.clone() {
        let position = format!("(i / {t} * {t} + n_k - n_q)");
        for (end, more) in
            [(format!("{position} / {t}"), 0.0), (format!("({position} + 1) / {t}"), 1.0)]
        {
            let below = format!("causal and j / {t} < {end}");
            let none = MeaningPatch::default;
            let shown = expr(&format!("{below} and mask"));
            words.meaning(&[CallOption::Mask], 9.0 + more, MeaningPatch { shown, ..none() });
            let first = format!("max({position} - window_left, 0) / {t}");
            let shown = expr(&format!("{below} and window and j / {t} >= {first}"));
            words.meaning(&[CallOption::Window], 10.0 + more, MeaningPatch { shown, ..none() });
        }
    }
    // Keys that are hidden and should not count, seen.
    for (atom, bits) in [
        ("j == n_k - 1", 5.0),
        ("j == 0", 5.0),
        ("j == i + n_k - n_q", 5.0),
        ("j == key_length", 6.0),
    ] {
        let none = MeaningPatch::default;
        words.meaning(&[], bits, MeaningPatch { shown: expr(atom), ..none() });
    }
    for t in words.scope.tiles.clone() {
        let none = MeaningPatch::default;
        let zero_keys = expr(&format!("({t} - n_k % {t}) % {t}"));
        for (behind, more) in behind() {
            words.meaning(&[], 8.0 + more, MeaningPatch { zero_keys: zero_keys.clone(), ..behind });
        }
        words.meaning(&[], 7.0, MeaningPatch { zero_keys, ..none() });
        let zero_keys = expr(&format!("({t} - key_length % {t}) % {t}"));
        words.meaning(&[], 8.0, MeaningPatch { zero_keys, ..none() });
        let parts = format!("(n_k + {0}) / {t} - (key_length + {0}) / {t}", t - 1);
        let zero_keys = expr(&parts);
        words.meaning(&[CallOption::KeyLengths], 8.0, MeaningPatch { zero_keys, ..none() });
        // Those that the diagonal and the window show.
        let padding = format!("({t} - n_k % {t}) % {t}");
        let reached = format!("max(min({padding}, i - n_q + 1 + window_right), 0)");
        for (zero_keys, bits) in [
            (format!("(not causal) * ({padding})"), 8.0),
            (reached.clone(), 8.0),
            (format!("(not causal) * {reached}"), 9.0),
        ] {
            words.meaning(&[], bits, MeaningPatch { zero_keys: expr(&zero_keys), ..none() });
        }
    }
    // Parts that are merged two and two, and what has no partner.
    for t in words.scope.tiles.clone().into_iter().filter(|t| *t > 3) {
        let parts = format!("(n_k + {}) / {t}", t - 1);
        let pairs = format!("max({t}, {parts} / 2 * 2 * {t})");
        let power = format!("next_power_of_two({parts} + 1) / 2 * {t}");
        for (keys, bits) in [(power, 8.0), (pairs, 9.0)] {
            words.meaning(&[], bits, MeaningPatch { keys: expr(&keys), ..none() });
        }
    }
    let zero_keys = expr("next_power_of_two(n_k) - n_k");
    words.meaning(&[], 8.0, MeaningPatch { zero_keys, ..none() });
    for n in ["1", "2", "n_k", "n_q"] {
        let none = MeaningPatch::default;
        words.meaning(&[], 5.0, MeaningPatch { zero_keys: expr(n), ..none() });
    }
}

/// Keys behind the last are those of the next item, or of the next head.
pub(in crate::identify) fn behind() -> [(MeaningPatch, f64); 2] {
    let next = |key_item: &str, head: Option<&str>| MeaningPatch {
        key_item: expr(key_item),
        key_head: head.and_then(expr),
        value_head: head.and_then(expr),
        key_index: expr("j % n_k"),
        value_index: expr("j % n_k"),
        ..MeaningPatch::default()
    };
    let heads = next("item + (h / (h_q / h_k) + j / n_k) / h_k", Some("(h + j / n_k) % h_k"));
    [(next("item + j / n_k", None), 1.0), (heads, 2.0)]
}
