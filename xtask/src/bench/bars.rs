//! What the measured ratios of `cargo xtask bench numerics` are held against.

use std::collections::BTreeMap;
use std::fmt;

/// What was measured on.
pub(super) struct Machine {
    /// Its vendor first.
    pub(super) processor: String,
    pub(super) width: Width,
}

/// The widest vectors that programs are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Narrow(usize),
    Avx2,
    Avx512,
}

impl Width {
    pub(super) fn of(bits: usize) -> Option<Self> {
        match bits {
            64 | 128 => Some(Self::Narrow(bits)),
            256 => Some(Self::Avx2),
            512 => Some(Self::Avx512),
            _ => None,
        }
    }

    pub(super) fn bits(self) -> usize {
        match self {
            Self::Narrow(bits) => bits,
            Self::Avx2 => 256,
            Self::Avx512 => 512,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.width {
            Width::Narrow(_) => "",
            Width::Avx2 => " (AVX2)",
            Width::Avx512 => " (AVX-512)",
        };
        write!(f, "{}, vectors of {} bits{name}", self.processor, self.width.bits())
    }
}

/// A limit of the project, for the shapes whose name begins like this.
struct Bar {
    ratio: &'static str,
    limit: f64,
    is_least: bool,
}

/// What is not set for narrower vectors has no bar there.
fn bars(machine: &Machine) -> Vec<Bar> {
    let most = |ratio, limit| Bar { ratio, limit, is_least: false };
    let least = |ratio, limit| Bar { ratio, limit, is_least: true };
    let mut bars = vec![
        most("causal_over_visible_n2048_", 1.05),
        most("full_over_products_n2048_", 1.9),
        most("full_over_products_n128_", 3.0),
        most("radii_over_plain_n2048_", 1.15),
        most("radii_over_plain_n8192_", 1.15),
        least("speedup_of_radii_n2048_", 1.9),
        least("arb_over_radii_n128_", 100.0),
    ];
    let of_radii = match machine.width {
        Width::Narrow(_) => None,
        Width::Avx2 => Some((1.12, 1.38)),
        Width::Avx512 => Some((1.08, 1.45)),
    };
    if let Some((over_products, over_limit)) = of_radii {
        bars.push(most("radii_over_products_n2048_", over_products));
        bars.push(most("radii_over_limit_n2048_", over_limit));
    }
    let vendor = machine.processor.split(',').next().unwrap_or_default();
    let over_torch = match (vendor, machine.width) {
        ("GenuineIntel", Width::Avx2) => Some(0.85),
        ("GenuineIntel", Width::Avx512) => Some(0.78),
        ("AuthenticAMD", Width::Avx2) => Some(0.65),
        _ => None,
    };
    bars.extend(over_torch.map(|limit| most("radii_over_torch_n2048_h1", limit)));
    bars
}

impl Bar {
    /// Bars are set for heads of width 64 and 128 whose rows see every key, on one thread; those of
    /// PyTorch for 64 alone. All else is printed, and held against nothing.
    fn holds_for(&self, ratio: &str) -> bool {
        let is_causal = ratio.contains("_causal") != self.ratio.starts_with("causal");
        let is_wide = ratio.contains("_d256")
            || self.ratio.starts_with("radii_over_torch") && ratio.contains("_d128");
        ratio.starts_with(self.ratio) && !is_causal && !is_wide && !ratio.ends_with("_two_threads")
    }

    fn is_met(&self, ratio: f64) -> bool {
        if self.is_least { ratio >= self.limit } else { ratio <= self.limit }
    }
}

/// Prints each bar with what was measured; how many are not met.
pub(super) fn print(machine: &Machine, ratios: &BTreeMap<String, f64>) -> usize {
    println!("\nbars");
    let mut missed = 0;
    for bar in bars(machine) {
        for (name, ratio) in ratios.iter().filter(|(name, _)| bar.holds_for(name)) {
            let word = if bar.is_least { "least" } else { "most" };
            let verdict = if bar.is_met(*ratio) { "met" } else { "not met" };
            missed += usize::from(!bar.is_met(*ratio));
            println!("  {name:<44} {ratio:>8.3}, at {word} {}: {verdict}", bar.limit);
        }
    }
    missed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(vendor: &str, width: Width) -> Machine {
        Machine { processor: format!("{vendor}, a processor"), width }
    }

    fn missed(machine: &Machine, ratios: &[(&str, f64)]) -> usize {
        print(machine, &ratios.iter().map(|(name, ratio)| ((*name).to_owned(), *ratio)).collect())
    }

    #[test]
    fn a_bar_holds_for_its_shapes_on_its_machines() {
        let intel = machine("GenuineIntel", Width::Avx2);
        assert_eq!(missed(&intel, &[("radii_over_products_n2048_h1", 1.11)]), 0);
        assert_eq!(missed(&intel, &[("radii_over_products_n2048_h1_d128", 1.13)]), 1);
        for other in ["n2048_h1_d256", "n512_h8", "n2048_h1_causal", "n2048_h1_two_threads"] {
            let ratio = format!("radii_over_products_{other}");
            assert_eq!(missed(&intel, &[(&ratio, 9.0)]), 0, "{other}");
        }
        assert_eq!(missed(&intel, &[("causal_over_visible_n2048_h1_causal", 1.06)]), 1);
        assert_eq!(missed(&intel, &[("speedup_of_radii_n2048_h1", 1.89)]), 1);
    }

    #[test]
    fn bars_differ_by_width_and_vendor() {
        let torch = [("radii_over_torch_n2048_h1", 0.79)];
        let products = [("radii_over_products_n2048_h1", 1.1)];
        for (vendor, width, over_torch, over_products) in [
            ("GenuineIntel", Width::Avx2, 0, 0),
            ("GenuineIntel", Width::Avx512, 1, 1),
            ("AuthenticAMD", Width::Avx2, 1, 0),
            ("AuthenticAMD", Width::Avx512, 0, 1),
            ("aarch64", Width::Narrow(128), 0, 0),
        ] {
            let machine = machine(vendor, width);
            assert_eq!(missed(&machine, &torch), over_torch, "{machine}");
            assert_eq!(missed(&machine, &products), over_products, "{machine}");
        }
    }
}
