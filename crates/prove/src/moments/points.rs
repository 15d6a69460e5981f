//! The second route: numbers for all variables, and expected values by adding up every outcome of a
//! distribution with few values. It knows nothing of linearity, independence or polynomials.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp, parse};
use qkvet_spec::{CheckedLaw, Dims, Domain, IndexEnv, OptionSet};

use super::Counterexample;
use super::root::literal;
use crate::rational::{Rational, root_of};

/// The highest power of an entry whose moment [`FIVE`] has.
pub(super) const MAX_MOMENT: u32 = 5;
/// Outcomes for one point, and points, at most.
const MAX_OUTCOMES: usize = 4_096;
const MAX_POINTS: usize = 4_096;
/// Outcomes for one equation of a law, at which the search ends.
pub(super) const BUDGET: usize = 20_000;
/// The same for one step of a proof, of which there are many.
pub(super) const STEP_BUDGET: usize = 1_000;
/// What a point costs beside its outcomes.
const POINT: usize = 8;
/// Names of places that steps speak of without saying which: any stands for all.
const PLACES: [&str; 3] = ["t", "i", "j"];

/// Deviations from the mean in standard deviations, and one over their probability: mean 0,
/// variance 1, third moment 0.
const TWO: [(i32, u32); 2] = [(-1, 2), (1, 2)];
/// The same with fourth moment 3 and fifth moment 0, as a normal variable has.
const FIVE: [(i32, u32); 5] = [(-2, 12), (-1, 6), (0, 2), (1, 6), (2, 12)];

/// Largest extent that is tried, and of the matrices that are laid out.
const MAX_SIZE: usize = 64;

type Matrix = Vec<Vec<Rational>>;

enum Value {
    Number(Rational),
    Matrix(Matrix),
    Index(usize),
}

/// Numbers for the variables of a law, and where its sides were compared.
pub(super) struct Search<'a> {
    law: &'a CheckedLaw,
    outcomes: &'static [(i32, u32)],
    /// Points at which both sides had one value.
    pub(super) agreed: usize,
    budget: usize,
    spent: usize,
    /// Names that the two sides depend on.
    spoken: BTreeSet<String>,
    numbers: BTreeMap<String, Rational>,
    indices: BTreeMap<String, usize>,
    /// Matrices with entries: those that are not random, and the random ones while their outcomes
    /// are added up.
    matrices: BTreeMap<String, Matrix>,
}

impl<'a> Search<'a> {
    /// A search over the variables of the law. `degree` is the highest power of one random entry
    /// inside an expected value: up to the third, two values with the mean and the variance of a
    /// normal entry have its moments, up to the fifth five do. `budget` counts outcomes.
    pub(super) fn new(law: &'a CheckedLaw, degree: u32, budget: usize) -> Self {
        let outcomes: &'static [(i32, u32)] = if degree <= 3 { &TWO } else { &FIVE };
        let (numbers, indices, matrices) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            law,
            outcomes,
            agreed: 0,
            budget,
            spent: 0,
            spoken: BTreeSet::new(),
            numbers,
            indices,
            matrices,
        }
    }

    /// Numbers at which the two sides differ. Points at which a side has no rational value are
    /// passed over.
    pub(super) fn difference(&mut self, left: &Expr, right: &Expr) -> Option<Counterexample> {
        let condition =
            self.law.law.condition.as_ref().and_then(|condition| parse(condition.text()).ok());
        let sides: Vec<&Expr> = [left, right].into_iter().chain(&condition).collect();
        self.spoken = self.spoken(&sides);
        let variables = self.variables();
        for point in points(&variables) {
            if self.spent > self.budget {
                break;
            }
            self.spent += POINT;
            let names = variables.iter().map(|(name, _)| name.clone());
            self.numbers = names.zip(point).collect();
            if !self.is_inside() || self.bind().is_none() {
                continue;
            }
            if let (Some(left), Some(right)) = (self.number(left), self.number(right)) {
                if left != right {
                    let values = variables
                        .iter()
                        .map(|(name, _)| (name.clone(), self.numbers[name].big()))
                        .collect();
                    return Some(Counterexample { values, left: left.big(), right: right.big() });
                }
                self.agreed += 1;
            }
        }
        None
    }

    /// Extents and numbers that the law speaks of, with values to try.
    fn variables(&self) -> Vec<(String, Vec<Rational>)> {
        let whole = |range: &[usize]| range.iter().filter_map(|n| rational(*n)).collect::<Vec<_>>();
        let spoken = DIMENSIONS.iter().filter(|name| self.spoken.contains(**name));
        let mut variables: Vec<_> =
            spoken.map(|name| ((*name).to_owned(), whole(&[2, 1, 3, 4]))).collect();
        for given in self.law.given.iter().filter(|given| self.spoken.contains(&given.names[0])) {
            let half = Rational::Small(1, 2);
            let tried = [1.into(), 2.into(), half, (-1).into(), Rational::ZERO, 3.into()];
            let values = match &given.domain {
                Domain::Dim { low, high } => whole(&(*low..=*high).take(4).collect::<Vec<_>>()),
                Domain::Number => tried.to_vec(),
                Domain::Positive => {
                    tried.into_iter().filter(|x| x.compare(&Rational::ZERO).is_gt()).collect()
                }
                Domain::Real { low, high } => match (number(*low), number(*high)) {
                    (Some(low), Some(high)) => {
                        let is_inside =
                            |x: &Rational| low.compare(x).is_lt() && x.compare(&high).is_lt();
                        let ends = [low.clone(), high.clone()];
                        ends.into_iter().chain(tried.into_iter().filter(is_inside)).collect()
                    }
                    _ => Vec::new(),
                },
                _ => continue,
            };
            variables.push((given.names[0].clone(), values));
        }
        variables
    }

    /// Whether the extents satisfy the law's condition.
    fn is_inside(&self) -> bool {
        let extent = |name: &str| self.numbers.get(name).and_then(whole).unwrap_or(1);
        let [b, h_q, h_k, n_q, n_k, d_k, d_v] = DIMENSIONS.map(extent);
        let dims = Dims { b, h_q, h_k, n_q, n_k, d_k, d_v };
        let dtype = qkvet_spec::Dtype::Float64;
        let env = IndexEnv::new(dims, dtype, OptionSet::default());
        self.law.law.condition.as_ref().is_none_or(|condition| condition.holds(&env))
    }

    /// Gives indices and matrices that are not random their values.
    fn bind(&mut self) -> Option<()> {
        let law = self.law;
        self.indices = PLACES.map(|name| (name.to_owned(), 0)).into();
        self.matrices.clear();
        for given in law
            .given
            .iter()
            .filter(|given| given.names.iter().all(|name| self.spoken.contains(name)))
            .collect::<Vec<_>>()
        {
            let name = &given.names[0];
            match &given.domain {
                Domain::Index { of, not } => {
                    let taken = not.as_ref().and_then(|not| self.indices.get(not)).copied();
                    let index = usize::from(taken == Some(0));
                    if index >= self.extent(of)? {
                        return None;
                    }
                    self.indices.insert(name.clone(), index);
                }
                Domain::Matrix(rows, cols) => {
                    let (rows, cols) = (self.extent(rows)?, self.extent(cols)?);
                    let salt: usize = name.bytes().map(usize::from).sum();
                    // Halves from -3/2 to 3/2, few of them equal.
                    let entry = |i: usize, j: usize| {
                        Some(
                            rational((salt + 3 * i + 5 * j) % 7)?
                                .times(&Rational::Small(1, 2))
                                .plus(&(-1).into()),
                        )
                    };
                    let matrix = (0..rows)
                        .map(|i| (0..cols).map(|j| entry(i, j)).collect())
                        .collect::<Option<_>>()?;
                    self.matrices.insert(name.clone(), matrix);
                }
                _ => {}
            }
        }
        Some(())
    }

    fn extent(&mut self, expr: &Expr) -> Option<usize> {
        whole(&self.number(expr)?).filter(|n| *n <= MAX_SIZE)
    }

    fn number(&mut self, expr: &Expr) -> Option<Rational> {
        match self.value(expr)? {
            Value::Number(x) => Some(x),
            Value::Matrix(x) if x.len() == 1 && x[0].len() == 1 => x.into_iter().next()?.pop(),
            _ => None,
        }
    }

    fn place(&mut self, expr: &Expr) -> Option<usize> {
        // The bound name of a sum, whatever else the law calls so.
        if let ExprKind::Name(name) = &expr.kind
            && let Some(at) = self.indices.get(name)
        {
            return Some(*at);
        }
        match self.value(expr)? {
            Value::Index(at) => Some(at),
            // The only place of an axis.
            Value::Number(one) if one.is_one() => Some(0),
            _ => None,
        }
    }

    fn matrix(&mut self, expr: &Expr) -> Option<Matrix> {
        match self.value(expr)? {
            Value::Matrix(x) => Some(x),
            _ => None,
        }
    }

    fn value(&mut self, expr: &Expr) -> Option<Value> {
        Some(match &expr.kind {
            ExprKind::Number(x) => Value::Number(number(*x)?),
            ExprKind::Name(name) => {
                let law = self.law;
                if let Some(x) = self.numbers.get(name) {
                    Value::Number(x.clone())
                } else if let Some(x) = self.matrices.get(name) {
                    Value::Matrix(x.clone())
                } else if let Some((_, expr)) = law.lets.iter().find(|(known, _)| known == name) {
                    // An abbreviation of abbreviations may be as long as it likes.
                    self.spent += 1;
                    if self.spent > MAX_OUTCOMES.max(self.budget) * 4 {
                        return None;
                    }
                    self.value(expr)?
                } else {
                    Value::Index(*self.indices.get(name)?)
                }
            }
            ExprKind::Unary(UnaryOp::Neg, x) => match self.value(x)? {
                Value::Number(x) => Value::Number(x.negated()),
                Value::Matrix(x) => Value::Matrix(map(x, |x| Some(x.negated()))?),
                Value::Index(_) => return None,
            },
            ExprKind::Transpose(x) => {
                let x = self.matrix(x)?;
                Value::Matrix(transposed(&x))
            }
            ExprKind::Binary(BinaryOp::MatMul, x, y) => {
                let (x, y) = (self.matrix(x)?, transposed(&self.matrix(y)?));
                let dot = |row: &[Rational], col: &[Rational]| {
                    row.iter().zip(col).fold(Rational::ZERO, |sum, (x, y)| sum.plus(&x.times(y)))
                };
                Value::Matrix(
                    x.iter().map(|row| y.iter().map(|col| dot(row, col)).collect()).collect(),
                )
            }
            ExprKind::Binary(op, x, y) => match (self.value(x)?, self.value(y)?) {
                (Value::Number(x), Value::Number(y)) => Value::Number(combined(*op, &x, &y)?),
                (Value::Matrix(x), Value::Number(y)) => {
                    Value::Matrix(map(x, |x| combined(*op, &x, &y))?)
                }
                (Value::Number(x), Value::Matrix(y)) => {
                    Value::Matrix(map(y, |y| combined(*op, &x, &y))?)
                }
                (Value::Matrix(x), Value::Matrix(y)) => {
                    let row = |(x, y): (&Vec<Rational>, &Vec<Rational>)| {
                        x.iter().zip(y).map(|(x, y)| combined(*op, x, y)).collect()
                    };
                    Value::Matrix(x.iter().zip(&y).map(row).collect::<Option<_>>()?)
                }
                _ => return None,
            },
            ExprKind::Apply { function, args, named } => self.apply(function, args, named)?,
            _ => return None,
        })
    }

    fn apply(&mut self, function: &str, args: &[Expr], named: &[(String, Expr)]) -> Option<Value> {
        Some(match (function, args) {
            ("E", [x]) => Value::Number(self.expected(x)?.0),
            ("Var", [x]) => {
                let (mean, square) = self.expected(x)?;
                Value::Number(square.plus(&mean.times(&mean).negated()))
            }
            ("sqrt", [x]) => Value::Number(root_of(&self.number(x)?.big(), 2)?.into()),
            ("ones" | "zeros", [rows, cols @ ..]) => {
                let rows = self.extent(rows)?;
                let cols = cols.first().map_or(Some(1), |cols| self.extent(cols))?;
                let x = Rational::from(i64::from(function == "ones"));
                Value::Matrix(vec![vec![x; cols]; rows])
            }
            // What steps are written with beside the words of laws.
            ("power", [x, n]) => {
                let (x, n) = (self.number(x)?, whole(&self.number(n)?).filter(|n| *n <= MAX_SIZE)?);
                Value::Number((0..n).fold(Rational::ONE, |power, _| power.times(&x)))
            }
            ("entry", [x, places @ ..]) => {
                let x = self.matrix(x)?;
                let at: Vec<usize> =
                    places.iter().map(|place| self.place(place)).collect::<Option<_>>()?;
                Value::Number(match at.as_slice() {
                    [row, col] => x.get(*row)?.get(*col)?.clone(),
                    [at] if x.len() == 1 => x[0].get(*at)?.clone(),
                    [at] => x.get(*at)?.first()?.clone(),
                    _ => return None,
                })
            }
            ("series", [Expr { kind: ExprKind::Name(over), .. }, extent, body]) => {
                let extent = self.extent(extent)?;
                let outer = self.indices.get(over).copied();
                let mut sum = Some(Rational::ZERO);
                for at in 0..extent {
                    self.indices.insert(over.clone(), at);
                    sum = sum.and_then(|sum| Some(sum.plus(&self.number(body)?)));
                }
                match outer {
                    Some(at) => drop(self.indices.insert(over.clone(), at)),
                    None => drop(self.indices.remove(over)),
                }
                Value::Number(sum?)
            }
            ("row" | "col", [x, index]) => {
                let Value::Index(at) = self.value(index)? else { return None };
                let x = self.matrix(x)?;
                if function == "row" {
                    Value::Matrix(vec![x.get(at)?.clone()])
                } else {
                    Value::Matrix(
                        x.iter()
                            .map(|row| row.get(at).map(|x| vec![x.clone()]))
                            .collect::<Option<_>>()?,
                    )
                }
            }
            ("sum", [x]) => {
                let x = self.matrix(x)?;
                let by_rows = matches!(named, [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows");
                let sums = |x: &Matrix| {
                    x.iter()
                        .map(|row| vec![row.iter().fold(Rational::ZERO, |sum, x| sum.plus(x))])
                        .collect::<Matrix>()
                };
                Value::Matrix(if by_rows { transposed(&sums(&transposed(&x))) } else { sums(&x) })
            }
            _ => return None,
        })
    }

    /// `E[x]` and `E[x²]` over every outcome of the random matrices that `x` speaks of.
    fn expected(&mut self, x: &Expr) -> Option<(Rational, Rational)> {
        let law = self.law;
        let (mut cells, mut laid, mut count) = (Vec::new(), Vec::new(), 1);
        let spoken = self.spoken(&[x]);
        for given in &law.given {
            let name = &given.names[0];
            if let Domain::Normal { rows, cols, mean, sd } = &given.domain
                && spoken.contains(name)
            {
                let (rows, cols) = (self.extent(rows)?, self.extent(cols)?);
                let (mean, sd) = (self.number(mean)?, self.number(sd)?);
                let power = u32::try_from(cells.len() + rows * cols).ok()?;
                count = self
                    .outcomes
                    .len()
                    .checked_pow(power)
                    .filter(|count| *count <= MAX_OUTCOMES)?;
                let places = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
                cells.extend(places.map(|(i, j)| (name, i, j, mean.clone(), sd.clone())));
                laid.push((name, vec![vec![Rational::ZERO; cols]; rows]));
            }
        }
        let before: Vec<_> = laid
            .into_iter()
            .map(|(name, zeros)| (name, self.matrices.insert(name.clone(), zeros)))
            .collect();
        let mut sums = Some((Rational::ZERO, Rational::ZERO));
        for outcome in 0..count {
            self.spent += 1;
            let (mut rest, mut odds) = (outcome, 1);
            for (name, i, j, mean, sd) in &cells {
                let (deviation, one_in) = self.outcomes[rest % self.outcomes.len()];
                rest /= self.outcomes.len();
                odds *= i64::from(one_in);
                if let Some(matrix) = self.matrices.get_mut(*name) {
                    matrix[*i][*j] = mean.plus(&sd.times(&i64::from(deviation).into()));
                }
            }
            let x = self.number(x);
            // One over the probability is at most 12^5, for there are few outcomes.
            let weighted = x.map(|x| (x.times(&Rational::Small(1, odds)), x));
            sums = sums.zip(weighted).map(|((mean, square), (part, x))| {
                (mean.plus(&part), square.plus(&part.times(&x)))
            });
            if sums.is_none() {
                break;
            }
        }
        for (name, matrix) in before {
            match matrix {
                Some(matrix) => drop(self.matrices.insert(name.clone(), matrix)),
                None => drop(self.matrices.remove(name)),
            }
        }
        sums
    }

    /// The names that expressions depend on: what they speak of, and what that is made of.
    fn spoken(&self, of: &[&Expr]) -> BTreeSet<String> {
        let given = self
            .law
            .given
            .iter()
            .flat_map(|given| given.names.iter().map(move |name| (name, parts(&given.domain))));
        let lets = self.law.lets.iter().map(|(name, expr)| (name, vec![expr.clone()]));
        let declared: Vec<(&String, Vec<Expr>)> = given.chain(lets).collect();
        let mut texts: Vec<Expr> = of.iter().map(|expr| (*expr).clone()).collect();
        let mut spoken = BTreeSet::new();
        // A name is made of names above it alone.
        for (name, made_of) in declared.into_iter().rev() {
            if texts.iter().any(|text| text.mentions(name)) {
                spoken.insert(name.clone());
                texts.extend(made_of);
            }
        }
        let extents =
            DIMENSIONS.into_iter().filter(|name| texts.iter().any(|text| text.mentions(name)));
        spoken.extend(extents.map(str::to_owned));
        spoken
    }
}

/// The expressions in a domain.
fn parts(domain: &Domain) -> Vec<Expr> {
    let name = |name: &String| Expr { kind: ExprKind::Name(name.clone()), span: 0..0 };
    match domain {
        Domain::Index { of, not } => {
            std::iter::once(of.clone()).chain(not.as_ref().map(name)).collect()
        }
        Domain::Matrix(rows, cols) => vec![rows.clone(), cols.clone()],
        Domain::Normal { rows, cols, mean, sd } => {
            vec![rows.clone(), cols.clone(), mean.clone(), sd.clone()]
        }
        _ => Vec::new(),
    }
}

fn whole(x: &Rational) -> Option<usize> {
    x.whole().and_then(|n| usize::try_from(n).ok())
}

fn rational(n: usize) -> Option<Rational> {
    i64::try_from(n).ok().map(Rational::from)
}

fn number(x: f64) -> Option<Rational> {
    literal(x).map(Rational::from)
}

fn combined(op: BinaryOp, x: &Rational, y: &Rational) -> Option<Rational> {
    match op {
        BinaryOp::Add => Some(x.plus(y)),
        BinaryOp::Sub => Some(x.plus(&y.negated())),
        BinaryOp::Mul => Some(x.times(y)),
        BinaryOp::Div => Some(x.times(&y.inverse()?)),
        _ => None,
    }
}

fn map(x: Matrix, f: impl Fn(Rational) -> Option<Rational>) -> Option<Matrix> {
    x.into_iter().map(|row| row.into_iter().map(&f).collect()).collect()
}

fn transposed(x: &Matrix) -> Matrix {
    let cols = x.first().map_or(0, Vec::len);
    (0..cols).map(|j| x.iter().map(|row| row[j].clone()).collect()).collect()
}

/// Every combination of values, those of the first values first; at most [`MAX_POINTS`].
fn points(variables: &[(String, Vec<Rational>)]) -> Vec<Vec<Rational>> {
    let count = |each: usize| {
        variables
            .iter()
            .try_fold(1_usize, |all, (_, values)| all.checked_mul(values.len().min(each)))
    };
    let each =
        (1..=6).rev().find(|each| count(*each).is_some_and(|all| all <= MAX_POINTS)).unwrap_or(1);
    let mut all: Vec<(usize, Vec<Rational>)> = vec![(0, Vec::new())];
    for (_, values) in variables {
        let values = values.iter().take(each).enumerate();
        let extended = |(rank, point): &(usize, Vec<Rational>)| {
            let (rank, point) = (*rank, point.clone());
            values
                .clone()
                .map(move |(at, x)| (rank + at, point.iter().chain([x]).cloned().collect()))
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(extended).collect();
    }
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, point)| point).collect()
}
