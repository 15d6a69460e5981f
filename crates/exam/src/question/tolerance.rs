//! How far an answer may be from the right number, and what it earns there.

use std::cmp::Ordering;
use std::fmt;

use qkvet_prove::exact::{Exact, Real};
use serde::de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::Misfit;
use crate::student_answer::{approximate, decimal, half_unit, is_within, ten_to};

/// A distance from the right number, and the share of the points that it leaves. One of the four
/// distances is given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// `|x − v| ≤ absolute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
    /// `|x − v| ≤ relative · |v|`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    /// `|x − v|` is at most half a unit of this significant digit of `v`, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<usize>,
    /// `|x − v|` is at most this many units of the last decimal that the part asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<f64>,
    /// The share of the points, above 0; absent: all.
    #[serde(default = "all_points")]
    pub share: f64,
}

fn all_points() -> f64 {
    1.0
}

/// Bands, in YAML one or a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tolerance(pub Vec<Band>);

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bands;
        impl<'de> Visitor<'de> for Bands {
            type Value = Tolerance;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a band such as {relative: 0.01}, or a list of bands")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tolerance, A::Error> {
                Ok(Tolerance(vec![Band::deserialize(MapAccessDeserializer::new(map))?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tolerance, A::Error> {
                let mut bands = Vec::new();
                while let Some(band) = seq.next_element()? {
                    bands.push(band);
                }
                Ok(Tolerance(bands))
            }
        }
        deserializer.deserialize_any(Bands)
    }
}

impl Band {
    /// The distance that the band allows from `right`: `None` where it allows none, as a band of
    /// `units` of an answer without decimals, and relative distances of 0.
    ///
    /// # Error bound
    /// A relative distance and a significant digit are those of `right` rounded to 40 decimals.
    pub(crate) fn allows(&self, right: &Real, places: Option<usize>) -> Option<Exact> {
        let number = |x: f64| decimal(&x.to_string()).ok()?.plain().ok().cloned();
        if let Some(absolute) = self.absolute {
            return number(absolute);
        }
        if let Some(units) = self.units {
            let half = half_unit(places?);
            return Some(&number(units)? * &(&half + &half));
        }
        let size = approximate(right).ok()?.plain().ok()?.abs().ok()?;
        if let Some(relative) = self.relative {
            return Some(&number(relative)? * &size);
        }
        // The first digit of 0.0034 is decimal 3, that of 3400 is decimal −3.
        let digits = i64::try_from(self.digits?).ok()?;
        let first =
            (-20..=40_i64).find(|decimal| power_of_ten(-decimal).is_some_and(|x| size >= x))?;
        let unit = power_of_ten(-(first + digits - 1))?;
        unit.divide(&Exact::from(2)).ok()
    }

    fn misfit(&self, has_places: bool) -> Option<Misfit> {
        let distances =
            [self.absolute, self.relative, self.units, self.digits.map(|digits| digits as f64)];
        let given: Vec<f64> = distances.into_iter().flatten().collect();
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Some(Misfit::NoShare { got: self.share });
        }
        match given.as_slice() {
            [x] if x.is_finite() && *x > 0.0 && (self.digits.is_none() || *x <= 15.0) => {}
            _ => return Some(Misfit::Band),
        }
        (self.units.is_some() && !has_places).then_some(Misfit::Units)
    }
}

/// `10^n`.
fn power_of_ten(n: i64) -> Option<Exact> {
    let power = ten_to(usize::try_from(n.unsigned_abs()).ok()?);
    if n < 0 { power.inverse().ok() } else { Some(power) }
}

impl Tolerance {
    /// The largest share that a number earns at its distance from the right one, if any.
    pub(crate) fn share(&self, x: &Real, right: &Real, places: Option<usize>) -> Option<f64> {
        let holds = |band: &&Band| {
            band.allows(right, places).is_some_and(|most| is_within(x, right, &most))
        };
        self.0.iter().filter(holds).map(|band| band.share).max_by(f64::total_cmp)
    }

    /// The greatest distance from the right number that earns more than a share.
    pub(crate) fn widest(&self, above: f64, right: &Real, places: Option<usize>) -> Option<Exact> {
        let bands = self.0.iter().filter(|band| band.share > above);
        bands.filter_map(|band| band.allows(right, places)).max_by(|x, y| x.cmp(y))
    }

    /// The distance from the right number that earns full points, rounded down to 15 decimals.
    pub(crate) fn full(&self, right: &Real, places: Option<usize>) -> Option<String> {
        let full = Self(self.0.iter().filter(|band| band.share >= 1.0).copied().collect());
        let widest = full.widest(0.0, right, places)?;
        let half = half_unit(15);
        let text = if widest > half { (&widest - &half).digits(15) } else { return None };
        Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
    }

    /// Why the bands are none; `has_places` says whether the answers have a last decimal.
    pub(super) fn misfit(&self, has_places: bool) -> Option<Misfit> {
        self.0.iter().find_map(|band| band.misfit(has_places))
    }

    /// The rule in words: `within 0.01 of the right number full points; within 1 % 75 % of the
    /// points`.
    pub(crate) fn rule(&self) -> String {
        let mut bands = self.0.clone();
        bands.sort_by(|x, y| y.share.partial_cmp(&x.share).unwrap_or(Ordering::Equal));
        bands.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| (share * 1e6).round() / 1e4;
        match *self {
            Self { absolute: Some(most), .. } => write!(f, "a distance of at most {most}")?,
            Self { relative: Some(part), .. } => {
                write!(f, "a relative error of at most {} %", percent(part))?;
            }
            Self { units: Some(1.0), .. } => {
                f.write_str("a distance of at most one unit of the last decimal asked")?;
            }
            Self { units: Some(units), .. } => {
                write!(f, "a distance of at most {units} units of the last decimal asked")?;
            }
            Self { digits, .. } => {
                write!(f, "{} right significant digits", digits.unwrap_or(0))?;
            }
        }
        if self.share < 1.0 {
            write!(f, " earns {} % of the points", percent(self.share))
        } else {
            f.write_str(" earns full points")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student_answer::read_expression;

    fn band(text: &str) -> Band {
        serde_json::from_str(text).unwrap()
    }

    /// Every distance holds at its end and fails behind it.
    #[test]
    fn distances_end_where_they_say() {
        for (text, right, at, behind) in [
            (r#"{"absolute": 0.002}"#, "3", "3.002", "3.0020001"),
            (r#"{"relative": 0.01}"#, "-200", "-198", "-197.99"),
            (r#"{"digits": 4}"#, "3634.27", "3634", "3633"),
            (r#"{"digits": 3}"#, "0.0012345", "0.00123", "0.00122"),
            (r#"{"digits": 2}"#, "99.6", "99.1", "99.0"),
            (r#"{"units": 2}"#, "sqrt(2)", "1.416", "1.417"),
        ] {
            let (band, right) = (band(text), read_expression(right).unwrap());
            let all = Tolerance(vec![band]);
            let share = |x: &str| all.share(&read_expression(x).unwrap(), &right, Some(3));
            assert_eq!((share(at), share(behind)), (Some(1.0), None), "{text}");
        }
        let zero = Real::from(0);
        assert!(band(r#"{"digits": 3}"#).allows(&zero, None).is_none());
        assert!(band(r#"{"units": 1}"#).allows(&zero, None).is_none());
    }

    #[test]
    fn the_best_band_counts() {
        let yaml = "- {relative: 0.1, share: 0.5}\n- {absolute: 1}\n";
        let bands: Tolerance = qkvet_spec::parse_yaml("", yaml).unwrap();
        let share = |x: &str| bands.share(&read_expression(x).unwrap(), &Real::from(100), None);
        assert_eq!((share("101"), share("102"), share("111")), (Some(1.0), Some(0.5), None));
        assert_eq!(qkvet_spec::parse_yaml::<Tolerance>("", "{absolute: 1}").unwrap().0.len(), 1);
        for wrong in
            ["{absolute: 1, digits: 2}", "{}", "{absolute: -1}", "{digits: 16}", "{units: 1}"]
        {
            let bands: Tolerance = qkvet_spec::parse_yaml("", wrong).unwrap();
            assert!(bands.misfit(false).is_some(), "{wrong}");
        }
    }
}
