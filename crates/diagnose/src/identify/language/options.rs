//! Options that are ignored, changed or applied in another order.

use qkvet_spec::{
    Alibi, Anchor, Bias, CallOption, Causal, DefaultScale, EmptyLse, EmptyRow, ExplicitScale,
    HiddenKeys, LengthAnchor, LseBase, Mask, MeaningPatch, Normalization, Obedience, Packing,
    Sinks, Stage, Twist, ValueReading, WindowBounds, WindowSide,
};

use super::word::{Words, expr};

pub(super) fn add(words: &mut Words<'_>) {
    let none = MeaningPatch::default;
    use CallOption as O;
    for (causal, bits) in [(Causal::Ignored, 2.0), (Causal::UpperLeft, 3.0)] {
        words.meaning(&[O::Causal], bits, MeaningPatch { causal: Some(causal), ..none() });
    }
    words.meaning(&[], 4.0, MeaningPatch { causal: Some(Causal::Always), ..none() });
    for (mask, bits) in [(Mask::Ignored, 2.0), (Mask::TrueHides, 3.0), (Mask::Added, 4.0)] {
        words.meaning(&[O::Mask], bits, MeaningPatch { mask: Some(mask), ..none() });
    }
    for (bias, bits) in [(Bias::Ignored, 2.0), (Bias::Subtracted, 3.0), (Bias::NonzeroHides, 5.0)] {
        words.meaning(&[O::Bias], bits, MeaningPatch { bias: Some(bias), ..none() });
    }
    for (window, bits) in [(WindowBounds::Ignored, 2.0), (WindowBounds::Exclusive, 4.0)] {
        words.meaning(&[O::Window], bits, MeaningPatch { window: Some(window), ..none() });
    }
    for side in [
        WindowSide::Ignored,
        WindowSide::OneMore,
        WindowSide::OneFewer,
        WindowSide::OfOtherSide,
        WindowSide::ZeroMeansAll,
    ] {
        let (left, right) = (Some(side), Some(side));
        words.meaning(&[O::Window], 4.0, MeaningPatch { window_left: left, ..none() });
        words.meaning(&[O::Window], 4.0, MeaningPatch { window_right: right, ..none() });
        let both = MeaningPatch { window_left: left, window_right: right, ..none() };
        words.meaning(&[O::Window], 6.0, both);
    }
    let anchor = Some(Anchor::UpperLeft);
    words.meaning(&[O::Window], 4.0, MeaningPatch { window_anchor: anchor, ..none() });
    words.meaning(&[O::AlibiSlopes], 4.0, MeaningPatch { alibi_anchor: anchor, ..none() });
    for (alibi, bits) in [(Alibi::Ignored, 2.0), (Alibi::Reversed, 3.0)] {
        words.meaning(&[O::AlibiSlopes], bits, MeaningPatch { alibi: Some(alibi), ..none() });
    }
    for (sinks, bits) in [(Sinks::Ignored, 2.0), (Sinks::Twice, 4.0), (Sinks::Scaled, 4.0)] {
        words.meaning(&[O::Sinks], bits, MeaningPatch { sinks: Some(sinks), ..none() });
    }
    let ignored = Some(Obedience::Ignored);
    words.meaning(&[O::KeyLengths], 2.0, MeaningPatch { key_lengths: ignored, ..none() });
    // Every item is as long as the longest.
    let unseen = expr("key_lengths and j >= longest_keys");
    words.meaning(&[O::KeyLengths], 5.0, MeaningPatch { key_lengths: ignored, unseen, ..none() });
    words.meaning(&[O::QueryLengths], 2.0, MeaningPatch { query_lengths: ignored, ..none() });
    words.meaning(&[O::Sinks], 4.0, MeaningPatch { lse_sinks: ignored, ..none() });
    let extents = Some(LengthAnchor::Extents);
    words.meaning(&[O::KeyLengths], 4.0, MeaningPatch { length_anchor: extents, ..none() });
    words.meaning(&[O::QueryLengths], 4.0, MeaningPatch { length_anchor: extents, ..none() });
    for packed in [Packing::Ignored, Packing::FirstBoundary] {
        words.meaning(&[O::Packed], 3.0, MeaningPatch { packed: Some(packed), ..none() });
    }
    words.meaning(&[], 4.0, MeaningPatch { normalization: Some(Normalization::None), ..none() });
    words.meaning(&[], 5.0, MeaningPatch { values: Some(ValueReading::NonNegative), ..none() });
    for empty_row in [EmptyRow::Nan, EmptyRow::Mean, EmptyRow::First] {
        words.meaning(&[], 4.0, MeaningPatch { empty_row: Some(empty_row), ..none() });
    }
    for lse_base in [LseBase::Two, LseBase::NaturalTimesLn2] {
        words.meaning(&[], 4.0, MeaningPatch { lse_base: Some(lse_base), ..none() });
    }
    for empty_lse in [EmptyLse::Infinity, EmptyLse::Zero] {
        words.meaning(&[], 4.0, MeaningPatch { empty_lse: Some(empty_lse), ..none() });
    }
    let hidden = Some(HiddenKeys::WeightZeroed);
    words.meaning(&[], 4.0, MeaningPatch { hidden, ..none() });
    stages(words);
    scales(words);
}

/// Stages in another order, or left out.
fn stages(words: &mut Words<'_>) {
    use Stage::{Bias, Scale, Softcap};
    let none = MeaningPatch::default;
    let mut order = |needs: &[CallOption], bits: f64, stages: &[Stage]| {
        words.meaning(needs, bits, MeaningPatch { stages: Some(stages.to_vec()), ..none() });
    };
    order(&[CallOption::Softcap], 2.0, &[Scale, Bias]);
    order(&[], 4.0, &[Softcap, Bias]);
    for added in [CallOption::Bias, CallOption::AlibiSlopes] {
        order(&[added], 4.0, &[Softcap, Bias, Scale]);
        order(&[added], 5.0, &[Bias, Scale, Softcap]);
        order(&[added, CallOption::Softcap], 3.0, &[Scale, Bias, Softcap]);
        order(&[added, CallOption::Softcap], 5.0, &[Bias, Softcap, Scale]);
    }
    order(&[CallOption::Softcap], 4.0, &[Softcap, Scale, Bias]);
}

const EXTENTS: [&str; 7] = ["b", "h_q", "h_k", "n_q", "n_k", "d_k", "d_v"];

/// The default scale of another number, and explicit scales.
fn scales(words: &mut Words<'_>) {
    use CallOption::Scale;
    use DefaultScale::{Inverse, InverseFloorSqrt, InverseSqrt, One, Sqrt};
    let none = MeaningPatch::default;
    for (explicit, bits) in [
        (ExplicitScale::Ignored, 2.0),
        (ExplicitScale::TimesDefault, 3.0),
        (ExplicitScale::Inverted, 4.0),
        (ExplicitScale::Squared, 4.0),
        (ExplicitScale::Absolute, 4.0),
        (ExplicitScale::OneMeansDefault, 4.0),
    ] {
        words.meaning(&[Scale], bits, MeaningPatch { explicit_scale: Some(explicit), ..none() });
    }
    // A number that is not set.
    words.twist(&[], 3.0, Twist::Times { option: Scale, factor: 0.0 });
    let mut of: Vec<(String, f64)> = EXTENTS.iter().map(|x| ((*x).to_owned(), 4.0)).collect();
    for (at, x) in EXTENTS.iter().enumerate() {
        for y in &EXTENTS[at + 1..] {
            of.push((format!("{x} * {y}"), 7.0));
            of.push((format!("{x} + {y}"), 8.0));
            of.push((format!("max({x}, {y})"), 8.0));
            of.push((format!("min({x}, {y})"), 8.0));
        }
        for y in EXTENTS.iter().filter(|y| *y != x) {
            of.push((format!("max({x} / {y}, 1)"), 8.0));
        }
        for m in [4, 8, 16, 32, 64] {
            of.push((format!("({x} + {}) / {m} * {m}", m - 1), 9.0));
        }
        for n in 1..=2 {
            of.push((format!("{x} + {n}"), 8.0));
            of.push((format!("{x} - {n}"), 8.0));
        }
        of.push((format!("2 * {x}"), 7.0));
        of.push((format!("next_power_of_two({x})"), 7.0));
        of.push((format!("max({x} / 2, 1)"), 7.0));
    }
    // Of a packed projection of queries, keys and values.
    of.push(("(h_q + 2 * h_k) * d_k".to_owned(), 9.0));
    of.push(("(h_q + 2 * h_k) * d_k / h_q".to_owned(), 9.0));
    of.extend([16, 32, 64, 96, 128, 256].map(|n| (n.to_string(), 7.0)));
    for (text, bits) in of {
        for (form, more) in
            [(InverseSqrt, 0.0), (Inverse, 1.0), (Sqrt, 2.0), (InverseFloorSqrt, 3.0)]
        {
            let (default_scale, scale_of) = (Some(form), expr(&text));
            let patch = MeaningPatch { default_scale, scale_of, ..none() };
            words.meaning(&[], bits + more, patch);
            words.without(Scale);
        }
    }
    words.meaning(&[], 3.0, MeaningPatch { default_scale: Some(One), ..none() });
    words.without(Scale);
}
