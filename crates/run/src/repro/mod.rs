//! A script that shows a finding without qkvet: the inputs, the expected values and their limits as
//! literals, the user's function as it is. Pure text: [`script`] is given everything and reads
//! nothing.
//!
//! The parts that do not depend on the case are Python files beside this one and those of the
//! runtime. How a target is called is said by a [`Caller`]: constants of the script, and code that
//! defines `ask(call)`.

mod calls;
pub(crate) mod literal;

pub(crate) use calls::{JudgedCall, judged_calls};

use std::path::Path;

use qkvet_engine::lowering::ResultName;
use qkvet_spec::{CheckedLaw, Contract, Evidence, Observation, Tensor, Verdict};

use literal::{Style, float, floats, list, python, shape, string, tensor};

use crate::runtime::{NUMBERS, joined};

/// A script of more bytes is written again with its arrays packed.
const READABLE_BYTES: usize = 200_000;

/// Imports of the standard library; all of them, so that the parts need not agree.
const IMPORTS: &str = include_str!("imports.py");

/// How often the calls have to be right: a target may be right at first, and wrong once it was
/// called.
const TURNS: usize = 3;

/// How often they are made where a finding comes at times alone.
const MANY_TURNS: usize = 100;

/// How tensors are sent and received.
const REQUEST: &str = include_str!("request.py");

const COMPARE: &str = include_str!("compare.py");

/// How a kind of target is called from a script.
pub(crate) trait Caller {
    /// What the script needs beside the standard library: `numpy and the function itself`.
    fn needs(&self) -> String;

    /// Whether the target runs in the process of the script, which it can then take down.
    fn is_inside(&self) -> bool;

    /// Whether the target can be put a call; one that it declined is left out.
    fn takes(&self, _call: &qkvet_spec::Call) -> bool {
        true
    }

    /// Assignments, one a line: where the target is.
    fn constants(&self) -> String;

    /// The options of a call as `(name, literal)` of what `ask` reads from `call["options"]`.
    fn options(&self, call: &qkvet_spec::Call, style: Style) -> Vec<(String, String)> {
        literal::options(call, style)
    }

    /// Parts of the code that defines `start()`, which makes the target ready, and `ask(call)`,
    /// which gives the results by name as `(format, shape, numbers)`, and `changed`: whether the
    /// inputs have other bits afterwards. What the target raises is passed on.
    fn ask(&self) -> Vec<&'static str>;
}

/// Where a script lies and where paths are relative to.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// The current folder.
    pub(crate) current: &'a Path,
    /// The folder that the script lies two folders below.
    pub(crate) root: &'a Path,
}

impl Ground<'_> {
    /// An expression for a path: relative to the script where it lies below its root.
    pub(crate) fn path(&self, path: &Path) -> String {
        let absolute = self.current.join(path);
        match absolute.strip_prefix(self.root) {
            Ok(inside) => {
                let parts: Vec<String> =
                    inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                let inside = [vec!["..".to_owned(); 2], parts].concat().join("/");
                format!(
                    "os.path.join(os.path.dirname(os.path.abspath(__file__)), {})",
                    string(&inside)
                )
            }
            Err(_) => string(&absolute.to_string_lossy()),
        }
    }
}

/// Everything that a script tells.
pub(crate) struct Story<'a> {
    /// Case id.
    pub(crate) case: &'a str,
    /// The call in one line.
    pub(crate) summary: String,
    /// The law.
    pub(crate) law: &'a CheckedLaw,
    /// Verdict of the finding.
    pub(crate) verdict: Verdict,
    /// Title of the finding.
    pub(crate) title: String,
    /// Whether the case shows it at times alone.
    pub(crate) is_fleeting: bool,
    /// The target as the user wrote it.
    pub(crate) target: &'a str,
    /// Conventions that it was judged under.
    pub(crate) conventions: Vec<String>,
    /// The contract that it was judged by.
    pub(crate) contract: &'a Contract,
    /// What was seen.
    pub(crate) evidence: &'a Evidence,
    /// The calls of the law on the case.
    pub(crate) calls: &'a [JudgedCall],
    /// Seconds after which a call has not answered.
    pub(crate) limit_s: f64,
}

/// The script of a finding. It ends with 1 while the finding is there and with 0 when it is not;
/// with 4 where one that comes at times alone did not come.
pub(crate) fn script(story: &Story<'_>, caller: &dyn Caller) -> String {
    let readable = written(story, caller, Style::Decimals);
    if readable.len() <= READABLE_BYTES { readable } else { written(story, caller, Style::Packed) }
}

fn written(story: &Story<'_>, caller: &dyn Caller, style: Style) -> String {
    let taken = story.calls.iter().filter(|judged| caller.takes(&judged.call));
    let calls: String = taken.map(|call| call_literal(story, call, caller, style)).collect();
    [
        header(story, caller).as_str(),
        "\n",
        IMPORTS,
        "\n",
        &constants(story, caller),
        &caller.constants(),
        &format!("CALLS = [\n{calls}]\n\n# The rest does not depend on the case.\n\n"),
        &joined(&[&caller.ask()[..], &[NUMBERS, REQUEST, COMPARE]].concat()),
    ]
    .concat()
}

/// Comments: what was found, by which law, and how to use the script.
fn header(story: &Story<'_>, caller: &dyn Caller) -> String {
    let law = &story.law.law;
    let mut lines = vec![
        format!("{}  {}", story.verdict, story.title),
        String::new(),
        format!("  case      {}: {}", story.case, story.summary),
        format!("  law       {}: {}", law.law, law.title),
    ];
    lines.extend(
        law.given.iter().map(|(name, domain)| format!("            given {name}: {}", domain.text)),
    );
    lines.extend(
        law.lets.iter().map(|(name, value)| format!("            let {name} = {}", value.text)),
    );
    lines.extend(law.expect.iter().map(|expect| format!("            {}", expect.text)));
    let observed = law.observe.map(|observation| match observation {
        Observation::InputsUnchanged => {
            "the inputs of attention(Q, K, V) have the same bits after the call"
        }
        Observation::Refused => {
            "attention(Q, K, V) is an error, for its tensors do not fit together"
        }
    });
    lines.extend(observed.map(|observed| format!("            {observed}")));
    lines.push(format!("  target    {}", story.target));
    lines.push(format!("  contract  {}", story.contract.contract));
    if !story.conventions.is_empty() {
        lines.push(format!("  declared  {}", story.conventions.join(", ")));
    }
    lines.extend([
        String::new(),
        format!("Written by qkvet, which it does not need; it needs {}.", caller.needs()),
        if story.is_fleeting {
            "Ends with 1 where this fails again, with 4 where it does not, which proves nothing; with 2 where the target cannot be loaded."
        } else {
            "Ends with 1 while this fails, with 0 when it no longer does, with 2 where the target cannot be loaded."
        }
        .to_owned(),
        "Every `expected` is the exact result up to an error that is part of `allowed`; the rest of `allowed` is the"
            .to_owned(),
        "proved limit of an implementation in these formats. Each decimal reads back to the number that it stands for."
            .to_owned(),
    ]);
    let comment = |line: &String| {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("# {line}").trim_end().to_owned() + "\n"
    };
    lines.iter().map(comment).collect()
}

fn constants(story: &Story<'_>, caller: &dyn Caller) -> String {
    let limit =
        if story.verdict == Verdict::Timeout { float(story.limit_s) } else { "None".to_owned() };
    let evidence = story.evidence;
    let relation = if only_relation(story) {
        format!(
            "({}, {}, {})",
            string(&evidence.format_place().to_string()),
            string(&evidence.format_expected().to_string()),
            string(&evidence.format_got().to_string())
        )
    } else {
        "None".to_owned()
    };
    let format = story.calls.first().map_or("", |call| call.call.dtype().name());
    let refusal = if story.law.law.observe == Some(Observation::Refused) {
        string(&evidence.format_expected().to_string())
    } else {
        "None".to_owned()
    };
    format!(
        "CASE = {}\nTITLE = {}\nLAW = {}\nVERDICT = {}\nFORMAT = {}\nLIMIT = {limit}\nGUARDED = {}\nREPEATS = {}\nTURNS = {}\nREFUSAL = {refusal}\nRELATION = {relation}\n",
        string(story.case),
        string(&story.title),
        string(&story.law.law.law),
        string(story.verdict.word()),
        string(format),
        python(story.verdict == Verdict::Crash && caller.is_inside()),
        python(story.verdict == Verdict::Nondet),
        if story.is_fleeting { MANY_TURNS } else { TURNS },
    )
}

/// Whether every value lies within its bound and the law alone is broken: then the results
/// themselves are the evidence.
fn only_relation(story: &Story<'_>) -> bool {
    story.verdict == Verdict::Fail
        && story.evidence.relation
        && story.calls.iter().all(|call| call.holds)
}

fn call_literal(
    story: &Story<'_>,
    judged: &JudgedCall,
    caller: &dyn Caller,
    style: Style,
) -> String {
    let call = &judged.call;
    let mut out = format!("    {{\n        \"label\": {},\n", string(&judged.label));
    if judged.strided {
        out += "        \"strided\": True,  # views: the axes lie in another order in memory\n";
    }
    for (name, one) in [("query", &call.query), ("key", &call.key), ("value", &call.value)] {
        out += &format!("        \"{name}\": {},\n", tensor(one, style));
    }
    let results = [("weights", call.return_weights), ("lse", call.return_lse)];
    let want = results.iter().filter_map(|(name, on)| on.then_some(*name));
    out += &format!("        \"want\": {},\n", list(std::iter::once("output").chain(want)));
    let options: Vec<String> = caller
        .options(call, style)
        .iter()
        .map(|(name, literal)| format!("            {}: {literal},\n", string(name)))
        .collect();
    out += &if options.is_empty() {
        "        \"options\": {},\n".to_owned()
    } else {
        format!("        \"options\": {{\n{}        }},\n", options.concat())
    };
    out += "        \"results\": [\n";
    let keeps = only_relation(story);
    for result in &judged.results {
        let name = result.want.name();
        // One number a query has no last axis.
        let n_axes = if result.want == ResultName::Lse { 3 } else { 4 };
        out += &format!(
            "            {{\n                \"name\": \"{name}\",\n                \"label\": {},\n                \"shape\": {},\n                \"expected\": {},\n                \"allowed\": {},\n",
            string(&result.label),
            shape(&result.expected.shape[..n_axes]),
            floats(result.expected.exact.iter().map(|ball| ball.mid), style),
            floats(result.allowed.iter().copied(), style),
        );
        if keeps {
            let got: &[f64] = result.got.as_ref().map_or(&[], |got: &Tensor| &got.data);
            out +=
                &format!("                \"recorded\": {},\n", floats(got.iter().copied(), style));
        }
        out += "            },\n";
    }
    out + "        ],\n    },\n"
}

#[cfg(test)]
mod rerun;
