//! Conditions: the rules of one to four literals that hold for all gains and for no loss.

use std::collections::BTreeMap;

use qkvet_spec::{Extent, IndexExpr};

use super::literal::{Bits, Literal, Sample, bits, literals, parsed};

/// A rule with its length.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// `None`: always.
    pub(super) when: Option<IndexExpr>,
    pub(super) bits: f64,
}

/// Literals that are joined by `and`, and by `or`.
const MAX_JOINED: [usize; 2] = [150, 100];
/// Bits of two literals that are joined.
const MAX_BITS: [f64; 2] = [18.0, 16.0];
/// What a kernel is chosen by, apart from options.
const PATHS: [&str; 8] = [
    "n_q == 1",
    "n_q >= 2",
    "h_q == h_k",
    "h_q != h_k",
    "mask_axes == 2",
    "mask_axes == 4",
    "bias_axes == 2",
    "bias_axes == 4",
];
/// Pairs of choices that are looked behind.
const MAX_PAIRS: usize = 6;
/// Rules that are kept behind each choice.
const MAX_BEHIND: usize = 12;
/// Rules that are kept.
const MAX_RULES: usize = 40;

fn covers(large: &[u64], small: &[u64]) -> bool {
    large.iter().zip(small).all(|(x, y)| y & !x == 0)
}

fn meets(x: &[u64], y: &[u64]) -> bool {
    x.iter().zip(y).any(|(x, y)| x & y != 0)
}

fn count(x: &[u64], of: &[u64]) -> f64 {
    x.iter().zip(of).map(|(x, y)| (x & y).count_ones()).sum::<u32>().into()
}

/// The sizes at which the rules change their mind: `n_k` at 63 and 64 for `n_k >= 64`.
pub(super) fn edges(rules: &[Rule]) -> Vec<(Extent, usize)> {
    let of_rules = rules.iter().filter_map(|rule| rule.when.as_ref()).flat_map(IndexExpr::edges);
    let mut found: Vec<(Extent, usize)> =
        of_rules.filter_map(|(extent, at)| Some((extent, usize::try_from(at).ok()?))).collect();
    found.retain(|(_, at)| *at > 0);
    found.sort_unstable();
    found.dedup();
    found
}

/// The rules that hold for every gain and no loss, the shortest first. Elements are spoken of only
/// where `of_elements`.
pub(super) fn rules(samples: &[Sample], of_elements: bool) -> Vec<Rule> {
    let gains = bits(samples.iter().map(|sample| sample.is_gain));
    let losses = bits(samples.iter().map(|sample| !sample.is_gain));
    if losses.iter().all(|word| *word == 0) {
        return vec![Rule { when: None, bits: 0.0 }];
    }
    let all = Literals { all: literals(samples, of_elements), gains };
    let mut found = all.consistent(&losses);
    if found.is_empty() {
        found = all.conjunctions(&losses, samples.len());
        found.extend(all.behind_a_choice(&losses));
    }
    found.sort_by(|x, y| x.bits.total_cmp(&y.bits));
    found.truncate(MAX_RULES);
    found
}

/// Literals, and the samples that every rule has to hold of.
struct Literals {
    all: Vec<Literal>,
    gains: Bits,
}

impl Literals {
    /// Rules of one or two literals that hold for every gain and none of these losses.
    fn consistent(&self, losses: &[u64]) -> Vec<Rule> {
        let gains = &self.gains;
        let mut found: Vec<(f64, String)> = Vec::new();
        let mut add = |text: &str, bits: f64| found.push((bits, text.to_owned()));
        let mut both: Vec<&Literal> = Vec::new();
        let mut either: Vec<&Literal> = Vec::new();
        for literal in &self.all {
            match (covers(&literal.holds, gains), meets(&literal.holds, losses)) {
                (true, false) => add(&literal.text, literal.bits),
                (true, true) => both.push(literal),
                (false, false) if meets(&literal.holds, gains) => either.push(literal),
                _ => {}
            }
        }
        let share =
            |literal: &Literal, of: &[u64]| count(&literal.holds, of) / count(of, of).max(1.0);
        both.sort_by(|x, y| {
            let key = |it: &Literal| it.bits + 3.0 * share(it, losses);
            key(x).total_cmp(&key(y))
        });
        either.sort_by(|x, y| {
            let key = |it: &Literal| it.bits - 3.0 * share(it, gains);
            key(x).total_cmp(&key(y))
        });
        both.truncate(MAX_JOINED[0]);
        either.truncate(MAX_JOINED[1]);
        for (at, x) in both.iter().enumerate() {
            for y in &both[..at] {
                let is_none =
                    x.holds.iter().zip(&*y.holds).zip(losses).all(|((x, y), l)| x & y & l == 0);
                if x.bits + y.bits <= MAX_BITS[0] && is_none {
                    add(&format!("{} and {}", y.text, x.text), x.bits + y.bits + 1.0);
                }
            }
        }
        for (at, x) in either.iter().enumerate() {
            for y in &either[..at] {
                let is_all = x
                    .holds
                    .iter()
                    .zip(&*y.holds)
                    .zip(&**gains)
                    .all(|((x, y), g)| g & !(x | y) == 0);
                if x.bits + y.bits <= MAX_BITS[1] && is_all {
                    add(&format!("{} or {}", y.text, x.text), x.bits + y.bits + 3.0);
                }
            }
        }
        found.sort_by(|(x, _), (y, _)| x.total_cmp(y));
        found.truncate(MAX_RULES);
        let rule = |(bits, text): (f64, String)| Some(Rule { when: Some(parsed(&text)?), bits });
        found.into_iter().filter_map(rule).collect()
    }

    /// Rules of up to four literals that are joined by `and`: each loss lacks one of them.
    fn conjunctions(&self, losses: &[u64], n: usize) -> Vec<Rule> {
        let all: Vec<&Literal> =
            self.all.iter().filter(|literal| covers(&literal.holds, &self.gains)).collect();
        let is_loss = |at: &usize| losses[at / 64] >> (at % 64) & 1 == 1;
        let without = |at: usize| -> (Vec<usize>, usize) {
            ((0..all.len()).filter(|literal| !all[*literal].has(at)).collect(), at)
        };
        // Losses that few literals exclude come first.
        let mut losses: Vec<(Vec<usize>, usize)> = (0..n).filter(is_loss).map(without).collect();
        losses.sort_by(|(x, _), (y, _)| x.len().cmp(&y.len()).then_with(|| x.cmp(y)));
        losses.dedup_by(|(x, _), (y, _)| x == y);
        let mut found = BTreeMap::new();
        // The shortest are found before the search of longer ones takes all steps.
        for bits in MAX_CHAIN {
            let mut search =
                Excluding { all: &all, losses: &losses, bits, left: MAX_STEPS, found: &mut found };
            search.descend(&mut Vec::new(), 0.0);
            if !found.is_empty() {
                break;
            }
        }
        let rule = |(of, bits): (Vec<usize>, f64)| {
            let texts: Vec<&str> = of.iter().map(|at| all[*at].text.as_str()).collect();
            parsed(&texts.join(" and ")).map(|when| Rule { when: Some(when), bits })
        };
        found.into_iter().filter_map(rule).collect()
    }

    /// Rules behind what a kernel is chosen by: an option of the call, one query, grouped heads,
    /// the axes of mask and bias; else two of these.
    fn behind_a_choice(&self, losses: &[u64]) -> Vec<Rule> {
        let is_choice = |one: &&Literal| {
            covers(&one.holds, &self.gains) && (one.is_option || PATHS.contains(&one.text.as_str()))
        };
        let choices: Vec<&Literal> = self.all.iter().filter(is_choice).collect();
        let found: Vec<Rule> = choices.iter().flat_map(|one| self.behind(&[one], losses)).collect();
        if !found.is_empty() {
            return found;
        }
        let mut pairs = Vec::new();
        for (at, x) in choices.iter().enumerate() {
            for y in &choices[..at] {
                let both: Vec<u64> = x.holds.iter().zip(&*y.holds).map(|(x, y)| x & y).collect();
                pairs.push((count(&both, losses) + x.bits + y.bits, [*y, *x]));
            }
        }
        pairs.sort_by(|(x, _), (y, _)| x.total_cmp(y));
        pairs.truncate(MAX_PAIRS);
        pairs.iter().flat_map(|(_, pair)| self.behind(pair, losses)).collect()
    }

    /// The rules that hold where all of these do, joined to them.
    fn behind(&self, choice: &[&Literal], losses: &[u64]) -> Vec<Rule> {
        let holds = |word: usize| choice.iter().fold(!0, |all, one| all & one.holds[word]);
        let inside: Vec<u64> =
            losses.iter().enumerate().map(|(word, of)| of & holds(word)).collect();
        if inside == losses {
            return Vec::new();
        }
        let texts: Vec<&str> = choice.iter().map(|literal| literal.text.as_str()).collect();
        let text = texts.join(" and ");
        let bits = choice.iter().map(|one| one.bits + 1.0).sum::<f64>();
        let joined = |rule: Rule| {
            let rest = rule.when?;
            let text = match rest.is_either() {
                true => format!("{text} and ({})", rest.text()),
                false => format!("{text} and {}", rest.text()),
            };
            parsed(&text).map(|when| Rule { when: Some(when), bits: bits + rule.bits })
        };
        self.consistent(&inside).into_iter().take(MAX_BEHIND).filter_map(joined).collect()
    }
}

/// Bits of the longest conjunction, one search after the other.
const MAX_CHAIN: [f64; 4] = [20.0, 25.0, 30.0, 35.0];
/// Literals of a conjunction.
const MAX_LITERALS: usize = 4;
/// Sets of literals that one search looks at.
const MAX_STEPS: usize = 3000;

/// A search for sets of literals of which each loss lacks one.
struct Excluding<'a> {
    all: &'a [&'a Literal],
    losses: &'a [(Vec<usize>, usize)],
    bits: f64,
    left: usize,
    found: &'a mut BTreeMap<Vec<usize>, f64>,
}

impl Excluding<'_> {
    fn descend(&mut self, chosen: &mut Vec<usize>, bits: f64) {
        let is_open = |loss: usize| chosen.iter().all(|at| self.all[*at].has(loss));
        let Some((open, _)) = self.losses.iter().find(|(_, loss)| is_open(*loss)) else {
            let mut set = chosen.clone();
            set.sort_unstable();
            self.found.insert(set, bits);
            return;
        };
        for at in open {
            let bits = bits + self.all[*at].bits + 1.0;
            if chosen.len() == MAX_LITERALS || bits > self.bits || self.left == 0 {
                return;
            }
            self.left -= 1;
            chosen.push(*at);
            self.descend(chosen, bits);
            chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOption, Dims, Dtype, IndexEnv, UNLIMITED};

    use super::super::literal::signed;
    use super::*;

    fn samples(most: usize, is_gain: impl Fn(&IndexEnv) -> bool) -> Vec<Sample> {
        let env = |at: usize| {
            let spread = at.wrapping_mul(0x9e37_79b9) >> 7;
            let options =
                CallOption::ALL.into_iter().filter(|one| spread >> *one as usize & 1 == 1);
            let (n_q, n_k) = (1 + at % 9, 1 + spread % 90);
            let dims = Dims { b: 1, h_q: 4, h_k: 2, n_q, n_k, d_k: 8, d_v: 4 };
            IndexEnv::new(dims, Dtype::Float32, options.collect())
        };
        let all = (0..most).map(env);
        all.map(|env| Sample { is_gain: is_gain(&env), env }).collect()
    }

    fn shortest(is_gain: impl Fn(&IndexEnv) -> bool) -> Option<String> {
        let found = rules(&samples(800, is_gain), false);
        found.first().map(|rule| rule.when.as_ref().map_or("always", IndexExpr::text).to_owned())
    }

    #[test]
    fn the_shortest_rule_without_exception_is_found() {
        let has = |env: &IndexEnv, option| env.options.contains(option);
        assert_eq!(shortest(|_| true).as_deref(), Some("always"));
        assert_eq!(shortest(|env| env.dims.n_k >= 65).as_deref(), Some("n_k >= 65"));
        let both = |env: &IndexEnv| has(env, CallOption::Bias) && env.dims.n_q < env.dims.n_k;
        assert_eq!(shortest(both).as_deref(), Some("bias and n_q < n_k"));
        let three = |env: &IndexEnv| both(env) && env.dims.n_k.is_multiple_of(2);
        let found = rules(&samples(200, three), false);
        assert!(found.iter().any(|rule| {
            let text = rule.when.as_ref().map_or("", IndexExpr::text);
            text.contains("bias") && text.contains("n_q < n_k") && text.contains("n_k % 2 == 0")
        }));
        let options = |env: &IndexEnv| has(env, CallOption::Bias) && !has(env, CallOption::Mask);
        let sizes = |env: &IndexEnv| env.dims.n_q.is_multiple_of(2) && env.dims.n_k >= 33;
        let found = rules(&samples(3000, |env| options(env) && sizes(env)), false);
        let first = found.first().and_then(|rule| rule.when.as_ref()).map_or("", IndexExpr::text);
        let literals = ["bias", "not mask", "n_q % 2 == 0", "n_k >= 33"];
        assert!(literals.iter().all(|literal| first.contains(literal)), "{first}");
    }

    /// Four facts of which none is an option: columns that a kernel of narrow values does not
    /// write.
    #[test]
    fn four_facts_without_an_option_are_found() {
        let is_gain = |env: &IndexEnv| {
            let Dims { n_q, d_v, .. } = env.dims;
            n_q == 1 && d_v < 32 && d_v.is_multiple_of(4) && env.c >= signed(d_v) - 4
        };
        let place = |(number, sample): (usize, Sample)| {
            let d_v = 1 + number / 9 % 49;
            let dims = Dims { n_q: 1 + number % 3, d_v, ..sample.env.dims };
            let c = signed(d_v) - 1 - signed(number / 3 % 8);
            let env = IndexEnv { dims, c: c.max(0), ..sample.env };
            Sample { env, is_gain: is_gain(&env) }
        };
        let all: Vec<Sample> =
            samples(2000, |_| false).into_iter().enumerate().map(place).collect();
        let found = rules(&all, true);
        let first = found.first().and_then(|rule| rule.when.as_ref()).map_or("", IndexExpr::text);
        let literals = ["n_q", "d_v < 32", "d_v % 4 == 0", "c >= d_v - 4"];
        assert!(literals.iter().all(|literal| first.contains(literal)), "{first}");
    }

    /// Which tiles of keys a query does not see: the first of them where a window begins behind it.
    #[test]
    fn the_first_key_that_is_seen_makes_a_rule() {
        let at = |env: &IndexEnv| env.i + signed(env.dims.n_k) - signed(env.dims.n_q);
        let all: Vec<Sample> = samples(200, |_| false)
            .into_iter()
            .enumerate()
            .map(|(number, Sample { env, .. })| {
                let (i, left) = (number % env.dims.n_q, number / 3 % 40);
                let window = [signed(left), 0];
                let env = IndexEnv { i: signed(i), window, ..env };
                let is_windowed = env.options.contains(CallOption::Window);
                Sample { env, is_gain: is_windowed && at(&env) - env.window[0] >= 8 }
            })
            .collect();
        let found = rules(&all, true);
        let texts: Vec<&str> =
            found.iter().filter_map(|rule| Some(rule.when.as_ref()?.text())).collect();
        assert!(texts.contains(&"window and i + n_k - n_q - window_left >= 8"), "{texts:?}");
    }

    /// A side of the window that has no limit is told from one that reaches every key.
    #[test]
    fn a_limit_beyond_all_keys_is_a_limit() {
        let sides = |number: usize| {
            let left = [UNLIMITED, 200, 3][number % 3];
            [left, [UNLIMITED, 0, 0, 2, 0][number / 3 % 5]]
        };
        let all: Vec<Sample> = samples(200, |_| false)
            .into_iter()
            .enumerate()
            .map(|(number, Sample { env, .. })| {
                let env = IndexEnv { window: sides(number), ..env };
                Sample { env, is_gain: env.window[0] < UNLIMITED && env.window[1] == 0 }
            })
            .collect();
        let found = rules(&all, false);
        let first = found.first().and_then(|rule| rule.when.as_ref()).map(IndexExpr::text);
        assert_eq!(first, Some("window_right == 0 and not window_left_open"));
    }

    /// Fresh calls are drawn with what a rule says and with what is next to it.
    #[test]
    fn the_sizes_of_a_rule_are_those_at_its_edges() {
        let rule = |text: &str| Rule { when: parsed(text), bits: 0.0 };
        let of = |text: &str| edges(&[rule(text)]);
        assert_eq!(of("causal and d_k == 16"), [(Extent::DK, 16), (Extent::DK, 17)]);
        assert_eq!(
            of("n_k >= 32 or n_q < 2"),
            [(Extent::NQ, 1), (Extent::NQ, 2), (Extent::NK, 31), (Extent::NK, 32)]
        );
        assert_eq!(of("not mask"), []);
    }

    /// Nothing is said of what has no rule: the number of ones in the number of keys.
    #[test]
    fn what_has_no_rule_gets_none() {
        assert_eq!(
            shortest(|env| env.dims.n_k.count_ones() % 2 == 0 && env.dims.n_q % 5 != 2),
            None
        );
    }
}
