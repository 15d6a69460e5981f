//! Changes between scores and results: softcaps, logits, weights, row sums, tiles, parts, stubs,
//! other inputs, cells of bias and output, the log-sum-exp.

use qkvet_spec::{
    CallOption, DenominatorForm, InputForm, LogitForm, LseForm, PartWeight, Rescale, SoftcapForm,
    StubForm, Twist, WeightForm,
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
    for form in [LogitForm::Absolute, LogitForm::Squared] {
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
    for form in [DenominatorForm::SinkAsNumber, DenominatorForm::SinkNotShifted] {
        words.twist(&[CallOption::Sinks], 5.0, Twist::Denominator { form });
    }
    for form in [InputForm::KeyForValue, InputForm::ValueForKey, InputForm::ScoresTransposed] {
        words.twist(&[], 6.0, Twist::Inputs { form });
    }
    for form in
        [LseForm::Zero, LseForm::WithoutMax, LseForm::MaxOnly, LseForm::Sum, LseForm::Negative]
    {
        words.twist(&[], 5.0, Twist::Lse { form });
    }
    tiles(words);
    cells(words);
}

fn stubs(words: &mut Words<'_>) {
    for (value, bits) in [(0.0, 2.0), (1.0, 4.0)] {
        words.twist(&[], bits, Twist::Stub { form: StubForm::Constant { value } });
    }
    words.twist(&[], 3.0, Twist::Stub { form: StubForm::MeanOfValues });
    words.twist(&[], 5.0, Twist::Stub { form: StubForm::SumOfVisible });
    words.twist(&[], 4.0, Twist::Stub { form: StubForm::Query });
    for (row, bits) in
        [("i", 4.0), ("0", 4.0), ("n_k - 1", 4.0), ("i + n_k - n_q", 5.0), ("min(i, n_k - 1)", 6.0)]
    {
        let row = expr(row).into_iter();
        row.for_each(|row| {
            words.twist(&[], bits, Twist::Stub { form: StubForm::ValueRow { row } })
        });
    }
}

fn tiles(words: &mut Words<'_>) {
    for size in words.scope.tiles.clone() {
        for (rescale, bits) in [
            (Rescale::Neither, 7.0),
            (Rescale::SumOnly, 7.0),
            (Rescale::ValuesOnly, 7.0),
            (Rescale::DividedEachTile, 8.0),
        ] {
            words.twist(&[], bits, Twist::Tiles { size, rescale, last: false });
            words.twist(&[], bits + 2.0, Twist::Tiles { size, rescale, last: true });
        }
    }
    for (by, bits) in [
        (PartWeight::Equal, 6.0),
        (PartWeight::Lse, 7.0),
        (PartWeight::Keys, 7.0),
        (PartWeight::ExpMax, 7.0),
        (PartWeight::OwnSum, 7.0),
        (PartWeight::TwoToLse, 8.0),
        (PartWeight::LastOnly, 7.0),
    ] {
        for count in [2, 3, 4, 8] {
            for floor in [true, false] {
                words.twist(&[], bits, Twist::Parts { count, size: 0, floor, by });
            }
        }
        for size in words.scope.tiles.clone() {
            words.twist(&[], bits + 2.0, Twist::Parts { count: 0, size, floor: false, by });
        }
    }
    for multiple in words.scope.tiles.clone() {
        let form = DenominatorForm::PaddingAtCap { multiple };
        words.twist(&[CallOption::Softcap], 8.0, Twist::Denominator { form });
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
            let parts = expr(cells).zip(expr(value)).into_iter();
            parts.for_each(|(cells, value)| {
                let twist = Twist::BiasCells { cells, value };
                words.twist(&[CallOption::Bias], 5.0 + bits + more, twist);
            });
        }
    }
    let mut zeros: Vec<(String, f64)> = Vec::new();
    let axes = [("c", "d_v"), ("i", "n_q"), ("h", "h_q"), ("item", "b")];
    for (x, n) in axes {
        zeros.push((format!("{x} > 0"), 5.0));
        zeros.push((format!("{x} == {n} - 1"), 5.0));
        zeros.push((format!("{x} >= {n} / 2"), 6.0));
        for m in &words.scope.tiles {
            zeros.push((format!("{x} >= {m}"), 6.0));
            zeros.push((format!("{x} >= {n} / {m} * {m}"), 7.0));
            zeros.push((format!("{x} >= max({m}, {n} / {m} * {m})"), 8.0));
        }
    }
    zeros.extend(
        ["c >= d_k", "i >= n_k", "h >= h_k", "h % (h_q / h_k) > 0"].map(|it| (it.to_owned(), 6.0)),
    );
    for (cells, bits) in zeros {
        let cells = expr(&cells).into_iter();
        cells.for_each(|cells| words.twist(&[], bits, Twist::OutputWhere { cells, value: 0.0 }));
    }
}
