//! Functions of each element, and masks that meet element by element.

use super::{Rule, rule};

pub(super) const RULES: &[Rule] = &[
    rule(
        "cap-rows-permuted",
        ("(cap (* (perm ?p) ?z))", "(* (perm ?p) (cap ?z))"),
        true,
        "a function of each element does not care where it stands",
        "p 4 4 z 4 3",
        "(cap ?z)",
    ),
    rule(
        "cap-columns-permuted",
        ("(cap (* ?z (T (perm ?p))))", "(* (cap ?z) (T (perm ?p)))"),
        true,
        "a function of each element does not care where it stands",
        "p 4 4 z 3 4",
        "(cap ?z)",
    ),
    rule(
        "cap-rows-selected",
        ("(* (sel ?r) (cap ?z))", "(cap (* (sel ?r) ?z))"),
        true,
        "a function of each element does not care where it stands",
        "r 2 4 z 4 3",
        "(sc 2 (cap (* (sel ?r) ?z)))",
    ),
    rule(
        "cap-columns-selected",
        ("(* (cap ?z) (T (sel ?c)))", "(cap (* ?z (T (sel ?c))))"),
        true,
        "a function of each element does not care where it stands",
        "c 2 4 z 3 4",
        "(sc 2 (cap (* ?z (T (sel ?c)))))",
    ),
    rule(
        "both-rows-permuted",
        ("(both (* (perm ?p) ?a) (* (perm ?p) ?b))", "(* (perm ?p) (both ?a ?b))"),
        true,
        "masks meet element by element",
        "p 4 4 a 4 3 b 4 3",
        "(both ?a ?b)",
    ),
    rule(
        "both-columns-permuted",
        ("(both (* ?a (T (perm ?p))) (* ?b (T (perm ?p))))", "(* (both ?a ?b) (T (perm ?p)))"),
        true,
        "masks meet element by element",
        "p 4 4 a 3 4 b 3 4",
        "(both ?a ?b)",
    ),
    rule(
        "both-rows-permuted-beside-equal-rows",
        ("(both (* (perm ?p) ?a) (* (one ?n) ?b))", "(* (perm ?p) (both ?a (* (one ?n) ?b)))"),
        true,
        "equal rows in another order are the same",
        "p 4 4 a 4 3 n 4 0 b 1 3",
        "(both ?a (* (one ?n) ?b))",
    ),
    rule(
        "both-columns-permuted-beside-equal-columns",
        (
            "(both (* ?a (T (perm ?p))) (* ?b (T (one ?n))))",
            "(* (both ?a (* ?b (T (one ?n)))) (T (perm ?p)))",
        ),
        true,
        "equal columns in another order are the same",
        "p 4 4 a 3 4 n 4 0 b 3 1",
        "(both ?a (* ?b (T (one ?n))))",
    ),
];
