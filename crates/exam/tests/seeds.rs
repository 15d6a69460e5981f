//! The instances that the sources printed, and what is right there.

use qkvet_exam::answer::Numbers;
use qkvet_exam::generate::{Answer, Instance, pose_drawn, written};
use qkvet_exam::question::Library;

use crate::{catalog, library};

fn example<'a>(library: &'a Library, id: &str) -> Instance<'a> {
    let question = library.get(id).unwrap_or_else(|| panic!("no question {id}"));
    let drawn = written(question, 1).unwrap_or_else(|error| panic!("{id}: {error}"));
    pose_drawn(question, drawn, catalog()).unwrap_or_else(|error| panic!("{error}"))
}

fn numbers<'a>(posed: &'a Instance<'_>, part: usize) -> &'a Numbers {
    match &posed.parts[part - 1].answer {
        Answer::Numbers { key, .. } => key,
        other => panic!("part {part}: expected numbers, got {other:?}"),
    }
}

fn check(posed: &Instance<'_>, part: usize, rows: &[&[&str]]) {
    assert_eq!(numbers(posed, part).rows, rows, "part {part}");
}

#[test]
fn printed_instances_have_their_certified_answers() {
    let library = library();

    // Discussion 10: all its numbers are right, unscaled as it says.
    let tokens = example(&library, "token-attention");
    check(&tokens, 1, &[&["2", "3", "-5"], &["-1", "0", "-2"], &["1", "-2", "8"]]);
    check(
        &tokens,
        2,
        &[
            &["-6", "0", "1", "16", "27"],
            &["0", "0", "1", "-8", "0"],
            &["4", "0", "-3", "8", "-18"],
        ],
    );
    check(&tokens, 3, &[&["2", "8", "-20"]]);
    check(&tokens, 4, &[&["-7.941", "0.067"]]);

    // Problem set 4, with the scale that it defines and without rounding on the way; -2.5 where
    // +2.5 was printed.
    let head = example(&library, "hand-head");
    check(&head, 2, &[&["3/2", "-5/2", "8"], &["-7/2", "-7/2", "6"], &["17/2", "8", "-53/4"]]);
    assert_eq!(numbers(&head, 3).rows[2], ["0.587", "0.413", "0.000"]);
    assert_eq!(numbers(&head, 4).rows[2], ["1.056", "0.356"]);
    assert_eq!(head.parts[4].answer, Answer::Largest(vec![3, 3, 1]));

    // Example 48 in closed form; one entry is 1 exactly.
    let tiny = example(&library, "tiny-head");
    let output = numbers(&tiny, 3);
    assert_eq!(output.rows, [["0.5989", "1.0000"], ["0.5989", "1.2033"]]);
    assert_eq!(output.exact[0], ["(exp(sqrt(2)/2) + 1)/(2*exp(sqrt(2)/2) + 1)", "1"]);
    assert_eq!(output.exact[1][1], "3*exp(sqrt(2)/2)/(2*exp(sqrt(2)/2) + 1)");

    // Moments of 16 entries of mean 1 and standard deviation 2: 16, 16 · (16 + 2 · 4), and a factor
    // for variance 4.
    let moments = example(&library, "dot-product-moments");
    check(&moments, 1, &[&["16"]]);
    check(&moments, 2, &[&["24"]]);
    check(&moments, 3, &[&["384"]]);
    check(&moments, 4, &[&["9.798"]]);

    // Assignment 4: at β = 3 the second token attends to itself with .99975.
    check(&example(&library, "outer-products"), 1, &[&["0.999753"]]);
    // Ten keys: ln 8991 and ln 3996 leave a thousandth to the others.
    let copies = example(&library, "copy-and-average");
    check(&copies, 2, &[&["9.104"]]);
    check(&copies, 5, &[&["8.293"]]);
}

/// The transformer worksheet prints letters alone; with two sequences of five tokens of 24 entries,
/// four heads and extents of 8 and 7 of keys and values they are, by hand:
#[test]
fn extents_and_parameters_of_the_worksheet_are_those_worked_out_by_hand() {
    let library = library();
    let heads = example(&library, "heads-and-shapes");
    // (B, T, C) → (B, T, H·L), split to (B, H, T, L), scores (B, H, T, T), combined to (B, T,
    // H·L_v).
    check(&heads, 1, &[&["2", "5", "32"]]);
    check(&heads, 2, &[&["2", "4", "5", "8"]]);
    check(&heads, 3, &[&["2", "4", "5", "5"]]);
    check(&heads, 4, &[&["2", "5", "28"]]);
    // C·H·(2L + L_v) + H·L_v·C = 96 · 23 + 28 · 24 = 2208 + 672.
    check(&heads, 5, &[&["2880"]]);
    // B·H·T·T·L = 8 · 25 · 8.
    check(&heads, 6, &[&["1600"]]);
    // Biases: 32 for queries, 32 for keys, 28 for values, C = 24 for the output: 116 more.
    check(&heads, 8, &[&["2996"]]);
    check(&heads, 9, &[&["9"]]);
}
