//! Values of what was read: exact numbers, and lists of them.

use qkvet_prove::exact::{Exact, NotExact, Real};
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::lexer::Token;
use super::{Form, ParsedNumber, Raised, ReadError};

/// Longest text of one number.
pub const MAX_TEXT: usize = 512;
/// Largest exponent of a power that is multiplied out.
pub(super) const MAX_POWER: i64 = 32;
/// Different roots in one number: what is divided by a sum of `n` of them has up to `2^n` terms.
const MAX_ROOTS: usize = 6;
/// Numbers from `10^-MAX_SCALE` to `10^MAX_SCALE` are worked with.
pub(super) const MAX_SCALE: usize = 100;
/// Entries of one answer.
pub const MAX_CELLS: usize = 4096;

/// A number, or a list.
#[derive(Clone, Debug)]
pub(super) enum Value {
    One(Box<ParsedNumber>),
    List(Vec<Value>),
}

/// Evaluates a tree; its spans are in `text`.
///
/// # Errors
/// What has no exact value.
pub(super) fn value(tree: &Expr, text: &str) -> Result<Value, ReadError> {
    let mut worker = Worker { text, roots: Vec::new(), cells: 0 };
    worker.value(tree)
}

struct Worker<'a> {
    text: &'a str,
    roots: Vec<String>,
    cells: usize,
}

impl Worker<'_> {
    fn value(&mut self, tree: &Expr) -> Result<Value, ReadError> {
        self.roots.clear();
        match &tree.kind {
            ExprKind::Tuple(items) => Ok(Value::List(
                items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?,
            )),
            ExprKind::Transpose(of) => transposed(self.value(of)?),
            ExprKind::Unary(UnaryOp::Neg, of) if has_list(of) => {
                each(self.value(of)?, None, &|x| Ok(x.negated()?))
            }
            ExprKind::Binary(op, left, right) if has_list(left) || has_list(right) => {
                let (x, y) = (self.value(left)?, self.value(right)?);
                match (op, x, y) {
                    (BinaryOp::Mul, list @ Value::List(_), Value::One(factor))
                    | (BinaryOp::Mul, Value::One(factor), list @ Value::List(_)) => {
                        each(list, Some(Form::Expression), &|x| times(x, &factor.value))
                    }
                    (BinaryOp::Div, list @ Value::List(_), Value::One(divisor)) => {
                        each(list, Some(Form::Expression), &|x| divide(x, &divisor.value))
                    }
                    _ => Err(ReadError::Depth),
                }
            }
            _ => {
                self.cells += 1;
                if self.cells > MAX_CELLS {
                    return Err(ReadError::More { most: MAX_CELLS, what: "entries" });
                }
                let text = self.text.get(tree.span.clone()).unwrap_or_default().to_owned();
                if text.len() > MAX_TEXT {
                    return Err(ReadError::TooMany {
                        most: MAX_TEXT,
                        what: "characters",
                        got: text.len(),
                    });
                }
                let (value, form) = self.number(tree)?;
                Ok(Value::One(Box::new(ParsedNumber { text, value, form })))
            }
        }
    }

    fn number(&mut self, tree: &Expr) -> Result<(Real, Form), ReadError> {
        let form = match &tree.kind {
            ExprKind::Number(_) => return self.literal(tree),
            ExprKind::Unary(UnaryOp::Neg, x) => {
                let (x, form) = self.number(x)?;
                return Ok((x.negated()?, form));
            }
            ExprKind::Apply { function, args, .. } if function == "percent" && args.len() == 1 => {
                let (x, form) = self.number(&args[0])?;
                let form = match form {
                    Form::Decimal(places) => Form::Decimal(places + 2),
                    Form::Expression => form,
                };
                return Ok((divide(&x, &100.into())?, form));
            }
            // `1.05 x 10^-1` is a decimal.
            ExprKind::Binary(BinaryOp::Mul, x, y) => match (&x.kind, power_of_ten(y)) {
                (ExprKind::Number(_) | ExprKind::Unary(..), Some(power)) => match self.number(x)?.1
                {
                    Form::Decimal(places) => {
                        let places =
                            i64::try_from(places).unwrap_or(i64::MAX).saturating_sub(power);
                        Form::Decimal(usize::try_from(places).unwrap_or(0))
                    }
                    Form::Expression => Form::Expression,
                },
                _ => Form::Expression,
            },
            _ => Form::Expression,
        };
        Ok((self.real(tree)?, form))
    }

    fn real(&mut self, tree: &Expr) -> Result<Real, ReadError> {
        match &tree.kind {
            ExprKind::Number(_) => Ok(self.literal(tree)?.0),
            ExprKind::Unary(UnaryOp::Neg, x) => Ok(self.real(x)?.negated()?),
            ExprKind::Binary(op, x, y) => {
                let (x, y) = (self.real(x)?, self.real(y)?);
                match op {
                    BinaryOp::Add => bounded(x.plus(&y)?),
                    BinaryOp::Sub => bounded(x.plus(&y.negated()?)?),
                    BinaryOp::Mul => times(&x, &y),
                    BinaryOp::Div => divide(&x, &y),
                    _ => Err(ReadError::NoNumber { got: Token::Op('@') }),
                }
            }
            ExprKind::Name(name) if name == "e" => Ok(Exact::from(1).exp()?.into()),
            ExprKind::Apply { function, args, .. } => match (function.as_str(), args.as_slice()) {
                ("exp", [x]) => exponential(&self.real(x)?),
                ("sqrt", [x]) => {
                    let x = self.real(x)?;
                    self.root(&x)
                }
                ("log", [x]) => Ok(self.real(x)?.ln()?),
                ("percent", [x]) => divide(&self.real(x)?, &100.into()),
                ("pow", [base, exponent]) => {
                    let exponent = self.real(exponent)?;
                    if matches!(&base.kind, ExprKind::Name(name) if name == "e") {
                        return exponential(&exponent);
                    }
                    let base = self.real(base)?;
                    self.power(&base, &exponent)
                }
                _ => Err(ReadError::NoNumber { got: Token::Name(function.clone()) }),
            },
            ExprKind::Name(name) => Err(ReadError::NoNumber { got: Token::Name(name.clone()) }),
            _ => Err(ReadError::Depth),
        }
    }

    /// The digits of a number as they were typed.
    fn literal(&self, tree: &Expr) -> Result<(Real, Form), ReadError> {
        let text = self.text.get(tree.span.clone()).unwrap_or_default();
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let power = power.replace(['−', '–'], "-");
        let power: i64 =
            power.trim_start_matches('+').parse().map_err(|_| ReadError::PowerOfTen)?;
        let power = Some(power).filter(|power| power.unsigned_abs() <= MAX_SCALE as u64);
        let power = power.ok_or(ReadError::PowerOfTen)?;
        let places = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let scale = ten_to(usize::try_from(power.unsigned_abs()).unwrap_or(0)).into();
        let value = decimal(mantissa)?;
        let value = if power < 0 { divide(&value, &scale)? } else { times(&value, &scale)? };
        let places = i64::try_from(places).unwrap_or(0) - power;
        Ok((value, Form::Decimal(usize::try_from(places).unwrap_or(0))))
    }

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

/// Whether a list stands in it.
fn has_list(tree: &Expr) -> bool {
    matches!(tree.kind, ExprKind::Tuple(_) | ExprKind::Transpose(_))
        || tree.parts().into_iter().any(has_list)
}

/// The exponent of `10^n`.
#[expect(clippy::cast_possible_truncation, reason = "checked to be a small whole number")]
fn power_of_ten(tree: &Expr) -> Option<i64> {
    let is_ten = |tree: &Expr| matches!(tree.kind, ExprKind::Number(10.0));
    let ExprKind::Apply { function, args, .. } = &tree.kind else { return None };
    let [base, exponent] = args.as_slice() else { return None };
    let (sign, exponent) = match &exponent.kind {
        ExprKind::Unary(UnaryOp::Neg, exponent) => (-1, &exponent.kind),
        exponent => (1, exponent),
    };
    let ExprKind::Number(n) = exponent else { return None };
    let is_power = function == "pow" && is_ten(base) && n.fract() == 0.0 && *n <= 100.0;
    is_power.then(|| sign * *n as i64)
}

/// A list with something done to each of its numbers, which have this form then.
fn each(
    list: Value,
    form: Option<Form>,
    to: &dyn Fn(&Real) -> Result<Real, ReadError>,
) -> Result<Value, ReadError> {
    Ok(match list {
        Value::One(x) => {
            let form = form.unwrap_or(x.form);
            Value::One(Box::new(ParsedNumber { value: to(&x.value)?, form, ..*x }))
        }
        Value::List(items) => {
            let items = items.into_iter().map(|item| each(item, form, to));
            Value::List(items.collect::<Result<_, _>>()?)
        }
    })
}

/// Rows for columns; a flat list becomes a column.
fn transposed(list: Value) -> Result<Value, ReadError> {
    let Value::List(items) = list else { return Ok(list) };
    if items.iter().all(|item| matches!(item, Value::One(_))) {
        return Ok(Value::List(items.into_iter().map(|one| Value::List(vec![one])).collect()));
    }
    let row =
        |item: Value| if let Value::List(row) = item { Ok(row) } else { Err(ReadError::Depth) };
    let rows: Vec<Vec<Value>> = items.into_iter().map(row).collect::<Result<_, _>>()?;
    let n = rows.first().map_or(0, Vec::len);
    if rows.iter().any(|row| row.len() != n) {
        return Err(ReadError::Depth);
    }
    let column = |j: usize| Value::List(rows.iter().map(|row| row[j].clone()).collect());
    Ok(Value::List((0..n).map(column).collect()))
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
    let power = match (x, y) {
        (Real::Plain(factor), Real::Log(of)) | (Real::Log(of), Real::Plain(factor)) => {
            power_of_ratio(of, factor).and_then(|power| Ok(power.ln()?)).ok()
        }
        _ => None,
    };
    bounded(power.map_or_else(|| x.times(y), Ok)?)
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
    let inverse = y.inverse()?;
    times(x, &inverse)
}

/// Digits with or without a point, exactly; other signs are skipped.
pub(crate) fn decimal(text: &str) -> Result<Real, NotExact> {
    let ten = Exact::from(10);
    let digits = text.chars().filter_map(|c| c.to_digit(10));
    let value = digits
        .fold(Exact::from(0), |value, digit| &(&value * &ten) + &Exact::from(i64::from(digit)));
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    value.divide(&ten_to(decimals)).map(Real::from)
}

/// `10^n`.
pub(crate) fn ten_to(n: usize) -> Exact {
    let ten = Exact::from(10);
    (0..n).fold(Exact::from(1), |power, _| &power * &ten)
}
