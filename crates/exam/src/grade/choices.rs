//! Answers that are picked: options, statements, lines, columns, extents.

use super::marked::Marked;
use super::{Feedback, List, Unread, WrongStatement};
use crate::question::Ordering;
use crate::student_answer::{Picks, picks};

/// What to say of an answer that is no option.
pub(super) fn no_option(n: usize) -> Unread {
    let last = u8::try_from(n.saturating_sub(1))
        .ok()
        .filter(|at| *at < 26)
        .map_or('Z', |at| char::from(b'A' + at));
    Unread::Option { last }
}

/// Statements that are true or false, each for its share.
pub(super) fn statements(
    right: &[bool],
    because: &dyn Fn(usize) -> String,
    given: &str,
) -> Result<Marked, Unread> {
    let (list, n) = (List::Statements, right.len());
    let words = picks(given, Picks::Truths(n));
    if words.len() != n {
        return Err(Unread::Length { list, expected: n, got: words.len() });
    }
    let mut wrong = Vec::new();
    for (at, (word, right)) in words.iter().zip(right).enumerate() {
        let says = match word.as_str() {
            "true" => true,
            "false" => false,
            other => {
                let got = other.escape_debug().to_string();
                return Err(Unread::Word { list, at: at + 1, got });
            }
        };
        if says != *right {
            let (number, is_true, because) = (at + 1, *right, because(at));
            wrong.push(WrongStatement { number, is_true, because });
        }
    }
    Ok(share(n - wrong.len(), n, Feedback::Statements { n, wrong }))
}

/// Some of all right ones.
fn share(right: usize, all: usize, says: Feedback) -> Marked {
    if right == all {
        return Marked::right(Feedback::Nothing);
    }
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = right as f64 / all.max(1) as f64;
    Marked::partial(share, says)
}

/// For each row a column; each row for its share.
pub(super) fn largest(columns: &[usize], given: &str) -> Result<Marked, Unread> {
    let (list, n) = (List::Columns, columns.len());
    let words = picks(given, Picks::Columns(n));
    if words.len() != n {
        return Err(Unread::Length { list, expected: n, got: words.len() });
    }
    let mut wrong = Vec::new();
    for (at, (word, column)) in words.iter().zip(columns).enumerate() {
        match word.parse::<usize>() {
            Ok(given) if given == *column => {}
            Ok(_) => wrong.push(at + 1),
            Err(_) => {
                let got = word.escape_debug().to_string();
                return Err(Unread::Word { list, at: at + 1, got });
            }
        }
    }
    Ok(share(n - wrong.len(), n, Feedback::Columns { n, wrong }))
}

/// Lines in order. The share is that of the longest run in a right order, less the lines that
/// belong nowhere.
pub(super) fn ordering(
    sheet: &[usize],
    ordering: &Ordering,
    stranger: &dyn Fn(usize) -> String,
    given: &str,
) -> Result<Marked, Unread> {
    let lines = ordering.lines.len();
    let letters = picks(given, Picks::Lines(sheet.len()));
    let mut order = Vec::new();
    for (at, word) in letters.iter().enumerate() {
        let got = word.escape_debug().to_string();
        let line = match word.as_bytes() {
            [letter @ b'a'..=b'z'] => sheet.get(usize::from(letter - b'a')),
            _ => None,
        };
        let Some(line) = line else {
            return Err(Unread::Word { list: List::Lines, at: at + 1, got });
        };
        if order.contains(line) {
            return Err(Unread::Twice { got });
        }
        order.push(*line);
    }
    let is_turned = |first: usize, second: usize| ordering.is_before(order[second], order[first]);
    let turned =
        (0..order.len()).flat_map(|at| (at + 1..order.len()).map(move |other| (at, other)));
    if order.len() == lines
        && order.iter().all(|line| *line < lines)
        && !turned.into_iter().any(|(x, y)| is_turned(x, y))
    {
        return Ok(Marked::right(Feedback::Nothing));
    }
    let strangers: Vec<usize> = order.iter().filter_map(|line| line.checked_sub(lines)).collect();
    let missing = (0..lines).filter(|line| !order.contains(line)).count();
    let known: Vec<usize> = order.into_iter().filter(|line| *line < lines).collect();
    let late = (1..known.len()).find(|at| ordering.is_before(known[*at], known[at - 1]));
    let kept = longest(&known, ordering).saturating_sub(strangers.len());
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = kept as f64 / lines.max(1) as f64;
    let strangers = strangers.into_iter().map(stranger).collect();
    let late = late.map(|at| at + 1);
    Ok(Marked::partial(share, Feedback::Order { strangers, missing, lines, late }))
}

/// How many of the lines can stay where none of two stands before the other though it belongs
/// behind it; there are at most 16 lines.
fn longest(order: &[usize], ordering: &Ordering) -> usize {
    let n = order.len().min(16);
    let fits =
        |at: usize, other: usize| !ordering.is_before(order[other.max(at)], order[other.min(at)]);
    let allowed: Vec<u32> = (0..n)
        .map(|at| (0..n).filter(|other| fits(at, *other)).fold(0, |mask, other| mask | 1 << other))
        .collect();
    let mut is_run = vec![true; 1 << n];
    let mut best = 0;
    for mask in 1_u32..1 << n {
        let rest = mask & (mask - 1);
        let lowest = usize::try_from(mask.trailing_zeros()).unwrap_or(0);
        let fits = is_run[usize::try_from(rest).unwrap_or(0)] && rest & !allowed[lowest] == 0;
        is_run[usize::try_from(mask).unwrap_or(0)] = fits;
        if fits {
            best = best.max(mask.count_ones());
        }
    }
    usize::try_from(best).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Formula;

    use super::*;
    use crate::grade::result::Verdict;

    #[test]
    fn statements_and_rows_count_for_their_share() {
        let marked =
            |given: &str| statements(&[true, false, true, true], &|_| "reason".to_owned(), given);
        for given in [
            "TFTT",
            "t f t t",
            "[true, false, true, true]",
            "yes, no, yes, 1",
            "t/f/t/t",
            "T | F | T | T",
        ] {
            assert_eq!(marked(given).map(|one| one.share), Ok(1.0), "{given}");
        }
        let one = marked("TTTT").unwrap();
        assert_eq!(
            (one.share, one.feedback.to_string().as_str()),
            (0.75, "3 of 4 right: statement 2 is false: reason")
        );
        assert!(marked("TF").is_err() && marked("a b c d").is_err());
        // What may mean `or` parts nothing.
        assert!(marked("T F/T T T").is_err() && marked("T or F T T").is_err());
        assert!(statements(&[true, false], &|_| String::new(), "T/F").is_err());
        assert!(largest(&[2, 3], "2/3").is_err());
        let one = largest(&[3, 1], "3, 2").unwrap();
        assert_eq!((one.share, one.verdict), (0.5, Verdict::Partial));
        assert_eq!(largest(&[3, 1], "token 3, token 1").unwrap().verdict, Verdict::Right);
        assert_eq!(largest(&[3, 1], "token 1, token 3").unwrap().verdict, Verdict::Wrong);
        assert!(largest(&[3, 1], "3").is_err() && largest(&[3, 1], "3, token").is_err());
    }

    #[test]
    fn lines_in_order_count_by_their_longest_run() {
        // On the sheet: line 2, stranger, line 1, line 3.
        let marked = |given: &str| {
            ordering(&[1, 3, 0, 2], &of(3, Vec::new()), &|_| "it mixes".to_owned(), given)
                .map(|one| (one.verdict, (one.share * 3.0).round()))
        };
        assert_eq!(marked("C A D"), Ok((Verdict::Right, 3.0)));
        assert_eq!(marked("cad"), Ok((Verdict::Right, 3.0)));
        for given in ["C → A → D", "C->A->D", "c > a > d", "C --> A --> D", "C => A => D"] {
            assert_eq!(marked(given), Ok((Verdict::Right, 3.0)), "{given}");
        }
        for hedged in ["C → A or B → D", "not C A D", "C before A, D"] {
            assert!(marked(hedged).is_err(), "{hedged}");
        }
        assert_eq!(marked("A C D"), Ok((Verdict::Partial, 2.0)));
        assert_eq!(marked("C B A D"), Ok((Verdict::Partial, 2.0)));
        assert_eq!(marked("B"), Ok((Verdict::Wrong, 0.0)));
        assert!(marked("C C D").is_err() && marked("C E").is_err());
    }

    fn of(n: usize, any_order: Vec<[usize; 2]>) -> Ordering {
        let lines = (0..n).map(|at| Formula { text: format!("line {at}"), offset: None }).collect();
        Ordering { lines, strangers: Vec::new(), any_order }
    }

    #[test]
    fn lines_that_commute_may_stand_in_either_order() {
        let two = of(5, vec![[2, 3]]);
        let marked = |given: &str| {
            ordering(&[0, 1, 2, 3, 4], &two, &|_| String::new(), given)
                .map(|one| (one.verdict, one.share))
        };
        for given in ["ABCDE", "ACBDE"] {
            assert_eq!(marked(given), Ok((Verdict::Right, 1.0)), "{given}");
        }
        assert_eq!(marked("ACDBE"), Ok((Verdict::Partial, 0.8)));
        assert_eq!(marked("CABDE"), Ok((Verdict::Partial, 0.8)));
        assert_eq!(
            marked("EDCBA"),
            Ok((Verdict::Partial, 0.4)),
            "C and B are in order as they are"
        );
        assert_eq!(two.ranges(), [(1, 1), (2, 3), (2, 3), (4, 4), (5, 5)]);
        assert_eq!(two.directly_before(3), [1, 2]);
        assert_eq!(two.directly_before(2), [0]);
        assert!(two.misfit().is_none());
        for wrong in [vec![[1, 3]], vec![[2, 2]], vec![[0, 1]], vec![[5, 6]]] {
            assert!(of(5, wrong.clone()).misfit().is_some(), "{wrong:?}");
        }
        assert!(of(5, vec![[1, 2], [2, 3], [1, 3]]).misfit().is_none());
    }
}
