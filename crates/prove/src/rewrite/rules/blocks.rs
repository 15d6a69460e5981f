//! Blocks side by side and one above the other; heads side by side.

use super::{Rule, rule};

pub(super) const RULES: &[Rule] = &[
    rule(
        "side-by-side-rows",
        ("(* ?a (hcat ?b ?c))", "(hcat (* ?a ?b) (* ?a ?c))"),
        true,
        "a product from the left works on every column",
        "a 2 3 b 3 2 c 3 2",
        "(hcat (* ?a ?c) (* ?a ?b))",
    ),
    rule(
        "one-above-the-other-columns",
        ("(* (vcat ?a ?b) ?c)", "(vcat (* ?a ?c) (* ?b ?c))"),
        true,
        "a product from the right works on every row",
        "a 2 3 b 2 3 c 3 2",
        "(vcat (* ?b ?c) (* ?a ?c))",
    ),
    rule(
        "blocks",
        ("(* (hcat ?a ?b) (vcat ?c ?d))", "(+ (* ?a ?c) (* ?b ?d))"),
        false,
        "a product of blocks is a sum of products",
        "a 2 3 b 2 2 c 3 2 d 2 2",
        "(* ?a ?c)",
    ),
    rule(
        "transpose-of-blocks",
        ("(T (vcat ?a ?b))", "(hcat (T ?a) (T ?b))"),
        true,
        "blocks transpose one by one",
        "a 2 3 b 2 3",
        "(hcat (T ?b) (T ?a))",
    ),
    rule(
        "transpose-of-blocks-side-by-side",
        ("(T (hcat ?a ?b))", "(vcat (T ?a) (T ?b))"),
        true,
        "blocks transpose one by one",
        "a 3 2 b 3 2",
        "(vcat (T ?b) (T ?a))",
    ),
    rule(
        "scalar-side-by-side",
        ("(sc ?k (hcat ?a ?b))", "(hcat (sc ?k ?a) (sc ?k ?b))"),
        true,
        "a number multiplies every block",
        "k 0 0 a 2 3 b 2 2",
        "(hcat (sc ?k ?a) ?b)",
    ),
    rule(
        "combined-parts",
        ("(comb ?h (split ?h ?a))", "?a"),
        false,
        "the parts of a matrix side by side are the matrix",
        "h 2 0 a 3 4",
        "(sc 2 ?a)",
    ),
    rule(
        "parts-of-combined",
        ("(split ?h (comb ?h ?a))", "?a"),
        false,
        "the part of a head is what the head had",
        "h 2 0 a 3 2",
        "(mean ?h ?a)",
    ),
    rule(
        "product-of-combined",
        ("(* (comb ?h ?a) (T (comb ?h ?b)))", "(sc ?h (mean ?h (* ?a (T ?b))))"),
        true,
        "a product over heads side by side is the sum of their products",
        "h 2 0 a 3 2 b 4 2",
        "(mean ?h (* ?a (T ?b)))",
    ),
];
