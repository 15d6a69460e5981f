//! Stand-in for the engine's certified digits.
use std::fmt;
use std::str::FromStr;

use qkvet_engine::interpret::interpret;
use qkvet_engine::lowering::Want;
use qkvet_spec::{Call, Contract, Dtype, Meaning};

#[derive(Clone, Debug, PartialEq)]
pub struct Decimal(String);
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DigitsError(String);
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub shape: [usize; 4],
    pub values: Vec<Decimal>,
}
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl FromStr for Decimal {
    type Err = DigitsError;
    fn from_str(s: &str) -> Result<Self, DigitsError> {
        s.parse::<f64>().map(|x| Self(format!("{x:?}"))).map_err(|e| DigitsError(e.to_string()))
    }
}
impl Decimal {
    pub fn to_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}
pub fn answer(meaning: &Meaning, call: &Call, digits: u32) -> Result<Answer, DigitsError> {
    let contract = Contract {
        contract: String::new(),
        title: String::new(),
        dtype: Dtype::Float64,
        default: true,
        dot: Dtype::Float64,
        softmax: Dtype::Float64,
        input_roundings: 0,
        score_roundings: 0,
        weights: Dtype::Float64,
        exp_error: 8,
        tile: Some(16),
        merges: true,
        about: String::new(),
    };
    let expected = interpret(meaning, call, &contract, Want::Output);
    let digits = digits as usize;
    let values = expected.exact.iter().map(|ball| format!("{:.*e}", digits - 1, ball.mid).parse());
    Ok(Answer { shape: expected.shape, values: values.collect::<Result<_, _>>()? })
}
pub fn answer_bounds(meaning: &Meaning, call: &Call, contract: &Contract, answer: &Answer) -> Vec<f64> {
    let expected = interpret(meaning, call, contract, Want::Output);
    let all = expected.exact.iter().zip(&expected.hard).zip(&answer.values);
    all.map(|((ball, hard), decimal)| {
        let error = (ball.mid - decimal.to_f64()).abs() + ball.rad;
        let x = (hard + error) * 1.005;
        if x == 0.0 || x.is_infinite() { x } else { format!("{x:.2e}").parse().unwrap_or(f64::INFINITY) }
    })
    .collect()
}
