"""Cases of a suite, one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import _native
from ._arguments import named, seeded, worded
from ._assert import Verdict
from ._caller import answered, bound, listed

__all__ = ["Case", "Cases", "cases", "replay"]


class Case:
    """One input for one law. The id is the hash of its content."""

    def __init__(self, native: _native.Case) -> None:
        self._native = native
        self.id: str = native.id
        self.law: str = native.law
        self.dtype: str = native.dtype

    @property
    def options(self) -> list[str]:
        """The options that are on."""
        return self._native.options

    @property
    def call(self) -> str:
        """Format, extents and options in one line."""
        return self._native.call

    @property
    def token(self) -> str | None:
        """The whole case in one line, if it is small."""
        return self._native.token

    def to_dict(self) -> dict[str, Any]:
        """The whole case."""
        return json.loads(self._native.json())

    def __repr__(self) -> str:
        return f"<qkvet.Case {self.id} {self.law}: {self.call}>"

    def judge(
        self,
        function: Callable[..., Any],
        *,
        convention: str | Iterable[str] = (),
        contract: str | Iterable[str] = (),
        **target: Any,
    ) -> Verdict:
        """The verdict on a function, which is called as the law says."""
        caller = bound(function, target)
        text = self._native.judge(answered(caller), listed(convention), listed(contract))
        return Verdict(**json.loads(text))

    def check(
        self,
        function: Callable[..., Any],
        *,
        convention: str | Iterable[str] = (),
        contract: str | Iterable[str] = (),
        **target: Any,
    ) -> Verdict:
        """Asserts that the law holds of a function; under pytest what the function declines is skipped.

        :raises AssertionError: the law is refuted, or the function broke.
        """
        __tracebackhide__ = True
        verdict = self.judge(function, convention=convention, contract=contract, **target)
        if verdict.verdict in ("UNSUPPORTED", "REFUSED"):
            from ._skip import skip

            skip(f"{verdict.verdict}: {verdict.evidence['got']['said'] if verdict.evidence else ''}")
        elif verdict.verdict not in ("PASS", "SUSPECT", "INCONCLUSIVE"):
            again = f"\n  replay    qkvet.replay(function, {self.token!r})" if self.token else ""
            raise AssertionError(f"{verdict}\n  law       {self.law}\n  case      {self.id} {self.call}{again}")
        return verdict


class Cases:
    """Cases to loop over, or, as a decorator under pytest, to run a test with: one test a case, named by law, format and id.

    `known` maps ids of cases or laws to the reason why they fail: those tests must fail, and are told when they do not.
    """

    def __init__(self, found: list[Case], known: Mapping[str, str]) -> None:
        self._found, self._known = found, known

    def __iter__(self) -> Iterator[Case]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        import pytest

        def marks(case: Case) -> list[Any]:
            reason = self._known.get(case.id, self._known.get(case.law))
            return [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)]

        found = [pytest.param(case, id=f"{case.law}-{case.dtype}-{case.id}", marks=marks(case)) for case in self]
        return pytest.mark.qkvet(pytest.mark.parametrize("case", found)(test))


@named
def cases(
    suite: str = "smoke",
    *,
    seed: int = 0,
    law: str | Iterable[str] = (),
    dtype: str | Iterable[str] = (),
    option: str | Iterable[str] = (),
    known: Mapping[str, str] | None = None,
) -> Cases:
    """The cases of a suite, the same for the same arguments on every machine; of `option`, if given, those that use all of these."""
    wanted = set(listed(option))
    if unknown := wanted - set(_native.OPTIONS):
        raise ValueError(f"option: expected one of {', '.join(_native.OPTIONS)}, got {', '.join(sorted(unknown))}")
    found = (Case(native) for native in _native.cases(worded("suite", suite), seeded(seed), listed(law), listed(dtype)))
    return Cases([case for case in found if wanted <= set(case.options)], known or {})


def replay(
    function: Callable[..., Any],
    token: str,
    *,
    convention: str | Iterable[str] = (),
    contract: str | Iterable[str] = (),
    **target: Any,
) -> Verdict:
    """The verdict on the case that a token holds."""
    return Case(_native.case_of_token(worded("token", token))).judge(function, convention=convention, contract=contract, **target)
