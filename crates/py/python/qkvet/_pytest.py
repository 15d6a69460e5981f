"""The pytest plugin: inert until `--qkvet-target` names a function. Only the standard library is loaded before."""

from __future__ import annotations

import datetime
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("qkvet", "attention, vetted with certified bounds")
    group.addoption("--qkvet-target", metavar="MODULE:FUNCTION", help="check this function, or path/file.py:function")
    group.addoption("--qkvet-suite", default="smoke", metavar="SUITE", help="suite of cases (smoke)")
    group.addoption("--qkvet-seed", default=0, type=int, metavar="N", help="seed of the suite (0)")
    for name, what in (
        ("law", "only this law"),
        ("dtype", "only this format"),
        ("convention", "declare field=value"),
        ("contract", "judge by this contract"),
    ):
        group.addoption(f"--qkvet-{name}", action="append", default=[], metavar=name.upper(), help=what)
    group.addoption("--qkvet-arrays", choices=("numpy", "torch", "jax"), help="library of the arrays")
    group.addoption("--qkvet-device", metavar="DEVICE", help="device of torch and jax arrays, such as cuda:0")
    group.addoption("--qkvet-layout", choices=("bhnd", "bnhd", "bnd", "nd"), help="order of the axes (found by a call)")
    group.addoption(
        "--qkvet-known", metavar="FILE", help="known deviations (qkvet.known.yaml beside qkvet.yaml, or here or above)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "qkvet: a test on cases of qkvet")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    name = config.getoption("--qkvet-target")
    if name is None:
        return
    from . import _native
    from ._case import cases

    try:
        function = _load(name)
        known = _known(config)
        found = cases(
            config.getoption("--qkvet-suite"),
            seed=config.getoption("--qkvet-seed"),
            law=config.getoption("--qkvet-law"),
            dtype=config.getoption("--qkvet-dtype"),
        )
        formats = sorted({case.dtype for case in found})
        _native.declared(formats, config.getoption("--qkvet-convention"), config.getoption("--qkvet-contract"))
    except (ValueError, OSError) as error:
        raise pytest.UsageError(f"--qkvet-target {name}: {error}") from None
    for law, dtype in dict.fromkeys((case.law, case.dtype) for case in found):
        # Ids are those of laws and formats: the same on every worker of xdist, and from one run to
        # the next.
        node = f"qkvet::{law}::{dtype}"
        items.append(
            Group.from_parent(session, name=node, nodeid=node, function=function, law=law, dtype=dtype, known=known)
        )


def _load(name: str) -> Callable[..., Any]:
    from ._caller import source

    place, _, function = name.removeprefix("python:").rpartition(":")
    if not place:
        raise ValueError("expected module:function or path/file.py:function")
    key = "file" if place.endswith(".py") else "module"
    try:
        module, _ = source.load_module({"target": {key: place}})
        return source.find_function(module, function)
    except source.LoadError as error:
        raise ValueError(f"{error.message}\nhint: {error.hint}" if error.hint else error.message) from None


def _known(config: pytest.Config) -> str | None:
    """The file of known deviations, if there is one that can be read."""
    from . import _native

    given = config.getoption("--qkvet-known")
    # Nobody expects a failure under --runxfail.
    if config.getoption("runxfail", False):
        return None
    if given is None:
        found = _native.find_known(config.getoption("--qkvet-target"), os.getcwd())
        given = None if found is None else str(found)
    if given is not None:
        _native.read_known(given)
    return given


def _outcome(config: pytest.Config, parts: list[str], known: str | None) -> dict[str, Any]:
    from . import _native

    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return json.loads(_native.outcome(config.getoption("--qkvet-target"), parts, known, today))


class Group(pytest.Item):
    """The cases of one law in one format. What is wrong and known is an expected failure."""

    def __init__(self, *, function: Callable[..., Any], law: str, dtype: str, known: str | None, **kw: Any) -> None:
        super().__init__(**kw)
        self._function, self._law, self._dtype, self._known = function, law, dtype, known
        self.part: str | None = None
        self.add_marker("qkvet")

    def runtest(self) -> None:
        from ._check import check

        option = self.config.getoption
        target = {name: option(f"--qkvet-{name}") for name in ("arrays", "device", "layout")}
        declared = {"convention": option("--qkvet-convention"), "contract": option("--qkvet-contract")}
        report = check(
            self._function,
            option("--qkvet-suite"),
            seed=option("--qkvet-seed"),
            law=self._law,
            dtype=self._dtype,
            **declared,
            **target,
        )
        self.part = json.dumps(report.to_dict())
        found = _outcome(self.config, [self.part], self._known)
        if found["wrong"]:
            self.user_properties.extend(("qkvet_case", case) for case in found["ids"])
            told = "\n".join(found["findings"])
            raise AssertionError(f"{found['wrong']} of {found['cases']} cases\n{told}")
        if found["settled"]:
            pytest.xfail("; ".join(found["settled"]))
        if found["declined"] is not None:
            pytest.skip(found["declined"])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.config.rootpath, None, self.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if isinstance(item, Group) and call.when == "call" and item.part is not None:
        # xdist takes it to the process that sees all parts.
        report.qkvet_part = item.part
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    part = getattr(report, "qkvet_part", None)
    if part is not None:
        _parts.append(part)


_parts: list[str] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Any:
    """When all parts are there: an entry of the known deviations that is gone, expired or about nothing fails, as a test of its own, and
    so does a target that declined everything."""
    _parts.clear()
    result = yield
    config = session.config
    if config.getoption("--qkvet-target") is None or hasattr(config, "workerinput") or not _parts:
        return result
    known = _known(config)
    found = _outcome(config, _parts, known)
    wrong = {
        f"qkvet::known::{number}": f"STALE  {text}\n  an entry of {known}"
        for number, text in enumerate(found["stale"] if known is not None else (), 1)
    }
    if found["declined"] is not None:
        wrong["qkvet::checked"] = f"nothing was checked: {found['declined']}"
    for node, told in wrong.items():
        for when, outcome in (("setup", "passed"), ("call", "failed"), ("teardown", "passed")):
            report = pytest.TestReport(
                nodeid=node,
                location=(str(known or node), None, node),
                keywords={},
                outcome=outcome,
                longrepr=told if when == "call" else None,
                when=when,
            )
            config.hook.pytest_runtest_logreport(report=report)
    return result
