//! Enclosures of many keys need little memory beside their inputs. One test, so that the process is
//! its own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the size of this process is in a file")]

use qkvet_engine::Products;
use qkvet_engine::enclosure::{Detail, enclose_as};
use qkvet_engine::head::{EmptyRow, Head, Normalization, RealScale, Span, Stage, Visible};

/// The largest resident size of this process so far.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<f64>().unwrap() / 1024.0
}

/// All scores of this shape are 128 MiB, the values 16.
const SHAPE: (usize, usize, usize) = (256, 65_536, 32);

/// Two threads with 4 MiB of scores each, what matrix products pack, 29 bytes for each key, and
/// what the allocator keeps; a copy of all values and their squares, or a byte for each score,
/// would be 16 MiB more.
const ALLOWED_MIB: f64 = 28.0;

#[test]
fn the_memory_beside_the_inputs_is_small_however_many_keys() {
    let (n_q, n_k, d) = SHAPE;
    let number = |at: usize| ((at * 7919) % 1009) as f64 / 504.0 - 1.0;
    let query: Vec<f64> = (0..n_q * d).map(number).collect();
    let key: Vec<f64> = (0..n_k * d).map(|at| number(at + 1)).collect();
    let value: Vec<f64> = (0..n_k * d).map(|at| number(at + 2)).collect();
    let spans: Vec<Span> = (0..n_q).map(|i| Span::prefix(n_k - n_q + i + 1)).collect();
    // The same on every machine: what threads need counts for each.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let before = peak_mib();
    // A small scale allows one pass; with a large one a row needs its maximum first.
    for scale in [0.125, 40.0] {
        for visible in [Visible::All, Visible::Spans(&spans)] {
            let head = Head {
                n_q,
                n_k,
                d_k: d,
                d_v: d,
                query: &query,
                key: &key,
                value: &value,
                stages: &[Stage::Scale],
                scale: RealScale::exact(scale),
                softcap: None,
                bias: None,
                alibi: None,
                alibi_shifts: None,
                sink: None,
                visible,
                normalization: Normalization::OverKeys,
                empty_row: EmptyRow::Zero,
            };
            let enclosure = pool.install(|| enclose_as(&head, Products::Faer, Detail::Full));
            assert!(enclosure.rad.iter().all(|rad| *rad < 1e-9));
        }
    }
    let more = peak_mib() - before;
    assert!(more <= ALLOWED_MIB, "{more} MiB beside the inputs, {ALLOWED_MIB} allowed");
}
