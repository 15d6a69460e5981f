//! What a frozen case is good for: the conventions on which its answer depends and the faults that
//! it catches.

use indexmap::IndexMap;
use qkvet_engine::Products;
use qkvet_engine::digits::Answer;
use qkvet_engine::interpret::{Expected, interpret_with};
use qkvet_engine::lowering::ResultName;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{Behavior, Call, Catalog, Contract, Execution, Fault, Meaning, Response, Target};

/// Fields whose alternative gives another answer, each with the standard's value.
///
/// Conservative: an alternative counts as the same only where every enclosure is the same ball,
/// which happens where it leaves the call as it is. So a target that declares it is never judged by
/// an answer to another question.
pub(super) fn conventions(
    catalog: &Catalog,
    call: &Call,
    contract: &Contract,
    products: Products,
) -> IndexMap<String, String> {
    let standard = Meaning::standard();
    let enclosed =
        |meaning: &Meaning| interpret_with(meaning, call, contract, ResultName::Output, products);
    let base = enclosed(&standard);
    let mut fields = IndexMap::new();
    for convention in catalog.conventions.values() {
        let other = enclosed(&convention.meaning.apply(&standard));
        if !same(&base, &other) {
            fields.insert(convention.field.clone(), convention.standard_value.clone());
        }
    }
    fields.sort_keys();
    fields
}

fn same(left: &Expected, right: &Expected) -> bool {
    let bits = |expected: &Expected| -> Vec<[u64; 2]> {
        expected.exact.iter().map(|ball| [ball.mid.to_bits(), ball.rad.to_bits()]).collect()
    };
    left.shape == right.shape && bits(left) == bits(right)
}

/// Faults that a reader of the case sees: what a plain implementation with the fault returns is
/// outside the bound somewhere, or has another shape.
///
/// What a fault does besides computing (its behavior) does not show in one answer and does not
/// count.
pub(super) fn hunts(
    catalog: &Catalog,
    call: &Call,
    answer: &Answer,
    bounds: &[f64],
) -> Vec<String> {
    let caught = |fault: &&Fault| {
        let fault =
            Fault { behavior: fault.behavior.filter(|kind| !unseen(*kind)), ..(*fault).clone() };
        let mut simulator =
            Simulator::new(Meaning::standard(), Execution::standard()).with_fault(fault);
        let Response::Output(output) = simulator.call(call) else { return false };
        output.output.shape != answer.shape || outside(&output.output.data, answer, bounds)
    };
    let frozen = || catalog.suites.values().filter_map(|suite| suite.frozen.as_ref());
    let is_hunted = |fault: &&Fault| frozen().any(|frozen| frozen.faults.contains(&fault.fault));
    catalog
        .faults
        .values()
        .filter(is_hunted)
        .filter(caught)
        .map(|fault| fault.fault.clone())
        .collect()
}

/// Kinds of behavior that leave the numbers of a first call as they are.
fn unseen(kind: Behavior) -> bool {
    !matches!(kind, Behavior::RowsUnwritten | Behavior::HeadsLast)
}

/// Whether an element fails the reader's test, `!(|out − answer| ≤ bound)`; NaN fails it whatever
/// the bound.
fn outside(output: &[f64], answer: &Answer, bounds: &[f64]) -> bool {
    let within = |((x, decimal), bound): ((&f64, _), &f64)| {
        let decimal: &qkvet_engine::digits::Decimal = decimal;
        (x - decimal.to_f64()).abs() <= *bound
    };
    !output.iter().zip(&answer.values).zip(bounds).all(within)
}
