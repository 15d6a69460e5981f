//! How near to their bounds the errors come, by format and number of keys.

use std::collections::BTreeMap;
use std::fmt::Write;

use qkvet_spec::{Summary, Verdict};

use super::plot::{HEIGHT, Plot, WIDTH, power, span};
use crate::text::{count, escaped, ratio};

/// Decades that are shown: what is beyond is put at the edge.
const LOWEST: f64 = -4.0;
const HIGHEST: f64 = 4.0;

/// Margins of one format and span of keys.
#[derive(Default)]
struct Band {
    n: usize,
    failing: usize,
    worst_held: f64,
    worst_failing: f64,
}

/// The plot with a table of its numbers; empty where nothing was measured.
pub(super) fn margins(summary: &Summary) -> String {
    let mut bands: BTreeMap<&str, BTreeMap<u32, Band>> = BTreeMap::new();
    for record in &summary.records {
        let Some(margin) = record.margin else { continue };
        let band =
            bands.entry(&record.dtype).or_default().entry(power(record.dims.n_k)).or_default();
        band.n += 1;
        if record.verdict == Verdict::Fail {
            band.failing += 1;
            band.worst_failing = band.worst_failing.max(margin);
        } else {
            band.worst_held = band.worst_held.max(margin);
        }
    }
    if bands.is_empty() {
        return String::new();
    }
    draw(&bands) + &table(&bands)
}

fn draw(bands: &BTreeMap<&str, BTreeMap<u32, Band>>) -> String {
    let powers = || bands.values().flat_map(BTreeMap::keys).copied();
    let (first, last) = (powers().min().unwrap_or(0), powers().max().unwrap_or(0));
    let is_failing = bands.values().flat_map(BTreeMap::values).any(|band| band.worst_failing > 1.0);
    let top = if is_failing { HIGHEST } else { 1.0 };
    let steps = f64::from(last - first).max(1.0);
    let across = |power: u32| 24.0 + (WIDTH - 48.0) * f64::from(power - first) / steps;
    let decade =
        |margin: f64| if margin > 0.0 { libm::log10(margin).clamp(LOWEST, top) } else { LOWEST };
    let up = |decade: f64| HEIGHT * (top - decade) / (top - LOWEST);
    let mut plot = Plot::default();
    let labels = [
        (-4, "≤10⁻⁴"),
        (-3, "0.001"),
        (-2, "0.01"),
        (-1, "0.1"),
        (0, "1"),
        (1, "10"),
        (2, "100"),
        (3, "1000"),
        (4, "≥10⁴"),
    ];
    for (at, label) in labels.map(|(at, label)| (f64::from(at), label)) {
        if at <= top {
            plot.tick_up(up(at), label);
        }
    }
    plot.level(up(0.0), "the bound");
    (first..=last).for_each(|power| plot.tick_across(across(power), &span(power)));
    for (form, (dtype, spans)) in bands.iter().enumerate() {
        // Formats stand beside each other, not upon each other.
        let shift = (form as f64 - (bands.len() as f64 - 1.0) / 2.0) * 11.0;
        let places: Vec<(f64, f64)> = spans
            .iter()
            .filter(|(_, band)| band.n > band.failing)
            .map(|(power, band)| (across(*power) + shift, up(decade(band.worst_held))))
            .collect();
        plot.line(form, &places);
        for (power, band) in spans {
            let x = across(*power) + shift;
            let about = |n: usize, what: &str, worst: f64| {
                format!(
                    "{dtype}, {} keys: {} cases {what}, the worst {} of its bound",
                    span(*power),
                    count(n),
                    ratio(worst)
                )
            };
            if band.n > band.failing {
                plot.mark(
                    form,
                    x,
                    up(decade(band.worst_held)),
                    &about(band.n - band.failing, "held", band.worst_held),
                );
            }
            if band.failing > 0 {
                // Of which format it is, its form says; that it fails, the cross over it.
                plot.struck(
                    form,
                    x,
                    up(decade(band.worst_failing)),
                    &about(band.failing, "fail", band.worst_failing),
                );
            }
        }
    }
    let worst = |of: fn(&Band) -> f64| {
        bands.values().flat_map(BTreeMap::values).map(of).fold(0.0, f64::max)
    };
    let failing: usize = bands.values().flat_map(BTreeMap::values).map(|band| band.failing).sum();
    let about = format!(
        "The worst error over bound that held is {}; {} cases fail, shown by crosses. The table below has all numbers",
        ratio(worst(|band| band.worst_held)),
        count(failing)
    );
    let legend: Vec<String> = bands.keys().map(|dtype| (*dtype).to_owned()).collect();
    let axes = ("number of keys", "worst error over bound (log)", "failing");
    plot.svg("Errors against bounds, by format and number of keys", &about, axes, &legend, None)
}

fn table(bands: &BTreeMap<&str, BTreeMap<u32, Band>>) -> String {
    let mut rows = String::new();
    for (dtype, spans) in bands {
        for (power, band) in spans {
            let worst = |n: usize, worst: f64| if n == 0 { "–".to_owned() } else { ratio(worst) };
            let _ = write!(
                rows,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(dtype),
                span(*power),
                count(band.n),
                worst(band.n - band.failing, band.worst_held),
                count(band.failing),
                worst(band.failing, band.worst_failing),
            );
        }
    }
    format!(
        "<details><summary>The numbers</summary><div class=\"wide\"><table><thead><tr><th scope=\"col\">format</th><th scope=\"col\">keys</th>\
         <th scope=\"col\">cases</th><th scope=\"col\">worst that held</th><th scope=\"col\">failing</th>\
         <th scope=\"col\">worst failing</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}
