//! Expected values and variances of polynomials in independent normal entries, with the steps that
//! lead there.

use std::collections::BTreeMap;

use dashu_ratio::RBig;
use qkvet_spec::syntax::{BinaryOp, Expr};

use super::expression::{binary, mean_of, power, product, series, total, variance_of};
use super::points::MAX_MOMENT;
use super::poly::{At, Atom, Entry, Monomial, Poly, Ratio};
use super::value::sum;
use super::{Steps, Undecided};

/// What is known of the entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    /// Mean and standard deviation of each entry of a random matrix.
    pub(super) random: BTreeMap<String, (Ratio, Ratio)>,
    /// Indices that differ.
    pub(super) differ: Vec<(String, String)>,
}

/// A value and the highest power of one random entry that went into it.
type Found = Result<(Ratio, u32), Undecided>;

/// `E[x]`, by linearity and independence.
pub(super) fn mean(moments: &Moments, x: &Ratio, written: &Expr, steps: &mut Steps) -> Found {
    let whole = mean_of(written);
    steps.push(&whole, &mean_of(x), "entry by entry");
    let (value, degree) = moments.mean(&x.top, steps)?;
    let value = Ratio::over(value.top, value.bottom.times(&x.bottom)?)?;
    steps.push(&whole, &value, "linearity of expectation");
    Ok((value, degree))
}

/// `Var[x]`: independent parts add, and so do the independent terms of a sum.
pub(super) fn variance(moments: &Moments, x: &Ratio, written: &Expr, steps: &mut Steps) -> Found {
    let whole = variance_of(written);
    steps.push(&whole, &variance_of(x), "entry by entry");
    let parts = moments.parts(&x.top)?;
    if x.bottom != Poly::one() || parts.len() != 1 || parts[0].whole != x.top {
        let sum = total(parts.iter().map(|part| variance_of(&part.whole)).collect());
        let divided = if x.bottom == Poly::one() {
            sum
        } else {
            binary(BinaryOp::Div, sum, power(&x.bottom, 2))
        };
        let reason =
            "constants have no variance, factors leave it squared, and independent parts add";
        steps.push(&variance_of(x), &divided, reason);
    }
    let (mut sum_of_parts, mut degree) = (Ratio::of(Poly::default()), 0);
    for part in parts {
        let Part { whole, body, extent } = part;
        let square = body.times(&body)?;
        if let Some(extent) = &extent {
            let each = series(extent, variance_of(&body));
            steps.push(&variance_of(&whole), &each, "terms of different t are independent");
        }
        let by_means = binary(BinaryOp::Sub, mean_of(&square), power(&mean_of(&body), 2));
        steps.push(&variance_of(&body), &by_means, "definition of the variance");
        let (second, highest) = moments.mean(&square, steps)?;
        let (first, _) = moments.mean(&body, steps)?;
        let one = second.plus(&first.times(&first)?.negated())?;
        steps.push(&variance_of(&body), &one, "substituting");
        let all = match &extent {
            None => one,
            Some(extent) => sum(&one, extent)?,
        };
        steps.push(
            &variance_of(&whole),
            &all,
            if extent.is_some() { "adding the terms" } else { "substituting" },
        );
        sum_of_parts = sum_of_parts.plus(&all)?;
        degree = degree.max(highest);
    }
    let square = x.bottom.times(&x.bottom)?;
    let value = Ratio::over(sum_of_parts.top, sum_of_parts.bottom.times(&square)?)?;
    steps.push(&whole, &value, "substituting");
    Ok((value, degree))
}

/// Parts of a polynomial that share no random entry: of entries at fixed places, or one sum over
/// `t` of terms of which each has entries of its own.
struct Part {
    /// The part.
    whole: Poly,
    /// What is summed, or the part itself.
    body: Poly,
    /// Over how many `t`.
    extent: Option<Poly>,
}

impl Moments {
    fn is_random(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Entry(entry) => self.random.contains_key(&entry.matrix),
            Atom::Sum { entries, .. } => {
                entries.keys().any(|entry| self.random.contains_key(&entry.matrix))
            }
            Atom::Symbol { .. } | Atom::Root(_) => false,
        }
    }

    /// Whether two different entries of one matrix, or of two, are independent for certain.
    fn are_apart(&self, left: &Entry, right: &Entry) -> bool {
        let differ = |x: &At, y: &At| match (x, y) {
            (At::Index(x), At::Index(y)) => {
                let pair = |(a, b): &(String, String)| (a == x && b == y) || (a == y && b == x);
                self.differ.iter().any(pair)
            }
            _ => false,
        };
        left.matrix != right.matrix
            || differ(&left.row, &right.row)
            || differ(&left.col, &right.col)
    }

    /// Random entries of a monomial, those inside its sums included.
    fn entries<'a>(&self, monomial: &'a Monomial) -> Vec<(&'a Entry, u32)> {
        let mut all = Vec::new();
        for (atom, power) in monomial {
            match atom {
                Atom::Entry(entry) => all.push((entry, *power)),
                Atom::Sum { entries, .. } => {
                    all.extend(entries.iter().map(|(entry, power)| (entry, *power)))
                }
                Atom::Symbol { .. } | Atom::Root(_) => {}
            }
        }
        all.retain(|(entry, _)| self.random.contains_key(&entry.matrix));
        all
    }

    /// `E[p] = Σ coefficient · Π E[entry^power]`.
    fn mean(&self, p: &Poly, steps: &mut Steps) -> Found {
        let (mut total, mut degree) = (Ratio::of(Poly::default()), 0);
        for (monomial, x) in &p.0 {
            let sums: u32 = monomial
                .iter()
                .filter(|(atom, _)| matches!(atom, Atom::Sum { .. }) && self.is_random(atom))
                .map(|(_, power)| power)
                .sum();
            if sums > 1 {
                return Err(Undecided::ProductOfSums);
            }
            let entries = self.entries(monomial);
            for (at, (left, _)) in entries.iter().enumerate() {
                if let Some((right, _)) =
                    entries[at + 1..].iter().find(|(right, _)| !self.are_apart(left, right))
                {
                    let (left, right) = (left.to_string(), right.to_string());
                    return Err(Undecided::Same { left, right });
                }
            }
            degree = degree.max(entries.iter().map(|(_, power)| *power).max().unwrap_or(0));
            let (mut value, mut inner) = (Ratio::of(Poly::constant(x.clone())), None);
            let mut random = Vec::new();
            for (atom, power) in monomial {
                match atom {
                    Atom::Sum { extent, entries } if self.is_random(atom) => {
                        inner = Some((extent, entries))
                    }
                    Atom::Entry(entry) if self.is_random(atom) => random.push((entry, *power)),
                    other => {
                        value = value.times(&Ratio::of(Poly::atom(other.clone()).power(*power)?))?
                    }
                }
            }
            value = value.times(&self.product(&random, steps)?)?;
            if let Some((extent, entries)) = inner {
                let is_random = |entry: &Entry| self.random.contains_key(&entry.matrix);
                let random: Vec<(&Entry, u32)> = entries
                    .iter()
                    .filter(|(entry, _)| is_random(entry))
                    .map(|(entry, n)| (entry, *n))
                    .collect();
                let fixed: Monomial = entries
                    .iter()
                    .filter(|(entry, _)| !is_random(entry))
                    .map(|(entry, n)| (Atom::Entry(entry.clone()), *n))
                    .collect();
                let one = self
                    .product(&random, steps)?
                    .times(&Ratio::of(Poly::term(fixed, RBig::ONE)))?;
                let all = sum(&one, extent)?;
                let whole =
                    Poly::atom(Atom::Sum { extent: extent.clone(), entries: entries.clone() });
                steps.push(&mean_of(&whole), &all, "linearity: the means of the terms added");
                value = value.times(&all)?;
            }
            total = total.plus(&value)?;
        }
        Ok((total, degree))
    }

    /// `Π E[entry^power]` of entries that are apart.
    fn product(&self, entries: &[(&Entry, u32)], steps: &mut Steps) -> Result<Ratio, Undecided> {
        let powers: Vec<Expr> = entries.iter().map(|(entry, n)| power(*entry, *n)).collect();
        if entries.len() > 1 {
            let means = product(powers.iter().map(mean_of).collect());
            steps.push(&mean_of(&product(powers.clone())), &means, "independent entries");
        }
        let mut value = Ratio::of(Poly::one());
        for ((entry, n), power) in entries.iter().zip(&powers) {
            let (mean, sd) = &self.random[&entry.matrix];
            let moment = normal_moment(mean, sd, *n)?;
            let reason = match n {
                1 => "the mean",
                2 => "𝔼[x²] = Var[x] + 𝔼[x]²",
                _ => "moments of a normal: 𝔼[xⁿ] = mean · 𝔼[xⁿ⁻¹] + (n − 1) · sd² · 𝔼[xⁿ⁻²]",
            };
            steps.push(&mean_of(power), &moment, reason);
            value = value.times(&moment)?;
        }
        Ok(value)
    }

    /// The parts of a polynomial that are random.
    fn parts(&self, p: &Poly) -> Result<Vec<Part>, Undecided> {
        let mut parts: BTreeMap<Option<Poly>, Part> = BTreeMap::new();
        for (monomial, x) in &p.0 {
            let sums: Vec<(&Atom, u32)> = monomial
                .iter()
                .filter(|(atom, _)| matches!(atom, Atom::Sum { .. }) && self.is_random(atom))
                .map(|(atom, n)| (atom, *n))
                .collect();
            let fixed = monomial
                .keys()
                .filter(|atom| matches!(atom, Atom::Entry(_)) && self.is_random(atom))
                .count();
            let (extent, body) = match (sums.as_slice(), fixed) {
                ([], 0) => continue,
                ([], _) => (None, Poly::term(monomial.clone(), x.clone())),
                ([(Atom::Sum { extent, entries }, 1)], 0) => {
                    let mut front = monomial.clone();
                    front.retain(|atom, _| !self.is_random(atom));
                    let inside =
                        entries.iter().map(|(entry, n)| (Atom::Entry(entry.clone()), *n)).collect();
                    (
                        Some(extent.clone()),
                        Poly::term(front, x.clone()).times(&Poly::term(inside, RBig::ONE))?,
                    )
                }
                _ => return Err(Undecided::VarianceOfProduct),
            };
            let part = parts.entry(extent.clone()).or_insert(Part {
                whole: Poly::default(),
                body: Poly::default(),
                extent,
            });
            part.whole =
                std::mem::take(&mut part.whole).plus(&Poly::term(monomial.clone(), x.clone()));
            part.body = std::mem::take(&mut part.body).plus(&body);
        }
        let parts: Vec<Part> = parts.into_values().collect();
        self.check_parts(&parts)?;
        Ok(parts)
    }

    /// Checks that no random entry is in two parts, nor in two terms of one sum.
    fn check_parts(&self, parts: &[Part]) -> Result<(), Undecided> {
        let of = |part: &Part| -> Vec<Entry> {
            part.body
                .0
                .keys()
                .flat_map(|monomial| self.entries(monomial))
                .map(|(entry, _)| entry.clone())
                .collect()
        };
        let entries: Vec<Vec<Entry>> = parts.iter().map(of).collect();
        for (at, left) in entries.iter().enumerate() {
            for (x, y) in
                left.iter().flat_map(|x| entries[at + 1..].iter().flatten().map(move |y| (x, y)))
            {
                if !self.are_apart(x, y) {
                    return Err(dependent(x, y));
                }
            }
            // x[t, c] and x[c, t] may be one entry of two terms.
            let runs = |at: &At| *at == At::Summed;
            let alike =
                |x: &Entry, y: &Entry| runs(&x.row) == runs(&y.row) && runs(&x.col) == runs(&y.col);
            let crossed = left.iter().flat_map(|x| left.iter().map(move |y| (x, y)));
            if let Some((x, y)) =
                crossed.into_iter().find(|(x, y)| x.matrix == y.matrix && !alike(x, y))
            {
                return Err(dependent(x, y));
            }
        }
        Ok(())
    }
}

fn dependent(left: &Entry, right: &Entry) -> Undecided {
    Undecided::Dependent { left: left.to_string(), right: right.to_string() }
}

/// `E[x^n]` of a normal variable: `m(n) = mean · m(n − 1) + (n − 1) · sd² · m(n − 2)`, `m(0) = 1`.
fn normal_moment(mean: &Ratio, sd: &Ratio, n: u32) -> Result<Ratio, Undecided> {
    if n > MAX_MOMENT {
        return Err(Undecided::Moment { n });
    }
    let (mut before, mut moment) = (Ratio::of(Poly::default()), Ratio::of(Poly::one()));
    for order in 1..=n {
        let spread = sd.times(sd)?.times(&Ratio::of(Poly::constant(RBig::from(order - 1))))?;
        let next = mean.times(&moment)?.plus(&spread.times(&before)?)?;
        (before, moment) = (moment, next);
    }
    Ok(moment)
}
