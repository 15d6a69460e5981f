//! What the factors of a suite's covering arrays range over for one law.

use qkvet_spec::{
    BroadcastForm, CallOption, CheckedLaw, Dims, Domain, Dtype, MaskPattern, OptionSet, Suite,
    Values,
};

use crate::choice::{
    AlibiChoice, Number, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice, WindowChoice,
};
use crate::cover::{Factor, Row};
use crate::plan::CasePlan;
use crate::source::Source;
use crate::usage::Usage;

/// Places of the factors in a row. The last five are in extended arrays only.
const SHAPE: usize = 0;
const VALUES: usize = 1;
const SCALE: usize = 2;
const CAUSAL: usize = 3;
const MASK: usize = 4;
const MASK_FORM: usize = 5;
const BIAS: usize = 6;
const SOFTCAP: usize = 7;
const WINDOW: usize = 8;
const SINKS: usize = 9;
const ALIBI: usize = 10;
const SEQUENCES: usize = 11;

/// What each factor of a covering array ranges over for one law.
pub(crate) struct Levels {
    shapes: Vec<Dims>,
    values: Vec<Values>,
    scales: Vec<ScaleChoice>,
    causal: Vec<bool>,
    /// The softcap of every case, where a target has one.
    softcap: Option<SoftcapChoice>,
    masks: Vec<MaskPattern>,
    mask_forms: Vec<BroadcastForm>,
    bias_forms: Vec<BroadcastForm>,
    others: Others,
    /// In an extended array, how many of the value families are those of the suite itself.
    plain_values: Option<usize>,
    /// Options that every case has.
    always: Vec<CallOption>,
    /// How many rows are looked at, if not all.
    rows: Option<usize>,
}

/// What an extended covering array ranges over besides.
struct Others {
    softcaps: Vec<SoftcapChoice>,
    windows: Vec<WindowChoice>,
    sinks: Vec<SinkChoice>,
    slopes: Vec<AlibiChoice>,
    sequences: Vec<SequenceChoice>,
}

impl Levels {
    /// Shape, values, scale, causal, mask and bias.
    pub(crate) fn plain(suite: &Suite, law: &CheckedLaw) -> Self {
        let usage = Usage::of(law);
        let has = |option| law.law.options.contains(&option) && fits(suite, option);
        let fitted = |dims: &Dims| suite.fit.as_ref().map_or(*dims, |fit| fit.apply(dims));
        let mut shapes = Vec::new();
        for dims in suite.shapes.iter().map(fitted).filter(|dims| usage.admits(law, dims)) {
            let dims = fitted(&usage.reduce(&dims, &fitted(&suite.shapes[0])));
            if !shapes.contains(&dims) {
                shapes.push(dims);
            }
        }
        let fit = suite.fit.as_ref();
        let own = fit
            .and_then(|fit| fit.scale)
            .filter(|x| has(CallOption::Scale) && (*x != 0.0 || !usage.margin));
        let drawn = ScaleChoice::drawn(suite.version).to_vec();
        let all = own.map_or(drawn, |x| vec![ScaleChoice::Own(Number::new(x))]);
        let softcap = fit
            .and_then(|fit| fit.softcap)
            .filter(|_| has(CallOption::Softcap))
            .map(|x| SoftcapChoice::Own(Number::new(x)));
        let scales = all
            .into_iter()
            .filter(|scale| match scale {
                ScaleChoice::Default => true,
                ScaleChoice::Zero => has(CallOption::Scale) && !usage.margin,
                _ => has(CallOption::Scale),
            })
            .collect();
        let forms = fit.map_or_else(
            || distinct(&suite.broadcast),
            |fit| distinct(&fit.broadcast(&suite.broadcast)),
        );
        let masked = has(CallOption::Mask) && !suite.masks.is_empty() && !forms.is_empty();
        let biased = has(CallOption::Bias);
        Self {
            shapes,
            values: usage.families(&suite.values),
            scales,
            causal: match (has(CallOption::Causal), fit.is_some_and(|fit| fit.causal)) {
                (false, _) => vec![false],
                (true, false) => vec![false, true],
                (true, true) => vec![true],
            },
            softcap,
            masks: if masked { distinct(&suite.masks) } else { Vec::new() },
            mask_forms: if masked { forms.clone() } else { Vec::new() },
            bias_forms: if biased { forms } else { Vec::new() },
            others: Others::of(suite, law, softcap),
            plain_values: None,
            always: fit.map_or_else(Vec::new, |fit| fit.always.clone()),
            rows: suite.rows.filter(|_| law.says_a_result()),
        }
    }

    /// All options; none where the suite is not extended or the law has nothing that is not in
    /// [`Levels::plain`].
    pub(crate) fn extended(suite: &Suite, law: &CheckedLaw) -> Option<Self> {
        let section = suite.extended.as_ref()?;
        let plain = Self::plain(suite, law);
        let all = [suite.values.as_slice(), &section.values].concat();
        let mut values = plain.values.clone();
        values.extend(
            Usage::of(law)
                .families(&all)
                .into_iter()
                .filter(|family| section.values.contains(family) && !suite.values.contains(family)),
        );
        let levels = Self { plain_values: Some(plain.values.len()), values, ..plain };
        levels.factors().iter().any(|factor| factor.plain < factor.levels).then_some(levels)
    }

    /// Shape, values, scale, causal (one level where every case is), mask pattern (0: off), mask
    /// form (only with a mask), bias form (0: off); then, in extended arrays, softcap, window,
    /// sinks, ALiBi, lengths or packed sequences (0: off).
    pub(crate) fn factors(&self) -> Vec<Factor> {
        let mut factors = vec![
            Factor::free(self.shapes.len()),
            Factor::free(self.values.len()),
            Factor::free(self.scales.len()),
            Factor::free(self.causal.len()),
            Factor::free(1 + self.masks.len()),
            Factor { needs: Some(MASK), ..Factor::free(self.mask_forms.len()) },
            Factor::free(1 + self.bias_forms.len()),
        ];
        if let Some(plain_values) = self.plain_values {
            factors[VALUES].plain = plain_values;
            let Others { softcaps, windows, sinks, slopes, sequences } = &self.others;
            let choices =
                [softcaps.len(), windows.len(), sinks.len(), slopes.len(), sequences.len()];
            factors.extend(choices.map(|n| Factor { plain: 1, ..Factor::free(1 + n) }));
        }
        factors
    }

    /// Rows with one option on and the others off, `count` for each: many targets take few options
    /// or one at a time, and a covering array rarely leaves one alone. Plain arrays begin with
    /// `2 · count` rows in which every option is off, extended ones with `count` in which only the
    /// value family is none of the suite's own.
    pub(crate) fn alone(&self, count: usize, rotation: usize) -> Vec<Row> {
        let factors = self.factors();
        let row = |n: usize, values: usize, option: Option<usize>| {
            let pick = |levels: usize, stride: usize| {
                (rotation + option.unwrap_or(0) + n * stride) % levels.max(1)
            };
            let level = |(at, factor): (usize, &Factor)| match (at, factor.needs) {
                (SHAPE, _) => Some(pick(factor.levels, 5)),
                (VALUES, _) => Some(values + pick(factor.levels - values, 3)),
                (at, _) if Some(at) == option => Some(1 + pick(factor.levels - 1, 1)),
                (_, Some(needs)) => (Some(needs) == option).then(|| pick(factor.levels, 1)),
                (_, None) => Some(0),
            };
            factors.iter().enumerate().map(level).collect::<Row>()
        };
        let (off, options): (_, &[usize]) = match self.plain_values {
            None => ((2 * count, 0), &[SCALE, CAUSAL, MASK, BIAS]),
            Some(plain_values) if plain_values < self.values.len() => {
                ((count, plain_values), &[SOFTCAP, WINDOW, SINKS, ALIBI, SEQUENCES])
            }
            Some(_) => ((0, 0), &[SOFTCAP, WINDOW, SINKS, ALIBI, SEQUENCES]),
        };
        let mut rows: Vec<Row> = (0..off.0).map(|n| row(n, off.1, None)).collect();
        for option in options.iter().copied().filter(|option| factors[*option].levels > 1) {
            // Each kind of lengths counts as an option.
            let count = if option == SEQUENCES && count > 0 {
                count.max(factors[option].levels - 1)
            } else {
                count
            };
            rows.extend((0..count).map(|n| row(n, 0, Some(option))));
        }
        rows
    }

    /// A row of one shape with these options on, as far as there are levels for them, and the
    /// others off. `n` numbers rows that are otherwise alike.
    pub(crate) fn with(&self, shape: usize, on: OptionSet, n: usize) -> Row {
        let factors = self.factors();
        // Neighbouring numbers give other levels, and two factors every pair of theirs.
        let pick = |at: usize, levels: usize| {
            let levels = levels.max(1);
            (n + at + n / levels * (at + 1)) % levels
        };
        let is_on = |at: usize| {
            let option = match at {
                SCALE => CallOption::Scale,
                CAUSAL => CallOption::Causal,
                MASK => CallOption::Mask,
                BIAS => CallOption::Bias,
                SOFTCAP => CallOption::Softcap,
                WINDOW => CallOption::Window,
                SINKS => CallOption::Sinks,
                _ => CallOption::AlibiSlopes,
            };
            on.contains(option)
        };
        let sequences = &self.others.sequences;
        let level = |(at, factor): (usize, &Factor)| match (at, factor.needs) {
            (SHAPE, _) => Some(shape),
            (VALUES, _) => Some(pick(at, factor.levels)),
            // Several kinds exclude each other: one of those with the most options.
            (SEQUENCES, _) => {
                let is_on = |one: &SequenceChoice| one.options().iter().all(|x| on.contains(*x));
                let on = || (0..sequences.len()).filter(|kind| is_on(&sequences[*kind]));
                let n_options = |kind: usize| sequences[kind].options().len();
                let most = on().map(n_options).max();
                let kinds: Vec<usize> =
                    on().filter(|kind| Some(n_options(*kind)) == most).collect();
                Some(kinds.get(pick(at, kinds.len())).map_or(0, |kind| 1 + kind))
            }
            (at, Some(needs)) => {
                (is_on(needs) && factors[needs].levels > 1).then(|| pick(at, factor.levels))
            }
            (at, None) if is_on(at) && factor.levels > 1 => Some(1 + pick(at, factor.levels - 1)),
            (_, None) => Some(0),
        };
        factors.iter().enumerate().map(level).collect()
    }

    /// Whether a case may have the option on.
    pub(crate) fn takes(&self, option: CallOption) -> bool {
        let Others { softcaps, windows, sinks, slopes, sequences } = &self.others;
        match option {
            CallOption::Scale => self.scales.iter().any(|scale| scale.value().is_some()),
            CallOption::Causal => self.causal.contains(&true),
            CallOption::Mask => !self.masks.is_empty(),
            CallOption::Bias => !self.bias_forms.is_empty(),
            CallOption::Softcap => self.softcap.is_some() || !softcaps.is_empty(),
            CallOption::Window => !windows.is_empty(),
            CallOption::Sinks => !sinks.is_empty(),
            CallOption::AlibiSlopes => !slopes.is_empty(),
            CallOption::KeyLengths | CallOption::QueryLengths | CallOption::Packed => {
                sequences.iter().any(|one| one.options().contains(&option))
            }
        }
    }

    /// How many shapes there are.
    pub(crate) fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// The plan of a row.
    pub(crate) fn plan(&self, law: &CheckedLaw, dtype: Dtype, row: &Row, seed: u64) -> CasePlan {
        let level = |factor: usize| row.get(factor).copied().flatten().unwrap_or(0);
        // An option that every case has is on in a row without it too, as the seed says.
        let is_always = |option| self.always.contains(&option);
        let any = |n: usize| (n > 0).then(|| (seed >> 32) as usize % n);
        let optional = |factor: usize, option: CallOption, n: usize| {
            level(factor).checked_sub(1).or_else(|| any(n).filter(|_| is_always(option)))
        };
        let law_dims = law.given.iter().filter_map(|given| match given.domain {
            Domain::Dim { low, high } => {
                Some(Source(seed).draws(&given.names[0]).between(low, high))
            }
            _ => None,
        });
        let dims = self.shapes[level(SHAPE)];
        let Others { softcaps, windows, sinks, slopes, sequences } = &self.others;
        let window = level(WINDOW).checked_sub(1).map(|at| windows[at]);
        let asked = [CallOption::KeyLengths, CallOption::QueryLengths, CallOption::Packed];
        let asked: Vec<CallOption> = asked.into_iter().filter(|one| is_always(*one)).collect();
        let has_asked = |one: &SequenceChoice| asked.iter().all(|x| one.options().contains(x));
        let chosen = level(SEQUENCES).checked_sub(1).map(|at| sequences[at]);
        let complete: Vec<SequenceChoice> = sequences.iter().copied().filter(has_asked).collect();
        let sequences = match chosen {
            Some(one) if has_asked(&one) => Some(one),
            None if asked.is_empty() => None,
            _ => any(complete.len()).map(|at| complete[at]),
        };
        CasePlan {
            law: law.law.law.clone(),
            dtype,
            dims,
            law_dims: law_dims.collect(),
            scale: self.scales[level(SCALE)],
            causal: self.causal[level(CAUSAL)],
            mask: optional(MASK, CallOption::Mask, self.masks.len())
                .map(|pattern| (self.masks[pattern], self.mask_forms[level(MASK_FORM)])),
            bias: optional(BIAS, CallOption::Bias, self.bias_forms.len())
                .map(|form| self.bias_forms[form]),
            softcap: self.softcap.or_else(|| {
                optional(SOFTCAP, CallOption::Softcap, softcaps.len()).map(|at| softcaps[at])
            }),
            window: window.map(|choice| choice.window(dims.n_k, &mut Source(seed).draws("window"))),
            sinks: optional(SINKS, CallOption::Sinks, sinks.len()).map(|at| sinks[at]),
            alibi: optional(ALIBI, CallOption::AlibiSlopes, slopes.len()).map(|at| slopes[at]),
            sequences,
            values: self.values[level(VALUES)],
            tiny: false,
            rows: self.rows,
            seed,
        }
    }
}

impl Others {
    fn of(suite: &Suite, law: &CheckedLaw, softcap: Option<SoftcapChoice>) -> Self {
        Self {
            softcaps: match softcap {
                Some(_) => Vec::new(),
                None => allowed_in(suite, law, &SoftcapChoice::ALL, |_| &[CallOption::Softcap]),
            },
            windows: allowed_in(suite, law, &WindowChoice::all(), |_| &[CallOption::Window]),
            sinks: allowed_in(suite, law, &SinkChoice::ALL, |_| &[CallOption::Sinks]),
            slopes: allowed_in(suite, law, &AlibiChoice::ALL, |_| &[CallOption::AlibiSlopes]),
            sequences: allowed_in(suite, law, SequenceChoice::drawn(suite.version), |choice| {
                choice.options()
            }),
        }
    }
}

/// Whether the suite has cases with the option.
fn fits(suite: &Suite, option: CallOption) -> bool {
    suite.fit.as_ref().is_none_or(|fit| fit.has(option))
}

/// Choices all of whose options the law ranges over, and the suite has cases with.
fn allowed_in<T: Copy>(
    suite: &Suite,
    law: &CheckedLaw,
    choices: &[T],
    options: impl Fn(T) -> &'static [CallOption],
) -> Vec<T> {
    let mut allowed = allowed(law, choices, &options);
    allowed.retain(|choice| options(*choice).iter().all(|option| fits(suite, *option)));
    allowed
}

/// Choices all of whose options the law ranges over.
pub(crate) fn allowed<T: Copy>(
    law: &CheckedLaw,
    choices: &[T],
    options: impl Fn(T) -> &'static [CallOption],
) -> Vec<T> {
    let ranges =
        |choice: &T| options(*choice).iter().all(|option| law.law.options.contains(option));
    choices.iter().copied().filter(ranges).collect()
}

fn distinct<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(item) {
            kept.push(*item);
        }
    }
    kept
}
