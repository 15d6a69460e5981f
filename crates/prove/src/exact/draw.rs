//! Small instances of a law, from a source of choices.

use qkvet_spec::{
    CallOption, CheckedLaw, Dims, Domain, Dtype, Extent, IndexEnv, IndexName, OptionSet, Packed,
    Variables, Window,
};

use super::evaluate::Evaluator;
use super::function::area;
use super::instance::{ExactOptions, Instance, Value};
use super::margin::draw_margin;
use super::matrices::ExactMatrices;
use super::number::Exact;
use super::real::Real;
use super::source::Source;

/// Whether an option is on.
pub(super) fn is_on(options: &ExactOptions, option: CallOption) -> bool {
    match option {
        CallOption::Scale => options.scale.is_some(),
        CallOption::Causal => options.causal,
        CallOption::Mask => options.mask.is_some(),
        CallOption::Bias => options.bias.is_some(),
        CallOption::Window => options.window.is_some(),
        CallOption::Sinks => options.sinks.is_some(),
        CallOption::AlibiSlopes => options.alibi_slopes.is_some(),
        CallOption::KeyLengths => options.key_lengths.is_some(),
        CallOption::QueryLengths => options.query_lengths.is_some(),
        CallOption::Packed => options.packed.is_some(),
        CallOption::Softcap => false,
    }
}

/// Whether the law's condition holds with these options on.
fn meets_condition(law: &CheckedLaw, dims: Dims, options: OptionSet) -> bool {
    let env = IndexEnv::new(dims, Dtype::Float64, options);
    law.law.condition.as_ref().is_none_or(|condition| condition.holds(&env))
}

/// Whether the law may say something about these extents, with no options or with all of its own.
pub(super) fn is_possible(law: &CheckedLaw, dims: Dims) -> bool {
    let all = law.law.options.iter().copied().collect();
    meets_condition(law, dims, OptionSet::default()) || meets_condition(law, dims, all)
}

/// Whether the law's condition holds of any extents: of small ones, or of those that it names and
/// few more.
pub(crate) fn says_something(law: &CheckedLaw) -> bool {
    let Some(condition) = &law.law.condition else { return true };
    let least = |extent, n: usize| {
        n.max(usize::try_from(condition.least(IndexName::Extent(extent))).unwrap_or(0))
    };
    let raised = |d: Dims| Dims {
        n_q: least(Extent::NQ, d.n_q),
        n_k: least(Extent::NK, d.n_k),
        d_k: least(Extent::DK, d.d_k),
        d_v: least(Extent::DV, d.d_v),
        ..d
    };
    all_extents(3).into_iter().any(|dims| is_possible(law, dims) || is_possible(law, raised(dims)))
}

/// Extents up to `size`, small ones first, and among those of one size the ones with as many
/// queries as keys last.
pub(super) fn all_extents(size: usize) -> Vec<Dims> {
    let mut all = Vec::new();
    let n = 1..=size;
    for (b, (h_q, h_k)) in
        [(1, (1, 1)), (1, (2, 1)), (1, (2, 2)), (1, (4, 2)), (2, (1, 1)), (2, (2, 1)), (2, (4, 2))]
    {
        for (n_q, n_k) in n.clone().flat_map(|n_q| n.clone().map(move |n_k| (n_q, n_k))) {
            for (d_k, d_v) in n.clone().flat_map(|d_k| n.clone().map(move |d_v| (d_k, d_v))) {
                all.push(Dims { b, h_q, h_k, n_q, n_k, d_k, d_v });
            }
        }
    }
    all.sort_by_key(|d| (volume(*d), d.n_q == d.n_k));
    all
}

/// Numbers in `Q`, `K` and `V`.
pub(super) fn volume(d: Dims) -> usize {
    d.b * (d.h_q * d.n_q * d.d_k + d.h_k * d.n_k * (d.d_k + d.d_v))
}

/// Why there is no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoInstance {
    /// The law says nothing there: its condition does not hold, or a variable has no value.
    Empty,
    /// It is too large, or not of this kind.
    Beyond,
}

/// The next instance of the source with these extents.
pub(super) fn draw(
    law: &CheckedLaw,
    dims: Dims,
    size: usize,
    source: &mut Source,
) -> Result<Instance, NoInstance> {
    let mut instance = Instance::default();
    for extent in Extent::ALL {
        instance.extents.insert(extent.name().to_owned(), extent.of(dims));
    }
    for option in &law.law.options {
        if source.has_options() && source.rarely(2) {
            set_option(&mut instance.options, *option, dims, source);
        }
    }
    let on =
        CallOption::ALL.into_iter().filter(|option| is_on(&instance.options, *option)).collect();
    if !meets_condition(law, dims, on) {
        return Err(NoInstance::Empty);
    }
    for (name, heads, rows, cols) in [
        ("Q", dims.h_q, dims.n_q, dims.d_k),
        ("K", dims.h_k, dims.n_k, dims.d_k),
        ("V", dims.h_k, dims.n_k, dims.d_v),
    ] {
        let m = source.matrices((Some(dims.b), Some(heads)), rows, cols);
        instance.values.insert(name.to_owned(), Value::Matrices(m));
    }
    for given in &law.given {
        if !bind(given, dims, size, &mut instance, source).ok_or(NoInstance::Beyond)? {
            return Err(NoInstance::Empty);
        }
    }
    Ok(instance)
}

fn set_option(options: &mut ExactOptions, option: CallOption, d: Dims, source: &mut Source) {
    let lead = (Some(d.b), Some(d.h_q));
    match option {
        CallOption::Scale => options.scale = source.one_of([0.5, 1.0, 2.0]),
        CallOption::Causal => options.causal = true,
        CallOption::Mask => {
            // Drawn and drawn over: the numbers of a random instance stay what they were.
            let mut mask = source.matrices(lead, d.n_q, d.n_k);
            mask.data.iter_mut().for_each(|x| *x = i64::from(!source.rarely(3)).into());
            options.mask = Some(mask);
        }
        CallOption::Bias => options.bias = Some(source.matrices(lead, d.n_q, d.n_k)),
        CallOption::Window => {
            let mut end = || (!source.rarely(3)).then(|| source.below(2));
            options.window = Some(Window { left: end(), right: end() });
        }
        CallOption::Sinks => options.sinks = Some((0..d.h_q).map(|_| source.number()).collect()),
        CallOption::AlibiSlopes => {
            options.alibi_slopes = Some(
                (0..d.h_q)
                    .map(|_| {
                        if source.is_every() {
                            source.number()
                        } else {
                            Exact::from(source.entry().abs())
                        }
                    })
                    .collect(),
            );
        }
        CallOption::KeyLengths => {
            options.key_lengths = Some((0..d.b).map(|_| source.below(d.n_k + 1)).collect())
        }
        CallOption::QueryLengths => {
            options.query_lengths = Some((0..d.b).map(|_| source.below(d.n_q + 1)).collect())
        }
        CallOption::Packed => {
            // Two sequences, of which one may be empty. They exclude lengths.
            let mut offsets = |n: usize| vec![0, source.below(n + 1), n];
            options.packed =
                Some(Packed { query_offsets: offsets(d.n_q), key_offsets: offsets(d.n_k) });
            (options.key_lengths, options.query_lengths) = (None, None);
        }
        CallOption::Softcap => {}
    }
}

/// Gives the variables of one domain their values, if it has any; `None` for one that is too large,
/// or not of this kind.
fn bind(
    given: &Variables,
    dims: Dims,
    size: usize,
    instance: &mut Instance,
    source: &mut Source,
) -> Option<bool> {
    let name = given.names[0].clone();
    // Extents of domains are expressions in extents that are known by now.
    let known = Evaluator { instance: instance.clone() };
    let value = match &given.domain {
        Domain::Mask | Domain::Bias => return Some(true),
        Domain::Dim { low, high } => {
            let highest = (*high).min(size.max(*low));
            if *low > 4 {
                return None;
            }
            instance.extents.insert(name, low + source.below(highest - low + 1));
            return Some(true);
        }
        Domain::Index { of, not } => {
            let (_, n) = area(1, known.extent(of).ok()?).ok()?;
            let other = match not.as_ref().map(|not| instance.values.get(not)) {
                Some(Some(Value::Index(other))) => Some(*other),
                _ => None,
            };
            let choices: Vec<usize> = (0..n).filter(|i| Some(*i) != other).collect();
            let Some(index) = choices.get(source.below(choices.len())) else { return Some(false) };
            Value::Index(*index)
        }
        Domain::Real { low, high } => {
            let middle = low + (high - low) / 2.0;
            Value::Number(source.one_of([*low, middle, (low + 1.0).min(*high), *high])?.into())
        }
        Domain::Number | Domain::Positive => Value::Number(source.one_of([1.0, 2.0, 3.0])?.into()),
        // A random variable has no value; what is said of its moments is not decided here.
        Domain::Normal { .. } => return None,
        Domain::Permutation(n) => {
            let n = known.extent(n).ok()?;
            area(n, n).ok()?;
            let mut order = source.shuffled(n);
            if order.is_sorted() && n > 1 && !source.is_every() {
                order.rotate_left(1);
            }
            Value::Matrices(ExactMatrices::plain(n, n, |i, j| i64::from(order[i] == j)))
        }
        Domain::Subset(n) => {
            let (_, n) = area(1, known.extent(n).ok()?).ok()?;
            let count = 1 + source.below(n.saturating_sub(1));
            let mut rows = source.shuffled(n);
            rows.truncate(count);
            rows.sort_unstable();
            if rows.is_empty() {
                return Some(false);
            }
            Value::Indices(rows)
        }
        Domain::Matrix(rows, cols) | Domain::Tensor(rows, cols) | Domain::Grid(rows, cols) => {
            let is_tensor = matches!(given.domain, Domain::Tensor(..));
            let lead = if is_tensor { (Some(dims.b), Some(dims.h_k)) } else { (None, None) };
            let (rows, cols) = area(known.extent(rows).ok()?, known.extent(cols).ok()?).ok()?;
            Value::Matrices(source.matrices(lead, rows, cols))
        }
        Domain::Separated { j, margin } => {
            return draw_margin(instance, dims, j, margin, 1, source).map(|()| true);
        }
        Domain::Opposed { j, margin } => {
            return draw_margin(instance, dims, j, margin, -1, source).map(|()| true);
        }
    };
    instance.values.insert(name, value);
    Some(true)
}

/// The number of a variable.
pub(super) fn real<'a>(instance: &'a Instance, name: &str) -> Option<&'a Exact> {
    match instance.values.get(name) {
        Some(Value::Number(Real::Plain(x))) => Some(x),
        _ => None,
    }
}
