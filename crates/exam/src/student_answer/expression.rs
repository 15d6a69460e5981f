//! Numbers as people type them, to exact numbers: `(e^{sqrt(2)/2}+1)/(2e^{sqrt(2)/2}+1)`,
//! `exp(1/2)`, `\frac{1}{\sqrt{2}}`.

use std::fmt;

use qkvet_prove::exact::{Exact, NotExact, Real};

use super::{Raised, ReadError};

/// Brackets in brackets.
const MAX_DEPTH: usize = 40;
/// Digits of one number.
const MAX_DIGITS: usize = 400;
/// Largest exponent of a power that is multiplied out.
pub(super) const MAX_POWER: i64 = 32;
/// Different roots in one number: what is divided by a sum of `n` of them has up to `2^n` terms.
const MAX_ROOTS: usize = 6;
/// Numbers from `10^-MAX_SCALE` to `10^MAX_SCALE` are worked with.
pub(super) const MAX_SCALE: usize = 100;

/// Reads a number: digits, `+ - * / ^`, brackets, `e`, `exp`, `sqrt`, `ln`, in plain text or LaTeX.
/// Numbers side by side are multiplied.
///
/// # Errors
/// What cannot be read.
pub fn read_expression(text: &str) -> Result<Real, ReadError> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0, roots: Vec::new() };
    let value = reader.sum()?;
    match reader.peek() {
        Token::End => Ok(value),
        got => Err(ReadError::NotTheEnd { got: got.clone() }),
    }
}

/// A part of a number as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Digits.
    Number(String),
    /// `e`.
    Euler,
    /// `exp`, `sqrt` or `ln`.
    Function(&'static str),
    /// `\frac`.
    Fraction,
    /// A sign between numbers.
    Op(char),
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
    /// What is no part of a number.
    Unknown(String),
    /// The end of the text.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) | Self::Unknown(text) => write!(f, "`{text}`"),
            Self::Euler => f.write_str("`e`"),
            Self::Function(name) => write!(f, "`{name}`"),
            Self::Fraction => f.write_str("a fraction"),
            Self::Op(op) => write!(f, "`{op}`"),
            Self::Open => f.write_str("`(`"),
            Self::Close => f.write_str("`)`"),
            Self::End => f.write_str("the end"),
        }
    }
}

const WORDS: [(&str, Token); 8] = [
    ("frac", Token::Fraction),
    ("dfrac", Token::Fraction),
    ("tfrac", Token::Fraction),
    ("sqrt", Token::Function("sqrt")),
    ("exp", Token::Function("exp")),
    ("ln", Token::Function("ln")),
    ("log", Token::Function("ln")),
    ("e", Token::Euler),
];

/// Signs of a product.
pub(super) const TIMES: [&str; 6] = ["*", "·", "×", "⋅", "\\cdot", "\\times"];

/// Fractions that are one sign.
const FRACTIONS: [(char, &str, &str); 15] = [
    ('½', "1", "2"),
    ('⅓', "1", "3"),
    ('⅔', "2", "3"),
    ('¼', "1", "4"),
    ('¾', "3", "4"),
    ('⅕', "1", "5"),
    ('⅖', "2", "5"),
    ('⅗', "3", "5"),
    ('⅘', "4", "5"),
    ('⅙', "1", "6"),
    ('⅚', "5", "6"),
    ('⅛', "1", "8"),
    ('⅜', "3", "8"),
    ('⅝', "5", "8"),
    ('⅞', "7", "8"),
];

/// Whether a sign is a fraction.
pub(crate) fn is_fraction_sign(c: char) -> bool {
    FRACTIONS.iter().any(|(sign, ..)| *sign == c)
}

/// A digit or sign above the line, as one on it.
pub(super) fn lowered(c: char) -> Option<char> {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match c {
        '⁻' => Some('-'),
        '⁺' => Some('+'),
        c => {
            RAISED.iter().zip('0'..='9').find_map(|(raised, digit)| (*raised == c).then_some(digit))
        }
    }
}

/// An exponent above the line, and its bytes.
fn exponent(rest: &str) -> Result<Option<(Vec<Token>, usize)>, ReadError> {
    let text: String = rest.chars().map_while(lowered).collect();
    if text.is_empty() {
        return Ok(None);
    }
    let used = rest.chars().take(text.chars().count()).map(char::len_utf8).sum();
    let digits = text.trim_start_matches('+');
    let (sign, digits) =
        digits.strip_prefix('-').map_or((None, digits), |digits| (Some(Token::Op('-')), digits));
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) || digits.len() > MAX_DIGITS
    {
        return Err(ReadError::NoExponent { got: text });
    }
    let inner = sign.into_iter().chain([Token::Number(digits.to_owned())]);
    Ok(Some((
        [Token::Op('^'), Token::Open].into_iter().chain(inner).chain([Token::Close]).collect(),
        used,
    )))
}

/// A fraction that is one sign; with the whole number right before it, `6¼`, their sum.
fn fraction(c: char, before: &str, tokens: &mut Vec<Token>) -> Result<bool, ReadError> {
    let Some((_, over, under)) = FRACTIONS.iter().find(|(sign, ..)| *sign == c) else {
        return Ok(false);
    };
    let whole = if before.ends_with(|c: char| c.is_ascii_digit()) { tokens.pop() } else { None };
    if whole.is_none() && matches!(tokens.last(), Some(Token::Number(_) | Token::Close)) {
        return Err(ReadError::Apart { fraction: c });
    }
    let mut all = vec![Token::Open];
    match whole {
        None => {}
        Some(Token::Number(digits)) if digits.chars().all(|c| c.is_ascii_digit()) => {
            all.extend([Token::Number(digits), Token::Op('+')]);
        }
        Some(got) => return Err(ReadError::NotWhole { fraction: c, got }),
    }
    all.extend([
        Token::Number((*over).to_owned()),
        Token::Op('/'),
        Token::Number((*under).to_owned()),
        Token::Close,
    ]);
    tokens.append(&mut all);
    Ok(true)
}

fn tokens(text: &str) -> Result<Vec<Token>, ReadError> {
    let unknown = |got| Err(ReadError::NoNumber { got: Token::Unknown(got) });
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        if !c.is_ascii() {
            if let Some((mut power, used)) = exponent(rest)? {
                tokens.append(&mut power);
                rest = &rest[used..];
                continue;
            }
            if fraction(c, &text[..text.len() - rest.len()], &mut tokens)? {
                rest = &rest[used..];
                continue;
            }
        }
        match c {
            '0'..='9' | '.' => {
                used = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                let digits = &rest[..used];
                if digits.matches('.').count() > 1 || digits == "." {
                    return unknown(digits.to_owned());
                }
                if digits.len() > MAX_DIGITS {
                    let got = digits.len();
                    return Err(ReadError::TooMany { most: MAX_DIGITS, what: "digits", got });
                }
                // `5e6` is a number; `5e-6` may be `5 e - 6`, and `5e` is five times e.
                let power = rest[used..].strip_prefix(['e', 'E']).map_or(0, |rest| {
                    rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
                });
                used += if power > 0 { power + 1 } else { 0 };
                tokens.push(Token::Number(rest[..used].to_owned()));
            }
            'a'..='z' | 'A'..='Z' | '\\' => {
                let word = rest.strip_prefix('\\').unwrap_or(rest);
                let letters = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
                used = rest.len() - word.len() + letters;
                let behind = &word[letters..];
                match &word[..letters] {
                    "np" | "numpy" | "math" | "torch" | "jnp" if behind.starts_with('.') => {
                        used += 1
                    }
                    // `log2(3)` is no `ln(2) * 3`.
                    "log" | "ln"
                        if ["2(", "10(", "_"].iter().any(|base| behind.starts_with(base)) =>
                    {
                        return Err(ReadError::OtherBase);
                    }
                    // Space between signs.
                    "" if word.starts_with([',', ';', ':', '!', ' ']) => used += 1,
                    "" => {
                        let sign: String = word.chars().take(1).collect();
                        return unknown(format!("\\{}", sign.escape_debug()));
                    }
                    "left" | "right" | "mathrm" | "operatorname" | "big" | "Big" | "quad" => {}
                    "cdot" | "times" => tokens.push(Token::Op('*')),
                    // `2e` and `exp(1)` are letters that belong together; `esqrt` is none.
                    name => match WORDS.iter().find(|(word, _)| *word == name) {
                        Some((_, token)) => tokens.push(token.clone()),
                        None => return unknown(name.to_owned()),
                    },
                }
            }
            '+' | '/' | '^' => tokens.push(Token::Op(c)),
            '*' if rest.starts_with("**") => {
                used = 2;
                tokens.push(Token::Op('^'));
            }
            '*' | '·' | '×' | '⋅' => tokens.push(Token::Op('*')),
            '-' | '−' | '–' => tokens.push(Token::Op('-')),
            '(' | '{' => tokens.push(Token::Open),
            ')' | '}' => tokens.push(Token::Close),
            '√' => tokens.push(Token::Function("sqrt")),
            '$' | ' ' | '\t' | '\n' | '\r' => {}
            ',' => return Err(ReadError::Comma),
            c => return unknown(c.escape_debug().to_string()),
        }
        rest = &rest[used..];
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    roots: Vec<String>,
}

impl Reader<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn takes(&mut self, token: &Token) -> bool {
        let is = self.peek() == token;
        self.at += usize::from(is);
        is
    }

    fn sum(&mut self) -> Result<Real, ReadError> {
        let mut value = self.product()?;
        loop {
            let minus = if self.takes(&Token::Op('+')) {
                false
            } else if self.takes(&Token::Op('-')) {
                true
            } else {
                return Ok(value);
            };
            let next = self.product()?;
            let next = if minus { next.negated()? } else { next };
            value = bounded(value.plus(&next)?)?;
        }
    }

    fn product(&mut self) -> Result<Real, ReadError> {
        let mut value = self.factor()?;
        let mut divided = false;
        loop {
            if self.takes(&Token::Op('*')) {
                value = times(&value, &self.factor()?)?;
                divided = false;
            } else if self.takes(&Token::Op('/')) {
                value = divide(&value, &self.factor()?)?;
                divided = true;
            } else {
                match self.peek() {
                    Token::Number(_) => return Err(ReadError::NoOperator),
                    // `1/2 ln 4` is a half of the logarithm.
                    Token::Function("ln") => value = times(&value, &self.factor()?)?,
                    Token::Euler | Token::Function(_) | Token::Fraction | Token::Open => {
                        if divided {
                            return Err(ReadError::NoBrackets);
                        }
                        value = times(&value, &self.factor()?)?;
                    }
                    _ => return Ok(value),
                }
            }
        }
    }

    fn factor(&mut self) -> Result<Real, ReadError> {
        self.deeper(|reader| {
            if reader.takes(&Token::Op('-')) {
                return Ok(reader.factor()?.negated()?);
            }
            if reader.takes(&Token::Op('+')) {
                return reader.factor();
            }
            let is_euler = *reader.peek() == Token::Euler;
            let base = reader.atom()?;
            if !reader.takes(&Token::Op('^')) {
                return Ok(base);
            }
            let minus = reader.takes(&Token::Op('-'));
            let exponent = reader.atom()?;
            let exponent = if minus { exponent.negated()? } else { exponent };
            if is_euler {
                return exponential(&exponent);
            }
            reader.power(&base, &exponent)
        })
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Real, ReadError>,
    ) -> Result<Real, ReadError> {
        if self.depth >= MAX_DEPTH {
            return Err(ReadError::More { most: MAX_DEPTH, what: "brackets in each other" });
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn atom(&mut self) -> Result<Real, ReadError> {
        let token = self.peek().clone();
        self.at += 1;
        match token {
            Token::Number(digits) => match digits.split_once(['e', 'E']) {
                None => Ok(decimal(&digits)?),
                Some((digits, power)) => {
                    let power = power.parse::<usize>().ok().filter(|power| *power <= MAX_SCALE);
                    times(&decimal(digits)?, &ten_to(power.ok_or(ReadError::PowerOfTen)?).into())
                }
            },
            Token::Euler => Ok(Exact::from(1).exp()?.into()),
            Token::Open => self.deeper(|reader| {
                let value = reader.sum()?;
                if reader.takes(&Token::Close) { Ok(value) } else { Err(ReadError::Unclosed) }
            }),
            Token::Fraction => self.deeper(|reader| {
                let (over, under) = (reader.atom()?, reader.atom()?);
                divide(&over, &under)
            }),
            Token::Function(name) => self.deeper(|reader| {
                let x = reader.atom()?;
                match name {
                    "exp" => exponential(&x),
                    "sqrt" => reader.root(&x),
                    _ => Ok(x.ln()?),
                }
            }),
            got => Err(ReadError::NoNumber { got }),
        }
    }
}

impl Reader<'_> {
    fn root(&mut self, x: &Real) -> Result<Real, ReadError> {
        let x = x.plain()?;
        let text = x.to_string();
        // Roots are taken by factors, which take long to find in long numbers.
        if text.len() > 24 {
            return Err(ReadError::LongRoot);
        }
        if !self.roots.contains(&text) {
            self.roots.push(text);
        }
        if self.roots.len() > MAX_ROOTS {
            return Err(ReadError::More { most: MAX_ROOTS, what: "different roots" });
        }
        Ok(x.sqrt()?.into())
    }

    fn power(&mut self, base: &Real, exponent: &Real) -> Result<Real, ReadError> {
        let (p, q, got) = ratio(Raised::Power, exponent.plain()?)?;
        let base = match q {
            1 => base.clone(),
            2 => self.root(base)?,
            _ => {
                let root =
                    usize::try_from(q).ok().and_then(|q| base.plain().ok()?.rational_root(q));
                root.ok_or(ReadError::NotHalf { of: Raised::Power, got })?.into()
            }
        };
        whole_power(&base, p)
    }
}

/// A rational exponent over and under its line, and its text.
fn ratio(of: Raised, exponent: &Exact) -> Result<(i64, i64, String), ReadError> {
    let got = exponent.rational().map_or_else(|| exponent.to_string(), |ratio| ratio.to_string());
    let (p, q) = got.split_once('/').unwrap_or((&got, "1"));
    let whole =
        |text: &str| text.parse::<i64>().ok().filter(|n| (-MAX_POWER..=MAX_POWER).contains(n));
    match (whole(p), whole(q)) {
        (Some(p), Some(q)) => Ok((p, q, got)),
        _ => Err(ReadError::NotRational { of, got }),
    }
}

/// `x^p` by multiplication.
fn whole_power(x: &Real, p: i64) -> Result<Real, ReadError> {
    let mut value = Real::from(1);
    for _ in 0..p.unsigned_abs() {
        value = bounded(value.times(x)?)?;
    }
    if p < 0 { divide(&1.into(), &value) } else { Ok(value) }
}

/// A number that is 0 or neither too large nor too small: every step keeps within these bounds, so
/// that each takes short time.
fn bounded(value: Real) -> Result<Real, ReadError> {
    if let Real::Plain(x) = &value
        && !x.is_zero()
    {
        let size = x.abs()?;
        let most = ten_to(MAX_SCALE);
        if size > most || size < most.inverse()? {
            return Err(ReadError::Scale);
        }
    }
    Ok(value)
}

fn exponential(x: &Real) -> Result<Real, ReadError> {
    let most = Real::from(230);
    let is_above = |x: &Real| x.compare(&most).map(std::cmp::Ordering::is_gt);
    if is_above(x)? || is_above(&x.negated()?)? {
        return Err(ReadError::PowerOfE);
    }
    Ok(x.exp()?.into())
}

/// `x · y`; a rational multiple of a logarithm is the logarithm of a power.
fn times(x: &Real, y: &Real) -> Result<Real, ReadError> {
    let product = match (x.times(y), x, y) {
        (Err(_), Real::Plain(factor), Real::Log(of))
        | (Err(_), Real::Log(of), Real::Plain(factor)) => power_of_ratio(of, factor)?.ln(),
        (product, ..) => product,
    };
    bounded(product?)
}

/// `x^(p/q)` for a positive number: of a rational one the root is taken where it is rational, else
/// for `q` = 2.
fn power_of_ratio(x: &Exact, exponent: &Exact) -> Result<Real, ReadError> {
    let (p, q, got) = ratio(Raised::Logarithm, exponent)?;
    let base = match (q, usize::try_from(q).ok().and_then(|q| x.rational_root(q))) {
        (1, _) => x.clone().into(),
        (_, Some(root)) => root.into(),
        // As of roots: their factors take long to find in long numbers.
        (2, None) if x.to_string().len() <= 24 => x.sqrt()?.into(),
        _ => return Err(ReadError::NotHalf { of: Raised::Logarithm, got }),
    };
    whole_power(&base, p)
}

fn divide(x: &Real, y: &Real) -> Result<Real, ReadError> {
    let inverse = y.plain().and_then(Exact::inverse)?;
    times(x, &inverse.into())
}

/// Digits with or without a point, exactly; other signs are skipped.
pub(super) fn decimal(text: &str) -> Result<Real, NotExact> {
    let ten = Exact::from(10);
    let digits = text.chars().filter_map(|c| c.to_digit(10));
    let value = digits
        .fold(Exact::from(0), |value, digit| &(&value * &ten) + &Exact::from(i64::from(digit)));
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    value.divide(&ten_to(decimals)).map(Real::from)
}

/// `10^n`.
pub(super) fn ten_to(n: usize) -> Exact {
    let ten = Exact::from(10);
    (0..n).fold(Exact::from(1), |power, _| &power * &ten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_people_write_are_the_same_number() {
        let forms = [
            "(e^{sqrt(2)/2}+1)/(2e^{sqrt(2)/2}+1)",
            r"\frac{e^{\sqrt{2}/2}+1}{2\,e^{\sqrt{2}/2}+1}",
            "(exp(√2/2) + 1) / (2·exp(√2/2) + 1)",
            "(e^(1/sqrt(2))+1)/(1+2*e^(2^(-1/2*1)^1))",
            r"$\left(1+\exp(\tfrac{1}{\sqrt 2})\right)/(1+2\exp(1/\sqrt2))$",
        ];
        let first = read_expression(forms[0]).unwrap();
        assert_eq!(first.digits(9), "0.598887907");
        for form in [forms[1], forms[2], forms[4]] {
            let other = read_expression(form).unwrap_or_else(|error| panic!("{form}: {error}"));
            assert!(first.compare(&other).unwrap().is_eq(), "{form}");
        }
        assert!(read_expression(forms[3]).is_err(), "a power of a power");
        for text in ["2 ½", "2\\,½", "6.5¼", "½ ½", "x²", "2⁻", "2⁺⁻1"] {
            assert!(read_expression(text).is_err(), "{text}");
        }
        for (text, digits) in [
            ("-3/4", "-0.750"),
            ("25·(1/2)²", "6.250"),
            ("½", "0.500"),
            ("-6¼", "-6.250"),
            ("2⁻¹", "0.500"),
            ("3 + √2²", "5.000"),
            ("1/2¼", "0.444"),
            ("e½", "1.359"),
            ("2^-2", "0.250"),
            ("-2^2", "-4.000"),
            ("1 - -1", "2.000"),
            ("3(1/2)", "1.500"),
            ("ln(e^2)", "2.000"),
            ("2*ln(14)", "5.278"),
            ("-1/2 ln(4)", "-0.693"),
            ("2^{-1/2}", "0.707"),
            ("2^(1/2)", "1.414"),
            ("2^{3/2}", "2.828"),
            ("(4/9)^(-3/2)", "3.375"),
            ("8^{1/3}", "2.000"),
            ("16^(-3/4)", "0.125"),
            ("\\frac{1}{2^{1/2}}", "0.707"),
            ("5e6/(e^10+5)", "226.948"),
            ("(5E2 + 1)/2", "250.500"),
            ("5e - 6", "7.591"),
            ("2e+1", "6.437"),
            ("2e exp(1)", "14.778"),
        ] {
            assert_eq!(
                read_expression(text).unwrap_or_else(|error| panic!("{text}: {error}")).digits(3),
                digits,
                "{text}"
            );
        }
    }

    #[test]
    fn rational_multiples_of_logarithms_are_exact() {
        for (text, same) in [
            ("2*ln(14)", "ln(196)"),
            ("2 \\ln(14)", "ln(196)"),
            ("ln(14)*2", "ln(196)"),
            ("3 ln(3) - ln(2)", "ln(27/2)"),
            ("1/2 ln 4", "ln(2)"),
            ("ln(5)/2", "ln(sqrt(5))"),
            ("\\frac{2}{3} ln(8)", "ln(4)"),
            ("-3 ln(2)", "ln(1/8)"),
            ("3/2 ln(4/9)", "ln(8/27)"),
            // 6^32 is longer than a machine word.
            ("ln(7958661109946400884391936)/32", "ln(6)"),
            ("2 ln(sqrt(3)/2)", "ln(3/4)"),
            ("1 + 2 ln(3)", "ln(9 e)"),
        ] {
            let read = |text: &str| {
                read_expression(text).unwrap_or_else(|error| panic!("{text}: {error}"))
            };
            assert!(read(text).compare(&read(same)).unwrap().is_eq(), "{text}");
        }
        assert!(
            !read_expression("2 ln(14)")
                .unwrap()
                .compare(&read_expression("ln(195)").unwrap())
                .unwrap()
                .is_eq()
        );
        for text in ["ln(14)^2", "ln(2) ln(3)", "sqrt(2) ln(3)", "1/3 ln(5)", "33 ln(2)"] {
            assert!(read_expression(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_says_why() {
        for (text, why) in [
            ("-9223372036854775808log(38)", "with numbers up to 32"),
            ("", "the end"),
            ("2 1/2", "operator"),
            ("2^(1/3)", "a half"),
            ("2^sqrt(2)", "rational power"),
            ("2^(1/64)", "rational power"),
            ("(-4)^(1/2)", "root"),
            ("(-8)^(2/4)", "root"),
            ("1 + 1e999", "power of ten"),
            ("2 + 1e99*1e9", "1e100"),
            ("5e2e3", "operator"),
            ("1/2e", "brackets"),
            ("0,5", "decimal point"),
            ("x + 1", "`x`"),
            ("(1", "closing bracket"),
            ("1)", "the end"),
            ("1/0", "divisor"),
            ("e^(e^2)", "exponential"),
            ("sqrt(-1)", "root"),
            ("((2^32)^32)^32", "1e100"),
            ("e^99999", "230"),
            ("e^200*e^200", "1e100"),
            ("1/(√2+√3+√5+√7+√11+√13+√17+√19+√23+√29+√31+√37+√41)", "roots"),
            ("1.2.3", "number"),
            ("\u{0}", "number"),
            ("3\\%", "`\\%`"),
        ] {
            let error = read_expression(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(read_expression(&"(".repeat(500)).is_err());
        assert!(read_expression(&"-".repeat(500)).is_err());
    }
}
