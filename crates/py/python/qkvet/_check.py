"""A suite on a function of this process, and what the function computes."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import _native
from ._arguments import named, seeded, worded
from ._caller import answered, bound, info_of, listed, name_of

__all__ = ["Finding", "Probe", "Proof", "Report", "check", "probe", "prove"]

_WRONG = ("FAIL", "NONDET", "ERROR", "CRASH", "TIMEOUT")
_CHECKED = (*_WRONG, "PASS", "SUSPECT", "INCONCLUSIVE")


@dataclass(frozen=True)
class Finding:
    """One cause, however many cases it broke."""

    title: str
    verdict: str
    law: str
    cases: int
    cause: str | None
    hint: str | None
    place: str
    expected: str
    got: str
    witness: dict[str, Any]
    evidence: dict[str, Any]
    replay: str


class Report:
    """What a run found. `counts` holds the cases of each verdict; a run that checked nothing is not `ok`."""

    def __init__(self, summary: dict[str, Any], text: str) -> None:
        self._summary, self._text = summary, text
        self.counts: dict[str, int] = summary["counts"]
        self.findings: list[Finding] = [_finding(one) for one in summary["findings"]]

    @property
    def ok(self) -> bool:
        """Whether something was checked and everything checked held; calls that should have been refused (UNGUARDED) apart."""
        checked = any(self.counts.get(word) for word in _CHECKED)
        failing = any(one.verdict in _WRONG for one in self.findings)
        return checked and not failing and not any(self.counts.get(word) for word in _WRONG)

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """The report of `qkvet check --format json`."""
        return self._summary

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        words = ", ".join(f"{word} {n}" for word, n in self.counts.items())
        return f"<qkvet.Report {len(self.findings)} findings: {words}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{word}</th><td>{n}</td></tr>" for word, n in self.counts.items())
        found = "".join(
            f"<li><b>{html.escape(one.verdict)}</b> {html.escape(one.title)}<br>"
            f"{one.cases} cases, {html.escape(one.cause or 'no known cause')}<br>"
            f"<code>{html.escape(one.place)}</code>: expected {html.escape(one.expected)}, "
            f"got {html.escape(one.got)}<br><code>{html.escape(one.replay)}</code></li>"
            for one in self.findings
        )
        return f"<table>{rows}</table><ol>{found}</ol>"


def _finding(one: dict[str, Any]) -> Finding:
    return Finding(
        title=one["sentences"]["title"],
        place=one["sentences"]["place"],
        expected=one["sentences"]["expected"],
        got=one["sentences"]["got"],
        verdict=one["verdict"],
        law=one["law"],
        cases=one["cases"],
        cause=one["sentences"].get("cause"),
        hint=one["sentences"].get("hint"),
        witness=one["witness"],
        evidence=one["evidence"],
        replay=one["replay"],
    )


@named
def check(
    function: Callable[..., Any],
    suite: str = "smoke",
    *,
    seed: int = 0,
    dtype: str | Iterable[str] = (),
    law: str | Iterable[str] = (),
    convention: str | Iterable[str] = (),
    contract: str | Iterable[str] = (),
    fail_fast: bool = False,
    arrays: str | None = None,
    device: str | None = None,
    layout: str | None = None,
    supports: Iterable[str] | None = None,
    mask_takes_bias: bool = False,
) -> Report:
    """Runs a suite on a function, in this process.

    The function takes `query, key, value` by position and options by the names of its signature. A crash ends this process:
    `qkvet check module:function` runs it in one of its own. `arrays` is `numpy`, `torch` or `jax`, by default what the
    function's module uses.

    :raises ValueError: an unknown name, or a function that cannot be called so.
    """
    caller = bound(function, target_options(arrays, device, layout, supports, mask_takes_bias))
    summary, text = _native.check(
        answered(caller),
        name_of(function),
        info_of(caller),
        worded("suite", suite),
        seeded(seed),
        listed(law),
        listed(dtype),
        listed(convention),
        listed(contract),
        fail_fast,
    )
    return Report(json.loads(summary), text)


@dataclass(frozen=True)
class Probe:
    """What a function computes, recovered from its outputs. `conventions` are those that it follows, `field=value`."""

    conventions: list[str]
    summary: dict[str, Any]
    text: str
    yaml: str

    def __str__(self) -> str:
        return self.text


@named
def probe(
    function: Callable[..., Any],
    *,
    dtype: str = "float32",
    convention: str | Iterable[str] = (),
    contract: str | Iterable[str] = (),
    arrays: str | None = None,
    device: str | None = None,
    layout: str | None = None,
    supports: Iterable[str] | None = None,
    mask_takes_bias: bool = False,
) -> Probe:
    """Asks a function what tells the values of each choice apart. It proposes; it excuses nothing."""
    caller = bound(function, target_options(arrays, device, layout, supports, mask_takes_bias))
    summary, text, yaml = _native.probe(
        answered(caller), name_of(function), info_of(caller), worded("dtype", dtype), listed(convention), listed(contract)
    )
    found = json.loads(summary)
    conventions = [f"{one['field']}={one['value']}" for one in found.get("conventions", [])]
    return Probe(conventions=conventions, summary=found, text=text, yaml=yaml)


def target_options(
    arrays: str | None, device: str | None, layout: str | None, supports: Iterable[str] | None, mask_takes_bias: bool
) -> dict[str, Any]:
    """How a function is called."""
    return {
        "arrays": arrays,
        "device": device,
        "layout": layout,
        "supports": None if supports is None else listed(supports),
        "mask_takes_bias": mask_takes_bias,
    }


@dataclass(frozen=True)
class Proof:
    """What is known of a law: `status` is `proved`, `proved-small`, `definition`, `checked`, `refuted` or `unknown`."""

    law: str
    title: str
    statement: str
    status: str
    method: str
    steps: list[dict[str, str]]
    counterexample: str | None
    reason: str | None

    def __str__(self) -> str:
        lines = [f"{self.law}: {self.status} ({self.method})", self.title, "", self.statement, ""]
        lines += [f"  {one['relation']} {one['text']}    {one['reason']}".rstrip() for one in self.steps]
        return "\n".join([*lines, *filter(None, (self.counterexample, self.reason))])


@named
def prove(law: str) -> Proof:
    """Proves a law by the method that its file names, or refutes it, or says why neither."""
    return Proof(**json.loads(_native.prove(worded("law", law))))
