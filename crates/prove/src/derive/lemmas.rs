//! The base of inequalities. Everything that a derivation proves rests on these lines and on the
//! rules of rewriting.
//!
//! Each is tested numerically on random matrices, and so is a wrong variant of each, which has to
//! fail.

/// `left ≤ right`, element by element, for all matrices of fitting shapes for which what it needs
/// is so. Names that begin with `?` stand for any term; `(rows ?a)` and `(cols ?a)` are extents of
/// what `?a` stands for.
#[derive(Clone, Copy, Debug)]
pub struct Lemma {
    /// Its name, never used for another.
    pub name: &'static str,
    /// The smaller side.
    pub left: &'static str,
    /// The larger side.
    pub right: &'static str,
    /// What must be so.
    pub needs: &'static [Need],
    /// Whether it gives so much away that it is used only where the others do not suffice.
    pub is_coarse: bool,
    /// Why it is true.
    pub reason: &'static str,
    /// The shapes of a test: name, rows, columns.
    pub shapes: &'static str,
    /// The larger side, altered into something false.
    pub wrong: &'static str,
}

/// A condition on what a name of a lemma stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every row of the matrix is of weights: none negative, sum 1.
    Averages(&'static str),
    /// Every row of the matrix is of weights, none negative, whose sum is at most 1.
    PartialAverages(&'static str),
    /// No element of the matrix is negative.
    NonNegative(&'static str),
    /// The number is not negative.
    NonNegativeNumber(&'static str),
    /// One column.
    Column(&'static str),
    /// One row.
    Row(&'static str),
    /// Two names of selections of one row each, which is not the same.
    Apart(&'static str, &'static str),
    /// Scores, a row of the identity, a number: in every row of the scores the one selected exceeds
    /// all others by at least the number. Declared by the law.
    Separated(&'static str, &'static str, &'static str),
    /// Scores, the other rows of the identity, a number: in every row of the scores the one that is
    /// not among them lies below all others by at least the number. Declared by the law.
    Opposed(&'static str, &'static str, &'static str),
}

/// The lemmas. `tv` is the total variation distance: the largest, over rows, of half the sum of the
/// differences' magnitudes.
pub const LEMMAS: &[Lemma] = &[
    Lemma {
        name: "triangle",
        left: "(norm (+ (sc ?k (+ ?a ?b)) (sc -1 (sc ?k (+ ?c ?d)))))",
        right: "(mul (num ?k) (+ (norm (+ ?a (sc -1 ?c))) (norm (+ ?b (sc -1 ?d)))))",
        needs: &[Need::NonNegativeNumber("?k")],
        is_coarse: false,
        reason: "triangle inequality: a sum is off by no more than its summands together",
        shapes: "k 0 0 a 2 3 b 2 3 c 2 3 d 2 3",
        wrong: "(mul (num ?k) (norm (+ ?a (sc -1 ?c))))",
    },
    Lemma {
        name: "triangle-of-two",
        left: "(norm (+ ?a ?b))",
        right: "(+ (norm ?a) (norm ?b))",
        needs: &[],
        is_coarse: true,
        reason: "triangle inequality: a sum is no larger than its summands together",
        shapes: "a 2 3 b 2 3",
        wrong: "(norm ?a)",
    },
    Lemma {
        name: "multiple",
        left: "(norm (sc ?k ?a))",
        right: "(mul (num ?k) (norm ?a))",
        needs: &[Need::NonNegativeNumber("?k")],
        is_coarse: true,
        reason: "a multiple is as much larger",
        shapes: "k 0 0 a 2 3",
        wrong: "(mul (num 1/4) (mul (num ?k) (norm ?a)))",
    },
    Lemma {
        name: "negative",
        left: "(norm (sc -1 ?a))",
        right: "(norm ?a)",
        needs: &[],
        is_coarse: true,
        reason: "a sign changes no magnitude",
        shapes: "a 2 3",
        wrong: "(mul (num 1/2) (norm ?a))",
    },
    Lemma {
        name: "largest-and-root-of-squares",
        left: "(norm ?a)",
        right: "(norm2 ?a)",
        needs: &[],
        is_coarse: true,
        reason: "no element is larger than the root of the sum of all squares",
        shapes: "a 2 3",
        wrong: "(mul (num 1/4) (norm2 ?a))",
    },
    Lemma {
        name: "averages-of-the-same",
        left: "(norm (+ (* ?a ?v) (sc -1 (* ?b ?v))))",
        right: "(mul (tv ?a ?b) (spread ?v))",
        needs: &[Need::Averages("?a"), Need::Averages("?b")],
        is_coarse: false,
        reason: "both sides average the same rows: weight that is moved changes an average by at most itself times the spread",
        shapes: "a 2 4 b 2 4 v 4 3",
        wrong: "(mul (num 1/2) (mul (tv ?a ?b) (spread ?v)))",
    },
    Lemma {
        name: "average-of-rows",
        left: "(norm (* ?a ?v))",
        right: "(norm ?v)",
        needs: &[Need::PartialAverages("?a")],
        is_coarse: false,
        reason: "an average is no larger than the largest of what it averages",
        shapes: "a 2 4 v 4 3",
        wrong: "(mul (num 1/2) (norm ?v))",
    },
    Lemma {
        name: "softmax-tail",
        left: "(tv (soft ?z all none) (* (one ?n) (sel ?j)))",
        right: "(mul (+ (num (cols ?z)) (num -1)) (exp (mul (num -1) (num ?t))))",
        needs: &[Need::Separated("?z", "?j", "?t")],
        is_coarse: false,
        reason: "each of the other weights is at most e to the minus margin",
        shapes: "z 3 5 n 3 0 j 1 5 t 0 0",
        wrong: "(exp (mul (num -2) (num ?t)))",
    },
    Lemma {
        name: "softmax-tail-of-one-row",
        left: "(tv (soft (sc ?k (sel ?j)) all none) (sel ?j))",
        right: "(mul (+ (num (cols (sel ?j))) (num -1)) (exp (mul (num -1) (num ?k))))",
        needs: &[],
        is_coarse: false,
        reason: "each of the other weights is at most e to the minus margin",
        shapes: "k 0 0 j 1 5",
        wrong: "(exp (mul (num -2) (num ?k)))",
    },
    Lemma {
        name: "softmax-tail-of-two",
        left: "(tv (soft (sc ?k (+ (sel ?i) (sel ?j))) all none) (sc 1/2 (+ (sel ?i) (sel ?j))))",
        right: "(mul (mul (num 1/2) (+ (num (cols (sel ?i))) (num -2))) (exp (mul (num -1) (num ?k))))",
        needs: &[Need::Apart("?i", "?j")],
        is_coarse: false,
        reason: "two weights are equal, and each of the others is at most e to the minus margin of either",
        shapes: "k 0 0 i 1 5 j 1 5",
        wrong: "(exp (mul (num -2) (num ?k)))",
    },
    Lemma {
        name: "cauchy-schwarz",
        left: "(norm (* ?a (T ?b)))",
        right: "(mul (norm2 ?a) (norm2 ?b))",
        needs: &[],
        is_coarse: false,
        reason: "Cauchy–Schwarz: no dot product exceeds the product of the norms",
        shapes: "a 2 3 b 4 3",
        wrong: "(mul (num 1/8) (mul (norm2 ?a) (norm2 ?b)))",
    },
    Lemma {
        name: "square",
        left: "(sc 0 (* ?a (T ?a)))",
        right: "(* ?a (T ?a))",
        needs: &[Need::Row("?a")],
        is_coarse: false,
        reason: "a sum of squares",
        shapes: "a 1 4",
        wrong: "(sc -1 (* ?a (T ?a)))",
    },
    Lemma {
        name: "softmax-without-the-lowest",
        left: "(tv (soft ?z all none) (* (soft (* ?z (T (sel ?r))) all none) (sel ?r)))",
        right: "(exp (mul (num -1) (num ?t)))",
        needs: &[Need::Opposed("?z", "?r", "?t")],
        is_coarse: false,
        reason: "the weight of the lowest score, which the others share without it, is at most e to the minus margin",
        shapes: "z 3 5 r 4 5 t 0 0",
        wrong: "(mul (num 1/16) (exp (mul (num -1) (num ?t))))",
    },
    Lemma {
        name: "softmax-of-scores-moved",
        left: "(tv (soft (+ ?z ?d) all none) (soft ?z all none))",
        right: "(mul (num 1/2) (+ (exp (mul (num 2) (norm ?d))) (num -1)))",
        needs: &[],
        is_coarse: false,
        reason: "every weight changes by a factor of at most e to twice the largest move",
        shapes: "z 3 5 d 3 5",
        wrong: "(mul (num 1/8) (+ (exp (norm ?d)) (num -1)))",
    },
    Lemma {
        name: "softmax-of-capped-scores",
        left: "(tv (soft (cap ?r ?z) all none) (soft ?z all none))",
        right: "(mul (num 1/2) (+ (exp (mul (num 2/3) (mul (mul (num ?r) (num ?r)) (mul (norm ?z) (mul (norm ?z) (norm ?z)))))) (num -1)))",
        needs: &[],
        is_coarse: false,
        reason: "tanh x lies between x − x³/3 and x, so that no score moves further than a third of its cube over the square of the \
                 cap, and every weight changes by a factor of at most e to twice the largest move",
        shapes: "r 0 0 z 3 5",
        wrong: "(mul (num 1/64) (+ (exp (mul (num 1/3) (mul (mul (num ?r) (num ?r)) (mul (norm ?z) (norm ?z))))) (num -1)))",
    },
    Lemma {
        name: "score-raised",
        left: "(* (soft ?z all none) (T (sel ?j)))",
        right: "(* (soft (+ ?z (sc ?k (* (one ?n) (sel ?j)))) all none) (T (sel ?j)))",
        needs: &[Need::NonNegativeNumber("?k")],
        is_coarse: false,
        reason: "eˣ/(eˣ + c) grows with x",
        shapes: "z 3 5 k 0 0 n 3 0 j 1 5",
        wrong: "(* (soft (+ ?z (sc -1 (* (one ?n) (sel ?j)))) all none) (T (sel ?j)))",
    },
    Lemma {
        name: "weighted-squares",
        left: "(sc 0 (* (T ?y) (* (diag ?a) ?y)))",
        right: "(* (T ?y) (* (diag ?a) ?y))",
        needs: &[Need::NonNegative("?a"), Need::Column("?y")],
        is_coarse: false,
        reason: "a sum of squares by weights that are not negative",
        shapes: "y 4 1 a 1 4",
        wrong: "(sc -1 (* (T ?y) (* (diag ?a) ?y)))",
    },
    Lemma {
        name: "below-the-largest",
        left: "(* ?a ?v)",
        right: "(* ?a (* (one (rows ?v)) (colmax ?v)))",
        needs: &[Need::NonNegative("?a")],
        is_coarse: false,
        reason: "no row is above the largest of each column, and no weight is negative",
        shapes: "a 2 4 v 4 3",
        wrong: "(* ?a (* (one (rows ?v)) (colmin ?v)))",
    },
    Lemma {
        name: "above-the-smallest",
        left: "(* ?a (* (one (rows ?v)) (colmin ?v)))",
        right: "(* ?a ?v)",
        needs: &[Need::NonNegative("?a")],
        is_coarse: false,
        reason: "no row is below the smallest of each column, and no weight is negative",
        shapes: "a 2 4 v 4 3",
        wrong: "(sc -1 (* ?a ?v))",
    },
];
