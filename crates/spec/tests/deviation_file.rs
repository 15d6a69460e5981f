//! Files of deviations are read and written.

use qkvet_spec::*;

#[test]
fn a_file_is_read_as_it_was_written() {
    let when = IndexExpr::new("not causal and n_k % 4 == 0").expect("a condition");
    let formula = |twist: Twist| SavedDeviation {
        fault: None,
        formula: Some(DeviationFormula {
            twist: Some(twist),
            result: Some(ResultName::Lse),
            ..DeviationFormula::default()
        }),
        when: Some(when.clone()),
    };
    let cells = IndexExpr::new("i < j").expect("cells");
    let fault = SavedDeviation { fault: Some("x".to_owned()), formula: None, when: None };
    let factors = [0.1, 1.0 / 3.0, -0.0, 1e-300, 5e-324, 1.797_693_134_862_315_7e308, 3.0];
    let times = factors.map(|factor| formula(Twist::OutputTimes { factor }));
    let others = [
        formula(Twist::Softcap { form: SoftcapForm::Clamped }),
        formula(Twist::Logits { form: LogitForm::Clipped { limit: -100.0 } }),
        formula(Twist::OutputWhere { cells, value: 0.25 }),
        formula(Twist::Stub { form: StubForm::MeanOfValues }),
    ];
    let deviations = [fault].into_iter().chain(times).chain(others).collect();
    let file = DeviationFile { deviations };
    let text = file.to_yaml().expect("a text");
    assert_eq!(DeviationFile::from_yaml("it.yaml", &text).expect("a file"), file, "{text}");
}
