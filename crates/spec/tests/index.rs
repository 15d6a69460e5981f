//! Index expressions: values, what has none, and a row of keys at once.

use qkvet_spec::{Dims, Dtype, IndexEnv, IndexExpr, OptionSet};

fn env() -> IndexEnv {
    let dims = Dims { b: 1, h_q: 4, h_k: 2, n_q: 3, n_k: 7, d_k: 8, d_v: 8 };
    IndexEnv { h: 3, i: 2, ..IndexEnv::new(dims, Dtype::Float32, OptionSet::default()) }
}

/// Who guards a divisor gets a value; who does not gets none.
#[test]
fn what_is_right_of_a_false_and_or_a_true_or_is_not_looked_at() {
    for (text, value) in [
        ("item > 0 and i % item == 0", Some(0)),
        ("item == 0 or i % item == 0", Some(1)),
        ("not (item > 0 and i % item == 0)", Some(1)),
        ("i % item == 0 and item > 0", None),
        ("i >= 2 and i % item == 0", None),
        ("i > 2 or n_k / 2 == 3", Some(1)),
        ("i >= 2 and h", Some(1)),
    ] {
        let expr = IndexExpr::new(text).unwrap();
        assert_eq!(expr.eval(&env()), value, "{text}");
        assert_eq!(expr.holds(&env()), value == Some(1), "{text}");
    }
}

#[test]
fn a_row_of_keys_has_the_values_of_each_key() {
    for text in [
        "0",
        "j",
        "i",
        "-j + i",
        "j / ((n_k + 1) / 2)",
        "j >= n_k - n_q + i",
        "causal and j > i",
        "not causal and j > i",
        "j > i or h % 2 == 1",
        "min(j + 1, n_k - 1) * max(h, j)",
        "next_power_of_two(j + i)",
        "j % item == 0",
        "i % item == j",
        "item > 0 and j % item == 0",
        "not (j == 2) and 7 / (j - 2) > 0",
    ] {
        let expr = IndexExpr::new(text).unwrap();
        let mut along = expr.along_keys(&env());
        for j in 0..7 {
            let one = IndexEnv { j: i64::try_from(j).unwrap(), ..env() };
            assert_eq!(along(j), expr.eval(&one), "{text} at {j}");
        }
    }
}
