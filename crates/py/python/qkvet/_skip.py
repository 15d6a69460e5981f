"""Declined cases: a skip where pytest runs, an exception of the standard library elsewhere."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["skip"]


def skip(reason: str) -> NoReturn:
    """Ends the test that runs; unittest and pytest both know the exception."""
    __tracebackhide__ = True
    pytest = sys.modules.get("pytest")
    if pytest is not None:
        pytest.skip(reason)
    import unittest

    raise unittest.SkipTest(reason)
