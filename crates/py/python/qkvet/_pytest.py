"""The pytest plugin: inert until `--qkvet-target` names a function. Only the standard library is loaded before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._case import Case

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
    group.addoption("--qkvet-layout", choices=("bhnd", "bnhd"), default="bhnd", help="order of the axes (bhnd)")
    group.addoption(
        "--qkvet-known", metavar="FILE", help="lines `LAW REASON` or `CASE REASON` of what is known to fail, and must"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "qkvet: a test on cases of qkvet")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    name = config.getoption("--qkvet-target")
    if name is None:
        return
    from ._case import cases

    try:
        function = _load(name)
        known = _known(config.getoption("--qkvet-known"))
        found = cases(
            config.getoption("--qkvet-suite"),
            seed=config.getoption("--qkvet-seed"),
            law=config.getoption("--qkvet-law"),
            dtype=config.getoption("--qkvet-dtype"),
        )
    except (ValueError, OSError) as error:
        raise pytest.UsageError(f"--qkvet-target {name}: {error}") from None
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in found:
        groups.setdefault((case.law, case.dtype), []).append(case)
    for (law, dtype), members in groups.items():
        # Ids are those of laws and formats: the same on every worker of xdist, and from one run to the next.
        node = f"qkvet::{law}::{dtype}"
        items.append(Group.from_parent(session, name=node, nodeid=node, call=(function, members), known=known))


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


def _known(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        lines = [line.split(maxsplit=1) for line in file if line.strip() and not line.startswith("#")]
    return {parts[0]: parts[1].strip() if len(parts) > 1 else "known" for parts in lines}


class Group(pytest.Item):
    """The cases of one law in one format."""

    def __init__(self, *, call: tuple[Callable[..., Any], Sequence[Case]], known: dict[str, str], **kw: Any) -> None:
        super().__init__(**kw)
        self._function, self._cases = call
        self._known = known
        self.add_marker("qkvet")
        if self._cases[0].law in known:
            reason = known[self._cases[0].law]
            self.add_marker(pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError))

    def runtest(self) -> None:
        option = self.config.getoption
        target = {name: option(f"--qkvet-{name}") for name in ("arrays", "device", "layout")}
        declared = {"convention": option("--qkvet-convention"), "contract": option("--qkvet-contract")}
        wrong: list[AssertionError] = []
        declined: list[str] = []
        for case in self._cases:
            try:
                case.check(self._function, **declared, **target)
                if case.id in self._known:
                    wrong.append(AssertionError(f"{case.id} is known to fail ({self._known[case.id]}) and does not"))
            except pytest.skip.Exception as reason:
                declined.append(str(reason.msg))
            except AssertionError as error:
                if case.id not in self._known:
                    wrong.append(error)
                    self.user_properties.append(("qkvet_case", case.id))
        if wrong:
            raise AssertionError(f"{len(wrong)} of {len(self._cases)} cases\n{wrong[0]}")
        if len(declined) == len(self._cases):
            pytest.skip(declined[0])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.config.rootpath, None, self.name
