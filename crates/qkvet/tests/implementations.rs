//! The facade on implementations that are right, wrong, broken or decline.
#![expect(
    clippy::disallowed_methods,
    reason = "an implementation like any user's, exponentials of the platform included"
)]

use qkvet::{
    Attention, Bf16, Breakage, Call, CallOption, Cause, Claim, Declined, Dims, Element, F16, Suite,
    Supports, Verdict, suite,
};

/// Where key heads come from.
#[derive(Clone, Copy)]
enum Heads {
    Grouped,
    Tiled,
}

/// Attention in `f64`, with a format around it.
struct Ours(Heads);

impl<T: Element + From64> Attention<T> for Ours {
    fn attention(&self, call: &Call<'_, T>, output: &mut [T]) -> Result<(), Declined> {
        self.rows(call, |row, _, _, values| {
            output[row * values.len()..][..values.len()].copy_from_slice(&values)
        });
        Ok(())
    }

    fn supports(&self) -> Supports {
        let options = [CallOption::Scale, CallOption::Causal, CallOption::Mask, CallOption::Bias];
        Supports::options(options).lse().weights()
    }

    fn with_lse(
        &self,
        call: &Call<'_, T>,
        output: &mut [T],
        lse: &mut [f64],
    ) -> Result<(), Declined> {
        self.attention(call, output)?;
        self.rows(call, |row, of_row, _, _| lse[row] = of_row);
        Ok(())
    }

    fn with_weights(
        &self,
        call: &Call<'_, T>,
        output: &mut [T],
        weights: &mut [T],
    ) -> Result<(), Declined> {
        self.attention(call, output)?;
        let n_k = call.dims().n_k;
        self.rows(call, |row, _, of_row, _| {
            weights[row * n_k..][..n_k]
                .iter_mut()
                .zip(of_row)
                .for_each(|(to, x)| *to = T::from64(*x));
        });
        Ok(())
    }
}

impl Ours {
    /// Number, log-sum-exp, weights and output of each row.
    fn rows<T: Element + From64>(
        &self,
        call: &Call<'_, T>,
        mut each: impl FnMut(usize, f64, &[f64], Vec<T>),
    ) {
        let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = call.dims();
        let (q, k, v) = (call.query.data, call.key.data, call.value.data);
        for row in 0..b * h_q * n_q {
            let (i, h, item) = (row % n_q, row / n_q % h_q, row / n_q / h_q);
            let head = item * h_k
                + match self.0 {
                    Heads::Grouped => h / (h_q / h_k),
                    Heads::Tiled => h % h_k,
                };
            let score = |j: usize| {
                let at = [item, h, i, j];
                if (call.causal && j + n_q > i + n_k) || call.mask.is_some_and(|mask| !mask.at(at))
                {
                    return f64::NEG_INFINITY;
                }
                let dot: f64 = (0..d_k)
                    .map(|t| q[row * d_k + t].to64() * k[(head * n_k + j) * d_k + t].to64())
                    .sum();
                call.scale_or_default() * dot + call.bias.map_or(0.0, |bias| bias.at(at).to64())
            };
            let scores: Vec<f64> = (0..n_k).map(score).collect();
            let largest = scores.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let sum: f64 = weights.iter().sum();
            let weights: Vec<f64> =
                weights.iter().map(|w| if sum > 0.0 { w / sum } else { 0.0 }).collect();
            let value = |c: usize| {
                (0..n_k).map(|j| weights[j] * v[(head * n_k + j) * d_v + c].to64()).sum()
            };
            let values = (0..d_v).map(|c| T::from64(value(c))).collect();
            each(
                row,
                if sum > 0.0 { largest + sum.ln() } else { f64::NEG_INFINITY },
                &weights,
                values,
            );
        }
    }
}

trait From64: Copy {
    fn from64(x: f64) -> Self;
    fn to64(self) -> f64;
}

impl From64 for f64 {
    fn from64(x: f64) -> Self {
        x
    }

    fn to64(self) -> f64 {
        self
    }
}

macro_rules! from64 {
    ($($format:ty),*) => {
        $(impl From64 for $format {
            fn from64(x: f64) -> Self {
                Self::from(x as f32)
            }

            fn to64(self) -> f64 {
                f64::from(f32::from(self))
            }
        })*
    };
}

from64!(f32, Bf16, F16);

fn smoke(target: Heads) -> Suite {
    suite::<f32>(Ours(target)).suite("smoke")
}

#[test]
fn a_right_implementation_holds_in_every_format() {
    let all =
        smoke(Heads::Grouped).and::<f64>(Ours(Heads::Grouped)).and::<Bf16>(Ours(Heads::Grouped));
    let report = all.and::<F16>(Ours(Heads::Grouped)).check().expect("known names");
    report.assert();
    let covered = &report.summary().coverage;
    assert!(
        covered.dtypes.len() == 4 && covered.dtypes.values().all(|n| *n > 20),
        "{:?}",
        covered.dtypes
    );
    for law in ["weights-row-stochasticity", "log-sum-exp", "mask-is-bias", "value"] {
        assert!(covered.laws[law] > 0, "{law}");
    }
    assert_eq!(covered.options["softcap"], 0, "not offered");
}

#[test]
fn a_wrong_head_map_is_named() {
    let report = smoke(Heads::Tiled).check().expect("known names");
    assert!(!report.is_ok());
    let text = report.to_string();
    for part in [
        "query head h reads key/value head h % h_k",
        ".convention(\"head-map=tiled\")",
        ".replay(\"qk1:",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let declared = smoke(Heads::Tiled).convention("head-map=tiled").check().expect("known names");
    declared.assert();
}

#[test]
fn a_case_is_seen_again() {
    let token = "qk1:value;float32;Q=1x2x1x1:0,0;K=1x1x2x1:0,0;V=1x1x2x1:0,1";
    let right = smoke(Heads::Grouped).replay(token).expect("a case");
    assert_eq!(right.verdict, Verdict::Pass);
    let zero = suite(|_: &Call<'_, f32>, output: &mut [f32]| output.fill(0.0))
        .replay(token)
        .expect("a case");
    assert_eq!(zero.verdict, Verdict::Fail);
    assert!(smoke(Heads::Grouped).replay("qk1:value;float32").is_err());
}

#[test]
fn what_breaks_or_declines_is_told() {
    let breaks = |call: &Call<'_, f32>, output: &mut [f32]| {
        assert!(call.dims().n_k < 10, "no more than 10 keys");
        Ours(Heads::Grouped).attention(call, output)
    };
    let report =
        suite(breaks).suite("smoke").law("uniform-attention").check().expect("known names");
    let finding = &report.summary().findings[0];
    assert_eq!(
        (finding.verdict, &finding.cause),
        (
            Verdict::Error,
            &Cause::Broken { how: Breakage::Said("panicked: no more than 10 keys".into()) }
        )
    );

    let declines =
        |_: &Call<'_, f32>, _: &mut [f32]| Err::<(), _>(Declined::unsupported("no numbers today"));
    let report =
        suite(declines).suite("smoke").law("uniform-attention").check().expect("known names");
    assert!(!report.is_ok());
    assert!(report.to_string().contains("UNSUPPORTED no numbers today"), "{report}");

    let unwritten = |_: &Call<'_, f32>, _: &mut [f32]| {};
    let report =
        suite(unwritten).suite("smoke").law("uniform-attention").check().expect("known names");
    assert!(report.to_string().contains("got       NaN"), "{report}");
}

#[test]
fn calls_that_do_not_fit_are_asked_of_those_who_say_so() {
    let answers = |_: &Call<'_, f32>, output: &mut [f32]| output.fill(0.0);
    let of = |supports: Supports| {
        let all = suite(answers).suite("smoke").law("key-width-must-match").supports(supports);
        all.check().expect("known names").summary().counts.clone()
    };
    assert_eq!(of(Supports::default()).keys().collect::<Vec<_>>(), ["UNSUPPORTED"]);
    assert_eq!(of(Supports::default().misfits()).keys().collect::<Vec<_>>(), ["UNGUARDED"]);
}

#[test]
fn unknown_names_are_errors() {
    let error = |suite: Suite| suite.check().expect_err("an error").to_string();
    assert!(error(smoke(Heads::Grouped).suite("cor")).contains("`core`?"));
    assert!(error(smoke(Heads::Grouped).law("valu")).contains("`value`?"));
    assert!(error(smoke(Heads::Grouped).known("valu", "")).contains("`value`?"));
    assert!(error(smoke(Heads::Grouped).contract("f16")).contains("f16"));
    let twice = smoke(Heads::Grouped).and::<f32>(Ours(Heads::Grouped));
    assert!(error(twice).contains("format float32: "));
}

/// Two queries and two keys, all of width 1 and all scores 0: the output is the mean of what a
/// query sees.
const SHAPES: [[usize; 4]; 3] = [[1, 1, 2, 1], [1, 1, 2, 1], [1, 1, 2, 1]];

fn claim(output: &[f32]) -> Claim {
    Claim::new(output, &[0.0, 0.0], &[0.0, 0.0], &[1.0, 3.0], SHAPES)
}

#[test]
fn one_output_is_judged_with_every_option() {
    let check = |claim: Claim, verdict: Verdict| {
        assert_eq!(claim.judge().expect("a claim").verdict, verdict)
    };
    check(claim(&[2.0, 2.0]), Verdict::Pass);
    check(claim(&[2.0, 2.5]), Verdict::Fail);
    check(claim(&[2.0, f32::NAN]), Verdict::Fail);
    check(claim(&[1.0, 2.0]).causal(true), Verdict::Pass);
    check(claim(&[1.0, 2.0]).causal(false), Verdict::Fail);
    check(claim(&[1.0, 3.0]).mask(&[true, false, false, true]), Verdict::Pass);
    check(
        claim(&[1.0, 3.0]).bias(&[0.0f32, f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0]),
        Verdict::Pass,
    );
    check(claim(&[1.0, 1.0]).key_lengths(&[1]), Verdict::Pass);
    check(claim(&[1.0, 3.0]).window((Some(0), Some(0))), Verdict::Pass);
    // A sink of score 0 takes a third.
    check(claim(&[4.0 / 3.0, 4.0 / 3.0]).sinks(&[0.0f32]), Verdict::Pass);
    check(claim(&[2.0, 2.0]).softcap(1.0f32).scale(3.0).contract("f32"), Verdict::Pass);
    check(claim(&[2.0, 2.0, 2.0]), Verdict::Fail);
}

#[test]
fn a_claim_that_makes_no_sense_is_an_error() {
    let error = |claim: Claim| claim.judge().expect_err("an error").to_string();
    assert!(error(claim(&[2.0, 2.0]).mask(&[true; 3])).contains("mask"));
    assert!(error(claim(&[2.0, 2.0]).softcap(-1.0)).contains("a number above 0"));
    assert!(error(claim(&[2.0, 2.0]).contract("f33")).contains("f33"));
    assert!(error(claim(&[2.0, 2.0]).convention("causl=upper-left")).contains("`causal`?"));
    assert!(error(Claim::new(&[2.0f32], &[0.0], &[0.0; 2], &[1.0; 2], SHAPES)).contains("query"));
}

#[test]
fn an_assertion_says_what_is_wrong() {
    let panic = std::panic::catch_unwind(|| {
        qkvet::assert_attention!(
            [2.0f32, 2.5],
            [0.0; 2],
            [0.0; 2],
            [1.0, 3.0],
            SHAPES,
            scale = 1.0f32
        );
    });
    let panic = panic.expect_err("a panic");
    let text = panic.downcast_ref::<String>().expect("a message");
    for part in [
        "FAIL  attention",
        "at        attention(Q, K, V) at [b=0, h=0, i=1, c=0]",
        "expected  2",
        "wrong     1 of 2",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let judgment =
        qkvet::assert_attention!([2.0f32, 2.0], [0.0; 2], [0.0; 2], [1.0, 3.0], [1, 1, 2, 1]);
    assert!(judgment.is_ok() && judgment.elements == 2);
}
