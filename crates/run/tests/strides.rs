//! Inputs that are views: who reads through their strides, who does not, and who declines them.
#![allow(clippy::disallowed_methods, reason = "tests of an I/O crate")]

use crate::common;

use common::*;
use qkvet_run::adapters::python::{Layout, PythonTarget};
use qkvet_spec::{Call, Dims, Dtype, Strides, Target};

/// Calls of which some are put as views.
fn calls() -> impl Iterator<Item = Call> {
    (1..=16).map(|b| {
        random_call(Dims { b, h_q: 3, h_k: 3, n_q: 2, n_k: 2, d_k: 4, d_v: 4 }, Dtype::Float32, 1)
    })
}

fn start(fixture: &Fixture, function: &str, layout: Layout) -> PythonTarget {
    let mut config = fixture.config(function);
    config.layout = Some(layout);
    PythonTarget::start(&config, &Limits::default()).expect(function)
}

#[test]
fn half_of_the_calls_are_put_as_views_and_always_the_same() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    for layout in [Layout::Bhnd, Layout::Bnhd] {
        let mut target = start(&fixture, "reads_through_strides", layout);
        let mut put = |call: &Call| {
            let got = output(target.call(call));
            assert_eq!(got.output, call.value);
            // Other numbers of these shapes are put alike: laws compare bit for bit.
            let other = random_call(call.dims(), Dtype::Float32, 2);
            assert_eq!(output(target.call(&other)).handling, got.handling);
            let contiguous = output(target.call_contiguous(call));
            assert_eq!(
                (contiguous.output, contiguous.handling.strides),
                (got.output, Strides::Contiguous)
            );
            got.handling.strides
        };
        let all: Vec<Strides> = calls().map(|call| put(&call)).collect();
        let views = all.iter().filter(|strides| **strides == Strides::Transposed).count();
        assert!((4..=12).contains(&views), "{all:?}");
        assert!(!all.contains(&Strides::Declined));
    }
}

#[test]
fn who_ignores_strides_is_wrong_on_views_alone() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut target = start(&fixture, "ignores_strides", Layout::Bhnd);
    for call in calls() {
        let got = output(target.call(&call));
        assert_eq!(got.output != call.value, got.handling.strides == Strides::Transposed);
        assert_eq!(output(target.call_contiguous(&call)).output, call.value);
    }
}

#[test]
fn who_raises_is_given_contiguous_inputs() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let mut target = start(&fixture, "declines_strides", Layout::Bhnd);
    let all: Vec<Strides> = calls()
        .map(|call| {
            let got = output(target.call(&call));
            assert_eq!(got.output, call.value);
            got.handling.strides
        })
        .collect();
    assert!(all.contains(&Strides::Declined) && !all.contains(&Strides::Transposed), "{all:?}");
}

#[test]
fn a_result_in_the_memory_of_the_one_before_is_noticed_within_a_case() {
    if !has("numpy") {
        return;
    }
    let fixture = Fixture::new(FIXTURES);
    let reused = |function: &str| -> Vec<bool> {
        let mut target = start(&fixture, function, Layout::Bhnd);
        let mut put = |case: &str, seed: u64| {
            let call = random_call(
                Dims { b: 1, h_q: 2, h_k: 1, n_q: 2, n_k: 3, d_k: 4, d_v: 4 },
                Dtype::Float32,
                seed,
            );
            target.begin(case);
            output(target.call(&call)).handling.reuses_result
        };
        [("c-1", 1), ("c-1", 1), ("c-1", 2), ("c-2", 3)]
            .map(|(case, seed)| put(case, seed))
            .to_vec()
    };
    // The same numbers again are not lost, and what another case gave is nobody's any more.
    assert_eq!(reused("keeps_its_buffer"), [false, false, true, false]);
    assert_eq!(reused("good"), [false; 4]);
}
