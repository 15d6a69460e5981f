//! The search: from one side of a claim, lemmas lead on until the other side is reached.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::facts::{Facts, meets};
use super::lemmas::LEMMAS;
use super::scalar::{are_equal, is_at_most, is_non_negative, is_scalar};
use super::{Derivation, Move, Step};
use crate::rewrite::{self, COLLECTED, Space, cancels, collected, instantiated};
use crate::tree::{Shapes, Tree, is_zero, shape};

/// Limits of one saturation: lemmas ask for a form a few rules away.
const LIMITS: (usize, usize) = (6_000, 8);
/// Saturations of one search.
const MAX_SPACES: usize = 20;
/// Forms of one term that one lemma is used for.
const MAX_FORMS: usize = 12;
/// Lemmas in one chain.
const MAX_DEPTH: usize = 10;

/// Looks for a derivation of `left ≤ right`; `None` if there is none within the limits, which is no
/// disproof.
pub fn derive((left, right): (&Tree, &Tree), names: &Shapes, facts: &Facts) -> Option<Derivation> {
    // Zero is the end of a sign, and stays as it is written.
    let of_side = |side: &Tree| if is_zero(side) { side.clone() } else { collected(side, names) };
    let (from, to) = (of_side(left), of_side(right));
    let with_sums = || {
        let found = of_sides((&from, &to), names, facts)?;
        let (start, end) = if found.upward { (left, right) } else { (right, left) };
        Some(between(start, found, end))
    };
    match (from == *left && to == *right, cancels([left, right], [&from, &to])) {
        (true, _) => of_sides((left, right), names, facts),
        (false, true) => with_sums(),
        (false, false) => of_sides((left, right), names, facts).or_else(with_sums),
    }
}

/// A derivation between the collected forms of two terms, as one between the terms.
fn between(start: &Tree, found: Derivation, end: &Tree) -> Derivation {
    let by = || Move::Rule { name: COLLECTED.to_owned(), forward: true };
    let Derivation { upward, start: first, mut steps } = found;
    if first != *start {
        steps.insert(0, Step { by: by(), after: first });
    }
    if steps.last().map_or(start, |last| &last.after) != end {
        steps.push(Step { by: by(), after: end.clone() });
    }
    Derivation { upward, start: start.clone(), steps }
}

fn of_sides((left, right): (&Tree, &Tree), names: &Shapes, facts: &Facts) -> Option<Derivation> {
    // Rules in their own direction alone are quick, and often enough.
    let ways = [(false, true), (false, false), (true, true)]
        .map(|way| [(way, true), (way, false)])
        .into_iter()
        .flatten();
    // Zero has every form, none of which says where to go.
    ways.filter(|(.., upward)| !(is_zero(left) && *upward)).find_map(
        |((coarse, forward_only), upward)| {
            let (start, end) = if upward { (left, right) } else { (right, left) };
            let mut search = Search {
                end,
                upward,
                forward_only,
                coarse,
                names,
                facts,
                spaces: 0,
                seen: BTreeSet::new(),
            };
            let steps = search.reach(start, MAX_DEPTH)?;
            Some(Derivation { upward, start: start.clone(), steps })
        },
    )
}

struct Search<'a> {
    end: &'a Tree,
    upward: bool,
    forward_only: bool,
    /// Whether coarse lemmas are used too.
    coarse: bool,
    names: &'a Shapes,
    facts: &'a Facts,
    spaces: usize,
    seen: BTreeSet<String>,
}

impl Search<'_> {
    /// Steps from a term to the end.
    fn reach(&mut self, term: &Tree, depth: usize) -> Option<Vec<Step>> {
        if term == self.end {
            return Some(Vec::new());
        }
        if !self.seen.insert(term.to_string()) {
            return None;
        }
        if is_scalar(term) && are_equal(term, self.end) {
            return Some(vec![Step { by: Move::Arithmetic, after: self.end.clone() }]);
        }
        let (smaller, larger) = if self.upward { (term, self.end) } else { (self.end, term) };
        if is_scalar(term) && is_at_most(smaller, larger, self.facts) {
            return Some(vec![Step { by: Move::More, after: self.end.clone() }]);
        }
        if depth == 0 {
            return None;
        }
        for way in self.ways(term) {
            let place = |part: &Tree| replaced(term, &way.path, part);
            if let Some(rest) = self.reach(&place(&way.after), depth - 1)
                && let Some(steps) = way.steps()
            {
                let steps =
                    steps.into_iter().map(|Step { by, after }| Step { by, after: place(&after) });
                return Some(steps.chain(rest).collect());
            }
        }
        None
    }

    /// What a term leads to, each by rules and one lemma, or by rules to the end.
    fn ways(&mut self, term: &Tree) -> Vec<Way> {
        let mut parts = Vec::new();
        growing_parts(term, &[], self.facts, &mut parts);
        let mut wanted = Vec::new();
        growing_parts(self.end, &[], self.facts, &mut wanted);
        let mut ways = Vec::new();
        for path in parts {
            let part = at(term, &path);
            let is_near = |tree: &&Tree| {
                (tree.op == part.op || !is_scalar(part)) && is_zero(tree) == is_zero(part)
            };
            let mut targets: Vec<&Tree> =
                wanted.iter().map(|path| at(self.end, path)).filter(is_near).collect();
            // A number without parts is reached as a whole or not at all.
            if path.is_empty() && wanted.is_empty() {
                targets.push(self.end);
            }
            if targets.contains(&part) && is_scalar(part) {
                continue;
            }
            ways.extend(self.of_part(&path, part, &targets));
        }
        // What is nearer to the end is mostly shorter.
        ways.sort_by_cached_key(|way| replaced(term, &way.path, &way.after).to_string().len());
        ways
    }

    fn of_part(&mut self, path: &[usize], part: &Tree, targets: &[&Tree]) -> Vec<Way> {
        let terms: Vec<&Tree> = [part].into_iter().chain(targets.iter().copied()).collect();
        let Some(space) = self.space(&terms) else { return Vec::new() };
        let reached = targets.iter().find(|target| space.are_equal(part, target));
        let uses = match reached {
            Some(target) => vec![(None, (*target).clone(), (*target).clone())],
            None => self.uses(&space, part),
        };
        let space = Rc::new(RefCell::new(space));
        let way = |(lemma, before, after)| {
            let (path, part, space) = (path.to_vec(), part.clone(), Rc::clone(&space));
            Way { path, part, before, lemma, after, space }
        };
        uses.into_iter().map(way).collect()
    }

    /// The lemmas that have a form of the part as one side: their names, that side, and the other;
    /// of each the shortest few.
    fn uses(&self, space: &Space, part: &Tree) -> Vec<(Option<&'static str>, Tree, Tree)> {
        let smallest = space.forms();
        let mut uses = Vec::new();
        for lemma in LEMMAS.iter().filter(|lemma| self.coarse || !lemma.is_coarse) {
            let (Some(left), Some(right)) = (Tree::parse(lemma.left), Tree::parse(lemma.right))
            else {
                continue;
            };
            let (from, to) = if self.upward { (&left, &right) } else { (&right, &left) };
            if is_scalar(from) != is_scalar(part) {
                continue;
            }
            let mut forms = BTreeMap::new();
            for bound in smallest.matches(from, part) {
                for bound in self.meeting(lemma.needs, bound, space) {
                    let bound: BTreeMap<&str, Tree> =
                        bound.iter().map(|(name, tree)| (name.as_str(), tree.clone())).collect();
                    if let (Some(before), Some(after)) = (
                        instantiated(from, &bound, self.names),
                        instantiated(to, &bound, self.names),
                    ) && shape(&after, self.names) == shape(part, self.names)
                        && space.are_equal(part, &before)
                    {
                        forms.insert((after.to_string().len(), after.to_string()), (before, after));
                    }
                }
            }
            let few = forms.into_values().take(MAX_FORMS);
            uses.extend(few.map(|(before, after)| (Some(lemma.name), before, after)));
        }
        uses
    }

    /// Every way to bind names such that the needs are met.
    fn meeting(
        &self,
        needs: &[super::Need],
        bound: BTreeMap<String, Tree>,
        space: &Space,
    ) -> Vec<BTreeMap<String, Tree>> {
        needs.iter().fold(vec![bound], |ways, need| {
            let more = ways.into_iter().flat_map(|bound| {
                let value = |name: &str| bound.get(name).cloned();
                let is = |name: &str, tree: &Tree| {
                    bound
                        .get(name)
                        .is_none_or(|known| known == tree || space.are_equal(known, tree))
                };
                let found = meets(*need, self.facts, self.names, &value, &is);
                found
                    .into_iter()
                    .map(|more| {
                        let mut bound = bound.clone();
                        bound.extend(more.into_iter().map(|(name, tree)| (name.to_owned(), tree)));
                        bound
                    })
                    .collect::<Vec<_>>()
            });
            more.collect()
        })
    }

    fn space(&mut self, terms: &[&Tree]) -> Option<Space> {
        self.spaces += 1;
        let space = if self.forward_only { Space::forward } else { Space::new };
        (self.spaces <= MAX_SPACES).then(|| space(terms, self.names, LIMITS))
    }
}

/// A way on from a term: one part of it, by rules, becomes the side of a lemma, and that the other
/// side.
struct Way {
    path: Vec<usize>,
    part: Tree,
    before: Tree,
    lemma: Option<&'static str>,
    after: Tree,
    space: Rc<RefCell<Space>>,
}

impl Way {
    /// Its steps, of the part alone. Asked of a way that leads to the end: to explain what rules
    /// did takes longer than to find it.
    fn steps(&self) -> Option<Vec<Step>> {
        let mut steps = by_rules(self.space.borrow_mut().chain(&self.part, &self.before)?);
        let lemma = self
            .lemma
            .map(|name| Step { by: Move::Lemma(name.to_owned()), after: self.after.clone() });
        steps.extend(lemma);
        Some(steps)
    }
}

fn by_rules(chain: rewrite::Chain) -> Vec<Step> {
    let step = |step: rewrite::Step| Step {
        by: Move::Rule { name: step.rule, forward: step.forward },
        after: step.after,
    };
    chain.steps.into_iter().map(step).collect()
}

/// The paths to the parts of a term with which it grows: norms, spreads and distances of a number,
/// and a matrix itself.
fn growing_parts(tree: &Tree, path: &[usize], facts: &Facts, parts: &mut Vec<Vec<usize>>) {
    let mut go_on =
        |at: usize| growing_parts(&tree.args[at], &[path, &[at]].concat(), facts, parts);
    match (&*tree.op, tree.args.as_slice()) {
        ("+", [x, y]) if is_scalar(x) && is_scalar(y) => (0..2).for_each(&mut go_on),
        ("exp", [_]) => go_on(0),
        ("mul", args) => {
            (0..2).filter(|at| is_non_negative(&args[1 - at], facts)).for_each(&mut go_on)
        }
        ("num", _) => {}
        _ => parts.push(path.to_vec()),
    }
}

fn at<'a>(tree: &'a Tree, path: &[usize]) -> &'a Tree {
    path.iter().fold(tree, |tree, at| &tree.args[*at])
}

fn replaced(tree: &Tree, path: &[usize], part: &Tree) -> Tree {
    match path {
        [] => part.clone(),
        [first, rest @ ..] => {
            let mut whole = tree.clone();
            whole.args[*first] = replaced(&tree.args[*first], rest, part);
            whole
        }
    }
}
