//! Exact values against the examples they were made for, and laws against small instances.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_prove::exact::{
    Decision, Exact, ExactMatrices, ExactOptions, Instance, Real, Search, Value, decide, evaluate,
    search,
};
use qkvet_spec::syntax::parse;
use qkvet_spec::{Catalog, CheckedLaw, Law, Packed, Proof, Window, parse_yaml};

/// A law from a few lines of YAML, the rest filled in.
fn law(lines: &str) -> CheckedLaw {
    let text = format!("law: claim\ntitle: A claim\nproof: definition\ncatches: []\n{lines}\n");
    let law: Law = parse_yaml("claim.yaml", &text).unwrap();
    qkvet_spec::shape::check_law(law)
        .unwrap_or_else(|error| panic!("{}: {}", error.place, error.error))
}

fn matrix(rows: &[&[f64]]) -> Value {
    let data = rows
        .iter()
        .flat_map(|row| row.iter())
        .map(|x| Real::from(Exact::try_from(*x).unwrap()))
        .collect();
    Value::Matrices(ExactMatrices {
        batch: Some(1),
        heads: Some(1),
        rows: rows.len(),
        cols: rows[0].len(),
        data,
    })
}

fn instance(query: &[&[f64]], key: &[&[f64]], value: &[&[f64]]) -> Instance {
    let mut instance = Instance::default();
    let extents = [
        ("n_q", query.len()),
        ("n_k", key.len()),
        ("d_k", query[0].len()),
        ("d_v", value[0].len()),
    ];
    for (name, n) in extents.into_iter().chain([("b", 1), ("h_q", 1), ("h_k", 1)]) {
        instance.extents.insert(name.to_owned(), n);
    }
    for (name, rows) in [("Q", query), ("K", key), ("V", value)] {
        instance.values.insert(name.to_owned(), matrix(rows));
    }
    instance
}

/// The elements of a formula's value.
fn values(formula: &str, instance: &Instance) -> Vec<Real> {
    let any = law("options: [scale]\nexpect: Q == Q");
    match evaluate(&any, &parse(formula).unwrap(), instance).unwrap() {
        Value::Matrices(m) => m.data,
        Value::Number(x) => vec![x],
        other => panic!("{formula}: {other}"),
    }
}

/// Two queries, three keys of width two: the example with `e^(√2/2)`.
fn example() -> Instance {
    instance(
        &[&[1.0, 0.0], &[0.0, 1.0]],
        &[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0]],
        &[&[1.0, 0.0], &[0.0, 2.0], &[1.0, 1.0]],
    )
}

#[test]
fn the_example_has_its_exact_weights_and_outputs() {
    let check = |formula: &str, expected: &[(&str, &str)]| {
        let got: Vec<_> =
            values(formula, &example()).iter().map(|x| (x.to_string(), x.digits(12))).collect();
        let got: Vec<_> =
            got.iter().map(|(form, digits)| (form.as_str(), digits.as_str())).collect();
        assert_eq!(got, expected, "{formula}");
    };
    let r = ("e^(√2/2)/(2·e^(√2/2) + 1)", "0.401112092680");
    let rest = ("1/(2·e^(√2/2) + 1)", "0.197775814640");
    check("weights(Q, K)", &[r, r, rest, rest, r, r]);
    let first = ("(e^(√2/2) + 1)/(2·e^(√2/2) + 1)", "0.598887907320");
    let last = ("3·e^(√2/2)/(2·e^(√2/2) + 1)", "1.203336278039");
    check("attention(Q, K, V)", &[first, ("1", "1.000000000000"), first, last]);
    // ln(e^(√2/2) + e^(√2/2) + 1) for both queries.
    check("lse(Q, K)", &[("ln(2·e^(√2/2) + 1)", "1.620621139057"); 2]);
}

#[test]
fn scaled_and_unscaled_differ_as_recomputed() {
    let problem = instance(
        &[&[1.0, 3.0], &[-1.0, 1.0], &[2.5, -2.0]],
        &[&[3.0, -0.5], &[2.0, -1.5], &[-2.5, 3.5]],
        &[&[2.5, -1.5], &[-1.0, 3.0], &[-2.0, -3.0]],
    );
    let digits = |formula: &str, places| -> Vec<String> {
        values(formula, &problem)[6..].iter().map(|x| x.digits(places)).take(3).collect()
    };
    assert_eq!(digits("weights(Q, K, scale=1)", 2)[..2], ["0.62", "0.38"]);
    assert_eq!(digits("weights(Q, K)", 4)[..2], ["0.5875", "0.4125"]);
    let outputs = |formula: &str, places| -> Vec<String> {
        values(formula, &problem)[4..].iter().map(|x| x.digits(places)).collect()
    };
    assert_eq!(outputs("attention(Q, K, V, scale=1)", 6), ["1.178608", "0.198933"]);
    assert_eq!(outputs("attention(Q, K, V)", 4), ["1.0562", "0.3563"]);
}

#[test]
fn no_law_of_the_catalog_is_refuted() {
    let catalog = Catalog::embedded().unwrap();
    let (mut never, mut partly): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    // Random variables have no value, and what must be refused has none either.
    let has_value = |law: &CheckedLaw| law.law.proof != Proof::Moments && law.law.misfit.is_none();
    for (id, law) in catalog.laws.iter().filter(|(_, law)| has_value(law)) {
        let Search { confirmed, undecided, counterexample } = search(law, 3);
        if confirmed > 0 && undecided > 0 {
            partly.push(id);
        }
        assert!(
            counterexample.is_none(),
            "{id}: {}",
            counterexample.map(|c| c.to_string()).unwrap_or_default()
        );
        if confirmed == 0 {
            never.push(id);
        }
    }
    // Nothing exact is known of a cap.
    assert_eq!(never, ["inputs-unchanged", "large-softcap"]);
    // Chunks without a visible key have the logarithm of 0, and a second layer has exponentials in
    // exponents.
    assert_eq!(partly, ["chunks-merge", "two-layers-equivariance"]);
}

#[test]
fn false_laws_are_refuted() {
    let check = |lines: &str| {
        let law = law(lines);
        let found = search(&law, 3)
            .counterexample
            .unwrap_or_else(|| panic!("{lines}: expected a counterexample"));
        assert!(matches!(decide(&law, &found.instance), Decision::Fails(_)));
        found
    };
    check(
        "given: {P: permutation(n_k)}\noptions: []\nexpect: attention(Q, P @ K, V) == attention(Q, K, V)",
    );
    // The mask's zeros taken out of the sum after the softmax, not before.
    check(
        "given: {S: subset(n_k)}\noptions: []\nexpect: attention(Q, K, V, mask=ones(n_q) @ indicator(S, n_k)) == \
         weights(Q, K) @ where(indicator(S, n_k).T, V, zeros(n_k, d_v))",
    );
    check(
        "options: [causal]\nexpect: attention(Q, K, V) in between(attended @ min(V, axis=rows), attended @ max(V, axis=rows) / 2)",
    );
    check("options: []\nexpect: attention(Q, K, V) == attention(Q, K, V, scale=1)");
    check(
        "where: h_k < h_q\noptions: []\nexpect: mean_heads(attention(Q, K, V)) == mean_heads(attention(Q, K + K, V))",
    );
    check("options: []\nexpect: lse(Q, K) == lse(Q, K + K)");
    check("options: [sinks]\nexpect: sum(weights(Q, K), axis=cols) == attended");
    check(
        "given: {j: index(n_k), t: real(1..4), '(Q, K)': 'separated(j, margin=t)'}\nwhere: n_k >= 2\noptions: [scale]\n\
         expect: norm_max(attention(Q, K, V) - ones(n_q) @ row(V, j)) <= exp(-2 * t) * spread(V)",
    );
    check("options: []\nexpect: attention(2 * Q, K, V) == 2 * attention(Q, K, V)");
    check("options: [scale, mask]\nexpect: attention(Q, 2 * K, V) == 2 * attention(Q, K, V)");
    // Lengths and sequences hide keys from some queries.
    check(
        "options: [key_lengths]\nexpect: attention(Q, K, V) == attention(Q, K, V, key_lengths=off)",
    );
    check(
        "options: [query_lengths]\nexpect: attention(Q, K, V) == attention(Q, K, V, query_lengths=off)",
    );
    check("options: [packed]\nexpect: attention(Q, K, V) == attention(Q, K, V, packed=off)");
    check(
        "given: {n: dim(2..9), P: permutation(n), X: 'tensor(n, d_k)', Y: 'tensor(n, d_v)'}\noptions: []\n\
         expect: attention(P @ X, P @ X, Y) == P @ attention(X, X, Y)",
    );
}

#[test]
fn a_counterexample_is_small_and_shown_with_both_sides() {
    let law = law(
        "given: {P: permutation(n_k)}\noptions: [scale, mask]\nexpect: attention(Q, P @ K, V) == attention(Q, K, V)",
    );
    insta::assert_snapshot!(search(&law, 3).counterexample.unwrap(), @r"
    K = [[0], [1]]
    P = [[0, 1], [1, 0]]
    Q = [[1]]
    V = [[0], [1]]
    not left == right at b=0 h=0 i=0 c=0
    left  = 1/(e + 1) = 0.268941421370
    right = e/(e + 1) = 0.731058578630
    ");
}

/// Queries of zeros weigh the keys they see alike, so that the weights show what is seen.
#[test]
fn options_are_those_of_the_standard_meaning() {
    let zeros = [[0.0]; 4];
    let rows = |n: usize| zeros[..n].iter().map(|row| row.as_slice()).collect::<Vec<_>>();
    let weights = |options: ExactOptions, n_q: usize, n_k: usize| -> String {
        let instance = Instance { options, ..instance(&rows(n_q), &rows(n_k), &rows(n_k)) };
        values("weights(Q, K)", &instance)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let off = ExactOptions::default;
    assert_eq!(weights(off(), 1, 3), "1/3 1/3 1/3");
    // Causal from the lower right: the last query sees every key, and one above the diagonal none.
    assert_eq!(weights(ExactOptions { causal: true, ..off() }, 2, 3), "1/2 1/2 0 1/3 1/3 1/3");
    assert_eq!(weights(ExactOptions { causal: true, ..off() }, 3, 2), "0 0 1 0 1/2 1/2");
    let window = Some(Window { left: Some(1), right: Some(0) });
    assert_eq!(weights(ExactOptions { window, ..off() }, 2, 3), "1/2 1/2 0 0 1/2 1/2");
    // Lengths leave a prefix, and the last query that exists stands at the last key that does.
    let (key_lengths, query_lengths) = (Some(vec![2]), Some(vec![1]));
    assert_eq!(
        weights(ExactOptions { key_lengths: key_lengths.clone(), ..off() }, 1, 3),
        "1/2 1/2 0"
    );
    assert_eq!(
        weights(ExactOptions { query_lengths: query_lengths.clone(), ..off() }, 2, 2),
        "1/2 1/2 0 0"
    );
    let both =
        ExactOptions { key_lengths: key_lengths.clone(), query_lengths, causal: true, ..off() };
    assert_eq!(weights(both, 2, 3), "1/2 1/2 0 0 0 0");
    assert_eq!(
        weights(ExactOptions { key_lengths, causal: true, ..off() }, 2, 3),
        "1 0 0 1/2 1/2 0"
    );
    // Each sequence is one of its own.
    let packed = Some(Packed { query_offsets: vec![0, 1, 3], key_offsets: vec![0, 2, 4] });
    let causal = ExactOptions { packed: packed.clone(), causal: true, ..off() };
    assert_eq!(weights(causal, 3, 4), "1/2 1/2 0 0 0 0 1 0 0 0 1/2 1/2");
    let slopes = Some(vec![1.into()]);
    let alibi = ExactOptions { packed, alibi_slopes: slopes, ..off() };
    assert_eq!(weights(alibi, 3, 4)[..27], *"1/(e + 1) e/(e + 1) 0 0 0 0");
    let sinks = Some(vec![0.into()]);
    assert_eq!(weights(ExactOptions { sinks, ..off() }, 1, 2), "1/3 1/3");
    let alibi_slopes = Some(vec![1.into()]);
    assert_eq!(weights(ExactOptions { alibi_slopes, ..off() }, 1, 2), "1/(e + 1) e/(e + 1)");
    let mask = Some(ExactMatrices::plain(1, 2, |_, j| i64::from(j == 1)));
    assert_eq!(weights(ExactOptions { mask, ..off() }, 1, 2), "0 1");
    let bias = Some(ExactMatrices::plain(1, 2, |_, j| i64::from(j == 1)));
    assert_eq!(weights(ExactOptions { bias, ..off() }, 1, 2), "1/(e + 1) e/(e + 1)");
    let named = |name: &str, options: ExactOptions| -> String {
        let instance = Instance { options, ..instance(&rows(1), &rows(3), &rows(3)) };
        values(name, &instance).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        named("alibi", ExactOptions { alibi_slopes: Some(vec![2.into()]), ..off() }),
        "-4 -2 0"
    );
    assert_eq!(named("alibi", off()), "0 0 0");
    assert_eq!(named("sinks", ExactOptions { sinks: Some(vec![2.into()]), ..off() }), "2");
    assert_eq!(named("sinks", off()), "-∞");
}

#[test]
fn heads_share_keys_by_groups() {
    let mut instance = instance(&[&[0.0]], &[&[0.0]], &[&[0.0]]);
    let heads = |n: usize| ExactMatrices {
        batch: Some(1),
        heads: Some(n),
        rows: 1,
        cols: 1,
        data: (0..n).map(|h| Real::from(i64::try_from(h).unwrap())).collect(),
    };
    for (name, n) in [("Q", 4), ("K", 2), ("V", 2)] {
        instance.values.insert(name.to_owned(), Value::Matrices(heads(n)));
    }
    instance.extents.extend([("h_q".to_owned(), 4), ("h_k".to_owned(), 2)]);
    let outputs = values("attention(Q, K, V)", &instance);
    assert_eq!(outputs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0", "0", "1", "1"]);
}

#[test]
fn heads_norms_and_logarithms_have_exact_values() {
    let case = instance(
        &[&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]],
        &[&[3.0, 0.0, 0.0, 4.0]],
        &[&[2.0, -1.0]],
    );
    let check = |formula: &str, expected: &str| {
        let got: Vec<_> = values(formula, &case).iter().map(ToString::to_string).collect();
        assert_eq!(got.join(" "), expected, "{formula}");
    };
    check("combine_heads(Q)", "1 2 3 4 5 6 7 8");
    check("split_heads(combine_heads(Q), 2)", "1 2 5 6 3 4 7 8");
    check("combine_heads(split_heads(combine_heads(Q), 2))", "1 2 3 4 5 6 7 8");
    check("diag(V)", "2 0 0 -1");
    check("norm_2(K)", "5");
    check("norm_2(V)", "√5");
    check("norm_2(heads(combine_heads(K), 2 * combine_heads(K)))", "10");
    check("log(exp(3)) * V", "6 -3");
    check("exp(log(5 / 7)) * V", "10/7 -5/7");
    let any = law("options: [scale]\nexpect: Q == Q");
    for (formula, part) in [
        ("split_heads(combine_heads(Q), 3)", "columns for every head"),
        ("split_heads(combine_heads(Q), 0)", "columns for every head"),
        ("log(-1)", "a number from 0 up, got -1"),
    ] {
        let error = evaluate(&any, &parse(formula).unwrap(), &case).unwrap_err().to_string();
        assert!(error.contains(part), "{formula}: {error}");
    }
}

/// Nothing to try, or only some instances, but neither a panic nor a matrix of a billion numbers.
#[test]
fn domains_without_small_values_are_passed_over() {
    let none = |search: Search| {
        search.confirmed == 0 && search.undecided == 0 && search.counterexample.is_none()
    };
    let large = search(
        &law(
            "given: {X: 'matrix(900000000, d_v)', i: index(900000000)}\noptions: []\nexpect: X == X",
        ),
        3,
    );
    assert!(none(large));
    assert!(none(search(
        &law("given: {n: dim(9..16), P: permutation(n)}\noptions: []\nexpect: P == P"),
        3
    )));
    let margin = "given: {j: index(n_q), t: real(1..4), '(Q, K)': 'separated(j, margin=t)'}\noptions: []\n\
         expect: attention(Q, K, V) == attention(Q, K, V)";
    assert!(search(&law(margin), 3).confirmed > 0);
}

#[test]
fn what_does_not_fit_is_undecided() {
    let check =
        |instance: &Instance, lines: &str, expected: &str| match decide(&law(lines), instance) {
            Decision::Undecided(reason) => assert_eq!(reason.to_string(), expected),
            other => panic!("{lines}: {other:?}"),
        };
    let layers = "options: []\nexpect: attention(attention(Q, K, K), K, V) == attention(Q, K, V)";
    check(
        &example(),
        layers,
        "exponential: expected an exponent without exponentials, got √2·e^(√2/2)/(2·e^(√2/2) + 1)",
    );
    let mut other = example();
    other.values.insert("V".to_owned(), matrix(&[&[1.0]]));
    check(
        &other,
        "options: []\nexpect: attention(Q, K, V) == attention(Q, K, V)",
        "attention: expected extents that fit each other, got others",
    );
    let mut other = example();
    other.options.mask = Some(ExactMatrices::plain(1, 1, |_, _| 1));
    check(
        &other,
        "options: [mask]\nexpect: attention(Q, K, V) == attention(Q, K, V)",
        "mask: expected [2, 3], got [1, 1]",
    );
    let mut other = example();
    other.options.key_lengths = Some(vec![4]);
    check(
        &other,
        "options: [key_lengths]\nexpect: attention(Q, K, V) == attention(Q, K, V)",
        "key_lengths: expected 1 lengths up to 3, got [4]",
    );
    let mut other = example();
    other.options.packed = Some(Packed { query_offsets: vec![0, 2], key_offsets: vec![1, 3] });
    check(
        &other,
        "options: [packed]\nexpect: attention(Q, K, V) == attention(Q, K, V)",
        "packed: expected offsets from 0 to 2 and to 3, got [0, 2] and [1, 3]",
    );
    let long = (0..12)
        .map(|k| format!("x{}: x{k} * (x{k} + exp(sqrt({})))", k + 1, 2 + k))
        .collect::<Vec<_>>()
        .join(", ");
    let long = format!("let: {{x0: exp(sqrt(2)), {long}}}\noptions: []\nexpect: x12 * Q == Q");
    check(
        &example(),
        &long,
        "number: expected one of at most 64 exponentials and 16384 bits, got a longer one",
    );
}

/// Random numbers as exact values and, by another route, as decimals of 60 digits.
mod against_decimals {
    use dashu_float::DBig;
    use qkvet_prove::exact::Exact;

    type Pair = (Exact, DBig);

    fn next(state: &mut u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    fn whole(n: i64) -> Pair {
        (n.into(), DBig::from(n).with_precision(60).value())
    }

    /// A rational combination of roots.
    fn algebraic(state: &mut u64) -> Pair {
        let (mut x, mut y) = whole(next(state) as i64 % 5 - 2);
        for n in [2, 3, 5] {
            let (factor, over) =
                (whole(next(state) as i64 % 3 - 1), whole(1 + next(state) as i64 % 3));
            let root = whole(n);
            let part = root.0.sqrt().unwrap().divide(&over.0).unwrap();
            x = &x + &(&part * &factor.0);
            y += root.1.sqrt() / over.1 * factor.1;
        }
        (x, y)
    }

    fn sum(state: &mut u64) -> Pair {
        let (mut x, mut y) = algebraic(state);
        for _ in 0..2 {
            let (a, c) = (algebraic(state), algebraic(state));
            x = &x + &(&c.0 * &a.0.exp().unwrap());
            y += c.1 * a.1.exp();
        }
        (x, y)
    }

    fn quotient(state: &mut u64) -> Pair {
        let (top, bottom) = (sum(state), sum(state));
        match top.0.divide(&bottom.0) {
            Ok(x) => (x, top.1 / bottom.1),
            Err(_) => top,
        }
    }

    #[test]
    fn signs_order_and_digits_agree() {
        let mut state = 1;
        let mut last = whole(0);
        for _ in 0..60 {
            let (x, y) = quotient(&mut state);
            assert_eq!(x.signum(), y.cmp(&DBig::ZERO), "{x}");
            assert_eq!(x.cmp(&last.0), y.cmp(&last.1), "{x}");
            // The decimals are certain to far more than 30 places: a few dozen operations on 60
            // digits.
            let digits: DBig = x.digits(30).parse().unwrap();
            let unit: DBig = "0.00000000000000000000000000000051".parse().unwrap();
            let distance = digits - y.clone();
            assert!(distance < unit && -distance < unit, "{x}");
            last = (x, y);
        }
    }

    #[test]
    fn the_laws_of_fields_hold() {
        let mut state = 2;
        for _ in 0..12 {
            let (x, y, z) = (quotient(&mut state).0, sum(&mut state).0, algebraic(&mut state).0);
            assert_eq!(&x + &y, &y + &x);
            assert_eq!(&(&x + &y) + &z, &x + &(&y + &z));
            assert_eq!(&x * &y, &y * &x);
            assert_eq!(&(&x * &y) * &z, &x * &(&y * &z));
            assert_eq!(&x * &(&y + &z), &(&x * &y) + &(&x * &z));
            assert!((&x - &x).is_zero());
            if let Ok(inverse) = x.inverse() {
                assert_eq!(&x * &inverse, 1.into());
            }
            let tiny = Exact::from(-200).exp().unwrap();
            assert!(&x + &tiny > x && &x - &tiny < x);
        }
    }
}
