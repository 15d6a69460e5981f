//! Values of the law's expressions as polynomials: a number is one, a matrix is one for its entry
//! at any row and column.

use std::collections::BTreeMap;

use dashu_ratio::RBig;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use qkvet_spec::{CheckedLaw, Domain};

use super::poly::{At, Atom, Entry, Poly, Ratio};
use super::root::literal;
use super::variance::{self, Moments};
use super::{Steps, Undecided};

/// What an expression stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(Ratio),
    Matrix(Matrix),
    Index(String),
}

/// A matrix by its entry at [`At::Row`], [`At::Col`].
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: Poly,
    pub(super) cols: Poly,
    pub(super) entry: Ratio,
}

impl Undecided {
    /// A part of another form.
    fn form(part: impl ToString, form: &'static str) -> Self {
        Self::Form { part: part.to_string(), form }
    }

    /// The same for a part of a formula.
    pub(super) fn of(part: &Expr, text: &str, form: &'static str) -> Self {
        Self::form(written(part, text), form)
    }
}

/// The law's variables, and what was found on the way.
pub(super) struct Reading {
    values: BTreeMap<String, Value>,
    /// The random matrices, and pairs of indices that differ.
    pub(super) moments: Moments,
    /// How each `E` and `Var` was found, in order.
    pub(super) steps: Steps,
    /// The highest power of one random entry in any expected value.
    pub(super) degree: u32,
}

impl Reading {
    /// Reads the variables and abbreviations of a law.
    pub(super) fn of(law: &CheckedLaw) -> Result<Self, Undecided> {
        let symbol =
            |name: &str, positive| Poly::atom(Atom::Symbol { name: name.to_owned(), positive });
        let extents = qkvet_spec::shape::DIMENSIONS
            .map(|name| (name.to_owned(), Value::Number(Ratio::of(symbol(name, true)))));
        let mut reading = Self {
            values: BTreeMap::from(extents),
            moments: Moments::default(),
            steps: Steps::default(),
            degree: 0,
        };
        for given in &law.given {
            let name = &given.names[0];
            let value = match &given.domain {
                Domain::Number => Value::Number(Ratio::of(symbol(name, false))),
                Domain::Real { low, .. } => Value::Number(Ratio::of(symbol(name, *low > 0.0))),
                Domain::Positive | Domain::Dim { .. } => {
                    Value::Number(Ratio::of(symbol(name, true)))
                }
                Domain::Index { not, .. } => {
                    if let Some(not) = not {
                        reading.moments.differ.push((name.clone(), not.clone()));
                    }
                    Value::Index(name.clone())
                }
                Domain::Matrix(rows, cols) => reading.matrix(name, rows, cols)?,
                Domain::Normal { rows, cols, mean, sd } => {
                    let parameters = (reading.number(mean, "")?, reading.number(sd, "")?);
                    reading.moments.random.insert(name.clone(), parameters);
                    reading.matrix(name, rows, cols)?
                }
                _ => {
                    let form = "is neither a number, an index, a matrix nor a normal matrix";
                    return Err(Undecided::form(name, form));
                }
            };
            reading.values.insert(name.clone(), value);
        }
        for (name, expr) in &law.lets {
            let text = law.law.lets.get(name).map_or("", |formula| &formula.text);
            let value = reading.value(expr, text)?;
            reading.values.insert(name.clone(), value);
        }
        Ok(reading)
    }

    fn matrix(&mut self, name: &str, rows: &Expr, cols: &Expr) -> Result<Value, Undecided> {
        let (rows, cols) = (self.extent(rows)?, self.extent(cols)?);
        let place = |extent: &Poly, at| if *extent == Poly::one() { At::Only } else { at };
        let entry = Entry {
            matrix: name.to_owned(),
            row: place(&rows, At::Row),
            col: place(&cols, At::Col),
        };
        let entry = Ratio::of(Poly::atom(Atom::Entry(entry)));
        Ok(Value::Matrix(Matrix { rows, cols, entry }))
    }

    fn extent(&mut self, expr: &Expr) -> Result<Poly, Undecided> {
        Ok(self.number(expr, "")?.top)
    }

    /// The number that an expression or a matrix (1, 1) is; `text` is the formula that it is part
    /// of.
    pub(super) fn number(&mut self, expr: &Expr, text: &str) -> Result<Ratio, Undecided> {
        match self.value(expr, text)? {
            Value::Number(x) => Ok(x),
            Value::Matrix(x) if x.rows == Poly::one() && x.cols == Poly::one() => Ok(x.entry),
            _ => Err(Undecided::of(expr, text, "is not a number")),
        }
    }

    fn value(&mut self, expr: &Expr, text: &str) -> Result<Value, Undecided> {
        match &expr.kind {
            ExprKind::Number(x) => {
                let x = literal(*x).ok_or_else(|| Undecided::form(x, "is not a finite number"))?;
                Ok(Value::Number(Ratio::of(Poly::constant(x))))
            }
            ExprKind::Name(name) => self
                .values
                .get(name)
                .cloned()
                .ok_or_else(|| Undecided::form(name, "is part of a call")),
            ExprKind::Unary(UnaryOp::Neg, x) => Ok(match self.value(x, text)? {
                Value::Matrix(x) => Value::Matrix(Matrix { entry: x.entry.negated(), ..x }),
                _ => Value::Number(self.number(x, text)?.negated()),
            }),
            ExprKind::Transpose(x) => {
                let Matrix { rows, cols, entry } = self.matrix_of(x, text)?;
                let swap = |at: &At| match at {
                    At::Row => At::Col,
                    At::Col => At::Row,
                    other => other.clone(),
                };
                Ok(Value::Matrix(Matrix { rows: cols, cols: rows, entry: places(&entry, &swap) }))
            }
            ExprKind::Binary(op, x, y) => self.binary(*op, x, y, text),
            ExprKind::Apply { function, args, named } => {
                self.apply(function, args, named, expr, text)
            }
            _ => Err(Undecided::of(expr, text, "is no polynomial")),
        }
    }

    fn matrix_of(&mut self, expr: &Expr, text: &str) -> Result<Matrix, Undecided> {
        match self.value(expr, text)? {
            Value::Matrix(x) => Ok(x),
            _ => Err(Undecided::of(expr, text, "is not a matrix")),
        }
    }

    fn binary(&mut self, op: BinaryOp, x: &Expr, y: &Expr, text: &str) -> Result<Value, Undecided> {
        if op == BinaryOp::MatMul {
            let (left, right) = (self.matrix_of(x, text)?, self.matrix_of(y, text)?);
            let summed = |at: &At, axis: At| if *at == axis { At::Summed } else { at.clone() };
            // A row vector has no place along its only row: the product of two of extent 1 is no
            // sum.
            let below = inside(&left.entry, At::Col, &|at| summed(at, At::Col))?;
            let above = inside(&right.entry, At::Row, &|at| summed(at, At::Row))?;
            let entry = sum(&below.times(&above)?, &left.cols)?;
            return Ok(Value::Matrix(Matrix { rows: left.rows, cols: right.cols, entry }));
        }
        let (left, right) = (self.value(x, text)?, self.value(y, text)?);
        let combine = |left: &Ratio, right: &Ratio| -> Result<Ratio, Undecided> {
            match op {
                BinaryOp::Add => Ok(left.plus(right)?),
                BinaryOp::Sub => Ok(left.plus(&right.negated())?),
                BinaryOp::Mul => Ok(left.times(right)?),
                BinaryOp::Div => match right.inverse() {
                    Some(inverse) => Ok(left.times(&inverse?)?),
                    None => Err(Undecided::of(y, text, "may be zero, or its sign is not known")),
                },
                _ => Err(Undecided::form(op.symbol(), "is no operation of polynomials")),
            }
        };
        Ok(match (left, right) {
            (Value::Number(left), Value::Number(right)) => Value::Number(combine(&left, &right)?),
            (Value::Matrix(left), Value::Number(right)) => {
                Value::Matrix(Matrix { entry: combine(&left.entry, &right)?, ..left })
            }
            (Value::Number(left), Value::Matrix(right)) => {
                Value::Matrix(Matrix { entry: combine(&left, &right.entry)?, ..right })
            }
            (Value::Matrix(left), Value::Matrix(right)) => {
                Value::Matrix(Matrix { entry: combine(&left.entry, &right.entry)?, ..left })
            }
            _ => return Err(Undecided::Index),
        })
    }

    fn apply(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        whole: &Expr,
        text: &str,
    ) -> Result<Value, Undecided> {
        match (function, args) {
            ("E" | "Var", [x]) => {
                let inside = self.number(x, text)?;
                let (value, degree) = if function == "E" {
                    variance::mean(&self.moments, &inside, x, &mut self.steps)?
                } else {
                    variance::variance(&self.moments, &inside, x, &mut self.steps)?
                };
                self.degree = self.degree.max(degree);
                Ok(Value::Number(value))
            }
            ("sqrt", [x]) => {
                let radicand = self.number(x, text)?;
                match radicand.root() {
                    Some(root) => Ok(Value::Number(root?)),
                    None => Err(Undecided::of(x, text, "may be negative, or is random")),
                }
            }
            ("ones" | "zeros", _) => {
                let rows = self.extent(&args[0])?;
                let cols = args.get(1).map_or(Ok(Poly::one()), |cols| self.extent(cols))?;
                let entry =
                    if function == "ones" { Poly::one() } else { Poly::constant(RBig::ZERO) };
                Ok(Value::Matrix(Matrix { rows, cols, entry: Ratio::of(entry) }))
            }
            ("row" | "col", [x, index]) => {
                let Value::Index(index) = self.value(index, text)? else {
                    return Err(Undecided::of(index, text, "is not an index"));
                };
                let Matrix { rows, cols, entry } = self.matrix_of(x, text)?;
                let axis = if function == "row" { At::Row } else { At::Col };
                let chosen =
                    |at: &At| if *at == axis { At::Index(index.clone()) } else { at.clone() };
                let entry = places(&entry, &chosen);
                Ok(Value::Matrix(if function == "row" {
                    Matrix { rows: Poly::one(), cols, entry }
                } else {
                    Matrix { rows, cols: Poly::one(), entry }
                }))
            }
            ("sum", [x]) => {
                let Matrix { rows, cols, entry } = self.matrix_of(x, text)?;
                let by_rows = matches!(named, [(_, Expr { kind: ExprKind::Name(axis), .. })] if axis == "rows");
                let (axis, extent) = if by_rows { (At::Row, &rows) } else { (At::Col, &cols) };
                let change = |at: &At| if *at == axis { At::Summed } else { at.clone() };
                let entry = sum(&inside(&entry, axis.clone(), &change)?, extent)?;
                Ok(Value::Matrix(if by_rows {
                    Matrix { rows: Poly::one(), cols, entry }
                } else {
                    Matrix { rows, cols: Poly::one(), entry }
                }))
            }
            _ => Err(Undecided::of(whole, text, "is no polynomial")),
        }
    }
}

/// An expression as it stands in its formula.
pub(super) fn written<'a>(expr: &Expr, text: &'a str) -> &'a str {
    text.get(expr.span.clone()).unwrap_or("")
}

fn places(entry: &Ratio, change: &dyn Fn(&At) -> At) -> Ratio {
    Ratio { top: entry.top.places(change), bottom: entry.bottom.clone() }
}

/// The entry with one axis at the index of a sum; a sum of sums over different indices is beyond
/// us.
fn inside(entry: &Ratio, axis: At, change: &dyn Fn(&At) -> At) -> Result<Ratio, Undecided> {
    let nested = entry.top.0.keys().flat_map(BTreeMap::keys).any(|atom| match atom {
        Atom::Sum { entries, .. } => {
            entries.keys().any(|entry| entry.row == axis || entry.col == axis)
        }
        _ => false,
    });
    if nested { Err(Undecided::SumOfSums) } else { Ok(places(entry, change)) }
}

/// `Σ_t` of an entry over `extent` places: what does not depend on `t` stands in front.
pub(super) fn sum(entry: &Ratio, extent: &Poly) -> Result<Ratio, Undecided> {
    if *extent == Poly::one() {
        // The index of the sum has one value.
        let only = |at: &At| if *at == At::Summed { At::Only } else { at.clone() };
        return Ok(places(entry, &only));
    }
    let mut total = Poly::default();
    for (monomial, x) in &entry.top.0 {
        let (mut front, mut entries) = (BTreeMap::new(), BTreeMap::new());
        for (atom, power) in monomial {
            match atom {
                Atom::Entry(entry) if entry.row == At::Summed || entry.col == At::Summed => {
                    entries.insert(entry.clone(), *power);
                }
                other => drop(front.insert(other.clone(), *power)),
            }
        }
        let summed = if entries.is_empty() {
            extent.clone()
        } else {
            Poly::atom(Atom::Sum { extent: extent.clone(), entries })
        };
        total = total.plus(&Poly::term(front, x.clone()).times(&summed)?);
    }
    Ok(Ratio::over(total, entry.bottom.clone())?)
}
