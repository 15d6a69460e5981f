//! Conditions: the rules of one, two or three literals that hold for all gains and for no loss.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use qkvet_spec::{CallOption, Extent, IndexEnv, IndexExpr};

/// A rule with its length.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// `None`: always.
    pub(super) when: Option<IndexExpr>,
    pub(super) bits: f64,
}

/// Where something was seen, and whether the formula holds there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) env: IndexEnv,
    pub(super) is_gain: bool,
}

/// Numbers at which kernels change their way.
const LANDMARKS: [i64; 17] = [1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 100, 128, 129, 256];
const MODULI: [i64; 7] = [2, 3, 4, 8, 16, 32, 64];
const RELATIONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
/// Literals that are joined by `and`, and by `or`.
const MAX_JOINED: [usize; 2] = [150, 100];
/// Positions beyond which none is looked at.
const MOST_POSITION: i64 = 4096;
/// Bits of two literals that are joined.
const MAX_BITS: [f64; 2] = [18.0, 16.0];
/// Rules that are kept.
const MAX_RULES: usize = 40;

type Bits = Rc<[u64]>;
/// A number of a call, and of an element.
type Value = Box<dyn Fn(&IndexEnv) -> i64>;
type Coordinate = fn(&IndexEnv) -> i64;

#[derive(Clone)]
struct Literal {
    text: String,
    bits: f64,
    holds: Bits,
    is_option: bool,
}

/// The expression of a text. The same few thousand come back with every call that is put.
fn parsed(text: &str) -> Option<IndexExpr> {
    thread_local! {
        static PARSED: RefCell<BTreeMap<String, Option<IndexExpr>>> = RefCell::default();
    }
    PARSED.with_borrow_mut(|known| match known.get(text) {
        Some(one) => one.clone(),
        None => known.entry(text.to_owned()).or_insert(IndexExpr::new(text).ok()).clone(),
    })
}

fn bits(of: impl Iterator<Item = bool>) -> Bits {
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

fn covers(large: &[u64], small: &[u64]) -> bool {
    large.iter().zip(small).all(|(x, y)| y & !x == 0)
}

fn meets(x: &[u64], y: &[u64]) -> bool {
    x.iter().zip(y).any(|(x, y)| x & y != 0)
}

fn count(x: &[u64], of: &[u64]) -> f64 {
    x.iter().zip(of).map(|(x, y)| (x & y).count_ones()).sum::<u32>().into()
}

/// The sizes at which the rules change their mind: `n_k` at 63 and 64 for `n_k >= 64`.
pub(super) fn edges(rules: &[Rule]) -> Vec<(Extent, usize)> {
    let mut found = Vec::new();
    for (extent, at) in
        rules.iter().filter_map(|rule| rule.when.as_ref()).flat_map(IndexExpr::thresholds)
    {
        let Ok(at) = usize::try_from(at) else { continue };
        found.extend([at.saturating_sub(1), at].map(|at| (extent, at)));
    }
    found.retain(|(_, at)| *at > 0);
    found.sort_unstable();
    found.dedup();
    found
}

/// The rules that hold for every gain and no loss, the shortest first. Elements are spoken of only
/// where `of_elements`.
pub(super) fn rules(samples: &[Sample], of_elements: bool) -> Vec<Rule> {
    let mut found = consistent(samples, of_elements);
    if found.is_empty() {
        found = behind_an_option(samples, of_elements);
    }
    found.sort_by(|x, y| x.bits.total_cmp(&y.bits));
    found.truncate(MAX_RULES);
    found
}

fn consistent(samples: &[Sample], of_elements: bool) -> Vec<Rule> {
    let gains = bits(samples.iter().map(|sample| sample.is_gain));
    let losses = bits(samples.iter().map(|sample| !sample.is_gain));
    if losses.iter().all(|word| *word == 0) {
        return vec![Rule { when: None, bits: 0.0 }];
    }
    let literals = literals(samples, of_elements);
    let mut found = Vec::new();
    let mut add = |text: &str, bits: f64| {
        found.extend(parsed(text).map(|when| Rule { when: Some(when), bits }));
    };
    let mut both: Vec<&Literal> = Vec::new();
    let mut either: Vec<&Literal> = Vec::new();
    for literal in &literals {
        match (covers(&literal.holds, &gains), meets(&literal.holds, &losses)) {
            (true, false) => add(&literal.text, literal.bits),
            (true, true) => both.push(literal),
            (false, false) if meets(&literal.holds, &gains) => either.push(literal),
            _ => {}
        }
    }
    let share = |literal: &Literal, of: &[u64]| count(&literal.holds, of) / count(of, of).max(1.0);
    both.sort_by(|x, y| {
        let key = |it: &Literal| it.bits + 3.0 * share(it, &losses);
        key(x).total_cmp(&key(y))
    });
    either.sort_by(|x, y| {
        let key = |it: &Literal| it.bits - 3.0 * share(it, &gains);
        key(x).total_cmp(&key(y))
    });
    both.truncate(MAX_JOINED[0]);
    either.truncate(MAX_JOINED[1]);
    for (at, x) in both.iter().enumerate() {
        for y in &both[..at] {
            let is_none =
                x.holds.iter().zip(&*y.holds).zip(&*losses).all(|((x, y), l)| x & y & l == 0);
            if x.bits + y.bits <= MAX_BITS[0] && is_none {
                add(&format!("{} and {}", y.text, x.text), x.bits + y.bits + 1.0);
            }
        }
    }
    for (at, x) in either.iter().enumerate() {
        for y in &either[..at] {
            let is_all =
                x.holds.iter().zip(&*y.holds).zip(&*gains).all(|((x, y), g)| g & !(x | y) == 0);
            if x.bits + y.bits <= MAX_BITS[1] && is_all {
                add(&format!("{} or {}", y.text, x.text), x.bits + y.bits + 3.0);
            }
        }
    }
    found
}

/// Three literals of which the first is an option of the call.
fn behind_an_option(samples: &[Sample], of_elements: bool) -> Vec<Rule> {
    let gains = bits(samples.iter().map(|sample| sample.is_gain));
    let options = literals(samples, false).into_iter().filter(|literal| literal.is_option);
    let mut found = Vec::new();
    for literal in options.filter(|literal| covers(&literal.holds, &gains)) {
        let Some(when) = parsed(&literal.text) else { continue };
        let inside: Vec<Sample> =
            samples.iter().filter(|sample| when.holds(&sample.env)).copied().collect();
        if inside.len() == samples.len() {
            continue;
        }
        for rule in consistent(&inside, of_elements).into_iter().take(12) {
            let text = match &rule.when {
                Some(rest) if rest.is_either() => {
                    format!("{} and ({})", literal.text, rest.text())
                }
                Some(rest) => format!("{} and {}", literal.text, rest.text()),
                None => literal.text.clone(),
            };
            let bits = literal.bits + rule.bits + 1.0;
            found.extend(parsed(&text).map(|when| Rule { when: Some(when), bits }));
        }
    }
    found
}

/// Every literal that tells some samples from others.
fn literals(samples: &[Sample], of_elements: bool) -> Vec<Literal> {
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
    }
    for side in ["window_left", "window_right"] {
        add(format!("{side} == 0"), 6.0);
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
    for option in CallOption::ALL.into_iter().filter(is_needed) {
        texts.push((option.name().to_owned(), 3.0, true));
        texts.push((format!("not {}", option.name()), 4.0, true));
    }
    texts.push(("mask_hides".to_owned(), 4.0, false));
    for option in ["mask", "bias"] {
        for axis in ["items", "heads", "queries", "keys"] {
            texts.push((format!("{option}_{axis} == 1"), 7.0, false));
            texts.push((format!("{option}_{axis} > 1"), 7.0, false));
        }
    }
    for name in ["return_lse", "return_weights"] {
        texts.push((name.to_owned(), 5.0, true));
        texts.push((format!("not {name}"), 6.0, true));
    }
    texts.sort_by(|x, y| x.1.total_cmp(&y.1));
    let mut known: Vec<Literal> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (text, cost, is_option) in texts {
        let Some(when) = parsed(&text) else { continue };
        let holds = bits(samples.iter().map(|sample| when.holds(&sample.env)));
        let n = holds.iter().map(|word| word.count_ones()).sum::<u32>();
        if n == 0 || n as usize == samples.len() || !seen.insert(text.clone()) {
            continue;
        }
        known.push(Literal { text, bits: cost, holds, is_option });
    }
    known
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Thresholds at landmarks and between the values that occur: none may be left out.
fn thresholds(name: &str, values: impl Iterator<Item = i64>, add: &mut dyn FnMut(String, f64)) {
    let seen: std::collections::BTreeSet<i64> = values.collect();
    let (Some(first), Some(last)) = (seen.first().copied(), seen.last().copied()) else { return };
    let between = seen.iter().zip(seen.iter().skip(1)).map(|(x, y)| (x + y + 1) / 2);
    let landmarks = LANDMARKS.into_iter().filter(|x| first < *x && *x <= last);
    let all: std::collections::BTreeSet<i64> =
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
        for row in ["i", "i + n_k - n_q"] {
            add(format!("{row} {r} key_length"), 8.0);
            add(format!("{row} {r} query_length"), 8.0);
        }
    }
}

/// Literals over the key that a query stands at, and over the first key that it sees: which tiles of
/// keys have none that is seen.
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

#[cfg(test)]
mod tests {
    use qkvet_spec::{Dims, Dtype};

    use super::*;

    fn samples(is_gain: impl Fn(&IndexEnv) -> bool) -> Vec<Sample> {
        let env = |at: usize| {
            let spread = at.wrapping_mul(0x9e37_79b9) >> 7;
            let options =
                CallOption::ALL.into_iter().filter(|one| spread >> *one as usize & 1 == 1);
            let (n_q, n_k) = (1 + at % 9, 1 + spread % 90);
            let dims = Dims { b: 1, h_q: 4, h_k: 2, n_q, n_k, d_k: 8, d_v: 4 };
            IndexEnv::new(dims, Dtype::Float32, options.collect())
        };
        let all = (0..200).map(env);
        all.map(|env| Sample { is_gain: is_gain(&env), env }).collect()
    }

    fn shortest(is_gain: impl Fn(&IndexEnv) -> bool) -> Option<String> {
        let found = rules(&samples(is_gain), false);
        found.first().map(|rule| rule.when.as_ref().map_or("always", IndexExpr::text).to_owned())
    }

    #[test]
    fn the_shortest_rule_without_exception_is_found() {
        let has = |env: &IndexEnv, option| env.options.contains(option);
        assert_eq!(shortest(|_| true).as_deref(), Some("always"));
        assert_eq!(shortest(|env| env.dims.n_k >= 65).as_deref(), Some("n_k >= 65"));
        let both = |env: &IndexEnv| has(env, CallOption::Bias) && env.dims.n_q < env.dims.n_k;
        assert_eq!(shortest(both).as_deref(), Some("bias and n_q < n_k"));
        let three = |env: &IndexEnv| both(env) && env.dims.n_k.is_multiple_of(2);
        let found = rules(&samples(three), false);
        assert!(found.iter().any(|rule| {
            let text = rule.when.as_ref().map_or("", IndexExpr::text);
            text.contains("bias") && text.contains("n_q < n_k") && text.contains("n_k % 2 == 0")
        }));
    }

    /// Which tiles of keys a query does not see: the first of them where a window begins behind it.
    #[test]
    fn the_first_key_that_is_seen_makes_a_rule() {
        let at = |env: &IndexEnv| env.i + signed(env.dims.n_k) - signed(env.dims.n_q);
        let all: Vec<Sample> = samples(|_| false)
            .into_iter()
            .enumerate()
            .map(|(number, Sample { env, .. })| {
                let (i, left) = (number % env.dims.n_q, number / 3 % 40);
                let window = [signed(left), 0];
                let env = IndexEnv { i: signed(i), window, ..env };
                let is_windowed = env.options.contains(CallOption::Window);
                Sample { env, is_gain: is_windowed && at(&env) - env.window[0] >= 8 }
            })
            .collect();
        let found = rules(&all, true);
        let texts: Vec<&str> =
            found.iter().filter_map(|rule| Some(rule.when.as_ref()?.text())).collect();
        assert!(texts.contains(&"window and i + n_k - n_q - window_left >= 8"), "{texts:?}");
    }

    /// Nothing is said of what has no rule: the number of ones in the number of keys.
    #[test]
    fn what_has_no_rule_gets_none() {
        assert_eq!(
            shortest(|env| env.dims.n_k.count_ones() % 2 == 0 && env.dims.n_q % 5 != 2),
            None
        );
    }
}
