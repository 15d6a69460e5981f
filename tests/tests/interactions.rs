//! Options of one call, two by two: a suite that is made to fit what a target takes asks it for
//! every pair, and so a function that loses one option beside another is found, whatever else it
//! lacks.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_gen::{CasePlan, build, plans};
use qkvet_report::English;
use qkvet_run::adapters::{NamedTarget, OpenTarget, OwnTarget};
use qkvet_run::config::{CaseSource, FailFast, RunConfig};
use qkvet_run::run::run;
use qkvet_spec::CallOption::{
    self, AlibiSlopes, Bias, Causal, KeyLengths, Mask, Packed, QueryLengths, Scale, Sinks, Softcap,
    Window,
};
use qkvet_spec::{
    Call, Catalog, CheckedLaw, Dtype, Execution, Fit, Meaning, Response, ResultName, Suite, Target,
    Verdict,
};

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

/// What a function is compiled for.
type Shape = (Vec<[usize; 4]>, Vec<CallOption>, bool, bool);

/// Losing, or right with `loss` absent; it notes the shapes that it is called with.
struct Noting {
    target: Losing,
    shapes: Arc<Mutex<BTreeSet<Shape>>>,
}

impl Target for Noting {
    fn call(&mut self, call: &Call) -> Response {
        let d = call.dims();
        let extents = vec![[d.b, d.h_q, d.n_q, d.d_k], [d.b, d.h_k, d.n_k, d.d_v]];
        let shape =
            (extents, call.options.on().iter().collect(), call.return_weights, call.return_lse);
        self.shapes.lock().expect("no panic").insert(shape);
        self.target.call(call)
    }
}

/// Calls that ask which extents a target takes, of a shape each.
const ASKED: usize = 4;

/// Twelve shapes are enough to find most options that are lost beside another, with every law that
/// can be asked so.
#[test]
fn few_shapes_are_asked_and_find_what_is_lost() {
    let catalog = Catalog::embedded().expect("a catalog");
    let dtype = Dtype::Float32;
    let most = 12;
    let (name, options) = SIGNATURES[0];
    let suite = Suite { most_shapes: Some(most), ..catalog.suites["smoke"].clone() };
    let results = Some(vec![ResultName::Output]);
    let fit = Fit { options: Some(options.to_vec()), results, ..Fit::default() };
    let summary = |(option, beside, loss): (CallOption, CallOption, Loss), fail_fast| {
        let shapes = Arc::default();
        let noted = Arc::clone(&shapes);
        let open = move || {
            let right = Simulator::new(Meaning::standard(), Execution::standard());
            let target = Losing { right, loss, option, beside, first: None };
            let shapes = Arc::clone(&noted);
            OpenTarget::live(Noting { target, shapes }, Vec::new())
        };
        let own = OwnTarget::new(open, |_| String::new()).with_fit(Some(fit.clone()));
        let target = NamedTarget::new(name.to_owned(), own);
        let (cases, stop) = (CaseSource::Suite { suite: &suite, seed: 0 }, AtomicBool::new(false));
        let config = RunConfig {
            laws: catalog.suite_laws(&suite).expect("known laws"),
            dtypes: vec![dtype],
            contracts: [(dtype, &catalog.contracts["f32"])].into(),
            fail_fast,
            ..RunConfig::of(&English, &catalog, &target, cases, &stop)
        };
        let summary = run(&config, &mut |_| {}).expect("a run");
        let met = shapes.lock().expect("no panic").len();
        assert!(met <= most + ASKED, "{name}: {met} shapes");
        summary
    };
    // These two exclude each other.
    let right = summary((Packed, KeyLengths, Loss::Off), FailFast::Off);
    assert!(right.findings.is_empty(), "{name}: {:?}", right.findings);
    assert!(right.coverage.laws.len() >= 15, "{name}: {:?}", right.coverage.laws);
    for option in options {
        for beside in options.iter().filter(|beside| *beside != option) {
            let found = summary((*option, *beside, Loss::Off), FailFast::First);
            assert!(!found.findings.is_empty(), "{name}: {option} beside {beside}");
        }
    }
}
