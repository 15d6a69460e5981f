//! The terms of reports that are no verdict, option or id.

use qkvet_report::paragraph;

/// A term, other words for it, and what it means.
pub(super) struct Term {
    pub(super) word: &'static str,
    others: &'static [&'static str],
    text: &'static str,
}

const fn term(word: &'static str, others: &'static [&'static str], text: &'static str) -> Term {
    Term { word, others, text }
}

pub(super) const GLOSSARY: [Term; 27] = [
    term(
        "again",
        &["replay"],
        "The row of a finding with the commands that call the target again on its smallest call: `qkvet replay CASE`, and a script that needs no qkvet. `qkvet replay` prints FIXED when the target is right.",
    ),
    term(
        "at",
        &["place"],
        "The row of a finding with the expression of the law, and the element of its value: [b, h, i, c] are batch item, head, row and column.",
    ),
    term(
        "bound",
        &["allowed"],
        "The largest error that rounding can cause in one number, derived from the inputs and the contract. A number further than its bound from the exact value is wrong. There is no tolerance to choose (docs/bounds.md).",
    ),
    term(
        "call",
        &["witness"],
        "The smallest call that qkvet found to show a finding: data type, sizes, options and, where they are few, the numbers. Sizes are b (batch), h_q and h_k (heads), n_q (queries), n_k (keys), d_k and d_v (widths).",
    ),
    term(
        "case",
        &["cases"],
        "One call, or a few related calls, with fixed inputs, made for one law. Its id (c-…) is a hash of its content: `qkvet replay` takes it.",
    ),
    term(
        "cause",
        &["explained"],
        "The row of a finding with the explanation: how many of the failing cases the named fault reproduces, and how many the next best one.",
    ),
    term(
        "closest",
        &["margin", "worst"],
        "The largest error among passing cases, as a share of its bound. 1 is the bound; anything above is proved wrong.",
    ),
    term(
        "command-line",
        &[],
        "`qkvet --help` lists the commands, `qkvet COMMAND --help` their flags. `qkvet explain COMMAND` and `qkvet explain --FLAG` explain one.",
    ),
    term(
        "contract",
        &[],
        "How an implementation claims to compute: the data types of sums, softmax and weights. The bound follows from it. Without --contract, qkvet assumes the most permissive contract of the data type. `qkvet list contracts` lists them.",
    ),
    term(
        "convention",
        &[],
        "A choice that is legitimate and that libraries make differently, such as the corner of the causal mask. An undeclared one is one finding; --convention declares it. `qkvet list conventions` lists them.",
    ),
    term(
        "coverage",
        &["verbose", "verdicts", "formats", "sizes"],
        "What a run checked: verdicts, data types, options, sizes, laws. `--verbose` and `qkvet report` print it.",
    ),
    term(
        "declined",
        &[],
        "Cases that the target does not support: UNSUPPORTED (a missing option, data type or size) or REFUSED (an exception). They do not fail.",
    ),
    term(
        "enclosure",
        &["interval"],
        "An interval that provably contains the exact value. Every expected number is one; `± 1e-7` is its half width.",
    ),
    term(
        "exact",
        &["exactly"],
        "In an exact case every product, sum and quotient is exact in the data type, so the contract allows no error at all.",
    ),
    term(
        "expected",
        &[],
        "The row of a finding with the exact value, and in parentheses where it comes from: the exact result of the call, or the other side of a law.",
    ),
    term(
        "fault",
        &["bug", "code"],
        "A known bug, with a code (QK221), a fix and where to look. `qkvet list faults` lists them, `qkvet explain QK221` explains one, `qkvet check builtin:fault/ID` shows what it looks like.",
    ),
    term(
        "finding",
        &["findings"],
        "One cause of wrong results, however many cases it breaks. It has a verdict, a name, the smallest call that shows it and a command to see it again (docs/findings.md).",
    ),
    term(
        "format",
        &["dtype", "dtypes"],
        "A number format (data type): float64, float32, bfloat16 or float16. --dtype chooses some.",
    ),
    term(
        "got",
        &[],
        "The row of a finding with the number that the target returned ± the error that the contract allows there.",
    ),
    term(
        "law",
        &["laws", "why"],
        "A statement that every correct implementation satisfies, such as: the weights of a query sum to one. Cases are made for laws. `qkvet list laws` lists them; docs/laws.md has the proofs.",
    ),
    term(
        "reading",
        &["weighs"],
        "The row of a finding with the keys that a query used in one of the cases, and those that it should have used.",
    ),
    term(
        "reference",
        &["standard"],
        "The exact function that results are compared with: softmax(scale · QKᵀ + bias over the visible keys) · V, with the standard conventions unless others are declared.",
    ),
    term(
        "snapshot",
        &[],
        "A file with the verdict of each case, kept under version control. `qkvet snapshot check` fails on what got worse (docs/snapshots.md).",
    ),
    term(
        "target",
        &["builtin", "exec", "lib", "onnx"],
        "The implementation under test: FILE.py:FUNCTION, MODULE:FUNCTION, exec:PROGRAM, lib:LIBRARY, onnx:MODEL, a name in qkvet.yaml, or builtin:NAME.",
    ),
    term(
        "token",
        &["qk1"],
        "A whole small case in one word (qk1:…), for a chat or a bug report. `qkvet replay TOKEN --target TARGET` runs it (docs/token.md).",
    ),
    term(
        "unchecked",
        &["not"],
        "What no case of the run tested: laws for which the target lacks an option, and what qkvet does not test at all (gradients, dropout).",
    ),
    term(
        "undecided",
        &[],
        "Cases with the verdict INCONCLUSIVE: the data type is so coarse for their scores that the contract allows any weights, at every element. What was checked is that each number is a mean of the values. A stricter contract decides more: --contract NAME, `qkvet list contracts`. --strict lets undecided cases fail.",
    ),
];

impl Term {
    /// The term of this word.
    pub(super) fn called(name: &str) -> Option<&'static Self> {
        let is = |word: &str| word.eq_ignore_ascii_case(name);
        GLOSSARY.iter().find(|one| is(one.word) || one.others.iter().any(|other| is(other)))
    }

    pub(super) fn explain(&self) {
        say!("term {}\n\n{}", self.word, paragraph(self.text));
        if !self.others.is_empty() {
            say!("\nalso      {}", self.others.join(", "));
        }
    }
}
