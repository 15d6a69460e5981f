"""A project that knows nothing of qkvet, with everything that a run can print."""

import unittest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(params=["a", "b"])
def letter(request):
    return request.param


@pytest.mark.parametrize("n", range(3))
def test_parameters(n, letter):
    assert n < 2, letter


@pytest.mark.skip(reason="not now")
def test_skipped():
    raise AssertionError


@pytest.mark.xfail(reason="known")
def test_known():
    raise AssertionError("known")


@pytest.mark.xfail
def test_passes_unexpectedly(capsys):
    print("said")


def test_long_difference():
    assert {"query": list(range(9)), "key": "k" * 40} == {"query": list(range(8)), "key": "k" * 41}


def test_breaks():
    {}["missing"]


class TestOld(unittest.TestCase):
    def test_subtests(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertLess(n, 3)

    def test_equal(self):
        self.assertEqual([1, 2, 3], [1, 2, 4])


def test_warns():
    import warnings

    warnings.warn("mind this", stacklevel=1)


def test_deselected():
    raise AssertionError


@settings(database=None, derandomize=True)
@given(xs=st.lists(st.integers(), min_size=1), scale=st.floats(allow_nan=False))
def test_falsified(xs, scale):
    """An example that Hypothesis shrinks and prints, with its numbers in full."""
    assert sum(xs) * scale < 1e6, (xs, scale)
