//! Numbers as programs read them: decimals with a tolerance that follows from the rounding that was
//! asked for.

/// What is entered for one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A decimal, and how far from it is still right.
    Decimal {
        /// The decimal.
        text: String,
        /// Half a unit of its last place if it was rounded, else 0.
        tolerance: String,
    },
    /// A fraction without a finite decimal; only its text can be compared, in one of its
    /// [`Entry::ways`].
    Fraction(String),
}

/// A fraction may be written with both its numbers up to so many times as large as in lowest terms.
const MAX_TIMES: i128 = 12;

/// The entry for a printed number: a decimal of so many places, or an exact rational.
pub(super) fn entry(text: &str, places: Option<usize>) -> Entry {
    let exact = |text: String| Entry::Decimal { text, tolerance: "0".to_owned() };
    match places {
        Some(0) => Entry::Decimal { text: text.to_owned(), tolerance: "0.5".to_owned() },
        Some(places) => Entry::Decimal {
            text: text.to_owned(),
            tolerance: format!("0.{}5", "0".repeat(places)),
        },
        None if !text.contains('/') => exact(text.to_owned()),
        None => finite(text).map_or_else(|| Entry::Fraction(text.to_owned()), exact),
    }
}

/// `-5/2` as `-2.5`; `None` where the decimal does not end soon.
fn finite(text: &str) -> Option<String> {
    const MAX: u32 = 15;
    let (numerator, denominator) = text.split_once('/')?;
    let (numerator, denominator): (i128, i128) =
        (numerator.trim().parse().ok()?, denominator.trim().parse().ok()?);
    if denominator <= 0 {
        return None;
    }
    let digits = (0..=MAX).find(|digits| 10_i128.pow(*digits) % denominator == 0)?;
    let scaled = numerator.checked_mul(10_i128.pow(digits) / denominator)?;
    let width = digits as usize + 1;
    let all = format!("{:0width$}", scaled.unsigned_abs());
    let (whole, rest) = all.split_at(all.len() - digits as usize);
    let sign = if scaled < 0 { "-" } else { "" };
    Some(if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") })
}

/// A decimal as a whole number of units of `10^-digits`.
fn scaled(text: &str, digits: usize) -> Option<i128> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let padded = format!("{whole}{rest:0<digits$}");
    if rest.len() > digits { None } else { padded.parse::<i128>().ok().map(|x| sign * x) }
}

/// Digits after the point.
fn digits(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, rest)| rest.len())
}

impl Entry {
    /// Raises the tolerance of a decimal to a distance.
    pub(super) fn widen(&mut self, distance: &str) {
        if let Self::Decimal { tolerance, .. } = self {
            let most = digits(distance).max(digits(tolerance));
            if scaled(distance, most) > scaled(tolerance, most) {
                distance.clone_into(tolerance);
            }
        }
    }

    /// The texts that are one answer: a decimal as it is; a fraction in lowest terms, with spaces
    /// round its line, and with both its numbers 2 to 12 times as large, `4/15` and `8/30` to
    /// `48/180`.
    pub(super) fn ways(&self) -> Vec<String> {
        let text = match self {
            Self::Decimal { text, .. } | Self::Fraction(text) => text.clone(),
        };
        let number = |text: &str| text.trim().parse::<i128>().ok();
        let parts =
            text.split_once('/').and_then(|(above, below)| Some((number(above)?, number(below)?)));
        let (Self::Fraction(_), Some((above, below))) = (self, parts) else { return vec![text] };
        let times = |k: i128| Some(format!("{}/{}", above.checked_mul(k)?, below.checked_mul(k)?));
        [text, format!("{above} / {below}")]
            .into_iter()
            .chain((2..=MAX_TIMES).filter_map(times))
            .collect()
    }

    /// Whether somebody who enters `other` is taken to have entered this; what cannot be told is.
    pub(super) fn accepts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Decimal { text, tolerance }, Self::Decimal { text: other, .. }) => {
                let most = [text, tolerance, other]
                    .into_iter()
                    .map(|text| digits(text))
                    .max()
                    .unwrap_or(0);
                match (scaled(text, most), scaled(other, most), scaled(tolerance, most)) {
                    (Some(own), Some(other), Some(tolerance)) => (own - other).abs() <= tolerance,
                    _ => true,
                }
            }
            _ => self == other,
        }
    }

    /// Whether it is exact and not whole.
    pub(super) fn is_exact_part(&self) -> bool {
        match self {
            Self::Decimal { text, tolerance } => tolerance == "0" && text.contains('.'),
            Self::Fraction(_) => true,
        }
    }

    /// Whether it is a decimal that is neither 0 nor at least `10^-places` in size.
    pub(super) fn is_below(&self, places: usize) -> bool {
        let Self::Decimal { text, .. } = self else { return false };
        let most = digits(text).max(places);
        let least = u32::try_from(most - places).ok().and_then(|power| 10_i128.checked_pow(power));
        match (scaled(text, most), least) {
            (Some(0), _) => false,
            (Some(x), Some(least)) => x.abs() < least,
            _ => true,
        }
    }
}

/// Points in equal shares of two decimals whose sum is exact.
pub(super) fn shares(points: u32, n: usize) -> Vec<String> {
    split(points * 100, n)
}

/// Hundredths in equal shares of two decimals whose sum is exact.
pub(super) fn split(hundredths: u32, n: usize) -> Vec<String> {
    let hundredths = hundredths as usize;
    let share = |at: usize| hundredths / n.max(1) + usize::from(at < hundredths % n.max(1));
    let text = |share: usize| match share % 100 {
        0 => (share / 100).to_string(),
        rest => format!("{}.{rest:02}", share / 100),
    };
    (0..n).map(|at| text(share(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str, tolerance: &str) -> Entry {
        Entry::Decimal { text: text.to_owned(), tolerance: tolerance.to_owned() }
    }

    #[test]
    fn rationals_are_decimals_where_they_end() {
        for (text, expected) in
            [("-5/2", "-2.5"), ("7", "7"), ("3/16", "0.1875"), ("-1/20", "-0.05")]
        {
            assert_eq!(entry(text, None), decimal(expected, "0"));
        }
        assert_eq!(entry("1/3", None), Entry::Fraction("1/3".to_owned()));
        assert_eq!(entry("0.401", Some(3)), decimal("0.401", "0.0005"));
    }

    #[test]
    fn fractions_need_not_be_in_lowest_terms() {
        let ways = entry("-4/15", None).ways();
        assert_eq!(ways.len(), 13);
        for way in ["-4/15", "-4 / 15", "-8/30", "-48/180"] {
            assert!(ways.iter().any(|own| own == way), "{way}");
        }
        assert!(!ways.iter().any(|way| way == "8/30"));
        assert_eq!(entry("5/2", None).ways(), ["2.5"]);
        // What does not fit into a number any more is left out.
        assert_eq!(entry(&format!("1/{}7", "1".repeat(38)), None).ways().len(), 2);
    }

    #[test]
    fn tolerances_hold_what_is_rounded_and_nothing_else() {
        let key = entry("0.401", Some(3));
        assert!(key.accepts(&decimal("0.4015", "0")) && key.accepts(&decimal("0.4005", "0")));
        assert!(!key.accepts(&decimal("0.40151", "0")) && !key.accepts(&entry("0.402", Some(3))));
        assert!(!key.accepts(&entry("-0.401", Some(3))));
        assert!(!entry("1/3", None).accepts(&entry("1/2", None)));
    }

    #[test]
    fn small_numbers_are_noticed() {
        for (text, small) in [
            ("0.00009", true),
            ("-0.00009", true),
            ("0.0001", false),
            ("0.00000", false),
            ("3", false),
        ] {
            assert_eq!(decimal(text, "0").is_below(4), small, "{text}");
        }
    }

    #[test]
    fn shares_sum_to_the_points() {
        assert_eq!(shares(4, 6).join(" "), "0.67 0.67 0.67 0.67 0.66 0.66");
        assert_eq!(shares(3, 3), ["1", "1", "1"]);
        assert!(shares(3, 0).is_empty());
    }
}
