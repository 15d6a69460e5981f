//! What a target computes in place of attention, as a file that it is held against.

use qkvet_spec::{
    Cause, DeviationFile, Finding, SavedDeviation, Standing, Summary, Unexpected, Verdict,
};

use crate::text::{count, visible_line};
use crate::words::title;

/// The file, and how many findings it has nothing of; `None` if that is all of them.
///
/// # Errors
/// None in practice.
pub fn deviation_file(summary: &Summary) -> Result<(Option<String>, usize), Unexpected> {
    // What is answered that should be refused is no other result of a call of attention.
    let wrong = || summary.findings.iter().filter(|one| one.verdict != Verdict::Unguarded);
    let said: Vec<(&Finding, Vec<SavedDeviation>)> = wrong()
        .map(|finding| (finding, deviations(&finding.cause)))
        .filter(|(_, deviations)| !deviations.is_empty())
        .collect();
    let unnamed = wrong().count() - said.len();
    if said.is_empty() {
        return Ok((None, unnamed));
    }
    let of = summary.checked();
    let target = visible_line(&summary.run.target);
    let mut text =
        format!("# What {target} computes in place of attention, by {} cases:\n", count(of));
    for (finding, _) in &said {
        text += &format!("# - {}\n", visible_line(&title(finding)));
    }
    let deviations = said.into_iter().flat_map(|(_, deviations)| deviations).collect();
    Ok((Some(text + &DeviationFile { deviations }.to_yaml()?), unnamed))
}

/// What a cause says that is computed.
fn deviations(cause: &Cause) -> Vec<SavedDeviation> {
    match cause {
        // What right results speak against is not what is computed.
        Cause::Faults { faults, contradicted: 0, .. } => {
            let of =
                |id: &String| SavedDeviation { fault: Some(id.clone()), formula: None, when: None };
            faults.iter().map(|fault| of(&fault.fault)).collect()
        }
        Cause::Deviation { deviation, .. } if deviation.standing == Standing::Named => {
            vec![SavedDeviation {
                fault: None,
                formula: Some(deviation.formula.clone()),
                when: deviation.when.clone(),
            }]
        }
        _ => Vec::new(),
    }
}
