"""The same under pytest: an assertion, and a test a case."""

import pytest
import torch

import qkvet
from attentions import modulo, right
from kernels import narrow


def tensors():
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 4, 3, 8), (1, 2, 5, 8), (1, 2, 5, 8))
    return [torch.randn(shape, generator=generator) for shape in shapes]


def test_right():
    q, k, v = tensors()
    assert qkvet.assert_attention(right(q, k, v), q, k, v).margin < 1


def test_large():
    """A large call that certainly passes is not measured; a wrong one is told like any other."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn((1, 4, 512, 16), generator=generator) for _ in range(3))
    out = right(q, k, v)
    assert qkvet.assert_attention(out, q, k, v).margin is None
    assert 0 < qkvet.judge_attention(out, q, k, v).margin < 1
    out[0, 3, 511, 15] += 1e-3
    with pytest.raises(AssertionError, match=r"\[b=0, h=3, i=511, c=15\]"):
        qkvet.assert_attention(out, q, k, v)


def test_modulo():
    q, k, v = tensors()
    qkvet.assert_attention(modulo(q, k, v), q, k, v)


@qkvet.cases("smoke", law=["uniform-attention", "value"], dtype="float32")
def test_cases_right(case):
    case.check(right)


@qkvet.cases("smoke", law="uniform-attention", dtype="float32")
def test_cases_narrow(case):
    case.check(narrow)


@qkvet.cases("smoke", law="single-key", dtype="float64", known={"single-key": "nothing is wrong with it"})
def test_known_and_right(case):
    case.check(right)


@qkvet.cases("smoke", law="single-key", dtype="float64", known={"single-key": "it adds one"})
def test_known_and_wrong(case):
    case.check(lambda query, key, value, scale=None: right(query, key, value, scale) + 1, arrays="torch")


def test_a_case_replays():
    token = "qk1:uniform-attention;float32;Q=1x2x1x1:0,0;K=1x1x1x1:0;V=1x1x1x1:1"
    assert qkvet.replay(right, token).ok
    assert qkvet.replay(lambda query, key, value: right(query, key, value) + 1, token, arrays="torch").verdict == "FAIL"
    with pytest.raises(ValueError, match="token"):
        qkvet.replay(right, "qk1:nothing")
