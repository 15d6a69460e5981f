//! `cargo xtask bench numerics`: what an enclosure costs beside what bounds it from below: its fused
//! operations at the peak of the machine, its two matrix products; and beside plain attention and
//! the peers.
//!
//! Two programs measure, ours and one in Python; they are asked in turn, round by round, forwards
//! and backwards, so that what else the machine does meets all of them. A ratio is the median over
//! the rounds: of processor time for one thread, of time by the clock for two.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use super::NUMERICS;
use super::bars::{self, Machine, Width};
use super::server::{Seconds, Server, Shape};
use crate::python;
use crate::step::{self, Failure};

const PEERS: &str = "xtask/src/bench/numerics_peers.py";
const HIDE: &str = "xtask/src/bench/hide512.c";

/// What the options say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options<'a> {
    quick: bool,
    /// A bar that is not met is a failure.
    gate: bool,
    /// AVX-512 is hidden from every program.
    is_avx2: bool,
    json: Option<&'a str>,
}

impl<'a> Options<'a> {
    pub(super) fn parse(words: &[&'a str]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match (*word, words.as_slice()) {
                ("--quick", _) => options.quick = true,
                ("--gate", _) => options.gate = true,
                ("--width", ["avx2", ..]) => {
                    options.is_avx2 = true;
                    words.next();
                }
                ("--json", [file, ..]) => {
                    options.json = Some(file);
                    words.next();
                }
                (other, _) => {
                    return Err(Failure::Setup(format!(
                        "option: expected --quick, --gate, --width avx2 or --json FILE, got {other}"
                    )));
                }
            }
        }
        Ok(options)
    }
}

/// What is measured, and on how many threads.
type Kind = (&'static str, usize);

/// Seconds of every round.
type Rounds = BTreeMap<Kind, Vec<Seconds>>;

#[derive(Default)]
struct Results {
    ratios: BTreeMap<String, f64>,
    medians_ms: BTreeMap<String, f64>,
}

/// Ratios of a shape, by name.
const RATIOS: [(&str, &str, &str); 12] = [
    ("radii_over_limit", "radii", "peak"),
    ("radii_over_products", "radii", "products"),
    ("radii_over_torch", "radii", "torch"),
    ("radii_over_plain", "radii", "plain"),
    ("full_over_limit", "full", "peak"),
    ("full_over_products", "full", "products"),
    ("full_over_torch", "full", "torch"),
    ("products_over_limit", "products", "peak"),
    ("products_over_torch", "products", "torch"),
    ("torch_over_limit", "torch", "peak"),
    ("radii_over_numpy", "radii", "numpy"),
    ("arb_over_radii", "arb", "radii"),
];

pub(super) fn run(options: &Options<'_>) -> Result<(), Failure> {
    // Before anything is hidden: a compiler need not know.
    step::run(step::cargo(&NUMERICS[..5]).arg("--no-run"))?;
    let hidden = if options.is_avx2 { Some(hide()?) } else { None };
    let mut ours = step::cargo(&NUMERICS);
    let mut peers = step::command(python::environment()?);
    // NumPy stays on one thread; PyTorch is told its number with every request.
    peers.arg(PEERS).env("OPENBLAS_NUM_THREADS", "1");
    for command in [&mut ours, &mut peers] {
        command.envs(hidden.as_ref().map(|library| ("LD_PRELOAD", library)));
    }
    let mut ours = Server::start("the engine", ours.arg("serve"))?;
    let mut peers = Server::start("the peers", &mut peers)?;
    let machine = Machine { processor: processor(), width: width(&ours.line()?)? };
    if options.is_avx2 && machine.width == Width::Avx512 {
        return Err(Failure::Setup("--width avx2: this machine cannot hide AVX-512".to_owned()));
    }
    println!("{machine}");
    let versions = peers.line()?;
    println!("{versions}");

    let mut results = Results::default();
    for shape in shapes(options.quick) {
        let torch = faster_torch(&mut peers, shape)?;
        let rounds = measure(&mut ours, &mut peers, torch, shape, options.quick)?;
        results.add(shape, torch, &rounds);
    }
    let missed = bars::print(&machine, &results.ratios);
    if let Some(file) = options.json {
        let versions: BTreeMap<_, _> =
            versions.split(", ").filter_map(|part| part.split_once(' ')).collect();
        let text = json!({
            "processor": machine.processor, "vector_bits": machine.width.bits(),
            "ratios": results.ratios, "medians_ms": results.medians_ms, "versions": versions,
        });
        fs::write(file, format!("{text:#}\n"))
            .map_err(|error| Failure::Setup(format!("{file}: {error}")))?;
    }
    if options.gate && missed > 0 {
        return Err(Failure::Step(format!("bench numerics: {missed} bars are not met")));
    }
    Ok(())
}

/// The library that hides AVX-512 from what it is loaded into.
fn hide() -> Result<std::path::PathBuf, Failure> {
    let library = step::target_dir()?.join("hide512.so");
    step::run(step::command("cc").args(["-O2", "-shared", "-fPIC", HIDE, "-o"]).arg(&library))?;
    Ok(library)
}

/// As the system names it.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let unknown = || std::env::consts::ARCH.to_owned();
    match (field("vendor_id"), field("model name")) {
        (Some(vendor), Some(model)) => format!("{vendor}, {model}"),
        _ => unknown(),
    }
}

fn width(line: &str) -> Result<Width, Failure> {
    let wrong =
        || Failure::Step(format!("the engine: expected the bits of a vector, got {line:?}"));
    line.parse().map_err(|_| wrong()).and_then(|bits| Width::of(bits).ok_or_else(wrong))
}

fn shapes(quick: bool) -> Vec<Shape> {
    let shape = |n: usize, d, causal| Shape { n, heads: if n < 1024 { 8 } else { 1 }, d, causal };
    let mut shapes = Vec::new();
    let (lengths, widths) = if quick {
        (&[128, 2048][..], &[64, 128][..])
    } else {
        (&[128, 512, 2048, 8192][..], &[64, 128, 256][..])
    };
    for &n in lengths {
        for &d in widths {
            shapes.extend([false, true].map(|causal| shape(n, d, causal)));
        }
    }
    shapes
}

/// The backend of PyTorch that takes less time here.
fn faster_torch(peers: &mut Server, shape: Shape) -> Result<&'static str, Failure> {
    let mut times = Vec::new();
    for kind in ["torch-flash", "torch-math", "torch-flash", "torch-math"] {
        times.push((peers.ask(kind, shape, 1)?.processor, kind));
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(times[0].1)
}

fn measure(
    ours: &mut Server,
    peers: &mut Server,
    torch: &'static str,
    shape: Shape,
    quick: bool,
) -> Result<Rounds, Failure> {
    let mut kinds: Vec<Kind> = Vec::new();
    for threads in [1, 2] {
        kinds.extend(["peak", "products", "torch", "radii", "full"].map(|kind| (kind, threads)));
    }
    kinds.push(("plain", 1));
    if shape.causal {
        kinds.push(("whole", 1));
    }
    if shape.n <= 2048 {
        kinds.push(("numpy", 1));
    }
    if shape.n == 128 && shape.d == 64 {
        kinds.push(("arb", 1));
    }
    let mut rounds = Rounds::new();
    for _ in 0..if quick { 5 } else { 15 } {
        for &(kind, threads) in &kinds {
            let seconds = match kind {
                "torch" => peers.ask(torch, shape, threads),
                "numpy" | "arb" => peers.ask(kind, shape, threads),
                // The same without a mask.
                "whole" => ours.ask("radii", Shape { causal: false, ..shape }, threads),
                _ => ours.ask(kind, shape, threads),
            }?;
            rounds.entry((kind, threads)).or_default().push(seconds);
        }
        // What comes before another in one round comes behind it in the next.
        kinds.reverse();
    }
    Ok(rounds)
}

fn suffix(threads: usize) -> &'static str {
    if threads == 1 { "" } else { "_two_threads" }
}

impl Results {
    /// Takes in the rounds of a shape and prints them.
    fn add(&mut self, shape: Shape, torch: &'static str, rounds: &Rounds) {
        let peak = median(rounds[&("peak", 1)].iter().map(|seconds| seconds.processor).collect());
        println!(
            "\n{shape}: medians of {} rounds, PyTorch by {torch}, peak {:.1} G fused operations/s",
            rounds[&("peak", 1)].len(),
            shape.fused() / peak * 1e-9
        );
        for ((kind, threads), seconds) in rounds {
            let ms = 1e3 * median(seconds.iter().map(|seconds| of(*seconds, *threads)).collect());
            self.medians_ms.insert(format!("{kind}_{shape}{}", suffix(*threads)), ms);
        }
        for threads in [1, 2] {
            for kind in ["products", "torch", "radii", "full"] {
                let over = |under| {
                    paired(rounds, (kind, threads), (under, threads), |seconds| {
                        of(seconds, threads)
                    })
                    .map_or_else(String::new, |ratio| format!("{ratio:.3}"))
                };
                let name = format!("{kind}_{shape}{}", suffix(threads));
                println!(
                    "  {name:<40} {:>9.3} ms, over limit {:>6}, products {:>6}, PyTorch {:>6}",
                    self.medians_ms[&name],
                    over("peak"),
                    over("products"),
                    over("torch"),
                );
            }
            for (name, over, under) in RATIOS {
                let ratio = paired(rounds, (over, threads), (under, threads), |seconds| {
                    of(seconds, threads)
                });
                self.ratio(format!("{name}_{shape}{}", suffix(threads)), ratio);
            }
        }
        let pairs = (shape.n as f64 + 1.0) / (2.0 * shape.n as f64);
        let causal = paired(rounds, ("radii", 1), ("whole", 1), |seconds| seconds.processor);
        self.ratio(format!("causal_over_visible_{shape}"), causal.map(|ratio| ratio / pairs));
        for kind in ["radii", "full"] {
            let speedup = paired(rounds, (kind, 1), (kind, 2), |seconds| seconds.clock);
            self.ratio(format!("speedup_of_{kind}_{shape}"), speedup);
        }
    }

    fn ratio(&mut self, name: String, ratio: Option<f64>) {
        if let Some(ratio) = ratio {
            self.ratios.insert(name, ratio);
        }
    }
}

fn of(seconds: Seconds, threads: usize) -> f64 {
    if threads == 1 { seconds.processor } else { seconds.clock }
}

/// Median over the rounds of one time over another, if both were measured.
fn paired(rounds: &Rounds, over: Kind, under: Kind, time: impl Fn(Seconds) -> f64) -> Option<f64> {
    let pairs = rounds.get(&over)?.iter().zip(rounds.get(&under)?);
    Some(median(pairs.map(|(over, under)| time(*over) / time(*under)).collect()))
}

fn median(mut xs: Vec<f64>) -> f64 {
    xs.sort_by(f64::total_cmp);
    let middle = xs.len() / 2;
    if xs.len() % 2 == 1 { xs[middle] } else { f64::midpoint(xs[middle - 1], xs[middle]) }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the medians are exact")]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        let all = Options { quick: true, gate: true, is_avx2: true, json: Some("a.json") };
        let words = ["--json", "a.json", "--gate", "--width", "avx2", "--quick"];
        assert_eq!(Options::parse(&words).unwrap(), all);
        for words in [&["--json"][..], &["--fast"], &["--width"], &["--width", "avx512"]] {
            assert!(Options::parse(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn ratios_are_medians_of_paired_rounds() {
        let seconds = |processor: f64| Seconds { clock: 1.0, processor };
        let rounds = Rounds::from([
            (("plain", 1), [1.0, 10.0, 100.0].map(seconds).to_vec()),
            (("radii", 1), [2.0, 11.0, 120.0].map(seconds).to_vec()),
        ]);
        assert_eq!(
            paired(&rounds, ("radii", 1), ("plain", 1), |seconds| seconds.processor),
            Some(1.2)
        );
        assert_eq!(paired(&rounds, ("arb", 1), ("plain", 1), |seconds| seconds.processor), None);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    /// Half of the pairs at the speed of the whole are 1, and so is the peak's own share.
    #[test]
    fn a_causal_head_is_measured_by_the_pairs_that_it_sees() {
        let rounds = |names: &[&'static str], causal: f64| {
            let seconds = |name: &&str| if **name == *"radii" { causal } else { 1.0 };
            names
                .iter()
                .map(|name| ((*name, 1), vec![Seconds { clock: 1.0, processor: seconds(name) }]))
                .collect::<Rounds>()
        };
        let shape = Shape { n: 3, heads: 1, d: 64, causal: true };
        let mut results = Results::default();
        let mut all = rounds(&["peak", "products", "torch", "radii", "full", "whole"], 2.0 / 3.0);
        let two: Rounds =
            all.iter().map(|((name, _), seconds)| ((*name, 2), seconds.clone())).collect();
        all.extend(two);
        results.add(shape, "torch-flash", &all);
        assert_eq!(results.ratios["causal_over_visible_n3_h1_causal"], 1.0);
        assert_eq!(shape.fused(), 6.0 * 128.0);
    }
}
