//! Options of one call, two by two: a suite that is made to fit what a target takes asks it for
//! every pair, and so a function that loses one option beside another is found, whatever else it
//! lacks.

use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, build, plans};
use qkvet_spec::CallOption::{
    self, AlibiSlopes, Bias, Causal, KeyLengths, Mask, Packed, QueryLengths, Scale, Sinks, Softcap,
    Window,
};
use qkvet_spec::{Call, Catalog, CheckedLaw, Dtype, Execution, Fit, Meaning, Response, Suite};
use qkvet_spec::{Target, Verdict};

/// What the attention of well-known models and libraries takes.
const SIGNATURES: [(&str, &[CallOption]); 11] = [
    ("gpt-oss", &[Scale, Causal, Window, Sinks]),
    ("Gemma 2", &[Scale, Causal, Softcap, Window]),
    ("Llama", &[Scale, Causal, Mask]),
    ("Mistral", &[Scale, Causal, Window, Mask]),
    ("T5", &[Scale, Mask, Bias]),
    ("BERT", &[Scale, KeyLengths]),
    ("ALiBi", &[Scale, Causal, Mask, AlibiSlopes]),
    ("FlashAttention 2", &[Scale, Causal, Window, Softcap, AlibiSlopes]),
    ("PyTorch", &[Scale, Causal, Mask, Bias]),
    ("decoding", &[Scale, Causal, Window, KeyLengths, QueryLengths]),
    ("packed", &[Scale, Causal, Window, Softcap, Packed]),
];

/// Pairs occur in so many cases of core at least.
const FEWEST: usize = 20;

/// How an option is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    /// It is passed over.
    Off,
    /// So it is where there is one query.
    OffForOneQuery,
    /// It is as it was in the first call that had it.
    First,
}

/// Right, but that it loses `option` where `beside` is given.
struct Losing {
    right: Simulator,
    loss: Loss,
    option: CallOption,
    beside: CallOption,
    first: Option<Call>,
}

impl Target for Losing {
    fn call(&mut self, call: &Call) -> Response {
        let mut call = call.clone();
        if call.options.has(self.option) && call.options.has(self.beside) {
            match self.loss {
                Loss::Off => call.options.clear(self.option),
                Loss::OffForOneQuery if call.dims().n_q == 1 => call.options.clear(self.option),
                Loss::OffForOneQuery => {}
                Loss::First => {
                    let first = self.first.get_or_insert_with(|| call.clone());
                    match self.option {
                        Scale => call.options.scale = first.options.scale,
                        Softcap => call.options.softcap = first.options.softcap,
                        Window => call.options.window = first.options.window,
                        other => unreachable!("{other} is no number"),
                    }
                }
            }
        }
        self.right.call(&call)
    }
}

/// The cases of a suite that is made to fit.
fn cases(catalog: &Catalog, suite: &str, options: &[CallOption]) -> Vec<CasePlan> {
    let fit = Fit { options: Some(options.to_vec()), ..Fit::default() };
    let suite = Suite { fit: Some(fit), ..catalog.suites[suite].clone() };
    let laws: Vec<&CheckedLaw> = catalog.suite_laws(&suite).expect("known laws");
    plans(&suite, &laws, &[Dtype::Float32], 0)
}

/// Whether a case of the suite is refuted by a target that is right but for one loss.
fn is_found(catalog: &Catalog, cases: &[CasePlan], target: &mut Losing) -> bool {
    let contract = &catalog.contracts["f32"];
    let meaning = Meaning::standard();
    let concerns = |plan: &&CasePlan| plan.has(target.option) && plan.has(target.beside);
    let concerned: Vec<&CasePlan> = cases.iter().filter(concerns).collect();
    concerned.into_iter().any(|plan| {
        let law = &catalog.laws[&plan.law];
        let case = build(law, plan).expect("a case");
        let judge = Judge { meaning: &meaning, contract };
        evaluate(law, &case, judge, target).expect("a verdict").verdict == Verdict::Fail
    })
}

#[test]
fn an_option_that_is_lost_beside_another_is_found_whatever_a_target_takes() {
    let catalog = Catalog::embedded().expect("a catalog");
    let mut lost = Vec::new();
    for (name, options) in SIGNATURES {
        let cases = cases(&catalog, "core", options);
        let pairs = options.iter().flat_map(|one| options.iter().map(move |other| (*one, *other)));
        for (option, beside) in pairs.filter(|(one, other)| one != other) {
            let together = cases.iter().filter(|plan| plan.has(option) && plan.has(beside)).count();
            assert!(together >= FEWEST, "{name}: {option} beside {beside} in {together} cases");
            let is_number = [Scale, Softcap, Window].contains(&option);
            // A query that is alone stands at the last key: causal masking hides nothing from it.
            let differs = |loss: &Loss| match loss {
                Loss::Off => true,
                Loss::OffForOneQuery => option != Causal,
                Loss::First => is_number,
            };
            for loss in [Loss::Off, Loss::OffForOneQuery, Loss::First].into_iter().filter(differs) {
                let right = Simulator::new(Meaning::standard(), Execution::standard());
                let mut target = Losing { right, loss, option, beside, first: None };
                if !is_found(&catalog, &cases, &mut target) {
                    lost.push(format!("{name}: {option} beside {beside}, {loss:?}"));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{} are not found:\n{}", lost.len(), lost.join("\n"));
}
