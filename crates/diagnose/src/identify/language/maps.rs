//! Maps of batch items, heads, rows and columns: what is read in another place.

use qkvet_spec::{CallOption, IndexExpr, MeaningPatch, Twist};

use super::word::{Words, expr};

/// Another index below `n` for an index `x`.
fn maps(x: &str, n: &str, tiles: &[usize]) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = vec![
        ("0".to_owned(), 2.0),
        (format!("{n} - 1"), 3.0),
        (format!("{n} - 1 - {x}"), 3.0),
        (format!("({x} + 1) % {n}"), 4.0),
        (format!("({x} + {n} - 1) % {n}"), 4.0),
        (format!("min({x} + 1, {n} - 1)"), 5.0),
        (format!("max({x} - 1, 0)"), 5.0),
        (format!("{x} / 2"), 5.0),
        (format!("2 * {x} % {n}"), 5.0),
        (format!("min({x} + 1 - 2 * ({x} % 2), {n} - 1)"), 6.0),
        (format!("({x} + {n} / 2) % {n}"), 6.0),
    ];
    for m in tiles {
        all.push((format!("{x} % {m}"), 6.0));
        all.push((format!("{x} / {m} * {m}"), 7.0));
        all.push((format!("min({x}, {})", m - 1), 7.0));
        all.push((format!("min({x} / {m} * {m} + {m}, {n}) - 1 - {x} % {m}"), 9.0));
        all.push((format!("{x} / {m} % 4 * {m} + {x} % {m}"), 10.0));
        // The last tile begins where a whole one would end with the last.
        all.push((
            format!("{x} - ({x} >= {n} / {m} * {m}) * ({n} >= {m}) * ({m} - {n} % {m})"),
            9.0,
        ));
    }
    for k in 2..=4 {
        all.push((format!("{x} % (({n} + {}) / {k})", k - 1), 7.0));
    }
    // Laid out as a matrix with so many rows or columns, and read along the other side.
    for k in [2, 4, 8, 16] {
        all.push((format!("({x} % {k} * ({n} / {k}) + {x} / {k}) % {n}"), 8.0));
        all.push((format!("({x} % max({n} / {k}, 1) * {k} + {x} / max({n} / {k}, 1)) % {n}"), 8.0));
    }
    // Items know of nothing else, heads of the number of key heads alone: a remainder by another
    // extent would be a condition in the guise of a map.
    if n == "h_q" {
        all.push(("h / (h_q / h_k)".to_owned(), 5.0));
        all.push(("h % (h_q / h_k)".to_owned(), 6.0));
    }
    let others: &[&str] = match x {
        "item" => &[],
        "h" => &["h_k"],
        _ => &["b", "h_q", "h_k", "n_q", "n_k", "d_k", "d_v"],
    };
    for other in others.iter().filter(|other| **other != n) {
        all.push((format!("{x} % {other}"), 7.0));
        all.push((format!("{x} / {other}"), 8.0));
    }
    all
}

type Field = fn(&mut MeaningPatch) -> &mut Option<IndexExpr>;

pub(super) fn add(words: &mut Words<'_>) {
    let tiles = words.scope.tiles.clone();
    let (few, all): (&[usize], &[usize]) = (&[2, 3, 4], &tiles);
    let mut map =
        |needs: &[CallOption], x: &str, n: &str, tiles: &[usize], fields: &[Field], more: f64| {
            for (text, bits) in maps(x, n, tiles) {
                let mut patch = MeaningPatch::default();
                fields.iter().for_each(|field| *field(&mut patch) = expr(&text));
                words.meaning(needs, bits + more, patch);
            }
        };
    let none: &[CallOption] = &[];
    map(none, "item", "b", few, &[|it| &mut it.query_item], 3.0);
    map(none, "item", "b", few, &[|it| &mut it.key_item], 2.0);
    map(none, "item", "b", few, &[|it| &mut it.query_item, |it| &mut it.key_item], 3.0);
    map(none, "h", "h_q", few, &[|it| &mut it.query_head], 3.0);
    map(none, "h", "h_k", few, &[|it| &mut it.key_head], 3.0);
    map(none, "h", "h_k", few, &[|it| &mut it.value_head], 3.0);
    map(none, "h", "h_k", few, &[|it| &mut it.key_head, |it| &mut it.value_head], 3.0);
    map(none, "h", "h_q", few, &[|it| &mut it.output_head], 3.0);
    map(none, "i", "n_q", all, &[|it| &mut it.query_index], 3.0);
    map(none, "i", "n_q", all, &[|it| &mut it.output_row], 3.0);
    map(none, "j", "n_k", all, &[|it| &mut it.key_index], 3.0);
    map(none, "j", "n_k", all, &[|it| &mut it.value_index], 3.0);
    map(none, "j", "n_k", all, &[|it| &mut it.key_index, |it| &mut it.value_index], 2.0);
    map(none, "c", "d_k", all, &[|it| &mut it.query_column], 3.0);
    map(none, "c", "d_v", all, &[|it| &mut it.output_column], 3.0);
    let axes = [("item", "b", few), ("h", "h_q", few), ("i", "n_q", all), ("j", "n_k", all)];
    for (option, fields) in [(CallOption::Mask, MASK), (CallOption::Bias, BIAS)] {
        for (field, (x, n, tiles)) in fields.into_iter().zip(axes) {
            map(&[option], x, n, tiles, &[field], 3.0);
        }
    }
    map(&[CallOption::Sinks], "h", "h_q", few, &[|it| &mut it.sink_head], 3.0);
    map(&[CallOption::AlibiSlopes], "h", "h_q", few, &[|it| &mut it.alibi_head], 3.0);
    map(&[CallOption::KeyLengths], "item", "b", few, &[|it| &mut it.length_item], 3.0);
    map(&[CallOption::QueryLengths], "item", "b", few, &[|it| &mut it.length_item], 3.0);
    for (option, [item, head, row, key]) in [(CallOption::Mask, MASK), (CallOption::Bias, BIAS)] {
        let mut transposed = MeaningPatch::default();
        *row(&mut transposed) = expr("j");
        *key(&mut transposed) = expr("i");
        words.meaning(&[option], 5.0, transposed);
        for (text, bits) in [
            ("(item * h_q + h) % b", 6.0),
            ("item * h_q % b", 7.0),
            ("item * h_k % b", 7.0),
            ("h % b", 6.0),
            ("i % b", 7.0),
        ] {
            let mut other = MeaningPatch::default();
            *item(&mut other) = expr(text);
            words.meaning(&[option], bits, other);
        }
        for (text, bits) in [("item % h_q", 6.0), ("i % h_q", 7.0), ("(h + item) % h_q", 7.0)] {
            let mut other = MeaningPatch::default();
            *head(&mut other) = expr(text);
            words.meaning(&[option], bits, other);
        }
        for (text, bits) in [("item", 6.0), ("h", 7.0), ("j", 7.0)] {
            let mut other = MeaningPatch::default();
            *row(&mut other) = expr(text);
            words.meaning(&[option], bits, other);
        }
        // Items that are as far apart as if the tensor had all heads: beyond its end there is
        // nothing.
        for (base, bits) in [("item * h_q", 8.0), ("item * h_k", 9.0), ("item * h_q + h", 9.0)] {
            let mut apart = MeaningPatch::default();
            *item(&mut apart) = expr(&format!("({base}) % b"));
            past_end(words, option, bits, apart, &format!("{base} >= b"), false);
        }
        // The copy of one head with queries and keys exchanged, read in rows of as many numbers as
        // it has queries.
        let name = option.name();
        let mut copied = MeaningPatch::default();
        *row(&mut copied) = expr(&format!("j % {name}_queries"));
        *key(&mut copied) = expr(&format!("i + j / {name}_queries"));
        past_end(words, option, 10.0, copied, &format!("i + j / {name}_queries >= n_k"), true);
        // The transposed copy, read as if it were none.
        let at = "(i * n_k + j)";
        let mut scrambled = MeaningPatch::default();
        *row(&mut scrambled) = expr(&format!("{at} % {name}_queries"));
        *key(&mut scrambled) = expr(&format!("{at} / {name}_queries"));
        past_end(words, option, 10.0, scrambled, &format!("{at} / {name}_queries >= n_k"), true);
        // The one row of a head is read on into what stands behind it.
        let [items, heads] = ["items", "heads"].map(|axis| format!("{name}_{axis}"));
        let own = format!("item * ({items} > 1) * {heads} + h * ({heads} > 1)");
        let at = format!("({own} + i * ({name}_queries == 1))");
        let mut on = MeaningPatch::default();
        *item(&mut on) = expr(&format!("{at} / {heads}"));
        *head(&mut on) = expr(&format!("{at} % {heads}"));
        past_end(words, option, 10.0, on, &format!("{at} >= {items} * {heads}"), true);
        for (of_item, of_head) in [
            ("(item * h_q + h) % b", "(item * h_q + h) / b"),
            ("(h * b + item) / h_q", "(h * b + item) % h_q"),
        ] {
            let mut exchanged = MeaningPatch::default();
            *item(&mut exchanged) = expr(of_item);
            *head(&mut exchanged) = expr(of_head);
            words.meaning(&[option], 7.0, exchanged);
        }
    }
    // The output is stored with two axes the other way round, or read like that: heads and rows,
    // items and heads, items and the heads of a group, items and rows.
    let group = "(item * (h_q / h_k) + h % (h_q / h_k))";
    let first = "h / (h_q / h_k) * (h_q / h_k)";
    for (item, head, row, bits) in [
        ("item", "(h * n_q + i) % h_q", "(h * n_q + i) / h_q", 7.0),
        ("item", "(i * h_q + h) / n_q", "(i * h_q + h) % n_q", 7.0),
        ("(item * h_q + h) % b", "(item * h_q + h) / b", "i", 7.0),
        ("(h * b + item) / h_q", "(h * b + item) % h_q", "i", 7.0),
        ("(i * b + item) / n_q", "h", "(i * b + item) % n_q", 8.0),
        (&*format!("{group} % b"), &*format!("{first} + {group} / b"), "i", 9.0),
        ("(item * n_q + i) % b", "h", "(item * n_q + i) / b", 8.0),
    ] {
        let changed = |text: &str, own: &str| (text != own).then(|| expr(text)).flatten();
        let exchanged = MeaningPatch {
            output_item: changed(item, "item"),
            output_head: changed(head, "h"),
            output_row: changed(row, "i"),
            ..MeaningPatch::default()
        };
        words.meaning(&[], bits, exchanged);
    }
    // The items of packed rows are one row apart, or as many as there are of the others.
    for (base, bits) in [("item", 8.0), ("item * n_k", 9.0), ("item * h_q", 9.0)] {
        words.meaning(&[], bits, packed_queries(base));
    }
    for (base, bits) in [("item", 8.0), ("item * h_k", 9.0)] {
        words.meaning(&[], bits, packed_keys(base));
    }
    // Items of packed keys and values begin where those of the queries do, and are as long.
    let unseen = expr("j >= n_q or item * n_q + j >= b * n_k");
    words.meaning(&[], 9.0, MeaningPatch { unseen, ..packed_keys("item * n_q") });
    // What gathers the mask gathers the bias too.
    let both = [CallOption::Mask, CallOption::Bias];
    if both.into_iter().all(|option| words.scope.options.contains(option)) {
        for ((mask, bias), (x, _, tiles)) in MASK.into_iter().zip(BIAS).zip(axes) {
            let tiled = tiles.iter().map(|m| (format!("{x} / {m} * {m}"), 7.0));
            for (text, bits) in [("0".to_owned(), 2.0)].into_iter().chain(tiled) {
                let mut patch = MeaningPatch::default();
                *mask(&mut patch) = expr(&text);
                *bias(&mut patch) = expr(&text);
                words.meaning(&[], bits + 4.0, patch);
            }
        }
    }
    heads(words);
    widths(words, &tiles);
    turns(words, &tiles);
    shifted(words);
}

const MASK: [Field; 4] =
    [|it| &mut it.mask_item, |it| &mut it.mask_head, |it| &mut it.mask_row, |it| &mut it.mask_key];
const BIAS: [Field; 4] =
    [|it| &mut it.bias_item, |it| &mut it.bias_head, |it| &mut it.bias_row, |it| &mut it.bias_key];

/// Packed queries whose items begin at this row.
fn packed_queries(base: &str) -> MeaningPatch {
    MeaningPatch {
        query_item: expr(&format!("({base} + i) / n_q % b")),
        query_index: expr(&format!("({base} + i) % n_q")),
        ..MeaningPatch::default()
    }
}

/// Packed keys and values whose items begin at this row.
fn packed_keys(base: &str) -> MeaningPatch {
    let index = || expr(&format!("({base} + j) % n_k"));
    MeaningPatch {
        key_item: expr(&format!("({base} + j) / n_k % b")),
        key_index: index(),
        value_index: index(),
        ..MeaningPatch::default()
    }
}

/// Adds another place where a mask or a bias is read, beyond whose end there is nothing: a bias of
/// 0, and keys that are seen or not.
fn past_end(
    words: &mut Words<'_>,
    option: CallOption,
    bits: f64,
    mut place: MeaningPatch,
    beyond: &str,
    is_seen: bool,
) {
    let mut twist = None;
    match (option, is_seen) {
        (CallOption::Mask, true) => {
            let own = "not (causal and j > i + n_k - n_q)";
            place.shown = expr(&format!("mask and {beyond} and {own}"));
        }
        (CallOption::Mask, false) => place.unseen = expr(&format!("mask and {beyond}")),
        _ => {
            let zero = expr(beyond).zip(expr("0"));
            twist = zero.map(|(cells, value)| Twist::BiasCells { cells, value });
        }
    }
    words.add(&[option], bits, place, twist);
}

/// Key/value heads of query heads: of both, of keys, of values.
fn heads(words: &mut Words<'_>) {
    let group = "(h_q / h_k)";
    for (text, bits) in [
        ("h % h_k".to_owned(), 4.0),
        ("0".to_owned(), 3.0),
        ("h_k - 1".to_owned(), 4.0),
        ("min(h, h_k - 1)".to_owned(), 5.0),
        (format!("h_k - 1 - h / {group}"), 6.0),
        ("h_k - 1 - h % h_k".to_owned(), 7.0),
        (format!("(h / {group} + 1) % h_k"), 7.0),
        (format!("(h / {group} + h_k - 1) % h_k"), 7.0),
        ("h / h_k % h_k".to_owned(), 6.0),
        ("h / 2 % h_k".to_owned(), 7.0),
        (format!("h % {group} % h_k"), 7.0),
        (format!("min((h + 1) / {group}, h_k - 1)"), 7.0),
        (format!("h / 2 / (({group} + 1) / 2) % h_k"), 9.0),
        (format!("h / 4 / (({group} + 3) / 4) % h_k"), 9.0),
        (format!("h / 8 / (({group} + 7) / 8) % h_k"), 9.0),
    ] {
        let none = MeaningPatch::default;
        words.meaning(&[], bits, MeaningPatch { head_map: expr(&text), ..none() });
        for values in [false, true] {
            let head = expr(&text).into_iter();
            head.for_each(|head| words.twist(&[], bits + 1.0, Twist::HeadOf { values, head }));
        }
    }
}

/// Columns that scores and outputs are made of.
fn widths(words: &mut Words<'_>, tiles: &[usize]) {
    let none = MeaningPatch::default;
    let mut widths = vec![
        ("d_k - 1".to_owned(), 5.0),
        ("d_v".to_owned(), 5.0),
        ("d_k / 2".to_owned(), 6.0),
        ("0".to_owned(), 5.0),
    ];
    for m in tiles {
        widths.push((format!("min(d_k, {m})"), 7.0));
        widths.push((format!("max({m}, d_k / {m} * {m})"), 8.0));
    }
    for (text, bits) in widths {
        words.meaning(&[], bits, MeaningPatch { score_width: expr(&text), ..none() });
    }
}

/// Tiles of keys or values that are read before or after their turn.
fn turns(words: &mut Words<'_>, tiles: &[usize]) {
    for t in tiles {
        for (text, bits) in [
            (format!("j - {t} * (j >= {t})"), 9.0),
            (format!("j + {t} * (j + {t} < n_k)"), 9.0),
            (format!("j + {} * (j + {} < n_k)", 2 * t, 2 * t), 10.0),
        ] {
            let index = || expr(&text);
            let values = MeaningPatch { value_index: index(), ..MeaningPatch::default() };
            let keys = MeaningPatch { key_index: index(), ..MeaningPatch::default() };
            let both = MeaningPatch { value_index: index(), ..keys.clone() };
            for (patch, more) in [(values, 1.0), (keys, 1.0), (both, 0.0)] {
                words.meaning(&[], bits + more, patch);
            }
        }
    }
}

/// Masks and biases whose rows or columns are counted from elsewhere.
fn shifted(words: &mut Words<'_>) {
    use CallOption::{Bias, KeyLengths, Mask, QueryLengths, Window};
    const SIZES: [usize; 6] = [1, 8, 16, 32, 64, 128];
    for (option, [_, _, row, key]) in [(Mask, MASK), (Bias, BIAS)] {
        let mut add = |needs: Option<CallOption>, field: Field, text: &str, bits: f64| {
            let mut patch = MeaningPatch::default();
            *field(&mut patch) = expr(text);
            let needs: Vec<CallOption> = std::iter::once(option).chain(needs).collect();
            words.meaning(&needs, bits, patch);
        };
        add(Some(KeyLengths), key, "j + n_k - key_length", 7.0);
        add(Some(KeyLengths), key, "j + key_length - n_k", 8.0);
        add(None, key, "j + n_q - n_k", 8.0);
        add(None, key, "j + n_k - n_q", 8.0);
        add(None, row, "i + n_k - n_q", 7.0);
        add(None, row, "i + n_q - n_k", 8.0);
        add(Some(QueryLengths), row, "i + n_q - query_length", 8.0);
        add(None, row, "(i * (h_q / h_k) + h % (h_q / h_k)) % n_q", 9.0);
        for t in SIZES {
            for s in SIZES {
                let first = format!("max(i / {t} * {t} + n_k - n_q - window_left, 0) / {s} * {s}");
                add(Some(Window), key, &format!("j - {first}"), 10.0);
            }
        }
        // Rows that are as long as a multiple of a number, in a tensor that has none so long.
        for m in &SIZES[1..] {
            let at = format!("(i * ((n_k + {}) / {m} * {m}) + j)", m - 1);
            let mut patch = MeaningPatch::default();
            *row(&mut patch) = expr(&format!("{at} / n_k"));
            *key(&mut patch) = expr(&format!("{at} % n_k"));
            if option == Mask {
                patch.unseen = expr(&format!("mask and {at} >= n_q * n_k"));
            }
            words.meaning(&[option], 10.0, patch);
        }
    }
}
