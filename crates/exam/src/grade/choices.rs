//! Answers that are picked: options, statements, lines, columns, extents.

use super::part::Marked;
use super::{Feedback, List, Unread, WrongStatement};
use crate::question::Ordering;
use crate::student_answer::{Layout, Node, layout};

/// The number of an option, from 0: `B`, `(b)` or `2`.
pub(super) fn letter(given: &Node, n: usize) -> Option<usize> {
    option(&single(given)?, n)
}

/// The same by its letter alone: `B`, `(b)`, `option B`.
pub(super) fn lettered(given: &Node, n: usize) -> Option<usize> {
    single(given)
        .filter(|text| !text.chars().any(|c| c.is_ascii_digit()))
        .and_then(|text| option(&text, n))
}

/// The text of an answer that is one thing.
fn single(given: &Node) -> Option<String> {
    match layout(given).ok()? {
        Layout::One(text) => Some(text),
        Layout::Flat(mut cells) if cells.len() == 1 => cells.pop(),
        _ => None,
    }
}

fn option(text: &str, n: usize) -> Option<usize> {
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '.' | ':' | '"' | '\'');
    let text = text.trim_matches(is_sign);
    // `Option B`.
    let word = ["option", "answer", "choice"].iter().find_map(|word| {
        let (start, rest) = text.split_at_checked(word.len())?;
        start.eq_ignore_ascii_case(word).then_some(rest)
    });
    let text = word.unwrap_or(text).trim_matches(is_sign);
    let at = match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => usize::from(letter.to_ascii_lowercase() - b'a'),
        _ => text.parse::<usize>().ok()?.checked_sub(1)?,
    };
    (at < n).then_some(at)
}

/// What to say of an answer that is no option.
pub(super) fn no_option(n: usize) -> Unread {
    let last = u8::try_from(n.saturating_sub(1))
        .ok()
        .filter(|at| *at < 26)
        .map_or('Z', |at| char::from(b'A' + at));
    Unread::Option { last }
}

/// Words of a list: of text also the words or the letters of one.
fn words(given: &Node, is_letter: impl Fn(char) -> bool) -> Result<Vec<String>, Unread> {
    let parted = parted(given, &["-->", "->", "=>", "→", "⇒", "⟶", ">"]);
    Ok(match layout(parted.as_ref().unwrap_or(given)).map_err(Unread::List)? {
        Layout::One(text) => {
            let text = text.trim();
            let apart: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            if apart.len() == 1 && text.chars().all(is_letter) {
                text.chars().map(String::from).collect()
            } else {
                apart
            }
        }
        Layout::Flat(cells) => cells,
        Layout::Rows(rows) => rows.concat(),
    })
}

/// Text as a list, if it is words with one of the signs between all of them: `A → E → G`.
fn parted(given: &Node, signs: &[&str]) -> Option<Node> {
    let text = match given {
        Node::Text(text) => text,
        Node::List(items) => match items.as_slice() {
            [Node::Text(text)] => text,
            _ => return None,
        },
        _ => return None,
    };
    let parts = |sign: &&str| -> Option<Node> {
        let parts: Vec<&str> = text.split(*sign).map(str::trim).collect();
        let is_word = |part: &&str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
        let is_list = parts.len() > 1 && parts.iter().all(is_word);
        is_list.then(|| {
            Node::List(parts.into_iter().map(|part| Node::Text(part.to_owned())).collect())
        })
    };
    signs.iter().find_map(parts)
}

/// Statements that are true or false, each for its share.
pub(super) fn statements(
    right: &[bool],
    because: &dyn Fn(usize) -> String,
    given: &Node,
) -> Result<Marked, Unread> {
    // Of two, `T/F` may be what stands on the sheet.
    let parted = parted(given, &["/", "|"]).filter(|_| right.len() > 2);
    let words =
        words(parted.as_ref().unwrap_or(given), |c| matches!(c.to_ascii_lowercase(), 't' | 'f'))?;
    let (list, n) = (List::Statements, right.len());
    if words.len() != n {
        return Err(Unread::Length { list, expected: n, got: words.len() });
    }
    let mut wrong = Vec::new();
    for (at, (word, right)) in words.iter().zip(right).enumerate() {
        let says = match word.trim().trim_end_matches('.').to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => true,
            "false" | "f" | "no" | "0" => false,
            "" => !right,
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
pub(super) fn largest(columns: &[usize], given: &Node) -> Result<Marked, Unread> {
    let (list, n) = (List::Columns, columns.len());
    let words = words(given, |c| c.is_ascii_digit())?;
    if words.len() != n {
        return Err(Unread::Length { list, expected: n, got: words.len() });
    }
    let mut wrong = Vec::new();
    for (at, (word, column)) in words.iter().zip(columns).enumerate() {
        // `token 3` is column 3.
        let digits = word.trim_start_matches(|c: char| c.is_alphabetic() || c.is_whitespace());
        match digits.trim_end().parse::<usize>() {
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

/// So many extents may stand between `×`. Where commas stand, `2, 3*4` is two extents, one of them
/// a product.
pub(super) fn extents(given: &Node, n: usize) -> Node {
    let Node::Text(text) = given else { return given.clone() };
    if text.contains([',', ';']) {
        return given.clone();
    }
    // A product of so many numbers is meant as extents, as of one number it is that number.
    let is_whole =
        |part: &str| !part.trim().is_empty() && part.trim().chars().all(|c| c.is_ascii_digit());
    let parts: Vec<&str> = text.trim().split(['*', '·']).collect();
    if n > 1 && parts.len() == n && parts.iter().all(|part| is_whole(part)) {
        return Node::Text(parts.join(","));
    }
    Node::Text(text.replace(['×', 'x', 'X'], ",").replace("by", ","))
}

/// Lines in order. The share is that of the longest run in a right order, less the lines that
/// belong nowhere.
pub(super) fn ordering(
    sheet: &[usize],
    ordering: &Ordering,
    stranger: &dyn Fn(usize) -> String,
    given: &Node,
) -> Result<Marked, Unread> {
    let lines = ordering.lines.len();
    let letters = words(given, |c| c.is_ascii_alphabetic())?;
    let mut order = Vec::new();
    for (at, word) in letters.iter().enumerate() {
        let got = word.escape_debug().to_string();
        let line = option(word, sheet.len()).and_then(|at| sheet.get(at));
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

    fn text(text: &str) -> Node {
        Node::Text(text.to_owned())
    }

    #[test]
    fn options_have_letters_and_numbers() {
        for (given, at) in [
            ("b", Some(1)),
            ("(B)", Some(1)),
            ("2", Some(1)),
            ("d", None),
            ("0", None),
            ("B and C", None),
            ("", None),
        ]
        .into_iter()
        .chain([
            ("option B", Some(1)),
            ("Option (b)", Some(1)),
            ("answer: b.", Some(1)),
            ("option", None),
        ])
        .chain([("option B or C", None), ("optional", None)])
        {
            assert_eq!(letter(&text(given), 3), at, "{given}");
        }
    }

    #[test]
    fn statements_and_rows_count_for_their_share() {
        let marked = |given: &str| {
            statements(&[true, false, true, true], &|_| "reason".to_owned(), &text(given))
        };
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
        assert!(marked("T F/T T").is_err() && marked("T/F T/T").is_err());
        assert!(statements(&[true, false], &|_| String::new(), &text("T/F")).is_err());
        assert!(largest(&[2, 3], &text("2/3")).is_err());
        let one = largest(&[3, 1], &text("3, 2")).unwrap();
        assert_eq!((one.share, one.verdict), (0.5, Verdict::Partial));
        assert_eq!(largest(&[3, 1], &text("token 3, token 1")).unwrap().verdict, Verdict::Right);
        assert_eq!(largest(&[3, 1], &text("token 1, token 3")).unwrap().verdict, Verdict::Wrong);
        assert!(
            largest(&[3, 1], &text("3")).is_err() && largest(&[3, 1], &text("3, token")).is_err()
        );
    }

    #[test]
    fn extents_are_no_products_where_commas_stand() {
        let plain = |given: &str, n: usize| match extents(&text(given), n) {
            Node::Text(text) => text.split_whitespace().collect::<String>(),
            other => panic!("{other:?}"),
        };
        for (given, n, read) in [
            ("1 × 1 × 2 × 3", 4, "1,1,2,3"),
            ("1*1*2*3", 4, "1,1,2,3"),
            ("2 x 3", 2, "2,3"),
            ("(2 by 3)", 2, "(2,3)"),
            ("(2, 5, 3*4)", 3, "(2,5,3*4)"),
            ("(2, 3*5, 4)", 4, "(2,3*5,4)"),
            ("(2, 3x5, 4)", 4, "(2,3x5,4)"),
            ("3*4", 1, "3*4"),
            ("2**3", 2, "2**3"),
            ("2*3", 3, "2*3"),
        ] {
            assert_eq!(plain(given, n), read, "{given}");
        }
    }

    #[test]
    fn lines_in_order_count_by_their_longest_run() {
        // On the sheet: line 2, stranger, line 1, line 3.
        let marked = |given: &str| {
            ordering(&[1, 3, 0, 2], &of(3, Vec::new()), &|_| "it mixes".to_owned(), &text(given))
                .map(|one| (one.verdict, (one.share * 3.0).round()))
        };
        assert_eq!(marked("C A D"), Ok((Verdict::Right, 3.0)));
        assert_eq!(marked("cad"), Ok((Verdict::Right, 3.0)));
        for given in ["C → A → D", "C->A->D", "c > a > d", "C --> A --> D", "C => A => D"] {
            assert_eq!(marked(given), Ok((Verdict::Right, 3.0)), "{given}");
        }
        let list = Node::List(vec![text("C → A → D")]);
        assert!(ordering(&[1, 3, 0, 2], &of(3, Vec::new()), &|_| String::new(), &list).is_ok());
        for hedged in ["C → A/B → D", "C/A/D", "C → A D", "C → → D"] {
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
            ordering(&[0, 1, 2, 3, 4], &two, &|_| String::new(), &text(given))
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
