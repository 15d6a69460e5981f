//! Synthesis: the shortest index expressions that have an allowed number at every place that was
//! read.
//!
//! Terms are built from names and tiles, one for all that have the same numbers everywhere, and
//! joined two and two. Most pairs fail at the first place.

use std::collections::HashSet;

use qkvet_spec::{CallOption, IndexEnv};

use super::hole::Beyond;
use super::literal::parsed;

/// A place, and the numbers that an expression may have there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    env: IndexEnv,
    allowed: Vec<bool>,
    beyond: Beyond,
}

impl Place {
    pub(super) fn new(env: IndexEnv, allowed: Vec<bool>, beyond: Beyond) -> Self {
        Self { env, allowed, beyond }
    }

    fn admits(&self, number: i64) -> bool {
        let n = i64::try_from(self.allowed.len()).unwrap_or(i64::MAX).max(1);
        let at = match self.beyond {
            Beyond::Wrap => number.rem_euclid(n),
            Beyond::Nothing if number < 0 => n - 1,
            _ => number.clamp(0, n - 1),
        };
        usize::try_from(at).ok().and_then(|at| self.allowed.get(at)).copied().unwrap_or(false)
    }

    /// How many numbers are allowed.
    pub(super) fn count(&self) -> usize {
        self.allowed.iter().filter(|is_allowed| **is_allowed).count()
    }

    /// How much the place tells of a number.
    pub(super) fn bits(&self) -> f64 {
        libm::log2(self.allowed.len() as f64 / self.count().max(1) as f64)
    }
}

/// An expression of a few names, and its length in bits.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) bits: f64,
}

/// Terms that are joined two and two, the shortest first.
const MAX_TERMS: usize = 900;
/// Expressions that are kept.
const MAX_FOUND: usize = 4;

/// Parts that a kernel splits keys into at most.
const PARTS: [usize; 5] = [2, 4, 8, 16, 32];
/// Tiles that an end lies behind another, or before it.
const MORE_TILES: [i64; 3] = [-2, -1, 1];

/// How tightly the outermost operator of a term binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Sum,
    Product,
    Atom,
}

/// An expression, with its number at each place.
#[derive(Clone, Debug)]
struct Term {
    text: String,
    rank: Rank,
    bits: f64,
    numbers: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
}

const OPS: [Op; 7] = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::Min, Op::Max];

impl Op {
    fn of(self, x: i64, y: i64) -> Option<i64> {
        match self {
            Self::Add => x.checked_add(y),
            Self::Sub => x.checked_sub(y),
            Self::Mul => x.checked_mul(y),
            Self::Div => x.checked_div_euclid(y),
            Self::Rem => x.checked_rem_euclid(y),
            Self::Min => Some(x.min(y)),
            Self::Max => Some(x.max(y)),
        }
    }

    fn is_symmetric(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::Min | Self::Max)
    }

    fn text(self, x: &Term, y: &Term) -> (String, Rank) {
        let bracketed = |term: &Term, least: Rank| match term.rank < least {
            true => format!("({})", term.text),
            false => term.text.clone(),
        };
        let joined = |sign: &str, left: Rank, right: Rank, own: Rank| {
            (format!("{} {sign} {}", bracketed(x, left), bracketed(y, right)), own)
        };
        match self {
            Self::Add => joined("+", Rank::Sum, Rank::Sum, Rank::Sum),
            Self::Sub => joined("-", Rank::Sum, Rank::Product, Rank::Sum),
            Self::Mul => joined("*", Rank::Product, Rank::Atom, Rank::Product),
            Self::Div => joined("/", Rank::Product, Rank::Atom, Rank::Product),
            Self::Rem => joined("%", Rank::Product, Rank::Atom, Rank::Product),
            Self::Min => (format!("min({}, {})", x.text, y.text), Rank::Atom),
            Self::Max => (format!("max({}, {})", x.text, y.text), Rank::Atom),
        }
    }
}

/// The same number at each of so many places.
fn number(n: i64, places: usize) -> Term {
    Term { text: n.to_string(), rank: Rank::Atom, bits: 0.0, numbers: vec![n; places] }
}

fn joined(op: Op, x: &Term, y: &Term) -> Option<Term> {
    let pairs = x.numbers.iter().zip(&y.numbers);
    let numbers = pairs.map(|(x, y)| op.of(*x, *y)).collect::<Option<Vec<i64>>>()?;
    let (text, rank) = op.text(x, y);
    Some(Term { text, rank, bits: x.bits + y.bits + 1.0, numbers })
}

/// What a row of a call is told by: its place, extents, lengths and windows, and the first and the
/// last row of its tile.
fn leaves(places: &[Place], tiles: &[usize]) -> Vec<Term> {
    let has = |option: CallOption| places.iter().any(|one| one.env.options.contains(option));
    let mut texts: Vec<(String, Rank, f64)> = Vec::new();
    for name in ["item", "h", "i", "b", "h_q", "h_k", "n_q", "n_k", "0", "1", "2"] {
        texts.push((name.to_owned(), Rank::Atom, 2.0));
    }
    texts.extend(["3", "4"].map(|number| (number.to_owned(), Rank::Atom, 3.0)));
    for (option, name) in [
        (CallOption::KeyLengths, "key_length"),
        (CallOption::KeyLengths, "longest_keys"),
        (CallOption::QueryLengths, "query_length"),
        (CallOption::Window, "window_left"),
        (CallOption::Window, "window_right"),
    ] {
        if has(option) {
            texts.push((name.to_owned(), Rank::Atom, 2.0));
        }
    }
    texts.push(("h_q / h_k".to_owned(), Rank::Product, 3.0));
    texts.push(("i + n_k - n_q".to_owned(), Rank::Sum, 3.0));
    texts.push(("n_k - n_q".to_owned(), Rank::Sum, 3.0));
    if has(CallOption::KeyLengths) || has(CallOption::QueryLengths) {
        texts.push(("i + key_length - query_length".to_owned(), Rank::Sum, 4.0));
    }
    if has(CallOption::KeyLengths) {
        // Keys of a cache.
        for length in ["key_length", "longest_keys"] {
            texts.push((format!("min({length}, n_k - n_q)"), Rank::Atom, 5.0));
        }
    }
    for t in tiles {
        let (first, last) =
            (format!("i / {t} * {t}"), format!("min(i / {t} * {t} + {t}, n_q) - 1"));
        texts.push((format!("{first} + n_k - n_q"), Rank::Sum, 5.0));
        texts.push((format!("{last} + n_k - n_q"), Rank::Sum, 6.0));
        texts.push((first, Rank::Product, 4.0));
        texts.push((last, Rank::Sum, 5.0));
    }
    distinct(texts.into_iter().filter_map(|text| term(places, text)).collect())
}

fn term(places: &[Place], (text, rank, bits): (String, Rank, f64)) -> Option<Term> {
    let expr = parsed(&text)?;
    let numbers = places.iter().map(|one| expr.eval(&one.env)).collect::<Option<Vec<i64>>>()?;
    Some(Term { text, rank, bits, numbers })
}

/// How many of at most so many parts of equal length keys fill.
fn parts(places: &[Place]) -> impl Iterator<Item = Term> + '_ {
    let keys = ["n_k", "max(key_length, 1)", "(window_left + 1)"];
    let texts = keys.into_iter().flat_map(|keys| {
        PARTS.map(|n| {
            let size = format!("(({keys} + {n} - 1) / {n})");
            (format!("({keys} + {size} - 1) / {size}"), Rank::Product, 6.0)
        })
    });
    texts.filter_map(|text| term(places, text))
}

/// What a number is among tiles of `t`.
#[derive(Clone, Copy, Debug)]
enum Tiling {
    /// Where its tile begins.
    Begin,
    /// Where a tile ends that holds all before it.
    End,
    /// Which tile it lies in.
    Tile,
    /// Where it lies in its tile.
    Rest,
}

const TILINGS: [Tiling; 4] = [Tiling::Begin, Tiling::End, Tiling::Tile, Tiling::Rest];

impl Tiling {
    fn of(self, x: i64, t: i64) -> Option<i64> {
        let begin = |x: i64| x.div_euclid(t) * t;
        match self {
            Self::Begin => Some(begin(x)),
            Self::End => x.checked_add(t - 1).map(begin),
            Self::Tile => Some(x.div_euclid(t)),
            Self::Rest => Some(x.rem_euclid(t)),
        }
    }

    fn bits(self) -> f64 {
        if matches!(self, Self::End) { 5.0 } else { 4.0 }
    }

    fn term(self, x: &Term, t: i64) -> Option<Term> {
        let number = |n: i64| number(n, x.numbers.len());
        let tile = number(t);
        let begin = |x: &Term| joined(Op::Mul, &joined(Op::Div, x, &tile)?, &tile);
        let term = match self {
            Self::Begin => begin(x)?,
            Self::End => begin(&joined(Op::Add, x, &number(t - 1))?)?,
            Self::Tile => joined(Op::Div, x, &tile)?,
            Self::Rest => joined(Op::Rem, x, &tile)?,
        };
        Some(Term { bits: x.bits + self.bits(), ..term })
    }
}

/// The shortest expressions that have an allowed number at every place.
pub(super) fn synthesized(places: &[Place], tiles: &[usize]) -> Vec<Expression> {
    let basis = leaves(places, tiles);
    let sizes: Vec<i64> = tiles.iter().filter_map(|t| i64::try_from(*t).ok()).collect();
    let terms = terms(&basis, parts(places), &sizes);
    let mut shortest = Shortest { places, found: Vec::new() };
    for term in &terms {
        if shortest.admits(term.bits, |at| term.numbers.get(at).copied()) {
            shortest.keep(term.clone());
        }
    }
    for (number, x) in terms.iter().enumerate() {
        for y in &terms[..=number] {
            let bits = x.bits + y.bits + 1.0;
            if bits >= shortest.worst() {
                break;
            }
            for op in OPS {
                let pairs = [(x, y), (y, x)];
                for (x, y) in pairs.into_iter().take(if op.is_symmetric() { 1 } else { 2 }) {
                    if shortest.admits(bits, |at| op.of(x.numbers[at], y.numbers[at])) {
                        joined(op, x, y).into_iter().for_each(|term| shortest.keep(term));
                    }
                }
            }
        }
        for (y, op) in basis.iter().flat_map(|y| [(y, Op::Add), (y, Op::Sub)]) {
            for (tiling, t) in
                TILINGS.into_iter().flat_map(|it| sizes.iter().map(move |t| (it, *t)))
            {
                let of = |at: usize| tiling.of(op.of(x.numbers[at], y.numbers[at])?, t);
                if shortest.admits(x.bits + y.bits + 1.0 + tiling.bits(), of) {
                    let term = joined(op, x, y).and_then(|sum| tiling.term(&sum, t));
                    term.into_iter().for_each(|term| shortest.keep(term));
                }
            }
        }
    }
    // The last tiles apart, or one more.
    for ((row, x), (column, y)) in
        basis.iter().enumerate().flat_map(|x| basis.iter().enumerate().map(move |y| (x, y)))
    {
        for op in [Op::Add, Op::Sub].into_iter().filter(|op| column <= row || !op.is_symmetric()) {
            for ((tiling, t), more) in [Tiling::Begin, Tiling::End]
                .into_iter()
                .flat_map(|it| sizes.iter().map(move |t| (it, *t)))
                .flat_map(|it| MORE_TILES.map(|more| (it, more)))
            {
                let of = |at: usize| {
                    tiling.of(op.of(x.numbers[at], y.numbers[at])?, t)?.checked_add(more * t)
                };
                if shortest.admits(x.bits + y.bits + 2.0 + tiling.bits(), of) {
                    let term = joined(op, x, y).and_then(|sum| tiling.term(&sum, t));
                    let term = term.and_then(|tiled| {
                        let tiles = number(more.abs() * t, tiled.numbers.len());
                        joined(if more < 0 { Op::Sub } else { Op::Add }, &tiled, &tiles)
                    });
                    term.into_iter().for_each(|term| shortest.keep(term));
                }
            }
        }
    }
    let expression = |Term { text, bits, .. }| Expression { text, bits };
    shortest.found.into_iter().map(expression).collect()
}

/// The shortest terms that are admitted so far.
struct Shortest<'p> {
    places: &'p [Place],
    found: Vec<Term>,
}

impl Shortest<'_> {
    /// Bits that are too many.
    fn worst(&self) -> f64 {
        self.found.get(MAX_FOUND - 1).map_or(f64::INFINITY, |term| term.bits)
    }

    /// Whether a term of these bits is among the shortest and its number is allowed at every place.
    fn admits(&self, bits: f64, number: impl Fn(usize) -> Option<i64>) -> bool {
        bits < self.worst()
            && (0..self.places.len())
                .all(|at| number(at).is_some_and(|n| self.places[at].admits(n)))
    }

    fn keep(&mut self, term: Term) {
        let same = self.found.iter().position(|other| other.numbers == term.numbers);
        match same {
            Some(at) if self.found[at].bits <= term.bits => return,
            Some(at) => drop(self.found.remove(at)),
            None => {}
        }
        let at = self.found.partition_point(|other| other.bits <= term.bits);
        self.found.insert(at, term);
        self.found.truncate(MAX_FOUND);
    }
}

/// The leaves, their tiles and their pairs, the shortest first.
fn terms(basis: &[Term], others: impl Iterator<Item = Term>, sizes: &[i64]) -> Vec<Term> {
    let mut all: Vec<Term> = basis.iter().cloned().chain(others).collect();
    for (number, leaf) in basis.iter().enumerate() {
        let tiled = TILINGS.into_iter().flat_map(|it| sizes.iter().map(move |t| (it, *t)));
        all.extend(tiled.filter_map(|(tiling, t)| tiling.term(leaf, t)));
        for op in OPS {
            let others = if op.is_symmetric() { &basis[..=number] } else { basis };
            all.extend(others.iter().filter_map(|other| joined(op, leaf, other)));
        }
    }
    let mut all = distinct(all);
    all.truncate(MAX_TERMS);
    all
}

/// The shortest of those that have the same numbers, the shortest first.
fn distinct(mut all: Vec<Term>) -> Vec<Term> {
    all.sort_by(|x, y| x.bits.total_cmp(&y.bits));
    let mut seen = HashSet::new();
    all.retain(|term| seen.insert(term.numbers.clone()));
    all
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{Dims, Dtype, IndexExpr};

    use super::super::literal::signed;
    use super::*;

    /// Places of calls with a window, and what `text` allows there: its number, and every third one
    /// the next.
    fn places(first: usize, text: &str) -> Vec<Place> {
        let place = |number: usize| {
            let spread = number.wrapping_mul(0x9e37_79b9) >> 8;
            let dims = Dims {
                b: 1,
                h_q: 4,
                h_k: 2,
                n_q: 3 + spread % 30,
                n_k: 9 + spread / 32 % 40,
                d_k: 8,
                d_v: 4,
            };
            let i = signed(spread / 64 % dims.n_q);
            let window = [signed(spread / 128 % 9), 0];
            let options = [CallOption::Window].into_iter().collect();
            let env = IndexEnv { i, window, ..IndexEnv::new(dims, Dtype::Float32, options) };
            let own = IndexExpr::new(text).ok().and_then(|it| it.eval(&env)).unwrap_or(0);
            let own = usize::try_from(own).unwrap_or(0).min(dims.n_k);
            let allowed =
                (0..=dims.n_k).map(|n| n == own || number.is_multiple_of(3) && n == own + 1);
            Place::new(env, allowed.collect(), Beyond::Clamp)
        };
        (first..first + 60).map(place).collect()
    }

    /// What is said of some places holds of others.
    fn is_found(text: &str) {
        let found = synthesized(&places(0, text), &[2, 4, 8, 16]);
        let others = places(1000, text);
        let holds = |one: &Expression| {
            let expr = IndexExpr::new(&one.text).expect("an expression");
            others.iter().all(|other| expr.eval(&other.env).is_some_and(|n| other.admits(n)))
        };
        assert!(found.iter().any(holds), "{text}: {found:?}");
    }

    #[test]
    fn ends_of_loops_are_found() {
        is_found("i / 2");
        is_found("(i / 8 * 8 + n_k - n_q - window_left) / 4 * 4");
        is_found("(min(i / 4 * 4 + 4, n_q) - 1 + n_k - n_q + 7) / 8 * 8");
        is_found("max(n_k - n_q, 0) + i % 4");
        is_found("(min(i / 16 * 16 + 16, n_q) + n_k - n_q + 7) / 8 * 8 - 16");
    }

    #[test]
    fn what_no_expression_says_has_none() {
        let mut all = places(0, "i");
        for (number, one) in all.iter_mut().enumerate() {
            one.allowed.fill(false);
            let at = number.wrapping_mul(0x9e37_79b9) >> 5;
            let n = one.allowed.len();
            one.allowed[at % n] = true;
        }
        assert!(synthesized(&all, &[2, 4, 8, 16]).is_empty());
    }
}
