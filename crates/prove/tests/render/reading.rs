//! A formula in print, read back, has the value it had: no parentheses are missing, and none are
//! idle.

use std::collections::HashMap;

use proptest::prelude::*;
use qkvet_prove::render::{Style, render};
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use crate::render::node;

/// Random formulas of arithmetic, over letters whose print is one letter.
pub(super) fn formulas() -> impl Strategy<Value = Expr> {
    let name = "[a-dA-D]".prop_map(|name| node(ExprKind::Name(name)));
    let number = (-9_i8..10).prop_map(|x| node(ExprKind::Number(f64::from(x))));
    prop_oneof![4 => name, 1 => number].prop_recursive(6, 60, 2, |inner| {
        use BinaryOp::{Add, Div, MatMul, Mul, Sub};
        let op = prop::sample::select(vec![Add, Sub, Mul, MatMul, Div]);
        let binary = (op, inner.clone(), inner.clone())
            .prop_map(|(op, x, y)| node(ExprKind::Binary(op, Box::new(x), Box::new(y))));
        let unary = inner.clone().prop_map(|x| node(ExprKind::Unary(UnaryOp::Neg, Box::new(x))));
        let transpose = inner.clone().prop_map(|x| node(ExprKind::Transpose(Box::new(x))));
        let function = prop::sample::select(vec!["exp", "sqrt", "f"]);
        let apply = (function, inner).prop_map(|(function, x)| {
            node(ExprKind::Apply {
                function: function.to_owned(),
                args: vec![x],
                named: Vec::new(),
            })
        });
        prop_oneof![6 => binary, 1 => unary, 1 => transpose, 1 => apply]
    })
}

/// A prime below 2³¹: products of two fit 64 bits.
const PRIME: u64 = 2_147_483_629;

/// 2×2 matrices modulo a prime: products that do not commute, and no rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value([u64; 4]);

impl Value {
    /// A value that depends on `seed` and on nothing else.
    fn hash(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % PRIME
        }))
    }

    /// The unknown function `function` of it.
    fn apply(self, function: &str) -> Self {
        Self::hash(
            function
                .bytes()
                .map(u64::from)
                .chain(self.0)
                .fold(7, |seed, x| seed % PRIME * 65_599 + x),
        )
    }

    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| (self.0[at] + other.0[at]) % PRIME))
    }

    /// A sign may change places with a factor and nothing more is true of it: `a − a` is no 0 that
    /// hides the rest.
    fn negative(self) -> Self {
        Self(self.0.map(|x| x * 1_234_567_891 % PRIME))
    }

    fn times(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        let sum = |x: u64, y: u64, z: u64, w: u64| (x * y % PRIME + z * w % PRIME) % PRIME;
        Self([sum(a, e, b, g), sum(a, f, b, h), sum(c, e, d, g), sum(c, f, d, h)])
    }
}

impl Value {
    /// A product of so many of it, two at least.
    fn power(self, n: u32) -> Option<Self> {
        (n > 1).then(|| (1..n).fold(self, |product, _| product.times(self)))
    }
}

/// `e` to this power: of digits, so many factors `e`.
fn exponential(exponent: Value) -> Value {
    let e = name_value('e');
    match (1..10).find(|n| Value::hash(*n) == exponent) {
        Some(n) => (1..n).fold(e, |product, _| product.times(e)),
        None => exponent.apply("exp"),
    }
}

fn name_value(name: char) -> Value {
    Value::hash(u64::from(name))
}

/// The value of the tree; `x / y` is `x` times something that only `y` decides.
fn value(expr: &Expr) -> Value {
    match &expr.kind {
        ExprKind::Number(x) if *x < 0.0 => value(&node(ExprKind::Number(-x))).negative(),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "one digit")]
        ExprKind::Number(x) => Value::hash(*x as u64),
        ExprKind::Name(name) => name_value(name.chars().next().expect("a letter")),
        ExprKind::Unary(_, x) => value(x).negative(),
        ExprKind::Transpose(x) => value(x).apply("ᵀ"),
        ExprKind::Apply { function, args, .. } if function == "exp" => exponential(value(&args[0])),
        ExprKind::Apply { function, args, .. } => value(&args[0]).apply(function),
        ExprKind::Binary(op, x, y) => {
            let (x, y) = (value(x), value(y));
            match op {
                BinaryOp::Add => x.plus(y),
                BinaryOp::Sub => x.plus(y.negative()),
                BinaryOp::Div => x.times(y.apply("/")),
                _ => x.times(y),
            }
        }
        other => panic!("not arithmetic: {other:?}"),
    }
}

/// Reads a formula as a mathematician does, straight to its value; `None` where one would hesitate.
struct Reader<'a> {
    rest: &'a str,
    /// Words go in front of what they apply to: `f of g of x`.
    spoken: bool,
}

impl Reader<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Option<Value> {
        let negative = self.eat("−");
        let first = self.quotient()?;
        let mut sum = if negative { first.negative() } else { first };
        loop {
            if self.eat(" + ") {
                sum = sum.plus(self.quotient()?);
            } else if self.eat(" − ") {
                sum = sum.plus(self.quotient()?.negative());
            } else {
                return Some(sum);
            }
        }
    }

    fn quotient(&mut self) -> Option<Value> {
        let mut product = self.factor()?;
        while !self.ends_term() && (self.eat(" · ") || self.eat(" ")) {
            product = product.times(self.factor()?);
        }
        if !self.eat("/") {
            return Some(product);
        }
        let quotient = product.times(self.factor()?.apply("/"));
        // Nobody knows how `a/b c` and `a/b/c` are meant.
        self.ends_term().then_some(quotient)
    }

    fn ends_term(&self) -> bool {
        self.rest.is_empty() || [" + ", " − ", ")"].iter().any(|sign| self.rest.starts_with(sign))
    }

    fn factor(&mut self) -> Option<Value> {
        if self.spoken {
            for (word, function) in [("√", "sqrt"), ("f of ", "f")] {
                if self.eat(word) {
                    return Some(self.factor()?.apply(function));
                }
            }
            if self.eat("e^") {
                return Some(exponential(self.factor()?));
            }
        }
        if self.eat("√") {
            return Some(self.atom()?.apply("sqrt"));
        }
        if self.eat("e^") {
            return if self.rest.starts_with('f') { None } else { Some(exponential(self.atom()?)) };
        }
        if self.spoken && self.eat("the power ") {
            let exponent = self.digits()?;
            return if self.eat(" of ") { self.factor()?.power(exponent) } else { None };
        }
        let value = self.atom()?;
        if self.eat("^") {
            let exponent = self.digits()?;
            return value.power(exponent);
        }
        Some(if self.eat("ᵀ") { value.apply("ᵀ") } else { value })
    }

    fn digits(&mut self) -> Option<u32> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }

    fn atom(&mut self) -> Option<Value> {
        if self.eat("(") {
            return self.closed();
        }
        if self.eat("f(") {
            return Some(self.closed()?.apply("f"));
        }
        let first = self.rest.chars().next()?;
        self.rest = &self.rest[first.len_utf8()..];
        match first.to_digit(10) {
            Some(digit) => Some(Value::hash(digit.into())),
            None => (first.is_ascii_alphabetic() && first != 'f').then(|| name_value(first)),
        }
    }

    fn closed(&mut self) -> Option<Value> {
        let value = self.sum()?;
        self.eat(")").then_some(value)
    }
}

fn read(text: &str) -> Option<Value> {
    whole(Reader { rest: text, spoken: false })
}

/// Hears a formula: words for signs.
fn hear(words: &str) -> Option<Value> {
    let signs = [
        ("open parenthesis ", "("),
        (" close parenthesis", ")"),
        (" plus ", " + "),
        (" minus ", " − "),
        ("minus ", "−"),
        (" times ", " "),
        (" over ", "/"),
        (" transposed", "ᵀ"),
        ("the square root of ", "√"),
        ("e to the power ", "e^"),
    ];
    let text = signs.iter().fold(words.to_owned(), |text, (word, sign)| text.replace(word, sign));
    whole(Reader { rest: &text, spoken: true })
}

fn whole(mut reader: Reader<'_>) -> Option<Value> {
    let value = reader.sum()?;
    reader.rest.is_empty().then_some(value)
}

/// A pair of parentheses: the text before it, in it and after it.
fn pairs(text: &str) -> Vec<[&str; 3]> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    for (at, sign) in text.char_indices() {
        match (sign, open.last()) {
            ('(', _) => open.push(at),
            (')', Some(&start)) => {
                open.pop();
                pairs.push([&text[..start], &text[start + 1..at], &text[at + 1..]]);
            }
            _ => {}
        }
    }
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn print_is_read_back_as_the_same_value(expr in formulas()) {
        let text = render(&expr, Style::Unicode);
        prop_assert_eq!(read(&text), Some(value(&expr)), "{}", text);
        let words = render(&expr, Style::Words);
        prop_assert_eq!(hear(&words), Some(value(&expr)), "{}", words);
    }

    /// `a + (b − c)` and `a (b/c)` keep theirs, another operation stands in them; so does a double
    /// sign.
    #[test]
    fn no_parentheses_are_idle(expr in formulas()) {
        let text = render(&expr, Style::Unicode);
        for [before, inner, after] in pairs(&text) {
            let is_term = before.ends_with(" + ");
            let is_factor = before.ends_with(' ') && !is_term && !before.ends_with(" − ");
            let kept = (is_term && inner.contains(" − ")) || (is_factor && inner.contains('/')) || inner.starts_with("−(−");
            prop_assert!(kept || read(&format!("{before}{inner}{after}")) != read(&text), "{text}: ({inner})");
        }
    }
}

#[test]
fn the_reader_tells_formulas_apart() {
    let formulas = [
        "a + b − c",
        "a − b − c",
        "a − (b − c)",
        "−(a + b)",
        "−a + b",
        "(a b)ᵀ",
        "a bᵀ",
        "a/(b c)",
        "(a/b) c",
        "√(a b)",
        "√a b",
        "e^(a b)",
        "a b",
        "b a",
        "a b^2",
        "(a b)^2",
        "a^3",
    ];
    let values: HashMap<[u64; 4], &str> =
        formulas.iter().map(|text| (read(text).expect(text).0, *text)).collect();
    assert_eq!(values.len(), formulas.len());
    assert_eq!(read("a (b/c)"), read("a b/c"));
    assert_eq!(read("a^2 b"), read("a a b"));
    for unclear in
        ["a/b c", "a/b/c", "a + −b", "−−a", "a −b", "aᵀᵀ", "√aᵀ", "e^f(a)", "(a", "a)", ""]
    {
        assert_eq!(read(unclear), None, "{unclear}");
    }
}
