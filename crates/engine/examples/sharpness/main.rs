//! Prints the tables of `docs/bounds.md#sharpness`: how sharp the bounds are, and what they see
//! beside the customary tolerances.
//!
//! The same text on every machine: matrix products in a fixed order, `libm`, a named random stream.
//! `cargo xtask regen` puts it in its place.

#![allow(clippy::print_stdout, reason = "the tables are the output")]

mod contracts;
mod faults;
#[path = "../../tests/numerics_common/kernel.rs"]
mod kernel;
#[path = "../../tests/numerics_common/mod.rs"]
mod numerics_common;

fn main() {
    println!("{}\n\n{}", contracts::table(), faults::table());
}

/// Largest distance from the midpoints over radius plus bound, as verdicts take it; infinite for
/// what is no number.
fn largest_ratio(outputs: &[f64], mid: &[f64], rad: &[f64], bound: &[f64]) -> f64 {
    let elements = outputs.iter().zip(mid).zip(rad.iter().zip(bound));
    elements.fold(0.0, |largest: f64, ((x, mid), (rad, bound))| {
        let (distance, allowed) = ((x - mid).abs(), rad + bound);
        let ratio = match () {
            () if distance.is_nan() => f64::INFINITY,
            () if distance == 0.0 => 0.0,
            () => distance / allowed,
        };
        largest.max(ratio)
    })
}

/// Two digits.
fn two_digits(x: f64) -> String {
    match x {
        0.0 => "0".to_owned(),
        _ if x.is_infinite() => "∞".to_owned(),
        _ if (9.95..9999.5).contains(&x) => format!("{x:.0}"),
        _ if (0.995..9.95).contains(&x) => format!("{x:.1}"),
        _ if (0.000_995..0.995).contains(&x) => {
            // As many places as the first digit needs, and one more.
            let places =
                (1..6).find(|places| x * libm::exp10(f64::from(*places)) >= 0.995).unwrap_or(6) + 1;
            format!("{x:.*}", places as usize)
        }
        _ => format!("{x:.1e}"),
    }
}
