//! Whether suites, plans and cases are well-formed; stored cases are checked against their law
//! before they are used.

use qkvet_engine::format::is_representable;
use qkvet_spec::{
    Binding, BoolTensor, CallOption, CallOptions, Case, CheckedLaw, Dims, Domain, Dtype, Frozen,
    Matrices, Packed, Suite, Tensor, Window,
};

use crate::extent::{Extents, as_array};
use crate::options::four_axes;
use crate::usage::{Usage, condition_env};
use crate::{CasePlan, GenError};

/// Largest extent of a call.
const MAX_SIZE: usize = 1 << 16;

/// The same of calls of which some rows are looked at.
const MAX_SIZE_OF_ROWS: usize = 1 << 20;

/// Largest number of elements of a tensor of a call, scores included.
const MAX_ELEMENTS: usize = 1 << 27;

/// Most keys on one side of a window.
const WIDEST_WINDOW: usize = 1 << 29;

/// Whether a suite can be combined into cases.
///
/// # Errors
/// Extents that no call can have, a strength outside 1 to 3, and lists without entries.
pub fn check_suite(suite: &Suite) -> Result<(), GenError> {
    let place = |field: &str| format!("`{field}` of suite {}", suite.suite);
    for (at, dims) in suite.shapes.iter().enumerate() {
        check_dims(dims, &place(&format!("shapes[{at}]")))?;
        if let Some(fit) = &suite.fit {
            check_dims(&fit.apply(dims), &place(&format!("fit, with shapes[{at}]")))?;
        }
    }
    for (at, dims) in suite.at.iter().enumerate() {
        let most = if suite.rows.is_some() { MAX_SIZE_OF_ROWS } else { MAX_SIZE };
        check_extents(dims, most, &format!("--at, number {}", at + 1))?;
    }
    let lists = [
        ("shapes", suite.shapes.len()),
        ("values", suite.values.len()),
        ("dtypes", suite.dtypes.len()),
        ("laws", suite.laws.len()),
    ];
    if let Some((field, _)) = lists.iter().find(|(_, entries)| *entries == 0) {
        return Err(GenError::new("list", place(field), "at least one entry", "none"));
    }
    if !(1..=3).contains(&suite.strength) {
        return Err(GenError::new(
            "number",
            place("strength"),
            "1, 2 or 3",
            suite.strength.to_string(),
        ));
    }
    let extended = suite.extended.as_ref().and_then(|extended| extended.limit);
    for (field, n) in [
        ("limit", suite.limit.unwrap_or(1)),
        ("extended.limit", extended.unwrap_or(1)),
        ("rounds", suite.rounds),
        ("alone", suite.alone.max(1)),
    ] {
        if n == 0 || n > 1 << 20 {
            return Err(GenError::new("number", place(field), "1 to 1048576", n.to_string()));
        }
    }
    suite.frozen.as_ref().map_or(Ok(()), |frozen| check_frozen(frozen, &place))
}

fn check_frozen(frozen: &Frozen, place: &dyn Fn(&str) -> String) -> Result<(), GenError> {
    check_version(&frozen.version, &place("frozen.version"))?;
    for (at, dims) in frozen.shapes.iter().enumerate() {
        check_dims(dims, &place(&format!("frozen.shapes[{at}]")))?;
    }
    if frozen.shapes.is_empty() {
        return Err(GenError::new("list", place("frozen.shapes"), "at least one entry", "none"));
    }
    for (field, n) in
        [("frozen.limit", frozen.limit.unwrap_or(1)), ("frozen.larger", frozen.larger.max(1))]
    {
        if n == 0 || n > 1 << 20 {
            return Err(GenError::new("number", place(field), "up to 1048576", n.to_string()));
        }
    }
    Ok(())
}

/// Whether this is a version of three whole numbers.
pub(crate) fn check_version(version: &str, place: &str) -> Result<(), GenError> {
    let whole = |part: &str| {
        (1..=9).contains(&part.len())
            && part.bytes().all(|c| c.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    if version.split('.').count() == 3 && version.split('.').all(whole) {
        return Ok(());
    }
    Err(GenError::new("version", place, "MAJOR.MINOR.PATCH", format!("`{version:.32}`")))
}

/// Whether a text can be the id of a law.
pub(crate) fn is_law(law: &str) -> bool {
    !law.is_empty()
        && law.len() <= 64
        && law.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
}

/// Whether a text can be the name of a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 32
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// Whether a call can have these extents, and there is room for a number of each query and key.
pub(crate) fn check_dims(dims: &Dims, place: &str) -> Result<(), GenError> {
    check_extents(dims, MAX_SIZE, place)?;
    check_size("scores", [dims.b, dims.h_q, dims.n_q, dims.n_k], place)
}

/// Whether a case of the law can have these extents: with a mask or a bias, or where a law speaks
/// of more than results, scores are written down.
pub(crate) fn check_dims_of(
    law: &CheckedLaw,
    dims: &Dims,
    (has_scores, has_rows): (bool, bool),
    place: &str,
) -> Result<(), GenError> {
    match law.says_a_result() && !has_scores {
        true if has_rows => check_extents(dims, MAX_SIZE_OF_ROWS, place),
        true => check_extents(dims, MAX_SIZE, place),
        false => check_dims(dims, place),
    }
}

/// Whether a call can have these extents.
fn check_extents(dims: &Dims, most: usize, place: &str) -> Result<(), GenError> {
    for (name, n) in qkvet_spec::shape::DIMENSIONS.iter().zip(as_array(dims)) {
        if n == 0 || n > most {
            return Err(GenError::new(
                format!("extent `{name}`"),
                place,
                format!("1 to {most}"),
                n.to_string(),
            ));
        }
    }
    if !dims.h_q.is_multiple_of(dims.h_k) {
        let got = format!("h_q = {}, h_k = {}", dims.h_q, dims.h_k);
        return Err(GenError::new("heads", place, "h_q to be a multiple of h_k", got));
    }
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = *dims;
    for (tensor, shape) in
        [("query", [b, h_q, n_q, d_k]), ("key", [b, h_k, n_k, d_k]), ("value", [b, h_k, n_k, d_v])]
    {
        check_size(tensor, shape, place)?;
    }
    Ok(())
}

/// Whether there is room for so many elements.
pub(crate) fn check_size<const N: usize>(
    what: &str,
    shape: [usize; N],
    place: &str,
) -> Result<(), GenError> {
    let elements = shape.iter().fold(1usize, |product, n| product.saturating_mul(*n));
    if elements > MAX_ELEMENTS {
        let expected = format!("{MAX_ELEMENTS} elements at most");
        let got = elements.to_string();
        return Err(GenError::new(format!("{what} {shape:?}"), place, expected, got));
    }
    Ok(())
}

/// Whether a plan fits its law.
pub(crate) fn check_plan(law: &CheckedLaw, plan: &CasePlan) -> Result<(), GenError> {
    if plan.law != law.law.law {
        return Err(GenError::new(
            "law",
            "plan",
            format!("`{}`", law.law.law),
            format!("`{}`", plan.law),
        ));
    }
    let ranges = law.given.iter().filter_map(|given| match given.domain {
        Domain::Dim { low, high } => Some((low, high)),
        _ => None,
    });
    let ranges: Vec<(usize, usize)> = ranges.collect();
    let fits = |(n, (low, high)): (&usize, &(usize, usize))| (low..=high).contains(&n);
    if ranges.len() != plan.law_dims.len() || !plan.law_dims.iter().zip(&ranges).all(fits) {
        let got = format!("{:?}", plan.law_dims);
        return Err(GenError::new(
            "extents of the law",
            "plan",
            format!("one in each of {ranges:?}"),
            got,
        ));
    }
    Ok(())
}

/// Whether a case gives every variable of its law a value of its domain's kind and shape.
///
/// # Errors
/// The first difference: another law, an option that the law does not range over, a variable that
/// is missing, unknown or ill-shaped, an element that its format does not have.
pub fn check_case(law: &CheckedLaw, case: &Case) -> Result<(), GenError> {
    let has_scores = case.options.mask.is_some() || case.options.bias.is_some();
    check_dims_of(law, &case.dims, (has_scores, case.rows().is_some()), "dims")?;
    if case.law != law.law.law {
        return Err(GenError::new(
            "law",
            "case",
            format!("`{}`", law.law.law),
            format!("`{}`", case.law),
        ));
    }
    if let Some(condition) = &law.law.condition
        && !condition.holds(&condition_env(case.dims))
    {
        return Err(GenError::new(
            "extents",
            "case",
            format!("`{}`", condition.text()),
            format!("{:?}", case.dims),
        ));
    }
    if let Some((extent, n, least)) = law.law.misfit.map(|misfit| misfit.least(&case.dims))
        && n < least
    {
        return Err(GenError::new(
            format!("extent `{extent}`"),
            "case",
            format!("{least} at least"),
            n.to_string(),
        ));
    }
    check_options(law, case)?;
    let mut expected: Vec<(String, Kind)> = Vec::new();
    let mut extents = Extents::new(&case.dims);
    let usage = Usage::of(law);
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = case.dims;
    for (name, shape) in [("Q", [h_q, n_q, d_k]), ("K", [h_k, n_k, d_k]), ("V", [h_k, n_k, d_v])] {
        if usage.binds(name) {
            expected.push((
                name.to_owned(),
                Kind::Matrices(Some(b), Some(shape[0]), shape[1], shape[2]),
            ));
        }
    }
    for given in &law.given {
        let name = &given.names[0];
        let size = |expr| extents.eval(expr, name);
        let kind = match &given.domain {
            Domain::Mask | Domain::Bias => continue,
            Domain::Separated { .. } | Domain::Opposed { .. } => {
                expected.push(("Q".to_owned(), Kind::Matrices(Some(b), Some(h_q), n_q, d_k)));
                expected.push(("K".to_owned(), Kind::Matrices(Some(b), Some(h_k), n_k, d_k)));
                continue;
            }
            Domain::Dim { low, high } => Kind::Dim(*low, *high),
            Domain::Index { of, .. } => Kind::Index(size(of)?),
            Domain::Real { low, high } => Kind::Real(*low, *high),
            Domain::Number | Domain::Positive | Domain::Normal { .. } => {
                return Err(GenError::not_drawn(name));
            }
            Domain::Permutation(n) => Kind::Permutation(size(n)?),
            Domain::Subset(n) => Kind::Indices(size(n)?),
            Domain::Matrix(rows, cols) => Kind::Matrices(None, None, size(rows)?, size(cols)?),
            Domain::Tensor(rows, cols) => {
                Kind::Matrices(Some(b), Some(h_k), size(rows)?, size(cols)?)
            }
            Domain::Grid(rows, cols) => Kind::Grid(Some(b), Some(h_k), size(rows)?, size(cols)?),
        };
        if let (Kind::Dim(..), Some(Binding::Dim(n))) = (&kind, case.bindings.get(name)) {
            extents.add(name, *n);
        }
        expected.push((name.clone(), kind));
    }
    if case.bindings.contains_key(Case::ROWS) && law.says_a_result() {
        expected.push((Case::ROWS.to_owned(), Kind::Indices(n_q)));
    }
    for (name, kind) in &expected {
        let place = format!("variable `{name}`");
        let binding =
            case.bindings.get(name).ok_or_else(|| GenError::new("value", &place, "one", "none"))?;
        kind.check(binding, case.dtype, &place)?;
    }
    match case.bindings.keys().find(|name| !expected.iter().any(|(known, _)| known == *name)) {
        Some(name) => Err(GenError::new(
            "variable",
            "case",
            format!("those of law {}", case.law),
            format!("`{name}` too"),
        )),
        None => Ok(()),
    }
}

fn check_options(law: &CheckedLaw, case: &Case) -> Result<(), GenError> {
    let mut given = CallOption::ALL.into_iter().filter(|option| case.options.has(*option));
    if let Some(option) = given.find(|option| !law.law.options.contains(option)) {
        return Err(GenError::new(
            "option",
            "case",
            format!("one that law {} ranges over", case.law),
            format!("`{option}`"),
        ));
    }
    check_option_values(&case.options, &case.dims, case.dtype)
}

/// The format that a number beside the tensors of a call of this format has.
pub(crate) fn at_least_binary32(format: Dtype) -> Dtype {
    if format.precision() > Dtype::Float32.precision() { format } else { Dtype::Float32 }
}

/// Whether every option has shape and elements that a call of these extents and this format can
/// take.
pub(crate) fn check_option_values(
    options: &CallOptions,
    dims: &Dims,
    format: Dtype,
) -> Result<(), GenError> {
    check_elements(options.scale.as_slice(), at_least_binary32(format), "scale")?;
    if let Some(BoolTensor { shape, data }) = &options.mask {
        check_broadcast(shape, data.len(), dims, "mask")?;
    }
    if let Some(Tensor { dtype, shape, data }) = &options.bias {
        check_broadcast(shape, data.len(), dims, "bias")?;
        let hidden = |x: &&f64| **x != f64::NEG_INFINITY;
        let finite: Vec<f64> = data.iter().filter(hidden).copied().collect();
        check_elements(&finite, *dtype, "bias")?;
        if *dtype != format {
            return Err(GenError::new("format", "bias", format.name(), dtype.name()));
        }
    }
    check_extended_values(options, dims, format)
}

/// Softcap, window, sinks, ALiBi, lengths and packed sequences.
pub(crate) fn check_extended_values(
    options: &CallOptions,
    dims: &Dims,
    format: Dtype,
) -> Result<(), GenError> {
    let CallOptions {
        softcap,
        window,
        sinks,
        alibi_slopes,
        key_lengths,
        query_lengths,
        packed,
        ..
    } = options;
    check_elements(softcap.as_slice(), at_least_binary32(format), "softcap")?;
    if let Some(cap) = softcap.filter(|cap| *cap <= 0.0) {
        return Err(GenError::new("number", "softcap", "more than 0", format!("{cap:?}")));
    }
    if let Some(Window { left: None, right: None }) = window {
        return Err(GenError::new("window", "window", "`left`, `right` or both", "neither"));
    }
    let sides = window.iter().flat_map(|window| [window.left, window.right]).flatten();
    if let Some(side) = sides.into_iter().find(|side| *side > WIDEST_WINDOW) {
        return Err(GenError::new(
            "window",
            "window",
            format!("0 to {WIDEST_WINDOW} keys"),
            side.to_string(),
        ));
    }
    for (place, tensor) in [("sinks", sinks), ("alibi_slopes", alibi_slopes)] {
        let Some(Tensor { dtype, shape, data }) = tensor else { continue };
        if *shape != [dims.h_q] || data.len() != dims.h_q {
            let got = if *shape == [data.len()] {
                format!("{shape:?}")
            } else {
                format!("{shape:?} and {}", data.len())
            };
            return Err(GenError::new(
                "shape",
                place,
                format!("[{}], one number a query head", dims.h_q),
                got,
            ));
        }
        check_elements(data, *dtype, place)?;
        if *dtype != format {
            return Err(GenError::new("format", place, format.name(), dtype.name()));
        }
    }
    for (place, lengths, n) in
        [("key_lengths", key_lengths, dims.n_k), ("query_lengths", query_lengths, dims.n_q)]
    {
        let Some(lengths) = lengths else { continue };
        if lengths.len() != dims.b {
            let expected = format!("{}, one a batch item", dims.b);
            return Err(GenError::new("lengths", place, expected, lengths.len().to_string()));
        }
        if let Some(length) = lengths.iter().find(|length| **length > n) {
            return Err(GenError::new("length", place, format!("0 to {n}"), length.to_string()));
        }
    }
    packed.as_ref().map_or(Ok(()), |packed| {
        if key_lengths.is_some() || query_lengths.is_some() {
            return Err(GenError::new("option", "packed", "no lengths beside it", "lengths"));
        }
        check_packed(packed, dims)
    })
}

fn check_packed(packed: &Packed, dims: &Dims) -> Result<(), GenError> {
    let Packed { query_offsets, key_offsets } = packed;
    for (place, offsets, n) in [
        ("packed.query_offsets", query_offsets, dims.n_q),
        ("packed.key_offsets", key_offsets, dims.n_k),
    ] {
        let ends =
            (offsets.len() >= 2).then(|| (offsets.first().copied(), offsets.last().copied()));
        if ends != Some((Some(0), Some(n))) || !offsets.is_sorted() {
            let got = format!("{:?}", &offsets[..offsets.len().min(16)]);
            return Err(GenError::new(
                "offsets",
                place,
                format!("ascending ones from 0 to {n}"),
                got,
            ));
        }
    }
    if query_offsets.len() == key_offsets.len() {
        return Ok(());
    }
    let expected = format!("{}, as many as of the queries", query_offsets.len());
    Err(GenError::new("offsets", "packed.key_offsets", expected, key_offsets.len().to_string()))
}

pub(crate) fn check_broadcast(
    shape: &[usize],
    elements: usize,
    dims: &Dims,
    place: &str,
) -> Result<(), GenError> {
    let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
    let axes = four_axes(shape);
    let fits = axes.iter().zip(full).all(|(axis, n)| *axis == n || *axis == 1);
    if !matches!(shape.len(), 2 | 4) || !fits {
        return Err(GenError::new(
            "shape",
            place,
            format!("2 or 4 axes that broadcast to {full:?}"),
            format!("{shape:?}"),
        ));
    }
    let product: usize = axes.iter().product();
    if product == elements {
        return Ok(());
    }
    Err(GenError::new("elements", place, product.to_string(), elements.to_string()))
}

pub(crate) fn check_elements(data: &[f64], dtype: Dtype, place: &str) -> Result<(), GenError> {
    match data.iter().find(|x| !(x.is_finite() && is_representable(**x, dtype))) {
        Some(x) => Err(GenError::new(
            "element",
            place,
            format!("finite numbers of {dtype}"),
            format!("{x:?}"),
        )),
        None => Ok(()),
    }
}

/// What a variable must be.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Dim(usize, usize),
    Index(usize),
    Indices(usize),
    Real(f64, f64),
    Matrices(Option<usize>, Option<usize>, usize, usize),
    Permutation(usize),
    Grid(Option<usize>, Option<usize>, usize, usize),
}

impl Kind {
    fn check(&self, binding: &Binding, dtype: Dtype, place: &str) -> Result<(), GenError> {
        let wrong = |got: String| Err(GenError::new("value", place, self.describe(), got));
        match (self, binding) {
            (Self::Dim(low, high), Binding::Dim(n)) if (low..=high).contains(&n) => Ok(()),
            (Self::Index(n), Binding::Index(at)) if at < n => Ok(()),
            (Self::Indices(n), Binding::Indices(all))
                if !all.is_empty()
                    && all.is_sorted_by(|x, y| x < y)
                    && all.iter().all(|at| at < n) =>
            {
                Ok(())
            }
            (Self::Real(low, high), Binding::Real(x)) if (low..=high).contains(&x) => {
                check_elements(&[*x], dtype, place)
            }
            (
                Self::Matrices(b, h, r, c),
                Binding::Matrices(Matrices { batch, heads, rows, cols, data }),
            ) => {
                let elements = batch
                    .unwrap_or(1)
                    .saturating_mul(heads.unwrap_or(1))
                    .saturating_mul(*rows)
                    .saturating_mul(*cols);
                if (b, h, r, c) != (batch, heads, rows, cols) || elements != data.len() {
                    return wrong(format!(
                        "{} with {} elements",
                        extents(*batch, *heads, *rows, *cols),
                        data.len()
                    ));
                }
                check_elements(data, dtype, place)
            }
            (Self::Grid(b, h, rows, cols), Binding::Matrices(m)) => {
                Self::Matrices(*b, *h, *rows, *cols).check(binding, dtype, place)?;
                match m.data.iter().find(|x| x.abs() > 2.0 || (*x * 8.0).fract() != 0.0) {
                    Some(x) => wrong(format!("the element {x:?}")),
                    None => Ok(()),
                }
            }
            (Self::Permutation(n), Binding::Matrices(m)) => {
                Self::Matrices(None, None, *n, *n).check(binding, dtype, place)?;
                if is_permutation(&m.data, *n) {
                    Ok(())
                } else {
                    wrong("another matrix".to_owned())
                }
            }
            (_, Binding::Dim(n)) => wrong(format!("the extent {n}")),
            (_, Binding::Index(n)) => wrong(format!("the index {n}")),
            (_, Binding::Indices(all)) => wrong(format!("the indices {all:?}")),
            (_, Binding::Real(x)) => wrong(format!("the number {x:?}")),
            (_, Binding::Matrices(m)) => wrong(extents(m.batch, m.heads, m.rows, m.cols)),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Dim(low, high) => format!("an extent in {low}..{high}"),
            Self::Index(n) => format!("an index below {n}"),
            Self::Indices(n) => format!("ascending indices below {n}"),
            Self::Real(low, high) => format!("a number in {low}..{high}"),
            Self::Matrices(batch, heads, rows, cols) => extents(*batch, *heads, *rows, *cols),
            Self::Grid(batch, heads, rows, cols) => {
                format!(
                    "{} of multiples of 1/8 from -2 to 2",
                    extents(*batch, *heads, *rows, *cols)
                )
            }
            Self::Permutation(n) => format!("a permutation matrix ({n}, {n})"),
        }
    }
}

/// Whether an `n × n` matrix has one 1 in each row and column, and else 0.
fn is_permutation(data: &[f64], n: usize) -> bool {
    let mut columns: Vec<usize> = Vec::with_capacity(n);
    for row in data.chunks(n.max(1)) {
        let ones: Vec<usize> = (0..row.len()).filter(|at| row[*at] != 0.0).collect();
        match ones.as_slice() {
            [at] if row[*at].to_bits() == 1.0f64.to_bits() => columns.push(*at),
            _ => return false,
        }
    }
    columns.sort_unstable();
    columns.into_iter().eq(0..n)
}

fn extents(batch: Option<usize>, heads: Option<usize>, rows: usize, cols: usize) -> String {
    let lead: String = [batch, heads].into_iter().flatten().map(|n| format!("{n}, ")).collect();
    format!("matrices ({lead}{rows}, {cols})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_multiples_of_an_eighth_up_to_2() {
        let fits = |x: f64| {
            let binding = Matrices { batch: None, heads: None, rows: 1, cols: 1, data: vec![x] };
            Kind::Grid(None, None, 1, 1)
                .check(&Binding::Matrices(binding), Dtype::Float32, "variable `c`")
                .is_ok()
        };
        assert!([0.0, -0.0, 0.125, -2.0, 1.875, 2.0].into_iter().all(fits));
        assert!(![0.0625, 2.125, -2.0625, f64::INFINITY, f64::NAN].into_iter().any(fits));
    }

    #[test]
    fn permutations_have_one_1_in_each_row_and_column() {
        for data in
            [&[1.0][..], &[0.0, 1.0, 1.0, 0.0], &[-0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
        {
            assert!(is_permutation(data, data.len().isqrt()), "{data:?}");
        }
        for data in [
            [1.0, 1.0, 1.0, 1.0],
            [1.0, 0.0, 1.0, 0.0],
            [2.0, 0.0, 0.0, 1.0],
            [0.0; 4],
            [-1.0, 0.0, 0.0, 1.0],
        ] {
            assert!(!is_permutation(&data, 2), "{data:?}");
        }
    }
}
