//! The rule base, by theme. Everything that rewriting proves rests on these rules.
//!
//! Each is tested numerically on random matrices, and so is a wrong variant of each, which has to
//! fail.

mod algebra;
mod blocks;
mod masks;
mod selections;
mod softmax;

use std::sync::LazyLock;

/// An equation between terms that holds for all matrices of fitting shapes. Names that begin with
/// `?` stand for any term.
///
/// In `right`, `(rows ?a)` and `(cols ?a)` are extents of what `?a` stands for, `(times ?k ?l)` is
/// a product of numbers, `(inverse ?n)` is 1 over an extent.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, never used for another.
    pub name: &'static str,
    /// One side.
    pub left: &'static str,
    /// The other.
    pub right: &'static str,
    /// Whether it may be used from right to left too.
    pub both_ways: bool,
    /// What must be so for the rule to hold. Such a rule is not used both ways.
    pub when: Option<When>,
    /// Why it is true.
    pub reason: &'static str,
    /// The shapes of a test: name, rows, columns; a name of `perm`, `orth` or `sel` is one too.
    pub shapes: &'static str,
    /// The right side, altered into something false.
    pub wrong: &'static str,
}

/// A condition on what the names of a rule stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A term has this number of columns.
    Cols(&'static str, &'static str),
    /// Two names of selections that share no row and together have all.
    Complements(&'static str, &'static str),
    /// Two names of selections of one row each, which is not the same.
    Apart(&'static str, &'static str),
}

impl When {
    /// Whether two names of selections are such, by how they are written: `not-S:n` has the rows
    /// that `S:n` has not, `b!=a:n` is a row other than `a:n`.
    pub(crate) fn holds(self, x: &str, y: &str) -> bool {
        match self {
            Self::Cols(..) => false,
            Self::Complements(..) => {
                [(x, y), (y, x)].iter().any(|(x, y)| y.strip_prefix("not-") == Some(x))
            }
            Self::Apart(..) => {
                let is_other = |x: &str, y: &str| x.split_once("!=").is_some_and(|(_, of)| of == y);
                is_other(x, y) || is_other(y, x)
            }
        }
    }
}

const fn rule(
    name: &'static str,
    (left, right): (&'static str, &'static str),
    both_ways: bool,
    reason: &'static str,
    shapes: &'static str,
    wrong: &'static str,
) -> Rule {
    Rule { name, left, right, both_ways, when: None, reason, shapes, wrong }
}

/// The rules.
pub static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    [algebra::RULES, selections::RULES, softmax::RULES, masks::RULES, blocks::RULES].concat()
});
