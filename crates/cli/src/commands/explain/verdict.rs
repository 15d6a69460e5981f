//! The words that stand before a result.

use qkvet_report::paragraph;
use qkvet_spec::Verdict;

use crate::exit::{FINDINGS, HELD, NOTHING, TARGET};

/// Words of reports and what they say.
pub(super) fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    let verdicts = Verdict::ALL.into_iter().map(|verdict| (verdict.word(), meaning(verdict)));
    verdicts.chain([
        ("CONVENTION", CONVENTION),
        ("PRECISION", PRECISION),
        ("FIXED", FIXED),
        ("UNSEEN", UNSEEN),
    ])
}

const CONVENTION: &str = "\
The target consistently follows a legitimate convention that it does not declare. One finding, however many cases show it; all else is judged under the convention.
To do: declare it with the --convention of the hint, or in qkvet.yaml; or change the target";

const PRECISION: &str = "\
The target computes in a narrower format than that of the call: every number that it returns is one of that format, and what is wrong is right under its contract. One finding, however many cases show it. Everything else is judged under that contract.
Or the softmax alone is computed in it: no fault and no formula explains what is wrong, and all of it is right under the contract that is named.
To do: declare it with the --contract of the hint, or in qkvet.yaml; or compute in the format of the call";

const FIXED: &str = "\
Of `qkvet replay`: the case showed a finding when it was stored, and what the target answers now is right.";

const UNSEEN: &str = "\
Of `qkvet replay`: the case showed a finding that comes at times alone, and did not in all the calls made now. What is wrong once in many calls may come later, so that this is no proof.
To do: check the whole suite again";

fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "\
Not refuted: every number lies within its derived bound, and within what roundings of mean zero explain. The margin is the largest error over its bound.",
        Verdict::Suspect => "\
Within the proved bound, so the contract allows it; beyond the probable one, so roundings that are independent and of mean zero would not go that far. Probable causes: a bias, a narrower format than declared, or a contract that is not the target's.
To do: declare a contract that promises more (--contract, `qkvet list contracts`): it proves the target wrong or clears it",
        Verdict::Inconclusive => "\
The data type is so coarse for these scores that the contract allows any weights, at every element. Each number is a mean of the values, as any weights give one; more was not decided. This says nothing against the target.
To do: declare a contract that promises more (--contract, `qkvet list contracts`); exact cases decide under any contract",
        Verdict::Fail => "\
Proved wrong: no implementation that keeps the contract returns this, whatever its order of summation.
To do: read the cause and the hint of the finding, and call the case again with its replay line; a contract that allows more (--contract) is right where the target computes in narrower formats on purpose",
        Verdict::Nondet => "\
The same call gave different bits the second time.
To do: look for atomic additions, uninitialized memory or state that is kept between calls",
        Verdict::Error => "\
The target raised an exception other than ValueError, TypeError, AssertionError or NotImplementedError on a valid input, or declined a call that gets a result with other numbers of the same shape, or a program answered what is not of the protocol (exit code 3).
To do: `qkvet doctor TARGET` shows the conversation and marks the first wrong field",
        Verdict::Crash => "\
The process of the target died during the call. It is started again and the run goes on.
To do: the end of its standard error stands in the finding; `qkvet replay` calls the case again",
        Verdict::Timeout => "\
The target did not answer within --timeout seconds. It is ended and started again.
To do: --timeout, if it is only slow",
        Verdict::Unguarded => "\
A call that nobody should make, such as one with more values than keys, got numbers where a refusal was due. No result of another call is wrong by it, so that it makes no run fail but a strict one (--strict).
To do: raise ValueError for calls that do not fit, if the caller does not do so already",
        Verdict::Unsupported => "\
The target does not offer what the case needs: an option that its signature lacks, a format, a size, or NotImplementedError. This is not held against it; the report counts it with its reason.
To do: `supports:` in qkvet.yaml, for a function whose signature does not show what it takes",
        Verdict::Refused => "\
The target raised ValueError, TypeError or AssertionError on a valid input, whatever the numbers in query, key and value. This is not held against it; the report counts it with its reason.",
        Verdict::Skipped => "\
Not run, or not to its end: the run was stopped before, or the output of an offline job is not there. Nothing is known of the case.",
    }
}

pub(super) fn explain_word(word: &str, text: &str) {
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word);
    say!("{} {word}\n\n{}\n", if verdict.is_some() { "verdict" } else { "word" }, paragraph(text));
    let code = match verdict {
        Some(Verdict::Error) => format!("{FINDINGS}, {TARGET} for a broken protocol"),
        Some(Verdict::Suspect | Verdict::Inconclusive) => {
            format!("{HELD}, {FINDINGS} under --strict")
        }
        Some(Verdict::Pass) => HELD.to_string(),
        Some(verdict) if !verdict.is_finding() => {
            format!("{HELD}, {NOTHING} if nothing else was checked")
        }
        None if word == "FIXED" => HELD.to_string(),
        None if word == "UNSEEN" => NOTHING.to_string(),
        _ => FINDINGS.to_string(),
    };
    say!("exit code {code}");
}
