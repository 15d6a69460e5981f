//! Eleven faults, and what the bounds and the customary tolerances say about the same outputs.

use std::fmt::Write;

use qkvet_engine::Products;
use qkvet_engine::bound::bound;
use qkvet_engine::enclosure::{HeadEnclosure, enclose_with};
use qkvet_engine::format::round;
use qkvet_spec::{Catalog, Contract, Dtype};

use crate::kernel::{Kernel, KernelFault, KernelInputs, TILE, unfused};
use crate::numerics_common::{Problem, causal};
use crate::{largest_ratio, two_digits};

/// Format, and the contract that the kernel declares.
const DECLARED: [(Dtype, &str); 3] =
    [(Dtype::Float32, "f32"), (Dtype::Bfloat16, "bf16-flash"), (Dtype::Float16, "f16-flash")];

/// What it can declare besides: one pass, tiles of 64, sums of 16 and of a tile, each of which is
/// then added.
fn precisely(contract: &str, n_k: usize) -> String {
    let depth = TILE + n_k.div_ceil(TILE);
    format!("{contract}+scores-depth-16+tile-{TILE}+unmerged+unrounded-sum+values-depth-{depth}")
}

/// A fault and the data on which it is looked at.
struct Setting {
    name: &'static str,
    fault: Option<KernelFault>,
    n_k: usize,
    /// Standard deviation of the logits, of the values.
    spread: f64,
    values: f64,
    causal: bool,
}

const ORDINARY: Setting =
    Setting { name: "none", fault: None, n_k: 2040, spread: 1.0, values: 1.0, causal: false };
const SMALL: Setting = Setting { values: 1.0 / 64.0, ..ORDINARY };
const LONG: Setting = Setting { n_k: 16380, ..ORDINARY };

const SETTINGS: [Setting; 18] = [
    ORDINARY,
    SMALL,
    Setting { spread: 4.0, ..ORDINARY },
    LONG,
    Setting { name: "scale is 1/d", fault: Some(KernelFault::ScaleInverseD), ..SMALL },
    Setting {
        name: "causal masking off by one",
        fault: Some(KernelFault::CausalOffByOne),
        causal: true,
        ..SMALL
    },
    Setting {
        name: "causal masking off by one",
        fault: Some(KernelFault::CausalOffByOne),
        causal: true,
        ..LONG
    },
    Setting {
        name: "causal masking upper left",
        fault: Some(KernelFault::CausalUpperLeft),
        causal: true,
        ..SMALL
    },
    Setting { name: "sums in float16", fault: Some(KernelFault::SumsInFloat16), ..ORDINARY },
    Setting {
        name: "weights in the next narrower format",
        fault: Some(KernelFault::WeightsTooNarrow),
        ..ORDINARY
    },
    Setting {
        name: "weights cut off, not rounded",
        fault: Some(KernelFault::WeightsCutOff),
        ..ORDINARY
    },
    Setting { name: "last key missing", fault: Some(KernelFault::LastKeyMissing), ..SMALL },
    Setting { name: "last key missing", fault: Some(KernelFault::LastKeyMissing), ..LONG },
    Setting { name: "one rescaling skipped", fault: Some(KernelFault::RescaleSkipped), ..SMALL },
    Setting {
        name: "scores stored in 16 bits",
        fault: Some(KernelFault::ScoresStored),
        spread: 4.0,
        ..ORDINARY
    },
    Setting { name: "padding counted", fault: Some(KernelFault::PaddingCounted), ..SMALL },
    Setting {
        name: "maximum not subtracted",
        fault: Some(KernelFault::MaximumNotSubtracted),
        spread: 4.0,
        ..ORDINARY
    },
    Setting {
        name: "maximum not subtracted",
        fault: Some(KernelFault::MaximumNotSubtracted),
        spread: 64.0,
        ..ORDINARY
    },
];

/// One line for each setting and format.
pub(crate) fn table() -> String {
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let mut out = String::from(
        "| fault | keys, logits, values | contract | err/bound | declared precisely | exact case | `allclose(1e-2)` | `torch.testing` | twice the baseline |\n|---|---|---|---|---|---|---|---|---|",
    );
    for setting in &SETTINGS {
        let Setting { name, n_k, spread, values, .. } = setting;
        let values = if *values < 1.0 { "1/64" } else { "1" };
        for (dtype, contract) in DECLARED {
            let contracts = [contract.to_owned(), precisely(contract, *n_k)];
            let found = look(
                setting,
                dtype,
                &contracts.map(|name| catalog.contract(&name).expect("a contract")),
            );
            let _ =
                write!(out, "\n| {name} | {n_k}, {spread}, {values} | `{contract}` | {found} |");
        }
    }
    out
}

/// Ratios, exact case and the three tolerances.
fn look(setting: &Setting, dtype: Dtype, contracts: &[Contract; 2]) -> String {
    let kernel = Kernel { fault: setting.fault };
    let random = Judged::new(random(setting, dtype), setting, dtype);
    let outputs = kernel.run(&random.inputs());
    let ratios = contracts.each_ref().map(|contract| {
        let [hard, probable] = random.ratios(&outputs, contract);
        match two_digits(hard) {
            digits if hard > 1.0 => format!("**{digits}**"),
            digits if probable > 1.0 => format!("*{digits}*"),
            digits => digits,
        }
    });
    let exact = Judged::new(exact(setting, dtype), setting, dtype);
    let caught = exact.ratios(&kernel.run(&exact.inputs()), &contracts[0])[0] > 1.0;
    let exact = if caught { "**fails**" } else { "passes" };

    let mid = &random.enclosure.mid;
    // The best reference there can be: the exact output in the format.
    let wanted: Vec<f64> = mid.iter().map(|x| round(*x, dtype)).collect();
    let (relative, absolute) = defaults(dtype);
    let worst = |xs: &[f64]| {
        xs.iter().zip(mid).fold(0.0_f64, |worst, (x, mid)| {
            let error = (x - mid).abs();
            if error.is_nan() { f64::INFINITY } else { worst.max(error) }
        })
    };
    let tolerances = [
        close(&outputs, &wanted, 1e-2, 1e-2),
        close(&outputs, &wanted, relative, absolute),
        worst(&outputs) <= 2.0 * worst(&unfused(&random.inputs())) + 1e-5,
    ];
    let words = tolerances.map(|passes| if passes { "passes" } else { "fails" });
    format!("{} | {exact} | {}", ratios.join(" | "), words.join(" | "))
}

/// `|x − y| ≤ absolute + relative · |y|` everywhere.
fn close(outputs: &[f64], wanted: &[f64], relative: f64, absolute: f64) -> bool {
    outputs.iter().zip(wanted).all(|(x, y)| (x - y).abs() <= absolute + relative * y.abs())
}

/// Relative and absolute tolerance of `torch.testing.assert_close`.
fn defaults(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::Float64 => (1e-7, 1e-7),
        Dtype::Float32 => (1.3e-6, 1e-5),
        Dtype::Bfloat16 => (1.6e-2, 1e-5),
        Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => (1e-3, 1e-5),
    }
}

/// A problem with its enclosure.
struct Judged {
    problem: Problem,
    causal: bool,
    dtype: Dtype,
    enclosure: HeadEnclosure,
}

impl Judged {
    fn new(mut problem: Problem, setting: &Setting, dtype: Dtype) -> Self {
        if setting.causal {
            problem.sees = causal(problem.n_q, problem.n_k);
        }
        let enclosure = enclose_with(&problem.head(), Products::FixedOrder);
        Self { causal: setting.causal, dtype, enclosure, problem }
    }

    fn inputs(&self) -> KernelInputs<'_> {
        let Problem { n_q, n_k, d_k, d_v, query, key, value, .. } = &self.problem;
        let (n_q, n_k, d_k, d_v) = (*n_q, *n_k, *d_k, *d_v);
        KernelInputs {
            n_q,
            n_k,
            d_k,
            d_v,
            query,
            key,
            value,
            scale: 0.125,
            causal: self.causal,
            dtype: self.dtype,
        }
    }

    /// Largest distance over radius plus bound: hard, probable.
    fn ratios(&self, outputs: &[f64], contract: &Contract) -> [f64; 2] {
        let allowed = bound(&self.problem.head(), &self.enclosure, contract);
        let HeadEnclosure { mid, rad, .. } = &self.enclosure;
        [allowed.hard, allowed.probable].map(|bound| largest_ratio(outputs, mid, rad, &bound))
    }
}

/// Normal data of 8 queries and width 64.
fn random(setting: &Setting, dtype: Dtype) -> Problem {
    let mut problem = Problem::gaussian(7, (8, setting.n_k, 64, 64), dtype);
    problem.query.iter_mut().for_each(|q| *q = round(*q * setting.spread, dtype));
    problem.value.iter_mut().for_each(|v| *v = round(*v * setting.values, dtype));
    problem
}

/// Scores that are 0 on eight keys of a query's class and −1152 elsewhere, small-integer values: no
/// error is allowed.
fn exact(setting: &Setting, dtype: Dtype) -> Problem {
    let mut problem = random(setting, dtype);
    let (n_k, width) = (problem.n_k, problem.d_k);
    let class = |i: usize| i % 4;
    for (i, row) in problem.query.chunks_exact_mut(width).enumerate() {
        row.fill(0.0);
        row[class(i)] = 128.0;
    }
    for (j, row) in problem.key.chunks_exact_mut(width).enumerate() {
        row.fill(0.0);
        row[..4]
            .iter_mut()
            .enumerate()
            .for_each(|(class, x)| *x = if is_live(class, j, n_k) { 0.0 } else { -72.0 });
    }
    problem
        .value
        .iter_mut()
        .for_each(|v| *v = (*v / setting.values * 2.0).clamp(-4.0, 4.0).round_ties_even());
    problem
}

/// Class 0 lives at the end, class 1 at tile boundaries, the others behind the first tile; all
/// where the causal mask reaches.
fn is_live(class: usize, j: usize, n_k: usize) -> bool {
    match class {
        0 => j + 8 >= n_k,
        1 => j.is_multiple_of(TILE) && j / TILE < 8,
        _ => (class * TILE..class * TILE + 8).contains(&j),
    }
}
