//! English of what exams find: the only place where the facts become sentences.

use std::fmt;

use crate::counted::counted;
use crate::solution::{Base, Cause, Remark};

/// Row and column from 1.
fn place(at: (usize, usize)) -> String {
    format!("({}, {})", at.0 + 1, at.1 + 1)
}

/// Texts with something between them.
fn joined(all: &[impl fmt::Display], between: &str) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follows => f.write_str("follows from the steps before it"),
            Self::FollowsUndecided => {
                f.write_str("follows from what is written before it, of which not all was decided")
            }
            Self::RightAlone => {
                f.write_str("right, though it does not follow from what is written before it")
            }
            Self::Undecided(reason) => reason.fmt(f),
            Self::Rounded(source) => {
                f.write_str("numbers were rounded before going on")?;
                source.iter().try_for_each(|(what, places)| {
                    write!(f, ": {what} to {}", counted(*places, "decimal"))
                })
            }
            Self::FromRounded { at, written, right } => write!(
                f,
                "entry {}: {written} comes from rounded numbers, {right} from unrounded ones",
                place(*at)
            ),
            Self::Mistake { says, base } => {
                f.write_str(says)?;
                f.write_str(match base {
                    Base::Steps => "",
                    Base::Rounded => " (from rounded numbers)",
                    Base::Right => {
                        " (and it follows from the right numbers, not from those written before it)"
                    }
                })
            }
            Self::Extents { expected, got } => write!(
                f,
                "expected {} × {} numbers, got {} × {}",
                expected.0, expected.1, got.0, got.1
            ),
            Self::Transposed => f.write_str("rows and columns are exchanged"),
            Self::Entries([x, y]) => {
                write!(f, "entries {} and {} are exchanged", place(*x), place(*y))
            }
            Self::Lines { what, pair: (x, y), of } => {
                write!(f, "{what} {} and {}", x + 1, y + 1)?;
                of.iter().try_for_each(|of| write!(f, " of {of}"))?;
                f.write_str(" are exchanged")
            }
            Self::Entry { at, causes, perhaps, expected, got } => {
                match causes.as_slice() {
                    [] => f.write_str("another value")?,
                    _ if *perhaps => write!(f, "perhaps {}", joined(causes, " or "))?,
                    _ => f.write_str(&joined(causes, " or "))?,
                }
                write!(f, " in entry {}: expected {expected}, got {got}", place(*at))
            }
            Self::More(n) => write!(f, "and {n} entries more"),
            Self::Rank { rank, width } => write!(
                f,
                "the rank of these scores is {rank}, but the rank of Q Kᵀ is at most d_k = {width}: no queries and keys have them"
            ),
            Self::Negative(row) => write!(f, "row {} has a negative weight", row + 1),
            Self::Sum { row, sum } => write!(f, "row {} sums to {sum}, not to 1", row + 1),
            Self::Outside(at) => {
                write!(f, "entry {} is outside the values that it is a mean of", place(*at))
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNearest => f.write_str("not rounded to the nearest"),
            Self::Sign => f.write_str("sign error"),
            Self::TermSign(k) => write!(f, "sign error in term {}", k + 1),
            Self::MissingTerm(k) => write!(f, "missing term {}", k + 1),
            Self::TwiceTerm(k) => write!(f, "twice the term {}", k + 1),
        }
    }
}
