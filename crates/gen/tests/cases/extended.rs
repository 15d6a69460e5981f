//! Softcap, window, sinks, ALiBi, lengths, packed sequences: what is drawn for them, and their
//! covering array.

use std::collections::BTreeSet;

use qkvet_engine::lowering::visibility;
use qkvet_gen::{AlibiChoice, CasePlan, SequenceChoice, SinkChoice, SoftcapChoice, plans};
use qkvet_spec::{CallOption, Dims, Dtype, Meaning, Suite, Values};

use crate::plan_strategy::plan_strategy;
use crate::{DIMS, attends, built, catalog, is_extended, plain, suite_plans};

/// Every extended choice of a plan by name, `off` where there is none.
fn choices(plan: &CasePlan) -> Vec<String> {
    // The fixed ones, and those as wide as a tile with and without keys after the query.
    let window = plan.window.map(|window| match (window.left, window.right) {
        (Some(4..1000), Some(0)) => "tile behind".to_owned(),
        (Some(4..1000), Some(_)) => "tile around".to_owned(),
        sides => format!("{sides:?}"),
    });
    let all = [
        format!("shape {:?}", plan.dims),
        format!("values {:?}", plan.values),
        format!("scale {:?}", plan.scale),
        format!("causal {}", plan.causal),
        format!("mask {:?}", plan.mask.map(|mask| mask.0)),
        format!("bias {:?}", plan.bias),
        format!("softcap {:?}", plan.softcap),
        format!("window {window:?}"),
        format!("sinks {:?}", plan.sinks),
        format!("alibi {:?}", plan.alibi),
        format!("sequences {:?}", plan.sequences),
    ];
    all.to_vec()
}

#[test]
fn without_a_limit_every_pair_of_extended_choices_occurs() {
    let catalog = catalog();
    let core = &catalog.suites["core"];
    let mut suite = Suite { limit: None, alone: 0, ..core.clone() };
    suite.extended.as_mut().unwrap().limit = None;
    let all = plans(&suite, &[&catalog.laws["value"]], &[Dtype::Float32], 0);
    let extended: Vec<_> = all.iter().filter(|plan| is_extended(plan)).map(choices).collect();
    let levels: Vec<BTreeSet<&String>> =
        (0..11).map(|at| extended.iter().map(|row| &row[at]).collect()).collect();
    let counts: Vec<usize> = levels.iter().map(BTreeSet::len).collect();
    assert_eq!(counts, [core.shapes.len(), 12, 8, 2, 7, 6, 4, 11, 3, 3, 7]);
    for left in 0..11 {
        for right in left + 1..11 {
            let pairs: BTreeSet<_> = extended.iter().map(|row| (&row[left], &row[right])).collect();
            assert_eq!(pairs.len(), counts[left] * counts[right], "{left} {right}");
        }
    }
    let fewest = core.shapes.len() * 9;
    assert!((fewest..fewest * 2).contains(&extended.len()), "{}", extended.len());
}

#[test]
fn extended_plans_shift_no_other() {
    let catalog = catalog();
    // Rows in which options meet depend on the others.
    let core = &Suite { together: None, ..catalog.suites["core"].clone() };
    let laws = catalog.suite_laws(core).unwrap();
    let bare = Suite { extended: None, ..core.clone() };
    let mut all = plans(core, &laws, &core.dtypes, 3);
    all.retain(|plan| !is_extended(plan));
    assert_eq!(plans(&bare, &laws, &core.dtypes, 3), all);
}

#[test]
fn core_keeps_every_extended_choice_of_every_law_that_has_it() {
    let catalog = catalog();
    let suite = &catalog.suites["core"];
    for law in catalog.asking_laws() {
        for dtype in Dtype::CHECKED {
            let plans = plans(suite, &[law], &[dtype], 0);
            let occurs = |option, what: &dyn Fn(&CasePlan) -> bool| {
                let has = law.law.options.contains(&option);
                assert_eq!(plans.iter().any(what), has, "{} {dtype} {option}", law.law.law);
            };
            for choice in SoftcapChoice::ALL {
                occurs(CallOption::Softcap, &|plan| plan.softcap == Some(choice));
            }
            for choice in SinkChoice::ALL {
                occurs(CallOption::Sinks, &|plan| plan.sinks == Some(choice));
            }
            for choice in AlibiChoice::ALL {
                occurs(CallOption::AlibiSlopes, &|plan| plan.alibi == Some(choice));
            }
            for option in [
                CallOption::Window,
                CallOption::KeyLengths,
                CallOption::QueryLengths,
                CallOption::Packed,
            ] {
                occurs(option, &|plan| plan.has(option));
            }
        }
    }
}

#[test]
fn every_extended_option_of_a_plan_is_on_in_its_case_and_no_other() {
    let catalog = catalog();
    for (law, plan) in suite_plans(catalog, "smoke", 2) {
        let case = built(law, &plan);
        for option in CallOption::ALL {
            assert_eq!(case.options.has(option), plan.has(option), "{option} {plan:?}");
        }
    }
}

/// The engine and the words of the options, written down once more in this test, agree on who sees
/// what.
#[test]
fn drawn_options_mean_what_they_say() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let (mut seen, mut hidden) = (0, 0);
    crate::domain::for_each_plan(plan_strategy(law), 600, |plan| {
        let case = built(law, &plan);
        let visible = visibility(&Meaning::standard(), case.dims, case.dtype, &case.options);
        let Dims { h_q, n_q, n_k, .. } = case.dims;
        for (at, sees) in visible.iter().enumerate() {
            let (item, head, i, j) =
                (at / (h_q * n_q * n_k), at / (n_q * n_k) % h_q, at / n_k % n_q, at % n_k);
            assert_eq!(
                *sees,
                attends(&case.options, case.dims, [item, head, i, j]),
                "{item} {head} {i} {j} {plan:?}"
            );
            seen += usize::from(*sees);
            hidden += usize::from(!*sees);
        }
    });
    assert!(seen > 100_000 && hidden > 100_000, "{seen} {hidden}");
}

fn with(sequences: SequenceChoice, dims: Dims, seed: u64) -> CasePlan {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    CasePlan { sequences: Some(sequences), seed, ..plain(law, dims, Values::Grid) }
}

#[test]
fn lengths_differ_and_reach_both_ends() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    for seed in 0..20 {
        let dims = Dims { b: 5, ..DIMS };
        let options = built(law, &with(SequenceChoice::BothLengths, dims, seed)).options;
        for (lengths, n) in
            [(options.key_lengths.unwrap(), dims.n_k), (options.query_lengths.unwrap(), dims.n_q)]
        {
            let distinct: BTreeSet<usize> = lengths.iter().copied().collect();
            assert_eq!(distinct.len(), 5, "{lengths:?}");
            assert!(distinct.contains(&0) && distinct.contains(&n), "{lengths:?}");
        }
        // One item: some keys, not all.
        let options =
            built(law, &with(SequenceChoice::KeyLengths, Dims { b: 1, ..DIMS }, seed)).options;
        assert!((1..DIMS.n_k).contains(&options.key_lengths.unwrap()[0]));
        assert!(options.query_lengths.is_none());
    }
}

#[test]
fn packed_sequences_differ_in_length_and_one_of_several_is_empty() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let (mut counts, mut lacks) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..60 {
        let packed = built(law, &with(SequenceChoice::Packed, DIMS, seed)).options.packed.unwrap();
        let lengths = |offsets: &[usize]| {
            offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        };
        let (queries, keys) = (lengths(&packed.query_offsets), lengths(&packed.key_offsets));
        counts.insert(queries.len());
        for lengths in [&queries, &keys] {
            assert!(lengths.iter().any(|length| *length != lengths[0]), "{packed:?}");
        }
        let empty: Vec<usize> =
            (0..keys.len()).filter(|at| keys[*at] == 0 || queries[*at] == 0).collect();
        assert_eq!(empty.len(), usize::from(keys.len() > 2), "{packed:?}");
        lacks.extend(empty.iter().map(|at| (queries[*at] == 0, keys[*at] == 0)));
    }
    assert_eq!(counts, BTreeSet::from([2, 3, 4]));
    assert_eq!(lacks.len(), 3);
    // More sequences than rows.
    for (n_q, n_k) in [(1, 1), (1, 9), (2, 1), (3, 2)] {
        built(law, &with(SequenceChoice::Packed, Dims { n_q, n_k, ..DIMS }, 1));
    }
}

#[test]
fn heads_have_sinks_and_slopes_of_their_own() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let mut plan = plain(law, DIMS, Values::Normal);
    plan.alibi = Some(AlibiChoice::Geometric);
    assert_eq!(
        built(law, &plan).options.alibi_slopes.unwrap().data,
        [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015_625]
    );
    plan.alibi = Some(AlibiChoice::Signed);
    let signed = built(law, &plan).options.alibi_slopes.unwrap().data;
    assert!(signed.iter().any(|slope| *slope < 0.0) && signed.iter().any(|slope| *slope > 0.0));
    plan.sinks = Some(SinkChoice::Far);
    let far = built(law, &plan).options.sinks.unwrap().data;
    assert!(
        far.iter().any(|sink| *sink >= 64.0) && far.iter().any(|sink| *sink <= -64.0),
        "{far:?}"
    );
    plan.sinks = Some(SinkChoice::Near);
    let near = built(law, &plan).options.sinks.unwrap().data;
    assert!(near.iter().all(|sink| (sink * 2.0).fract() == 0.0 && sink.abs() <= 4.0));
    assert!(near.iter().any(|sink| *sink != near[0]), "{near:?}");
}
