//! Memory of long contexts: a target that streams is judged, and a whole causal head is enclosed.

use std::fs;
use std::time::Instant;

use qkvet_engine::Products;
use qkvet_engine::bound::bound;
use qkvet_engine::enclosure::{Detail, enclose, enclose_as};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{causal, head, normal};

/// What may be resident beside the inputs.
const ALLOWANCE_MIB: f64 = 64.0;

const MIB: f64 = 1_048_576.0;

/// `long`: 64 queries on 131072 keys, judged; `million`: as many of a million. `causal`: 32768 queries on as many keys, enclosed.
pub(super) fn run(which: &str) -> Result<(), String> {
    match which {
        "long" => long(131_072),
        "million" => long(1_000_000),
        "causal" => whole_causal(),
        other => Err(format!("memory: expected long, million or causal, got {other}")),
    }
}

fn long(n_k: usize) -> Result<(), String> {
    let (n_q, d) = (64, 128);
    let (query, key, value) = (normals(1, n_q * d), normals(2, n_k * d), normals(3, n_k * d));
    let head = head((n_q, n_k, d), (&query, &key, &value), &[]);
    let started = Instant::now();
    let enclosure = enclose(&head);
    let seconds = started.elapsed().as_secs_f64();

    let catalog = qkvet_spec::Catalog::embedded().map_err(|error| error.to_string())?;
    let contract = catalog.contracts.into_values().find(|contract| contract.contract == "f32");
    let bound = bound(&head, &enclosure, &contract.ok_or("contract f32: not there")?);
    let scale = 1.0 / (d as f32).sqrt();
    let mut worst = 0.0f64;
    for (i, query) in query.chunks_exact(d).enumerate() {
        for (c, got) in stream(query, &key, &value, scale).into_iter().enumerate() {
            let index = i * d + c;
            let error = (f64::from(got) - enclosure.mid[index]).abs();
            worst = worst.max(error / (enclosure.rad[index] + bound.hard[index]));
        }
    }
    println!("n_q {n_q}, n_k {n_k}, d {d}: enclosed and bounded in {seconds:.2} s");
    println!(
        "a float32 target that streams: largest error {worst:.2e} of radius and bound of contract f32"
    );
    let inputs = (query.len() + key.len() + value.len()) * 8;
    report(inputs as f64 / MIB, Some(ALLOWANCE_MIB))?;
    if worst <= 1.0 {
        Ok(())
    } else {
        Err("the target keeps its contract: expected at most 1".to_owned())
    }
}

fn whole_causal() -> Result<(), String> {
    let (n, d) = (32_768, 64);
    let (query, key, value) = (normals(1, n * d), normals(2, n * d), normals(3, n * d));
    let spans = causal(n);
    let head = head((n, n, d), (&query, &key, &value), &spans);
    for (name, detail) in [("radii", Detail::Radii), ("full", Detail::Full)] {
        let started = Instant::now();
        let enclosure = enclose_as(&head, Products::Faer, detail);
        let seconds = started.elapsed().as_secs_f64();
        let widest = enclosure.rad.iter().fold(0.0f64, |max, rad| max.max(*rad));
        println!("causal n {n}, d {d}, {name}: {seconds:.2} s, widest radius {widest:.1e}");
    }
    report(3.0 * (n * d * 8) as f64 / MIB, None)
}

/// Attention of one query in float32, key after key, with a running maximum; nothing is kept but
/// the output.
fn stream(query: &[f64], key: &[f64], value: &[f64], scale: f32) -> Vec<f32> {
    let d = query.len();
    let query: Vec<f32> = query.iter().map(|q| *q as f32).collect();
    let mut output = vec![0.0f32; d];
    let (mut top, mut sum) = (f32::NEG_INFINITY, 0.0f32);
    for (key, value) in key.chunks_exact(d).zip(value.chunks_exact(d)) {
        let mut lanes = [0.0f32; 8];
        for (query, key) in query.chunks(8).zip(key.chunks(8)) {
            for (lane, (q, k)) in lanes.iter_mut().zip(query.iter().zip(key)) {
                *lane += q * *k as f32;
            }
        }
        let logit = lanes.iter().sum::<f32>() * scale;
        if logit > top {
            let rescale = libm::expf(top - logit);
            output.iter_mut().for_each(|o| *o *= rescale);
            sum *= rescale;
            top = logit;
        }
        let weight = libm::expf(logit - top);
        sum += weight;
        output.iter_mut().zip(value).for_each(|(o, v)| *o += weight * *v as f32);
    }
    output.into_iter().map(|o| o / sum).collect()
}

/// Normal draws that are float32 numbers.
fn normals(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| f64::from(normal(&mut rng) as f32)).collect()
}

/// Prints the largest resident size of this process, where the system says it, beside the inputs.
fn report(inputs: f64, allowance: Option<f64>) -> Result<(), String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok()
    });
    let Some(peak) = peak.map(|kib: f64| kib / 1024.0) else {
        println!("peak resident memory: this system does not say");
        return Ok(());
    };
    let verdict = match allowance {
        Some(allowance) if peak - inputs <= allowance => {
            format!(", at most {allowance:.0} MiB: met")
        }
        Some(allowance) => format!(", at most {allowance:.0} MiB: not met"),
        None => String::new(),
    };
    println!(
        "peak resident memory: {peak:.0} MiB, inputs {inputs:.0} MiB and {:.0} MiB more{verdict}",
        peak - inputs
    );
    if verdict.ends_with("not met") { Err("memory: more than allowed".to_owned()) } else { Ok(()) }
}
