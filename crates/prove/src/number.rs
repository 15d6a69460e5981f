//! Numbers in front of matrices: a rational times symbols, in one form.

use std::fmt;

/// `numerator / denominator · symbols`, the fraction in lowest terms, its denominator positive, the
/// symbols sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monomial {
    numerator: i64,
    denominator: i64,
    symbols: Vec<String>,
}

/// Symbols of one product.
const MAX_SYMBOLS: usize = 16;

impl Monomial {
    /// 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1, symbols: Vec::new() };

    /// A whole number.
    pub fn whole(n: i64) -> Self {
        Self { numerator: n, ..Self::ONE }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.numerator == 0
    }

    /// The sum of two multiples of the same symbols; `None` for others, or if a part of the
    /// fraction leaves 64 bits.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        if self.symbols != other.symbols {
            return None;
        }
        let over = |x: &Self, y: &Self| x.numerator.checked_mul(y.denominator);
        let numerator = over(self, other)?.checked_add(over(other, self)?)?;
        let denominator = self.denominator.checked_mul(other.denominator)?;
        Self { numerator, denominator, symbols: self.symbols.clone() }.reduced()
    }

    /// A fraction; `None` for a denominator of 0.
    pub fn fraction(numerator: i64, denominator: i64) -> Option<Self> {
        Self { numerator, denominator, symbols: Vec::new() }.reduced()
    }

    /// A symbol, or an expression that is not looked into.
    pub fn symbol(text: &str) -> Self {
        let text = text.replace(' ', "").replace('*', "·");
        Self { numerator: 1, denominator: 1, symbols: vec![text] }
    }

    /// Numerator and denominator of the fraction.
    pub fn ratio(&self) -> (i64, i64) {
        (self.numerator, self.denominator)
    }

    /// The symbols, sorted.
    pub fn symbols(&self) -> &[String] {
        &self.symbols
    }

    /// `1/n` of an extent.
    pub fn inverse(extent: &str) -> Self {
        match extent.parse().ok().and_then(|n| Self::fraction(1, n)) {
            Some(fraction) => fraction,
            None => Self::symbol(&format!("inv({extent})")),
        }
    }

    /// The product; `None` if a part of the fraction leaves 64 bits, or for more than 16 symbols:
    /// zero takes any number of factors.
    pub fn times(&self, other: &Self) -> Option<Self> {
        if self.symbols.len() + other.symbols.len() > MAX_SYMBOLS {
            return None;
        }
        let mut symbols = [self.symbols.as_slice(), other.symbols.as_slice()].concat();
        symbols.sort();
        let numerator = self.numerator.checked_mul(other.numerator)?;
        let denominator = self.denominator.checked_mul(other.denominator)?;
        Self { numerator, denominator, symbols }.reduced()
    }

    /// Reads what [`Display`](fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut product = Self::ONE;
        for (at, part) in text.split('*').enumerate() {
            let (numerator, denominator) = part.split_once('/').unwrap_or((part, "1"));
            let factor = match (at, numerator.parse(), denominator.parse()) {
                (0, Ok(numerator), Ok(denominator)) => Self::fraction(numerator, denominator)?,
                _ => Self::symbol(part),
            };
            product = product.times(&factor)?;
        }
        Some(product)
    }

    fn reduced(mut self) -> Option<Self> {
        if self.denominator == 0 {
            return None;
        }
        let (mut x, mut y) = (self.numerator.unsigned_abs(), self.denominator.unsigned_abs());
        while y > 0 {
            (x, y) = (y, x % y);
        }
        let divisor = i64::try_from(x).ok()? * self.denominator.signum();
        self.numerator = self.numerator.checked_div(divisor)?;
        self.denominator = self.denominator.checked_div(divisor)?;
        if self.numerator == 0 {
            self.symbols.clear();
        }
        Some(self)
    }
}

impl fmt::Display for Monomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbols = self.symbols.join("*");
        match (self.numerator, self.denominator, symbols.as_str()) {
            (1, 1, symbols) if !symbols.is_empty() => f.write_str(symbols),
            (x, 1, "") => write!(f, "{x}"),
            (x, y, "") => write!(f, "{x}/{y}"),
            (x, 1, symbols) => write!(f, "{x}*{symbols}"),
            (x, y, symbols) => write!(f, "{x}/{y}*{symbols}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_one_form() {
        let of = |text: &str| Monomial::parse(text).unwrap();
        let product = |x: &str, y: &str| of(x).times(&of(y)).unwrap().to_string();
        assert_eq!(product("2", "s"), "2*s");
        assert_eq!(product("s", "2"), "2*s");
        assert_eq!(product("-1", "-1"), "1");
        assert_eq!(product("1/2*b", "2*a"), "a*b");
        assert_eq!(product("0", "s"), "0");
        assert_eq!(Monomial::symbol("beta * (gamma - 1)").to_string(), "beta·(gamma-1)");
        assert_eq!(Monomial::fraction(1, 0), None);
        assert_eq!(Monomial::fraction(2, -4).unwrap().to_string(), "-1/2");
    }
}
