//! Mask patterns and broadcast forms.

use qkvet_spec::{BoolTensor, BroadcastForm, Dims, MaskPattern, Values};

use crate::{DIMS, built, catalog, plain};

const FORMS: [(BroadcastForm, &[usize]); 5] = [
    (BroadcastForm::Full, &[2, 6, 5, 7]),
    (BroadcastForm::PerItem, &[2, 1, 5, 7]),
    (BroadcastForm::PerHead, &[1, 6, 5, 7]),
    (BroadcastForm::Shared, &[5, 7]),
    (BroadcastForm::PerKey, &[2, 1, 1, 7]),
];

fn mask(pattern: MaskPattern, form: BroadcastForm, dims: Dims, seed: u64) -> BoolTensor {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let mut plan = plain(law, dims, Values::Grid);
    plan.mask = Some((pattern, form));
    plan.seed = seed;
    built(law, &plan).options.mask.unwrap()
}

fn rows(mask: &BoolTensor) -> Vec<Vec<bool>> {
    mask.data.chunks(*mask.shape.last().unwrap()).map(<[bool]>::to_vec).collect()
}

fn seen(row: &[bool]) -> usize {
    row.iter().filter(|x| **x).count()
}

#[test]
fn every_form_has_its_shape() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    for (form, shape) in FORMS {
        assert_eq!(mask(MaskPattern::Random, form, DIMS, 1).shape, shape);
        let mut plan = plain(law, DIMS, Values::Grid);
        plan.bias = Some(form);
        let bias = built(law, &plan).options.bias.unwrap();
        assert_eq!(bias.shape, shape);
        assert!(
            bias.data.iter().all(|x| (x * 8.0).fract() == 0.0 && (x.abs() <= 4.0 || *x == -8.0))
        );
    }
}

#[test]
fn only_the_pattern_of_empty_rows_has_rows_that_see_nothing() {
    for (form, _) in FORMS {
        for n_k in [1, 2, 3, 7, 40] {
            let dims = Dims { n_k, ..DIMS };
            for seed in 0..5 {
                for pattern in [
                    MaskPattern::Random,
                    MaskPattern::Blocks,
                    MaskPattern::Strided,
                    MaskPattern::LeadingBlock,
                    MaskPattern::Padding,
                ] {
                    let mask = mask(pattern, form, dims, seed);
                    assert!(
                        rows(&mask).iter().all(|row| seen(row) > 0),
                        "{pattern:?} {form:?} {n_k}"
                    );
                }
                let mask = mask(MaskPattern::EmptyRows, form, dims, seed);
                assert!(rows(&mask).iter().any(|row| seen(row) == 0));
            }
        }
    }
}

#[test]
fn patterns_look_as_they_are_called() {
    for (form, _) in FORMS {
        let of = |pattern| rows(&mask(pattern, form, DIMS, 3));
        for row in of(MaskPattern::LeadingBlock) {
            assert_eq!(row, [false, false, false, true, true, true, true]);
        }
        for row in of(MaskPattern::Strided) {
            let first = row.iter().position(|x| *x).unwrap();
            assert!(first < 3 && row.iter().enumerate().all(|(j, x)| *x == (j % 3 == first)));
        }
        for row in of(MaskPattern::Blocks) {
            let first = row.iter().position(|x| *x).unwrap();
            assert!(row[first..first + seen(&row)].iter().all(|x| *x), "one block: {row:?}");
        }
        let padding = of(MaskPattern::Padding);
        for row in &padding {
            assert!(row.iter().enumerate().all(|(j, x)| *x == (j < seen(row))));
        }
        assert!(seen(&padding[0]) < 7);
        if matches!(form, BroadcastForm::Full | BroadcastForm::PerItem | BroadcastForm::PerKey) {
            assert_ne!(seen(&padding[0]), seen(padding.last().unwrap()), "items differ");
        }
    }
    // Packed sequences: every query and every key belongs to a block.
    let blocks = rows(&mask(MaskPattern::Blocks, BroadcastForm::Shared, DIMS, 3));
    assert!((0..7).all(|j| blocks.iter().any(|row| row[j])));
    assert!(blocks.iter().any(|row| seen(row) < 7));
}
