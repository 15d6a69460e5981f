//! What is thought to be computed: a meaning and, over it, formulas with the places where they hold.

use qkvet_engine::lowering::{call_env, item_env, width_of};
use qkvet_engine::plain::{Extent, Plain, plain};
use qkvet_spec::{
    Call, DeviationFormula, Dims, Fault, IndexEnv, IndexExpr, IndexName, Meaning, ResultName, Twist,
};

/// A formula where a rule holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    pub(crate) formula: DeviationFormula,
    /// Absent: everywhere.
    pub(crate) when: Option<IndexExpr>,
}

impl From<&Fault> for Layer {
    /// The formula of a fault that is one.
    fn from(fault: &Fault) -> Self {
        let meaning = fault.meaning.clone();
        let formula = DeviationFormula { meaning, ..DeviationFormula::default() };
        Self { formula, when: fault.when.clone() }
    }
}

impl Layer {
    pub(super) fn always(formula: &DeviationFormula) -> Self {
        Self { formula: formula.clone(), when: None }
    }
}

/// Names whose numbers are those of an element. Lengths are those of its batch item.
const ELEMENT_NAMES: [IndexName; 6] = [
    IndexName::Item,
    IndexName::Head,
    IndexName::Query,
    IndexName::Column,
    IndexName::KeyLength,
    IndexName::QueryLength,
];

/// Whether a rule speaks of elements, not of calls alone.
pub(crate) fn is_of_elements(when: &IndexExpr) -> bool {
    ELEMENT_NAMES.into_iter().any(|name| when.mentions(name))
}

/// The names of the elements of a result of a call: of `(b, h_q, n_q, width)`, or of a head.
pub(crate) fn element_env(
    call: &Call,
    width: usize,
    extent: Extent,
) -> impl Fn(usize) -> IndexEnv + '_ {
    let base = call_env(call);
    move |at| env_of(&base, call, width.max(1), extent, at)
}

fn env_of(base: &IndexEnv, call: &Call, width: usize, extent: Extent, at: usize) -> IndexEnv {
    let Dims { h_q, n_q, .. } = base.dims;
    let (row, c) = (at / width, at % width);
    let [item, h] = match extent {
        Extent::Whole => [row / (h_q * n_q), row / n_q % h_q],
        Extent::Head { item, h } => [item, h],
    };
    let signed = |n: usize| i64::try_from(n).unwrap_or(0);
    IndexEnv {
        h: signed(h),
        i: signed(row % n_q.max(1)),
        c: signed(c),
        ..item_env(base, &call.options, item)
    }
}

/// What a call returns under a meaning and the layers over it; `None` where that is not defined, or
/// two twists meet.
pub(crate) fn predict(
    base: &Meaning,
    layers: &[&Layer],
    call: &Call,
    want: ResultName,
    extent: Extent,
) -> Option<Plain> {
    let env = call_env(call);
    let mut meaning = base.clone();
    let mut twist: Option<&Twist> = None;
    for (number, layer) in layers.iter().enumerate() {
        if layer.formula.result.is_some_and(|result| result != want) {
            continue;
        }
        match &layer.when {
            Some(when) if is_of_elements(when) => {
                let always = Layer::always(&layer.formula);
                let others = |with: bool| {
                    let own = with.then_some(&always);
                    let before = layers[..number].iter().copied();
                    before.chain(own).chain(layers[number + 1..].iter().copied()).collect()
                };
                let with: Vec<&Layer> = others(true);
                let without: Vec<&Layer> = others(false);
                let with = predict(base, &with, call, want, extent)?;
                let without = predict(base, &without, call, want, extent)?;
                let is_same_form = with.values.len() == without.values.len();
                return is_same_form.then(|| mixed(call, extent, want, when, with, &without));
            }
            Some(when) if !when.holds(&env) => continue,
            _ => {}
        }
        if twist.is_some() && layer.formula.twist.is_some() {
            return None;
        }
        meaning = layer.formula.meaning.apply(&meaning);
        twist = twist.or(layer.formula.twist.as_ref());
    }
    plain(&meaning, twist, call, want, extent)
}

/// Elements of `with` where the rule holds, else of `without`, which has as many.
pub(super) fn mixed(
    call: &Call,
    extent: Extent,
    want: ResultName,
    when: &IndexExpr,
    mut with: Plain,
    without: &Plain,
) -> Plain {
    let env = element_env(call, width_of(want, call.dims()), extent);
    for at in 0..with.values.len() {
        if !when.holds(&env(at)) {
            with.values[at] = without.values[at];
            with.errors[at] = without.errors[at];
        }
    }
    with
}
