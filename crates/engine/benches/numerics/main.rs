//! What enclosures cost: `cargo xtask bench numerics` and `cargo xtask bench memory` start this
//! program.
//!
//! As `serve` it says the bits of a vector first and answers requests on its standard input, one a
//! line: `KIND N HEADS D CAUSAL THREADS` → the seconds of one run, by the clock and of the
//! processor. As `memory` it measures what long contexts keep in memory. A number, never a verdict.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that measures"
)]

mod memory;
mod peak;

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use qkvet_engine::Products;
use qkvet_engine::enclosure::{Detail, enclose_as};
use qkvet_engine::head::{EmptyRow, Head, Normalization, RealScale, Span, Stage, Visible};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A run is repeated until it has taken this long: accounts of processor time are coarse.
const MIN_SECONDS: f64 = 0.1;

/// Rows and keys of a tile of the products alone, as in the enclosure.
const TILE: (usize, usize) = (192, 256);

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["serve"] => serve(),
        ["memory", which] => memory::run(which),
        _ => {
            println!(
                "numerics: `cargo xtask bench numerics` and `cargo xtask bench memory` say what to measure"
            );
            Ok(())
        }
    };
    outcome.map_or_else(
        |message| {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn serve() -> Result<(), String> {
    let mut inputs = HashMap::new();
    let mut pools = HashMap::new();
    println!("{}", peak::vector_bits());
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let request = Request::parse(&line)
            .ok_or_else(|| format!("request: expected 6 words, got {line}"))?;
        let pool = match pools.entry(request.threads) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(pool(request.threads)?)
            }
        };
        let shape = (request.n, request.heads, request.d);
        let inputs = inputs
            .entry(shape)
            .or_insert_with(|| Inputs::gaussian(request.n * request.heads * request.d));
        let (clock, processor) = pool.install(|| measure(&request, inputs));
        println!("{clock:e} {processor:e}");
        std::io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn pool(threads: usize) -> Result<ThreadPool, String> {
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())
}

#[derive(Clone, Copy)]
enum Kind {
    /// The fused operations of both products and nothing else, at the speed of the machine.
    Peak,
    Products,
    Enclosure(Detail),
}

struct Request {
    kind: Kind,
    n: usize,
    heads: usize,
    d: usize,
    causal: bool,
    threads: usize,
}

impl Request {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, n, heads, d, causal, threads] = words[..] else { return None };
        let kind = match kind {
            "peak" => Kind::Peak,
            "products" => Kind::Products,
            "plain" => Kind::Enclosure(Detail::Midpoints),
            "radii" => Kind::Enclosure(Detail::Radii),
            "full" => Kind::Enclosure(Detail::Full),
            _ => return None,
        };
        let number = |word: &str| word.parse().ok();
        Some(Self {
            kind,
            n: number(n)?,
            heads: number(heads)?,
            d: number(d)?,
            causal: causal == "true",
            threads: number(threads)?,
        })
    }

    /// Fused operations of both products, over the keys that rows see.
    fn fused(&self) -> f64 {
        let n = self.n as f64;
        let pairs = if self.causal { n * (n + 1.0) / 2.0 } else { n * n };
        pairs * 2.0 * self.d as f64 * self.heads as f64
    }
}

struct Inputs {
    query: Vec<f64>,
    key: Vec<f64>,
    value: Vec<f64>,
}

impl Inputs {
    fn gaussian(n: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
        let mut normals = || (0..n).map(|_| normal(&mut rng)).collect();
        Self { query: normals(), key: normals(), value: normals() }
    }
}

/// A normal draw (Box and Muller).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * libm::log(1.0 - a)).sqrt() * libm::cos(std::f64::consts::TAU * b)
}

/// `1/√d`, all keys or those of the span.
fn head<'a>(
    (n_q, n_k, d): (usize, usize, usize),
    (query, key, value): (&'a [f64], &'a [f64], &'a [f64]),
    spans: &'a [Span],
) -> Head<'a> {
    Head {
        n_q,
        n_k,
        d_k: d,
        d_v: d,
        query,
        key,
        value,
        stages: &[Stage::Scale],
        scale: RealScale::inverse_sqrt(d),
        softcap: None,
        bias: None,
        alibi: None,
        alibi_shifts: None,
        sink: None,
        visible: if spans.is_empty() { Visible::All } else { Visible::Spans(spans) },
        normalization: Normalization::OverKeys,
        empty_row: EmptyRow::Zero,
    }
}

/// Seconds of one run by the clock and of the processor.
fn measure(request: &Request, inputs: &Inputs) -> (f64, f64) {
    let spans = if request.causal { causal(request.n) } else { Vec::new() };
    let (started, processor) = (Instant::now(), processor_seconds());
    let mut runs = 0.0;
    while runs == 0.0 || started.elapsed().as_secs_f64() < MIN_SECONDS {
        runs += match request.kind {
            Kind::Peak => {
                let done: f64 = (0..request.threads).into_par_iter().map(|_| peak::fused()).sum();
                done / request.fused()
            }
            _ => {
                (0..request.heads).into_par_iter().for_each(|h| run(request, inputs, &spans, h));
                1.0
            }
        };
    }
    let clock = started.elapsed().as_secs_f64();
    (
        clock / runs,
        processor_seconds().zip(processor).map_or(clock, |(end, start)| end - start) / runs,
    )
}

fn causal(n: usize) -> Vec<Span> {
    (1..=n).map(Span::prefix).collect()
}

fn run(request: &Request, inputs: &Inputs, spans: &[Span], h: usize) {
    let (n, d) = (request.n, request.d);
    let of_head = h * n * d..(h + 1) * n * d;
    let (query, key, value) =
        (&inputs.query[of_head.clone()], &inputs.key[of_head.clone()], &inputs.value[of_head]);
    match request.kind {
        Kind::Enclosure(detail) => {
            black_box(enclose_as(
                &head((n, n, d), (query, key, value), spans),
                Products::Faer,
                detail,
            ));
        }
        Kind::Peak => {}
        Kind::Products => {
            let blocks = (0..n).step_by(TILE.0).collect::<Vec<_>>();
            blocks.into_par_iter().for_each(|start| {
                let rows = start..n.min(start + TILE.0);
                let end = if spans.is_empty() { n } else { rows.end };
                products(
                    &query[rows.start * d..rows.end * d],
                    &key[..end * d],
                    &value[..end * d],
                    d,
                );
            });
        }
    }
}

/// The two matrix products of a block of rows and nothing else.
fn products(query: &[f64], key: &[f64], value: &[f64], d: usize) {
    let rows = query.len() / d;
    let mut scores = vec![0.0; rows * TILE.1];
    let mut output = vec![0.0; rows * d];
    for (key, value) in key.chunks(TILE.1 * d).zip(value.chunks(TILE.1 * d)) {
        let keys = key.len() / d;
        let scores = &mut scores[..rows * keys];
        let (query, key) = (
            MatRef::from_row_major_slice(query, rows, d),
            MatRef::from_row_major_slice(key, keys, d).transpose(),
        );
        let into = MatMut::from_row_major_slice_mut(scores, rows, keys);
        matmul(into, Accum::Replace, query, key, 1.0, Par::Seq);
        let (scores, value) = (
            MatRef::from_row_major_slice(scores, rows, keys),
            MatRef::from_row_major_slice(value, keys, d),
        );
        let into = MatMut::from_row_major_slice_mut(&mut output, rows, d);
        matmul(into, Accum::Add, scores, value, 1.0, Par::Seq);
    }
    black_box(&output);
}

/// What the processor has spent on all threads of this process, where the system says so.
fn processor_seconds() -> Option<f64> {
    let mut nanoseconds = 0.0;
    for task in fs::read_dir("/proc/self/task").ok()? {
        let stat = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += stat.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(nanoseconds * 1e-9)
}
