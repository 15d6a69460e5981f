//! Polynomials and quotients as people write them.

use std::fmt;

use dashu_ratio::RBig;

use super::poly::{At, Atom, Entry, Monomial, Poly, Ratio};

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Only => "1",
            Self::Index(name) => name,
            Self::Row => "i",
            Self::Col => "j",
            Self::Summed => "t",
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, row, col } = self;
        match (row, col) {
            (At::Only, At::Only) => write!(f, "{matrix}"),
            (At::Only, at) | (at, At::Only) => write!(f, "{matrix}[{at}]"),
            _ => write!(f, "{matrix}[{row}, {col}]"),
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol { name, .. } => f.write_str(name),
            Self::Root(radicand) => write!(f, "sqrt({radicand})"),
            Self::Entry(entry) => write!(f, "{entry}"),
            Self::Sum { extent, entries } => {
                let factors: Vec<String> = entries.iter().map(|(entry, n)| power(entry, *n)).collect();
                write!(f, "(Σ t<{} {})", Grouped(extent), factors.join("*"))
            }
        }
    }
}

fn power(base: &impl fmt::Display, n: u32) -> String {
    if n == 1 { base.to_string() } else { format!("{base}^{n}") }
}

impl fmt::Display for Poly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        // Constants last: `d_k - 1`, not `-1 + d_k`.
        let constant = |(monomial, _): &(&Monomial, &RBig)| monomial.is_empty();
        let terms = self.0.iter().filter(|term| !constant(term)).chain(self.0.iter().filter(constant));
        for (at, (monomial, x)) in terms.enumerate() {
            let negative = *x < RBig::ZERO;
            match (at, negative) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            let x = if negative { -x.clone() } else { x.clone() };
            let mut factors: Vec<String> = monomial.iter().map(|(atom, n)| power(atom, *n)).collect();
            if factors.is_empty() || !x.is_one() {
                factors.insert(0, x.to_string());
            }
            f.write_str(&factors.join("*"))?;
        }
        Ok(())
    }
}

/// In brackets where it stands beside `*` or `/`.
pub(super) struct Grouped<'a>(pub(super) &'a Poly);

impl fmt::Display for Grouped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = match self.0.0.first_key_value() {
            None => true,
            Some((monomial, x)) => {
                let factors = monomial.len() + usize::from(monomial.is_empty() || !x.is_one());
                self.0.0.len() == 1 && factors == 1 && x.is_int() && *x > RBig::ZERO
            }
        };
        if alone { write!(f, "{}", self.0) } else { write!(f, "({})", self.0) }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bottom == Poly::one(), self.top.0.len()) {
            (true, _) => write!(f, "{}", self.top),
            (false, 1) => write!(f, "{}/{}", self.top, Grouped(&self.bottom)),
            (false, _) => write!(f, "({})/{}", self.top, Grouped(&self.bottom)),
        }
    }
}
