//! Options meet in calls whose output is compared, whatever options a target takes.

use std::collections::BTreeMap;

use qkvet_engine::law::{Answers, Judge, evaluate_by};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{build, plans};
use qkvet_spec::{
    Call, CallOption, CallOptions, Catalog, Dtype, Execution, Fit, Meaning, Response, Suite,
    Target, Verdict, Window,
};

/// The options of well-known functions.
const SIGNATURES: [(&str, &str); 12] = [
    ("gpt-oss", "scale causal window sinks"),
    ("Gemma 2", "scale causal window softcap"),
    ("Llama", "scale causal mask"),
    ("Mistral", "scale causal window"),
    ("T5", "scale mask bias"),
    ("BERT", "scale mask"),
    ("ALiBi", "scale causal mask alibi_slopes"),
    ("FlashAttention 2", "scale causal window softcap alibi_slopes"),
    ("PyTorch", "scale causal mask bias"),
    ("decoding", "scale causal key_lengths window softcap"),
    ("packed", "scale causal window packed"),
    (
        "all",
        "scale causal mask bias softcap window sinks alibi_slopes key_lengths query_lengths packed",
    ),
];

/// How often sets of traits meet in the value cases of a suite in one format.
fn met(catalog: &Catalog, suite: &Suite) -> BTreeMap<Vec<String>, usize> {
    let law = &catalog.laws["value"];
    let mut met: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for plan in plans(suite, &[law], &[Dtype::Float32], 0) {
        let case = build(law, &plan).expect("a case");
        let mut has: Vec<String> =
            case.options.on().iter().map(|option| option.to_string()).collect();
        let n = case.dims.n_k.max(case.dims.n_q);
        has.extend(case.options.window.map(|Window { left, right }| {
            let kind = match (left, right) {
                (Some(left), Some(right)) if left >= n && right >= n => "beyond",
                (Some(_), Some(_)) => "closed",
                _ => "open",
            };
            format!("{kind} window")
        }));
        has.extend((case.dims.n_q == 1).then(|| "one query".to_owned()));
        has.extend((case.dims.n_q != case.dims.n_k).then(|| "unequal".to_owned()));
        let subsets = (0..1u32 << has.len()).filter(|set| matches!(set.count_ones(), 2 | 3));
        for set in subsets {
            let of = has.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let mut key: Vec<String> = of.map(|(_, one)| one.clone()).collect();
            key.sort();
            *met.entry(key).or_default() += 1;
        }
    }
    met
}

#[test]
fn options_meet_in_every_signature() {
    let catalog = Catalog::embedded().expect("a catalog");
    for (name, options) in SIGNATURES {
        let options: Vec<CallOption> = options.split(' ').map(option).collect();
        let fit = Fit { options: Some(options.clone()), ..Fit::default() };
        for suite in ["smoke", "core"] {
            let suite = Suite { fit: Some(fit.clone()), ..catalog.suites[suite].clone() };
            let quota = suite.together.expect("it says how often options meet");
            let met = met(&catalog, &suite);
            let times = |of: &[&str]| {
                let mut key: Vec<String> = of.iter().map(|one| (*one).to_owned()).collect();
                key.sort();
                met.get(&key).copied().unwrap_or(0)
            };
            let mut least = [usize::MAX; 4];
            let mut low = |at: usize, n: usize| least[at] = least[at].min(n);
            for (at, one) in options.iter().enumerate() {
                for (below, two) in options[..at].iter().enumerate() {
                    if exclude(*one, *two) {
                        continue;
                    }
                    let pair = [one.name(), two.name()];
                    low(0, times(&pair));
                    low(2, times(&[pair[0], pair[1], "one query"]));
                    low(3, times(&[pair[0], pair[1], "unequal"]));
                    let window = CallOption::Window;
                    let other = if *one == window { two } else { one };
                    if *one == window || *two == window {
                        for kind in ["open window", "closed window", "beyond window"] {
                            low(0, times(&[other.name(), kind]));
                        }
                    }
                    for three in &options[..below] {
                        if !exclude(*three, *one) && !exclude(*three, *two) {
                            low(1, times(&[pair[0], pair[1], three.name()]));
                        }
                    }
                }
            }
            let n = plans(&suite, &[&catalog.laws["value"]], &[Dtype::Float32], 0).len();
            eprintln!(
                "{name:20} {:6} {n:4} calls; least pair, triple, one query, unequal: {least:?}",
                suite.suite
            );
            let asked = [quota.pairs, quota.triples, quota.triples, quota.triples];
            for (asked, least) in asked.into_iter().zip(least) {
                assert!(least >= asked, "{name}, {}: {asked} asked, {least} there", suite.suite);
            }
        }
    }
}

/// Whether no call has both.
fn exclude(one: CallOption, two: CallOption) -> bool {
    let names = [one.name(), two.name()];
    names.contains(&"packed") && names.iter().any(|name| name.ends_with("lengths"))
}

fn option(name: &str) -> CallOption {
    CallOption::ALL.into_iter().find(|option| option.name() == name).expect("an option")
}

/// A right function but for one option, which is off where another is given.
struct Spoiled {
    right: Simulator,
    option: CallOption,
    beside: CallOption,
    how: How,
    first: Option<CallOptions>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It is lost.
    Lost,
    /// It is lost in calls of one query.
    LostForOneQuery,
    /// It is the one of the first call that had it.
    First,
}

impl Target for Spoiled {
    fn call(&mut self, call: &Call) -> Response {
        let mut call = call.clone();
        if call.options.has(self.option) {
            let first = self.first.get_or_insert_with(|| call.options.clone());
            let is_off = self.how != How::LostForOneQuery || call.dims().n_q == 1;
            if call.options.has(self.beside) && is_off {
                match (self.how, self.option) {
                    (How::First, CallOption::Scale) => call.options.scale = first.scale,
                    (How::First, CallOption::Softcap) => call.options.softcap = first.softcap,
                    (How::First, CallOption::Window) => call.options.window = first.window,
                    _ => call.options.clear(self.option),
                }
            }
        }
        self.right.call(&call)
    }
}

/// What one option does to another is found in every signature, by the cases of single calls alone.
#[test]
fn an_option_that_spoils_another_is_found() {
    let catalog = Catalog::embedded().expect("a catalog");
    let (law, contract) = (&catalog.laws["value"], &catalog.contracts["f32"]);
    let meaning = Meaning::standard();
    let judge = Judge { meaning: &meaning, contract };
    let mut found = true;
    for (name, options) in SIGNATURES {
        let options: Vec<CallOption> = options.split(' ').map(option).collect();
        let fit = Some(Fit { options: Some(options.clone()), ..Fit::default() });
        let suite = Suite { fit, ..catalog.suites["core"].clone() };
        let plans = plans(&suite, &[law], &[Dtype::Float32], 0);
        let cases: Vec<_> = plans.iter().map(|plan| build(law, plan).expect("a case")).collect();
        let answers: Vec<Answers> = cases.iter().map(|_| Answers::default()).collect();
        let mut green = Vec::new();
        for (option, beside) in options
            .iter()
            .flat_map(|one| options.iter().map(move |two| (*one, *two)))
            .filter(|(one, two)| one != two && !exclude(*one, *two))
        {
            for how in [How::Lost, How::LostForOneQuery, How::First] {
                let has_value =
                    matches!(option, CallOption::Scale | CallOption::Softcap | CallOption::Window);
                // Causal masking hides nothing from the last query.
                let is_nothing = how == How::LostForOneQuery && option == CallOption::Causal;
                if how == How::First && !has_value || is_nothing {
                    continue;
                }
                let right = Simulator::new(meaning.clone(), Execution::standard());
                let mut target = Spoiled { right, option, beside, how, first: None };
                let is_red = cases.iter().zip(&answers).any(|(case, answers)| {
                    let outcome = evaluate_by(law, case, judge, answers, &mut target);
                    outcome.expect("an outcome").verdict == Verdict::Fail
                });
                green.extend((!is_red).then_some((option, beside, how)));
            }
        }
        eprintln!("{name}: {green:?}");
        found &= green.is_empty();
    }
    assert!(found);
}
