//! Extents and parameters from a stream, or from what a source printed.

use qkvet_spec::syntax::Expr;

use super::Stream;
use super::stream::{Choose, Odometer};
use crate::answer::{Drawn, Parameter, extent};
use crate::error::DrawError;
use crate::question::{CheckedQuestion, Domain, ExampleValue, Size};

/// Draws all extents and parameters of a question; each has its own stream.
///
/// # Errors
/// A domain that is empty for the extents drawn.
pub(crate) fn draw(
    question: &CheckedQuestion,
    seed: u64,
    name: &[&str],
) -> Result<Drawn, DrawError> {
    drawn(question, &mut |what, chosen| chosen(&mut Stream::new(seed, &[name, &[what]].concat())))
}

/// Extents and parameters by the next choices of an odometer.
///
/// # Errors
/// A domain that is empty for the extents drawn.
pub(crate) fn chosen(
    question: &CheckedQuestion,
    odometer: &mut Odometer,
) -> Result<Drawn, DrawError> {
    drawn(question, &mut |_, chosen| chosen(odometer))
}

/// What is drawn, by where choices for a name come from.
type Source<'a> = &'a mut dyn FnMut(&str, &mut dyn FnMut(&mut dyn Choose));

fn drawn(question: &CheckedQuestion, source: Source<'_>) -> Result<Drawn, DrawError> {
    let mut drawn = Drawn::default();
    for (name, size) in &question.sizes {
        let mut extent = size.low;
        source(name, &mut |choose| extent += choose.below(size.high - size.low + 1));
        drawn.sizes.insert(name.clone(), extent);
    }
    for (name, domain) in &question.draw {
        let mut value = Err(DrawError::NoExtent { name: name.clone() });
        source(name, &mut |choose| value = parameter((name, domain), &drawn, choose));
        drawn.parameters.insert(name.clone(), value?);
    }
    Ok(drawn)
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn parameter(
    (name, domain): (&String, &Domain),
    drawn: &Drawn,
    stream: &mut dyn Choose,
) -> Result<Parameter, DrawError> {
    let extent = |expr| extent_of(name, expr, drawn);
    let one = |yes: bool| if yes { 1.0 } else { 0.0 };
    Ok(match domain {
        Domain::Matrix { rows, cols, per, low, high } => {
            let (rows, cols) = (extent(rows)?, extent(cols)?);
            let mut entry = || stream.between(*low, *high) as f64 / *per as f64;
            Parameter::Matrix((0..rows).map(|_| (0..cols).map(|_| entry()).collect()).collect())
        }
        Domain::Number { per, low, high } => {
            Parameter::Number(stream.between(*low, *high) as f64 / *per as f64)
        }
        Domain::OneOf(values) => Parameter::Number(values[stream.below(values.len())]),
        Domain::Index { of, not } => {
            let taken: Vec<&Parameter> =
                not.iter().filter_map(|name| drawn.parameters.get(name)).collect();
            let free: Vec<usize> =
                (0..extent(of)?).filter(|i| !taken.contains(&&Parameter::Index(*i))).collect();
            match free.as_slice() {
                [] => return Err(DrawError::NoFree { name: name.clone() }),
                free => Parameter::Index(free[stream.below(free.len())]),
            }
        }
        Domain::Causal(n) => {
            let n = extent(n)?;
            Parameter::Matrix((0..n).map(|i| (0..n).map(|j| one(j <= i)).collect()).collect())
        }
        Domain::Mask(rows, cols) => {
            let (rows, cols) = (extent(rows)?, extent(cols)?);
            let mut row = || {
                let keep = stream.below(cols);
                (0..cols).map(|j| one(j == keep || stream.below(2) == 0)).collect()
            };
            Parameter::Matrix((0..rows).map(|_| row()).collect())
        }
        Domain::Permutation(n) => {
            let n = extent(n)?;
            let mut order = stream.shuffled(n);
            if order.iter().copied().eq(0..n) {
                order.rotate_left(1);
            }
            Parameter::Matrix(
                order.iter().map(|k| (0..n).map(|j| one(j == *k)).collect()).collect(),
            )
        }
    })
}

fn extent_of(name: &str, expr: &Expr, drawn: &Drawn) -> Result<usize, DrawError> {
    extent(expr, drawn).ok_or_else(|| DrawError::NoExtent { name: name.to_owned() })
}

/// The instance that the source of a question printed; parameters that it does not say are drawn,
/// extents are the least.
///
/// # Errors
/// A name that is no extent and no parameter, or a value that is not of its kind.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be small whole numbers"
)]
pub fn written(question: &CheckedQuestion, seed: u64) -> Result<Drawn, DrawError> {
    let example = &question.question.example;
    let whole = |x: f64| (x.fract() == 0.0 && (1.0..=4096.0).contains(&x)).then_some(x as usize);
    let known = |name: &String| {
        question.sizes.iter().any(|(own, _)| own == name)
            || question.draw.iter().any(|(own, _)| own == name)
    };
    if let Some(name) = example.keys().find(|name| !known(name)) {
        return Err(DrawError::Unknown { name: name.clone() });
    }
    let mut drawn = Drawn::default();
    for (name, size) in &question.sizes {
        let size = match example.get(name) {
            Some(ExampleValue::Number(n)) => {
                whole(*n).ok_or_else(|| DrawError::NotWhole { name: name.clone(), got: *n })?
            }
            _ => size.low,
        };
        drawn.sizes.insert(name.clone(), size);
    }
    for (name, domain) in &question.draw {
        let value = match (example.get(name), domain) {
            (Some(ExampleValue::Number(i)), Domain::Index { of, .. }) => {
                let limit = extent_of(name, of, &drawn)?;
                let none = || DrawError::NoIndex { name: name.clone(), limit, got: *i };
                Parameter::Index(whole(*i).filter(|i| *i <= limit).ok_or_else(none)? - 1)
            }
            (Some(ExampleValue::Number(x)), _) => Parameter::Number(*x),
            (Some(ExampleValue::Matrix(rows)), _) => Parameter::Matrix(rows.clone()),
            (None, _) => parameter((name, domain), &drawn, &mut Stream::new(seed, &[name]))?,
        };
        drawn.parameters.insert(name.clone(), value);
    }
    Ok(drawn)
}

/// Checks that extents and parameters are those of the question: names, kinds, ranges of extents,
/// rows and columns.
///
/// # Errors
/// The first that is not.
pub fn fits(question: &CheckedQuestion, drawn: &Drawn) -> Result<(), DrawError> {
    let sizes = question.sizes.iter().map(|(name, _)| name);
    let parameters = question.draw.iter().map(|(name, _)| name);
    if !drawn.sizes.keys().eq(sizes.clone()) || !drawn.parameters.keys().eq(parameters.clone()) {
        return Err(DrawError::Names {
            sizes: sizes.cloned().collect(),
            parameters: parameters.cloned().collect(),
            got: drawn.sizes.keys().chain(drawn.parameters.keys()).cloned().collect(),
        });
    }
    for (name, size) in &question.sizes {
        let (Size { low, high }, got) = (*size, drawn.size(name).unwrap_or(0));
        if !(low..=high).contains(&got) {
            return Err(DrawError::Extent { name: name.clone(), low, high, got });
        }
    }
    for ((name, domain), got) in question.draw.iter().zip(drawn.parameters.values()) {
        let is_of = |rows: &Expr, cols: &Expr, of: &[Vec<f64>]| -> Result<bool, DrawError> {
            let extent = |expr| extent_of(name, expr, drawn);
            let (rows, cols) = (extent(rows)?, extent(cols)?);
            Ok(of.len() == rows
                && of.iter().all(|row| row.len() == cols && row.iter().all(|x| x.is_finite())))
        };
        let fits = match (domain, got) {
            (
                Domain::Matrix { rows, cols, .. } | Domain::Mask(rows, cols),
                Parameter::Matrix(of),
            ) => is_of(rows, cols, of)?,
            (Domain::Causal(n) | Domain::Permutation(n), Parameter::Matrix(of)) => is_of(n, n, of)?,
            (Domain::Number { .. } | Domain::OneOf(_), Parameter::Number(x)) => x.is_finite(),
            (Domain::Index { of, .. }, Parameter::Index(i)) => *i < extent_of(name, of, drawn)?,
            _ => false,
        };
        if !fits {
            return Err(DrawError::Parameter { name: name.clone(), got: Box::new(got.clone()) });
        }
    }
    Ok(())
}
