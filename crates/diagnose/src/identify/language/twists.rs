//! Changes between scores and results: softcaps, logits, weights, row sums, tiles, parts, stubs,
//! other inputs, cells of bias and output, the log-sum-exp.

use std::f64::consts::{LN_2, LOG2_E};

use qkvet_spec::{
    CallOption, CountOf, DenominatorForm, Grid, InputForm, LazySlip, LogitForm, LseForm, MaskJoin,
    PartWeight, ScaleForm, SoftcapForm, Step, StubForm, TileFactor, TileForm, TileMax, TilePlace,
    Twist, WeightForm,
};

use super::word::{Words, expr};

pub(super) fn add(words: &mut Words<'_>) {
    stubs(words);
    for form in [
        SoftcapForm::TimesScore,
        SoftcapForm::NotDivided,
        SoftcapForm::NotMultiplied,
        SoftcapForm::Clamped,
        SoftcapForm::Rational,
        SoftcapForm::Inverted,
    ] {
        words.twist(&[CallOption::Softcap], 5.0, Twist::Softcap { form });
    }
    for form in [LogitForm::Absolute, LogitForm::Squared, LogitForm::ZeroHidden] {
        words.twist(&[], 6.0, Twist::Logits { form });
    }
    for form in [
        WeightForm::Sigmoid,
        WeightForm::Relu,
        WeightForm::Largest,
        WeightForm::Uniform,
        WeightForm::Squared,
    ] {
        words.twist(&[], 6.0, Twist::Weights { form });
    }
    for form in [
        DenominatorForm::SinkAsNumber,
        DenominatorForm::SinkNotShifted,
        DenominatorForm::SinkAboveKeys,
        DenominatorForm::SinkKeysCentered,
    ] {
        words.twist(&[CallOption::Sinks], 5.0, Twist::Denominator { form });
    }
    let form = DenominatorForm::SinkCapped;
    words.twist(&[CallOption::Sinks, CallOption::Softcap], 5.0, Twist::Denominator { form });
    words.twist(&[], 6.0, Twist::Denominator { form: DenominatorForm::TiesOnce });
    for (head, bits) in [
        ("i % h_q", 7.0),
        ("(h * n_q + i) % h_q", 9.0),
        ("(h + i) % h_q", 8.0),
        ("(item + h) % h_q", 8.0),
        ("item % h_q", 7.0),
        ("min(i, h_q - 1)", 8.0),
        ("i / 2 % h_q", 9.0),
    ] {
        words.twist_of(&[CallOption::Sinks], bits, head, |head| Twist::SinkOf { head });
    }
    for (distance, bits) in [
        ("n_k - 1 - j", 6.0),
        ("j", 6.0),
        ("-j", 6.0),
        ("i - j", 6.0),
        ("j - i", 7.0),
        ("max(i - j, 0)", 7.0),
        ("i + n_k - n_q - j", 6.0),
        ("max(i + n_k - n_q - j, 0)", 7.0),
        ("max(i + n_k - n_q - j, j - i + n_q - n_k)", 7.0),
        ("n_q - 1 - j", 7.0),
        ("max(n_q - 1 - j, j - n_q + 1)", 8.0),
        ("max(key_length - query_length + i - j, j - i + query_length - key_length)", 9.0),
        ("max(i + n_q - n_k - j, j - i + n_k - n_q)", 9.0),
        ("1 + max(i + n_k - n_q - j, j - i + n_q - n_k)", 8.0),
        ("(i + n_k - n_q - j) * (i + n_k - n_q - j)", 8.0),
    ] {
        let needs = [CallOption::AlibiSlopes];
        words.twist_of(&needs, bits, distance, |distance| Twist::AlibiDistance { distance });
    }
    for form in [
        InputForm::KeyForValue,
        InputForm::ValueForKey,
        InputForm::ScoresTransposed,
        InputForm::KeyReshaped,
        InputForm::QueryAsRows,
        InputForm::KeyAsRows,
        InputForm::ValueAsRows,
        InputForm::AllAsRows,
    ] {
        words.twist(&[], 6.0, Twist::Inputs { form });
    }
    for form in [
        LseForm::Zero,
        LseForm::WithoutMax,
        LseForm::MaxOnly,
        LseForm::Sum,
        LseForm::Negative,
        LseForm::NegativeInfinity,
        LseForm::KeysCentered,
        LseForm::MaxNotScaled,
        LseForm::MaxInBaseTwo,
        LseForm::SumInBaseTwo,
    ] {
        words.twist(&[], 5.0, Twist::Lse { form });
    }
    rounded(words);
    clipped(words);
    columns(words);
    apart(words);
    tiles(words);
    cells(words);
}

/// Inputs and steps in a narrower format, or in eight bits.
fn rounded(words: &mut Words<'_>) {
    use Grid::{
        Bfloat16, Float8E4m3fn, Float8E5m2, Float16, Float32, Int8Blocks, Int8Columns, Int8Heads,
        Int8Rows, Int8Tensor,
    };
    use Step::{
        Bias, Exponentials, Inputs, Key, KeyAndValue, Logits, Products, Query, Value, Weights,
    };
    let formats = [Float32, Bfloat16, Float16, Float8E4m3fn, Float8E5m2];
    let eight = [Int8Rows, Int8Blocks, Int8Columns, Int8Heads, Int8Tensor];
    for step in [Query, Key, Value, KeyAndValue, Inputs] {
        for to in formats.into_iter().chain(eight) {
            words.twist(&[], 6.0, Twist::Rounded { step, to });
        }
    }
    for to in formats {
        words.twist(&[CallOption::Bias], 6.0, Twist::Rounded { step: Bias, to });
    }
    // A softmax in float32 is found by its contract, in any of its steps.
    for to in &formats[1..] {
        for step in [Products, Logits, Exponentials, Weights] {
            words.twist(&[], 6.0, Twist::Rounded { step, to: *to });
        }
    }
}

/// Inputs that are clipped, scales that are another power.
fn clipped(words: &mut Words<'_>) {
    use Step::{Inputs, Key, KeyAndValue, Query, Value};
    for limit in [1.0, 6.0, 10.0, 100.0, 127.0, 240.0, 448.0, 57344.0, 65504.0] {
        for step in [Query, Key, Value, KeyAndValue, Inputs] {
            words.twist(&[], 8.0, Twist::Clipped { step, limit });
        }
    }
    for form in [
        ScaleForm::Root,
        ScaleForm::Squared,
        ScaleForm::Cubed,
        ScaleForm::Inverse,
        ScaleForm::Negative,
    ] {
        // A default scale alone is the plainer name.
        words.twist(&[], 9.0, Twist::Scale { form });
    }
}

/// Columns of scores that count twice or not, keys without the mean of their tile.
fn columns(words: &mut Words<'_>) {
    let mut all: Vec<(String, f64)> = ["c > 0", "c % 2 == 0", "1 + (c == 0)", "1 + (c == d_k - 1)"]
        .map(|times| (times.to_owned(), 6.0))
        .to_vec();
    for t in words.scope.tiles.clone() {
        all.extend([
            (format!("1 + (c >= d_k - {t} and c < d_k / {t} * {t})"), 8.0),
            (format!("1 + (c < {t})"), 8.0),
            (format!("1 + (c >= {t})"), 8.0),
            (format!("c >= {t}"), 8.0),
            (format!("c % {t} < {t} - 1"), 8.0),
        ]);
        words.twist(&[], 8.0, Twist::KeysCentered { size: t });
        words.twist(&[], 8.0, Twist::KeysAdded { size: t });
    }
    for (times, bits) in all {
        words.twist_of(&[], bits, &times, |times| Twist::Columns { times });
    }
}

/// Sums that leave an option out, maxima that begin at a number, masks that are joined, loops that
/// end early.
fn apart(words: &mut Words<'_>) {
    use CallOption::{AlibiSlopes, Bias, Causal, KeyLengths, Mask, Softcap, Window};
    for option in [Bias, AlibiSlopes, Softcap, Mask, Causal, Window, KeyLengths] {
        for of in [CountOf::Sum, CountOf::Values] {
            words.twist(&[option], 5.0, Twist::Without { option, of });
        }
    }
    for score in [0.0, 1.0, -100.0, -1000.0, -10_000.0] {
        for divided in [false, true] {
            words.twist(&[], 7.0, Twist::MaxAtLeast { score, divided });
        }
    }
    for items in [false, true] {
        for by in [MaskJoin::All, MaskJoin::Any, MaskJoin::AllBefore] {
            words.twist(&[Mask], 6.0, Twist::MaskJoined { items, by });
        }
    }
    for size in words.scope.tiles.clone() {
        for by_head in [false, true] {
            words.twist(&[], 8.0, Twist::StopsAtHiddenTile { size, by_head });
        }
    }
}

fn stubs(words: &mut Words<'_>) {
    for (value, bits) in [(0.0, 2.0), (1.0, 4.0)] {
        words.twist(&[], bits, Twist::Stub { form: StubForm::Constant { value } });
    }
    words.twist(&[], 3.0, Twist::Stub { form: StubForm::MeanOfValues });
    words.twist(&[], 5.0, Twist::Stub { form: StubForm::SumOfVisible });
    words.twist(&[], 4.0, Twist::Stub { form: StubForm::Query });
    words.twist(&[], 4.0, Twist::Stub { form: StubForm::NotANumber });
    for (row, bits) in
        [("i", 4.0), ("0", 4.0), ("n_k - 1", 4.0), ("i + n_k - n_q", 5.0), ("min(i, n_k - 1)", 6.0)]
    {
        let twist = |row| Twist::Stub { form: StubForm::ValueRow { row } };
        words.twist_of(&[], bits, row, twist);
    }
}

fn tiles(words: &mut Words<'_>) {
    use TileFactor::{BaseTwo, Inverse, Missing, Right, ScaledTwice};
    let rescaled = |values, sum| TileForm::Rescaled { values, sum };
    let lazy = |most: f64, slip| TileForm::Lazy { most, slip };
    // Some are at the last tile alone too, or on the diagonal.
    let mut forms = vec![
        (rescaled(Missing, Missing), 7.0, true),
        (rescaled(Missing, Right), 7.0, true),
        (rescaled(Right, Missing), 7.0, true),
        (rescaled(Inverse, Right), 8.0, true),
        (rescaled(Right, Inverse), 8.0, true),
        (rescaled(Inverse, Inverse), 8.0, true),
        (TileForm::Divided, 8.0, false),
        (TileForm::Shifted { by: TileMax::Own }, 8.0, true),
        (TileForm::Shifted { by: TileMax::Before }, 8.0, true),
        (TileForm::NoneYetIsNan, 7.0, false),
        (TileForm::NoneIsNan, 8.0, true),
    ];
    for other in [ScaledTwice, BaseTwo] {
        for (values, sum) in [(other, other), (other, Right), (Right, other)] {
            forms.push((rescaled(values, sum), 9.0, false));
        }
    }
    // Rises that kernels pass over, natural and of base 2.
    for most in [8.0 * LN_2, 4.0 * LN_2, 8.0, 4.0] {
        for slip in [
            LazySlip::Shifted,
            LazySlip::Rescaled,
            LazySlip::ValuesRescaled,
            LazySlip::SumRescaled,
            LazySlip::NotRescaled,
        ] {
            forms.push((lazy(most, slip), 11.0, false));
        }
    }
    // One key at a time too.
    for size in [1].into_iter().chain(words.scope.tiles.clone()) {
        for (form, bits, is_at_some) in forms.iter().copied() {
            words.twist(&[], bits, Twist::Tiles { size, form, at: TilePlace::Every });
            if is_at_some && size > 1 {
                words.twist(&[], bits + 2.0, Twist::Tiles { size, form, at: TilePlace::Last });
                let at = TilePlace::Diagonal;
                words.twist(&[CallOption::Causal], bits + 2.0, Twist::Tiles { size, form, at });
            }
        }
        for factor in [LOG2_E, LN_2] {
            let form = LogitForm::TimesEachTile { factor, size };
            words.twist(&[], 9.0, Twist::Logits { form });
        }
    }
    counts(words);
    // Parts of a count, whose ends are rounded down or up, or that take turns; of a size; keys before
    // the queries and beside them.
    let mut parts = vec![("j >= n_k - n_q".to_owned(), 1.0)];
    for n in [2, 3, 4, 8] {
        let last = n - 1;
        parts.push((format!("({n} * j + {last}) / n_k"), 0.0));
        parts.push((format!("j / ((n_k + {last}) / {n})"), 0.0));
        parts.push((format!("j % {n}"), 0.0));
    }
    parts.extend(words.scope.tiles.iter().map(|t| (format!("j / {t}"), 2.0)));
    // Chunks of a cache, and the new keys.
    let chunks = |t: usize| (format!("(j < n_k - n_q) * (j / {t} + 1)"), 4.0);
    parts.extend(words.scope.powers().map(chunks));
    for (by, bits) in [
        (PartWeight::Equal, 6.0),
        (PartWeight::Lse, 7.0),
        (PartWeight::Keys, 7.0),
        (PartWeight::ExpMax, 7.0),
        (PartWeight::OwnSum, 7.0),
        (PartWeight::TwoToLse, 8.0),
        (PartWeight::ExpOfLog2, 8.0),
        (PartWeight::LastOnly, 7.0),
        (PartWeight::EmptyAsZero, 8.0),
        (PartWeight::ShareOfAll, 8.0),
        (PartWeight::MaxScaledTwice, 8.0),
        (PartWeight::MaxOfDefaultScale, 8.0),
        (PartWeight::MaxNotScaled, 8.0),
        (PartWeight::TwoToMax, 8.0),
    ] {
        for (part, more) in &parts {
            words.twist_of(&[], bits + more, part, |part| Twist::Parts { part, by });
        }
    }
    for size in words.scope.tiles.clone() {
        for strided in [false, true] {
            let form = DenominatorForm::OwnMaxima { size, strided };
            words.twist(&[], 9.0, Twist::Denominator { form });
        }
    }
    for size in words.scope.tiles.clone() {
        let form = DenominatorForm::SinkEachTile { size };
        words.twist(&[CallOption::Sinks], 8.0, Twist::Denominator { form });
    }
    for option in [CallOption::Causal, CallOption::Mask, CallOption::Window, CallOption::KeyLengths]
    {
        words.twist(&[option, CallOption::Softcap], 6.0, Twist::HiddenAtCap { option });
    }
    for multiple in words.scope.tiles.clone() {
        let form = DenominatorForm::PaddingAtCap { multiple };
        words.twist(&[CallOption::Softcap], 8.0, Twist::Denominator { form });
    }
}

/// Keys that count several times, or in one of the two sums alone.
fn counts(words: &mut Words<'_>) {
    let mut both: Vec<(String, f64)> = [
        ("1 + (j == 0)", 5.0),
        ("1 + (j == n_k - 1)", 5.0),
        ("1 + (j == key_length - 1)", 6.0),
        ("1 + (j == i + n_k - n_q)", 6.0),
        ("2 - j % 2", 7.0),
        ("1 + j", 7.0),
    ]
    .map(|(text, bits)| (text.to_owned(), bits))
    .to_vec();
    let mut one: Vec<(String, f64)> = [
        ("j > 0", 5.0),
        ("j < n_k - 1", 5.0),
        ("j != i + n_k - n_q", 6.0),
        ("j < n_k / 2", 6.0),
        ("j >= n_k / 2", 6.0),
        ("j < n_q", 6.0),
        ("j < d_k", 6.0),
    ]
    .map(|(text, bits)| (text.to_owned(), bits))
    .to_vec();
    for t in &words.scope.tiles {
        both.extend([
            (format!("1 + (j < {t})"), 7.0),
            (format!("1 + (j / {t} == (n_k - 1) / {t})"), 7.0),
            (format!("1 + (j >= {t})"), 7.0),
            (format!("1 + j / {t}"), 8.0),
            (format!("1 + ((j + 1) % {t} == 0)"), 8.0),
            (format!("1 + (j % {t} == 0)"), 8.0),
            (format!("1 + (j + ({t} - n_k % {t}) % {t} >= n_k)"), 9.0),
            (format!("1 + ({t} - n_k % {t}) % {t} * (j == n_k - 1)"), 8.0),
            (format!("1 + ({t} - n_k % {t}) % {t} * (j == 0)"), 9.0),
            (format!("1 + j / {t} - (j / {t} + 1) / 2"), 10.0),
        ]);
        one.extend([
            (format!("j < {t}"), 7.0),
            (format!("j >= {t}"), 7.0),
            (format!("j < n_k / {t} * {t}"), 7.0),
            (format!("j / {t} < (n_k - 1) / {t}"), 7.0),
            (format!("j / {t} == (n_k - 1) / {t}"), 8.0),
            (format!("j % {t} < ({t} + 1) / 2"), 8.0),
            (format!("j % {t} >= {t} / 2"), 9.0),
            (format!("j % {t} == 0"), 8.0),
            (format!("j % {t} > 0"), 8.0),
            (format!("j % {t} < {t} - 1"), 8.0),
        ]);
    }
    for (times, bits) in both {
        let twist = |times| Twist::Counts { times, of: CountOf::Both };
        words.twist_of(&[], bits + 1.0, &times, twist);
    }
    for (times, bits) in one {
        for of in [CountOf::Sum, CountOf::Values] {
            words.twist_of(&[], bits + 1.0, &times, |times| Twist::Counts { times, of });
        }
    }
}

/// Cells of the bias that hold another number, and of the output that are 0.
fn cells(words: &mut Words<'_>) {
    for (cells, bits) in [
        ("j == 0", 0.0),
        ("j == n_k - 1", 0.0),
        ("j >= n_k - 2", 1.0),
        ("i == 0", 1.0),
        ("i == n_q - 1", 1.0),
        ("i == j", 1.0),
        ("j > i + n_k - n_q", 1.0),
    ] {
        for (value, more) in [("0", 0.0), ("1", 1.0), ("n_k - 1 - j", 3.0), ("j", 3.0), ("i", 3.0)]
        {
            let Some(value) = expr(value) else { continue };
            let twist = |cells| Twist::BiasCells { cells, value: value.clone() };
            words.twist_of(&[CallOption::Bias], 5.0 + bits + more, cells, twist);
        }
    }
    let mut zeros: Vec<(String, f64)> = Vec::new();
    // Each axis, and heads, rows and elements one behind the other.
    let axes = [
        ("c", "d_v", 0.0),
        ("i", "n_q", 0.0),
        ("h", "h_q", 0.0),
        ("item", "b", 0.0),
        ("item * h_q + h", "(b * h_q)", 1.0),
        ("(item * h_q + h) * n_q + i", "(b * h_q * n_q)", 2.0),
        ("((item * h_q + h) * n_q + i) * d_v + c", "(b * h_q * n_q * d_v)", 2.0),
    ];
    for (x, n, more) in axes {
        zeros.push((format!("{x} > 0"), 5.0 + more));
        zeros.push((format!("{x} == {n} - 1"), 5.0 + more));
        zeros.push((format!("{x} >= {n} / 2"), 6.0 + more));
        for m in &words.scope.tiles {
            zeros.push((format!("{x} >= {m}"), 6.0 + more));
            zeros.push((format!("{x} >= {n} / {m} * {m}"), 7.0 + more));
            zeros.push((format!("{x} >= max({m}, {n} / {m} * {m})"), 8.0 + more));
        }
    }
    zeros.extend(
        [
            "c >= next_power_of_two(d_k)",
            "i >= next_power_of_two(n_k)",
            "c >= d_k",
            "i >= n_k",
            "h >= h_k",
            "h % (h_q / h_k) > 0",
        ]
        .map(|it| (it.to_owned(), 6.0)),
    );
    zeros.extend(
        ["h % (h_q / h_k) >= h_k", "h / (h_q / h_k) >= h_q / h_k"].map(|it| (it.to_owned(), 9.0)),
    );
    let mut add = |needs: &[CallOption], cells: &str, bits: f64| {
        words.twist_of(needs, bits, cells, |cells| Twist::OutputWhere { cells, value: 0.0 });
    };
    zeros.iter().for_each(|(cells, bits)| add(&[], cells, *bits));
    for (end, bits) in [("key_length", 5.0), ("query_length", 6.0), ("key_length / 2", 8.0)] {
        for row in ["i", "i + n_k - n_q", "i + key_length - query_length"] {
            add(&[CallOption::KeyLengths], &format!("{row} >= {end}"), bits);
            add(&[CallOption::QueryLengths], &format!("{row} >= {end}"), bits);
        }
    }
}
