//! Literals: what may be said of a call or of an element of a result, over options, extents,
//! lengths, windows and places.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use qkvet_spec::{CallOption, Extent, IndexEnv, IndexExpr};

/// Where something was seen, and whether the formula holds there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) env: IndexEnv,
    pub(crate) is_gain: bool,
}

/// Numbers at which kernels change their way.
const LANDMARKS: [i64; 17] = [1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 100, 128, 129, 256];
const WIDTHS: [usize; 9] = [32, 64, 80, 96, 112, 128, 192, 256, 576];
const MODULI: [i64; 7] = [2, 3, 4, 8, 16, 32, 64];
const RELATIONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
/// Options that hide keys.
const HIDING: [CallOption; 4] =
    [CallOption::Causal, CallOption::Mask, CallOption::Window, CallOption::KeyLengths];
/// Positions beyond which none is looked at.
const MOST_POSITION: i64 = 4096;
/// One bit for each sample.
pub(crate) type Bits = Rc<[u64]>;
/// A number of a call, and of an element.
type Value = Box<dyn Fn(&IndexEnv) -> i64>;
type Coordinate = fn(&IndexEnv) -> i64;

/// A literal, and of which samples it holds.
#[derive(Clone)]
pub(super) struct Literal {
    pub(super) text: String,
    pub(super) bits: f64,
    pub(super) holds: Bits,
    pub(super) is_option: bool,
}

impl Literal {
    /// Whether it holds of a sample.
    pub(super) fn has(&self, at: usize) -> bool {
        self.holds.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// The expression of a text. The same few thousand come back with every call that is put.
pub(crate) fn parsed(text: &str) -> Option<IndexExpr> {
    thread_local! {
        static PARSED: RefCell<BTreeMap<String, Option<IndexExpr>>> = RefCell::default();
    }
    PARSED.with_borrow_mut(|known| match known.get(text) {
        Some(one) => one.clone(),
        None => known.entry(text.to_owned()).or_insert(IndexExpr::new(text).ok()).clone(),
    })
}

pub(crate) fn bits(of: impl Iterator<Item = bool>) -> Bits {
    let mut words = Vec::new();
    for (at, is_so) in of.enumerate() {
        if at % 64 == 0 {
            words.push(0u64);
        }
        if is_so && let Some(last) = words.last_mut() {
            *last |= 1 << (at % 64);
        }
    }
    words.into()
}

/// A literal that may be tried, and its length in bits.
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) bits: f64,
    /// Whether it speaks of what is asked for, not of sizes.
    pub(crate) is_option: bool,
}

/// The literals that tell some samples from others.
pub(super) fn literals(samples: &[Sample], of_elements: bool) -> Vec<Literal> {
    let mut known: Vec<Literal> = Vec::new();
    for Text { text, bits: cost, is_option } in texts(samples, of_elements) {
        let Some(when) = parsed(&text) else { continue };
        let holds = bits(samples.iter().map(|sample| when.holds(&sample.env)));
        let n = holds.iter().map(|word| word.count_ones()).sum::<u32>();
        if n > 0 && (n as usize) < samples.len() {
            known.push(Literal { text, bits: cost, holds, is_option });
        }
    }
    known
}

/// Every literal that may tell some samples from others, the shortest first. Elements are spoken of
/// only where `of_elements`.
pub(crate) fn texts(samples: &[Sample], of_elements: bool) -> Vec<Text> {
    let mut texts: Vec<(String, f64, bool)> = Vec::new();
    let mut add = |text: String, bits: f64| texts.push((text, bits, false));
    for [x, y] in [["n_q", "n_k"], ["d_k", "d_v"], ["h_q", "h_k"]] {
        RELATIONS.iter().for_each(|r| add(format!("{x} {r} {y}"), 5.0));
    }
    for [x, y] in [
        ["n_q", "d_k"],
        ["n_k", "d_v"],
        ["n_k", "d_k"],
        ["n_q", "h_q"],
        ["n_k", "h_q"],
        ["b", "h_q"],
        ["n_k", "h_k"],
        ["n_q", "d_v"],
        ["b", "n_q"],
        ["b", "h_k"],
    ] {
        RELATIONS[..2].iter().for_each(|r| add(format!("{x} {r} {y}"), 8.0));
    }
    let mut sizes: Vec<(&str, Value)> = Vec::new();
    for extent in Extent::ALL {
        sizes.push((extent.name(), Box::new(move |env| signed(extent.of(env.dims)))));
    }
    sizes.push(("h_q / h_k", Box::new(|env| signed(env.dims.h_q / env.dims.h_k.max(1)))));
    sizes.push(("n_q * n_k", Box::new(|env| signed(env.dims.n_q * env.dims.n_k))));
    for (name, value) in &sizes {
        thresholds(name, samples.iter().map(|sample| value(&sample.env)), &mut add);
    }
    for extent in Extent::ALL {
        let name = extent.name();
        for m in MODULI {
            add(format!("{name} % {m} == 0"), 7.0);
            add(format!("{name} % {m} != 0"), 7.0);
        }
        (1..=3).for_each(|n| add(format!("{name} == {n}"), 6.0));
        let mut gains =
            samples.iter().filter(|it| it.is_gain).map(|it| extent.of(it.env.dims)).peekable();
        let first = gains.peek().copied().filter(|n| *n > 3);
        if let Some(n) = first.filter(|n| gains.all(|other| other == *n)) {
            add(format!("{name} == {n}"), 7.0);
        }
    }
    // Widths that have a kernel of their own.
    for (name, extent) in [("d_k", Extent::DK), ("d_v", Extent::DV)] {
        let met: BTreeSet<usize> = samples.iter().map(|it| extent.of(it.env.dims)).collect();
        for n in WIDTHS.into_iter().filter(|n| met.contains(n)) {
            add(format!("{name} == {n}"), 8.0);
            add(format!("{name} != {n}"), 8.0);
        }
    }
    for side in ["window_left", "window_right"] {
        add(format!("{side} == 0"), 6.0);
        add(format!("{side} > 0"), 7.0);
        add(format!("{side}_open"), 6.0);
        add(format!("not {side}_open"), 6.0);
        for end in ["n_k - 1", "n_k", "n_q - 1", "n_q"] {
            add(format!("{side} >= {end}"), 8.0);
            add(format!("{side} < {end}"), 8.0);
        }
    }
    if of_elements {
        elements(samples, &mut add);
    }
    let is_needed = |option: &CallOption| {
        let first = samples.first().map(|it| it.env.options.contains(*option));
        samples.iter().any(|it| Some(it.env.options.contains(*option)) != first)
    };
    let needed: Vec<CallOption> = CallOption::ALL.into_iter().filter(is_needed).collect();
    for (at, option) in needed.iter().enumerate() {
        let name = option.name();
        texts.push((name.to_owned(), 3.0, true));
        texts.push((format!("not {name}"), 4.0, true));
        // What hides keys often has a way of its own, whatever hides them.
        let hiding = needed[..at].iter().filter(|other| HIDING.contains(other));
        for other in hiding.filter(|_| HIDING.contains(option)) {
            texts.push((format!("({} or {name})", other.name()), 8.0, true));
        }
    }
    texts.push(("mask_hides".to_owned(), 4.0, false));
    for option in ["mask", "bias"] {
        for axis in ["items", "heads", "queries", "keys"] {
            texts.push((format!("{option}_{axis} == 1"), 7.0, false));
            texts.push((format!("{option}_{axis} > 1"), 7.0, false));
        }
        for axes in [2, 4] {
            texts.push((format!("{option}_axes == {axes}"), 7.0, false));
        }
    }
    for name in ["return_lse", "return_weights"] {
        texts.push((name.to_owned(), 5.0, true));
        texts.push((format!("not {name}"), 6.0, true));
    }
    for dtype in ["float64", "float32", "float16", "bfloat16"] {
        texts.push((dtype.to_owned(), 4.0, false));
    }
    texts.sort_by(|x, y| x.1.total_cmp(&y.1));
    let mut seen = BTreeSet::new();
    texts
        .into_iter()
        .filter(|(text, ..)| seen.insert(text.clone()))
        .map(|(text, bits, is_option)| Text { text, bits, is_option })
        .collect()
}

pub(super) fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Thresholds at landmarks and between the values that occur: none may be left out.
fn thresholds(name: &str, values: impl Iterator<Item = i64>, add: &mut dyn FnMut(String, f64)) {
    let seen: BTreeSet<i64> = values.collect();
    let (Some(first), Some(last)) = (seen.first().copied(), seen.last().copied()) else { return };
    let between = seen.iter().zip(seen.iter().skip(1)).map(|(x, y)| (x + y + 1) / 2);
    let landmarks = LANDMARKS.into_iter().filter(|x| first < *x && *x <= last);
    let all: BTreeSet<i64> =
        seen.iter().copied().chain(between).chain(landmarks).filter(|x| *x > first).collect();
    for at in all {
        let bits = if LANDMARKS.contains(&at) { 5.0 } else { 7.0 };
        add(format!("{name} >= {at}"), bits);
        add(format!("{name} < {at}"), bits);
    }
}

/// Literals over elements of a result.
fn elements(samples: &[Sample], add: &mut dyn FnMut(String, f64)) {
    let axes: [(&str, &str, Coordinate); 4] = [
        ("i", "n_q", |env| env.i),
        ("c", "d_v", |env| env.c),
        ("h", "h_q", |env| env.h),
        ("item", "b", |env| env.item),
    ];
    for (x, n, value) in axes {
        thresholds(x, samples.iter().map(|sample| value(&sample.env)), add);
        for k in 1..=4 {
            add(format!("{x} >= {n} - {k}"), 6.0 + f64::from(k / 2));
            add(format!("{x} < {n} - {k}"), 7.0 + f64::from(k / 2));
        }
        add(format!("{x} >= {n} / 2"), 7.0);
        add(format!("{x} < {n} / 2"), 7.0);
        for m in [2, 3, 4, 8, 16, 32, 64] {
            add(format!("{x} >= {n} / {m} * {m}"), 8.0);
            add(format!("{x} % {m} != 0"), 8.0);
            if m <= 16 {
                (0..m).for_each(|r| add(format!("{x} % {m} == {r}"), 8.0));
            }
        }
    }
    positions(samples, add);
    for r in RELATIONS {
        add(format!("i {r} n_k"), 8.0);
        add(format!("i + n_k - n_q {r} 0"), 8.0);
        add(format!("c {r} d_k"), 8.0);
        add(format!("h {r} h_k"), 8.0);
        add(format!("h % (h_q / h_k) {r} 0"), 8.0);
        add(format!("h % (h_q / h_k) {r} h_k"), 8.0);
        add(format!("h / (h_q / h_k) {r} h_q / h_k"), 8.0);
        add(format!("key_length {r} longest_keys"), 8.0);
        for row in ["i", "i + n_k - n_q"] {
            add(format!("{row} {r} key_length"), 8.0);
            add(format!("{row} {r} query_length"), 8.0);
        }
    }
}

/// Literals over the key that a query stands at, and over the first key that it sees: which tiles
/// of keys have none that is seen.
fn positions(samples: &[Sample], add: &mut dyn FnMut(String, f64)) {
    let at = |env: &IndexEnv| env.i + signed(env.dims.n_k) - signed(env.dims.n_q);
    let mut all: Vec<(&str, Option<CallOption>, Value)> = vec![
        ("i + n_k - n_q", None, Box::new(at)),
        ("key_length", Some(CallOption::KeyLengths), Box::new(|env| env.lengths[0])),
        ("query_length", Some(CallOption::QueryLengths), Box::new(|env| env.lengths[1])),
    ];
    let first = "i + n_k - n_q - window_left";
    all.push((first, Some(CallOption::Window), Box::new(move |env| at(env) - env.window[0])));
    for (x, needs, value) in all {
        let has = |sample: &&Sample| needs.is_none_or(|one| sample.env.options.contains(one));
        let values: Vec<(i64, bool)> = samples
            .iter()
            .filter(has)
            .map(|sample| (value(&sample.env), sample.is_gain))
            // A window that is open says nothing of tiles.
            .filter(|(x, _)| x.abs() <= MOST_POSITION)
            .collect();
        let gains = || values.iter().filter(|(_, is_gain)| *is_gain).map(|(x, _)| *x);
        let all = || values.iter().map(|(x, _)| *x);
        let (Some(first), Some(last)) = (gains().min(), gains().max()) else { continue };
        let (Some(least), Some(most)) = (all().min(), all().max()) else { continue };
        // The edges of the gains, and plainer numbers before them.
        let plain = |range: std::ops::RangeInclusive<i64>| {
            LANDMARKS.into_iter().chain([0]).filter(move |at| range.contains(at))
        };
        for at in plain(least + 1..=first).chain([first]).filter(|at| *at > least) {
            add(format!("{x} >= {at}"), 7.0);
        }
        for at in plain(last + 1..=most).chain([last + 1]).filter(|at| *at <= most) {
            add(format!("{x} < {at}"), 7.0);
        }
        for half in ["n_k / 2", "(n_k + 1) / 2"] {
            add(format!("{x} >= {half}"), 8.0);
            add(format!("{x} < {half}"), 8.0);
        }
    }
    for m in [4, 8, 16, 32, 64] {
        add(format!("i / {m} * {m} + n_k - n_q >= 0"), 9.0);
        add(format!("i / {m} * {m} + n_k - n_q < 0"), 9.0);
    }
}
