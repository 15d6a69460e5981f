//! Claims: what a target is said to compute in place of the standard, held against its calls.

use qkvet_engine::affects::faulty;
use qkvet_engine::format::{round, unit_roundoff};
use qkvet_engine::interpret::interpret;
use qkvet_engine::law::{CallRecord, CallResult, explains, fits, has_form};
use qkvet_engine::plain::Extent;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Call, Catalog, Contract, DeviationFile, Dims, Execution, Fault, IndexExpr, IndexName, Meaning,
    Output, Quoted, Response, ResultName, Target, Tensor, Unexpected,
};

use crate::cause::{Room, contradicting, together};
use crate::identify::{Layer, MAX_LOOSENESS, is_near, lost_below_normal, predict};

/// Deviations of one file: every set of those that strike some rows alone is looked at.
const MAX_DEVIATIONS: usize = 8;

/// What a target is said to compute, all of it at once.
#[derive(Clone, Debug)]
pub struct Claim {
    said: Said,
}

#[derive(Clone, Debug)]
enum Said {
    /// Formulas of which one at least changes more than a meaning.
    Layers(Vec<Layer>),
    /// Formulas that change the meaning alone, as faults.
    Meanings(Vec<Fault>),
    /// Faults of which one at least is more than a formula.
    Faults(Vec<Fault>),
}

impl Claim {
    /// What the deviations of a file say.
    ///
    /// # Errors
    /// No deviation or too many, an unknown fault, one that is more than what a call returns, an
    /// entry that is neither a fault nor a formula or both, a formula beside a fault that is more
    /// than one.
    pub fn new(file: &DeviationFile, catalog: &Catalog) -> Result<Self, Unexpected> {
        let (mut layers, mut faults) = (Vec::new(), Vec::new());
        let n = file.deviations.len();
        if !(1..=MAX_DEVIATIONS).contains(&n) {
            let expected = format!("1 to {MAX_DEVIATIONS} of them");
            return Err(Unexpected::at("deviations", expected).got(n));
        }
        for (at, one) in file.deviations.iter().enumerate() {
            let place = || format!("deviation {}", at + 1);
            match (&one.fault, &one.formula) {
                (Some(name), None) if one.when.is_none() => {
                    let by_code = catalog.faults.values().find(|fault| fault.code == *name);
                    let found = match by_code {
                        Some(fault) => fault,
                        None => Catalog::find("fault", &catalog.faults, name)
                            .map_err(|error| error.inside(place()))?,
                    };
                    if found.behavior.is_some() {
                        return Err(Unexpected::at(place(), "what a call returns")
                            .got(format!("{}, which is a habit besides", found.fault)));
                    }
                    faults.push(found.clone());
                }
                (None, Some(formula)) if !formula.is_empty() => {
                    if one.when.as_ref().is_some_and(|when| when.mentions(IndexName::Key)) {
                        let expected = "a condition of the call, `item`, `h`, `i` and `c`";
                        return Err(Unexpected::at(place(), expected).got("one of `j`"));
                    }
                    layers.push(Layer { formula: formula.clone(), when: one.when.clone() });
                }
                _ => {
                    let expected = "`fault:` alone, or `formula:` with `meaning:` or `twist:`";
                    return Err(Unexpected::at(place(), expected).got("something else"));
                }
            }
        }
        if !faults.iter().all(|fault| fault.is_formula()) {
            return match layers.is_empty() {
                true => Ok(Self { said: Said::Faults(faults) }),
                false => Err(Unexpected::at("deviations", "formulas alone, or faults alone")
                    .got("a fault that is no formula beside a formula")
                    .hint("hold each against the target by a file of its own")),
            };
        }
        let twists = layers.iter().filter(|layer| layer.formula.twist.is_some()).count();
        if twists > 1 {
            let expected = "one with a `twist:` at most: two of them do not go together";
            return Err(Unexpected::at("deviations", expected).got(twists));
        }
        let is_of_meaning = |layer: &Layer| {
            let is_of_columns = |when: &IndexExpr| when.mentions(IndexName::Column);
            layer.formula.twist.is_none()
                && layer.formula.result.is_none()
                && !layer.when.as_ref().is_some_and(is_of_columns)
        };
        let said = if layers.iter().all(is_of_meaning) {
            let of_layer = |Layer { formula, when }| Fault {
                meaning: formula.meaning,
                when,
                ..Fault::default()
            };
            Said::Meanings(faults.into_iter().chain(layers.into_iter().map(of_layer)).collect())
        } else {
            Said::Layers(faults.iter().map(Layer::from).chain(layers).collect())
        };
        Ok(Self { said })
    }

    /// Whether each result of these calls is what is said.
    ///
    /// # Error bound
    /// That of the contract, around an enclosure of what is said where only the meaning is another.
    /// Other formulas are evaluated in plain float64: there it is the bound of the contract, times
    /// as much as errors of first order grow by the formula.
    pub fn holds(&self, calls: &[CallRecord], contract: &Contract, base: &Meaning) -> bool {
        let is_right = |record: &CallRecord| fits(record, base, contract);
        let all_said = |record: &CallRecord, layers: &[Layer]| {
            let layers: Vec<&Layer> = layers.iter().collect();
            record.results().all(|one| is_said(one, &record.call, contract, base, &layers))
        };
        let says = |record: &CallRecord| match &self.said {
            Said::Layers(layers) => all_said(record, layers),
            Said::Meanings(faults) => {
                let all: Vec<&Fault> = faults.iter().collect();
                explains(record, |want| faulty(base, &all, &record.call, contract, want))
                    // Of a −∞ that meets a later stage no enclosure says anything.
                    || record.call.options.bias_hides()
                        && all_said(record, &faults.iter().map(Layer::from).collect::<Vec<_>>())
            }
            Said::Faults(faults) => {
                let faults: Vec<&Fault> = faults.iter().collect();
                let alone = [(std::slice::from_ref(record), contract)];
                match is_right(record) {
                    true => contradicting(&alone, base, &faults, Room::OfRight).next().is_none(),
                    false => together(&alone, base, &faults).is_some(),
                }
            }
        };
        let mut results = calls.iter().filter(|record| record.call.misfit().is_none());
        results.all(|record| record.output.inputs_unchanged && says(record))
    }
}

/// A target that computes what is said: formulas in binary64, rounded to the format of the call, and
/// faults as the simulator has them.
#[derive(Clone, Debug)]
pub enum Claimed {
    /// Formulas.
    Formulas(Formulas),
    /// Faults.
    Simulated(Box<Simulator>),
}

impl From<Claim> for Claimed {
    fn from(claim: Claim) -> Self {
        match claim.said {
            Said::Layers(layers) => Self::Formulas(Formulas(layers)),
            Said::Meanings(faults) | Said::Faults(faults) => {
                let right = Simulator::new(Meaning::standard(), Execution::standard());
                Self::Simulated(Box::new(faults.into_iter().fold(right, Simulator::with_fault)))
            }
        }
    }
}

impl Target for Claimed {
    fn call(&mut self, call: &Call) -> Response {
        match self {
            Self::Formulas(formulas) => formulas.call(call),
            Self::Simulated(simulator) => simulator.call(call),
        }
    }
}

/// A target that computes formulas.
#[derive(Clone, Debug)]
pub struct Formulas(Vec<Layer>);

impl Target for Formulas {
    fn call(&mut self, call: &Call) -> Response {
        if call.misfit().is_some() {
            return Response::Refused(Quoted::new("extents that do not fit together"));
        }
        let layers: Vec<&Layer> = self.0.iter().collect();
        let Dims { b, h_q, n_q, .. } = call.dims();
        let result = |want: ResultName| {
            let plain = predict(&Meaning::standard(), &layers, call, want, Extent::Whole)?;
            let (mut shape, mut dtype) = (vec![b, h_q, n_q], call.dtype());
            match want {
                ResultName::Lse => dtype = Execution::standard().arithmetic.format(dtype),
                _ => shape.push(plain.values.len() / (b * h_q * n_q).max(1)),
            }
            let data = plain.values.iter().map(|x| round(*x, dtype)).collect();
            Some(Tensor { dtype, shape, data })
        };
        let Some(output) = result(ResultName::Output) else {
            return Response::Unsupported(Quoted::new("a call that the formula says nothing of"));
        };
        let weights = call.return_weights.then(|| result(ResultName::Weights)).flatten();
        let lse = call.return_lse.then(|| result(ResultName::Lse)).flatten();
        Response::Output(Box::new(Output { weights, lse, ..Output::of(output) }))
    }
}

/// Whether a result is what formulas say, within what the contract allows.
fn is_said(
    result: CallResult<'_>,
    call: &Call,
    contract: &Contract,
    base: &Meaning,
    layers: &[&Layer],
) -> bool {
    let right = interpret(base, call, contract, result.want);
    let of = |layers: &[&Layer]| predict(base, layers, call, result.want, Extent::Whole);
    let (Some(got), Some(plain), Some(said)) = (result.tensor(), of(&[]), of(layers)) else {
        return false;
    };
    let is_as_long = [&plain, &said].iter().all(|one| one.values.len() == got.data.len());
    let (tiny, unit) = (lost_below_normal(call), unit_roundoff(call.dtype()));
    // How loose the contract is, from all elements: what is exact by the definition need not be by
    // a formula.
    let looseness = |(hard, error): (&f64, &f64)| hard / (unit * error);
    let looseness = right.hard.iter().zip(&plain.errors).map(looseness);
    let loose = looseness.filter(|x| x.is_finite()).fold(1.0, f64::max).min(MAX_LOOSENESS);
    has_form(result, &right)
        && is_as_long
        && got.data.iter().enumerate().all(|(at, x)| {
            let growth = (said.errors[at] / plain.errors[at]).max(1.0);
            let scaled = if growth.is_finite() { right.hard[at] * growth } else { right.hard[at] };
            let allowed = scaled.max(unit * loose * said.errors[at]) + tiny;
            is_near(*x, said.values[at], allowed)
        })
}
