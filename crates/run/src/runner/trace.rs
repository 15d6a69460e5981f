//! What a finding leaves behind so that it can be seen again: the stored case, the token, the script.

use qkvet_engine::law::Judge;
use qkvet_gen::token;
use qkvet_spec::{Case, CheckedLaw, Contract, Verdict};

use super::findings::Scene;
use super::pass::{Done, Pass};
use super::store::{StoredFinding, names};
use crate::process::Limits;
use crate::python::{Arrays, Layout, PythonConfig};
use crate::repro::{Caller, ExecCaller, Ground, PythonCaller, Story, judged_calls, script};
use crate::target::TargetKind;

/// A case that shows a finding.
pub(super) struct Seen<'a> {
    pub(super) id: &'a str,
    pub(super) case: &'a Case,
    pub(super) law: &'a CheckedLaw,
    pub(super) verdict: Verdict,
    /// Title of the finding.
    pub(super) title: &'a str,
    pub(super) shown: &'a Done,
}

/// How to see it again.
pub(super) struct Trace {
    pub(super) token: Option<String>,
    /// The command.
    pub(super) replay: String,
    /// The command that needs no stored case.
    pub(super) replay_anywhere: Option<String>,
    /// Path of the script.
    pub(super) script: Option<String>,
}

/// Stores the case, writes the script, and says how to see the finding again.
pub(super) fn trace(scene: &Scene<'_, '_>, pass: &Pass<'_>, seen: &Seen<'_>) -> Trace {
    let contract = scene.config.contracts.get(&seen.case.dtype).copied();
    let token = token(seen.case);
    let replay_anywhere = token.as_ref().map(|token| command(scene, seen, contract, token));
    let finding = StoredFinding { verdict: seen.verdict, title: seen.title.to_owned() };
    let kept = match pass.store() {
        Some(store) => store.keep(seen.id, seen.case, seen.law, scene.conventions, finding),
        None => pass.lost().is_none(),
    };
    let by_id = format!("qkvet replay {}", seen.id);
    // A command that cannot work is not printed if there is one that can.
    let replay = if kept { by_id } else { replay_anywhere.clone().unwrap_or(by_id) };
    Trace { script: write_script(scene, pass, seen, contract), token, replay, replay_anywhere }
}

/// `qkvet replay 'TOKEN' --target NAME`, with every flag that the verdict depends on.
fn command(scene: &Scene<'_, '_>, seen: &Seen<'_>, contract: Option<&Contract>, token: &str) -> String {
    let target = scene.config.target;
    let mut flags = vec![("--target", target.name.clone())];
    flags.extend(names(scene.conventions).into_iter().map(|declared| ("--convention", declared)));
    let default = scene.config.catalog.default_contract(seen.case.dtype).ok();
    flags.extend(contract.filter(|one| default != Some(*one)).map(|one| ("--contract", one.contract.clone())));
    flags.extend(scene.config.catalog.law_files.get(&seen.case.law).map(|file| ("--law", file.clone())));
    if let TargetKind::Python(python) = &target.kind {
        let PythonConfig { arrays, layout, device, .. } = python.as_ref();
        let arrays = arrays.map(|arrays| match arrays {
            Arrays::Numpy => "numpy",
            Arrays::Torch => "torch",
            Arrays::Jax => "jax",
        });
        flags.extend(arrays.map(|arrays| ("--arrays", arrays.to_owned())));
        flags.extend((*layout == Layout::Bnhd).then(|| ("--layout", "bnhd".to_owned())));
        flags.extend(device.iter().map(|device| ("--device", device.clone())));
    }
    let flags: String = flags.iter().map(|(flag, value)| format!(" {flag} {}", quoted(value))).collect();
    format!("qkvet replay '{token}'{flags}")
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-./:=,+@%".contains(&c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn write_script(
    scene: &Scene<'_, '_>,
    pass: &Pass<'_>,
    seen: &Seen<'_>,
    contract: Option<&Contract>,
) -> Option<String> {
    let (store, contract) = (pass.store()?, contract?);
    let (evidence, config) = (seen.shown.evidence.as_ref()?, scene.config);
    let (current, root) = (std::env::current_dir().ok()?, store.root()?);
    let ground = Ground { current: &current, root: &root };
    let (caller, limits): (Box<dyn Caller>, &Limits) = match (&config.target.kind, pass.python()) {
        (TargetKind::Python(python), Some(info)) => {
            (Box::new(PythonCaller { config: python, info, ground }), &python.limits)
        }
        (TargetKind::Exec(exec), _) => (Box::new(ExecCaller { config: exec, ground }), &exec.limits),
        _ => return None,
    };
    let judge = Judge { meaning: scene.meaning, contract };
    let calls = judged_calls(seen.law, seen.case, judge, &seen.shown.calls).ok()?;
    let story = Story {
        case: seen.id,
        summary: qkvet_diagnose::describe_call(seen.case),
        law: seen.law,
        verdict: seen.verdict,
        title: seen.title,
        target: &config.target.name,
        conventions: names(scene.conventions),
        contract,
        evidence,
        calls: &calls,
        limit_s: limits.timeout.as_secs_f64(),
    };
    store.keep_script(seen.id, &script(&story, caller.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them() {
        assert_eq!(quoted("a/b-c.py:fn"), "a/b-c.py:fn");
        assert_eq!(quoted("my attn.py:fn"), "'my attn.py:fn'");
        assert_eq!(quoted("it's;rm"), "'it'\\''s;rm'");
        assert_eq!(quoted(""), "''");
    }
}
