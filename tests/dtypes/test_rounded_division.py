"""`div` with `rounding_mode`, as a function, a method and in place."""

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
def test_quotients_are_rounded_on_request(dtype: str) -> None:
    a, b = np.array([7, -7, 8, -128], dtype), np.array([2, 2, -3, 3], dtype)
    floor, trunc = np.floor_divide(a, b), np.trunc(a / b).astype(dtype)
    for mode, expected in (("floor", floor), ("trunc", trunc)):
        changed = fg.tensor(a)
        assert changed.div_(b, rounding_mode=mode) is changed
        for found in (
            fg.div(a, b, rounding_mode=mode),
            fg.div(input=fg.tensor(a), other=b, rounding_mode=mode),
            fg.tensor(a).div(fg.tensor(b), rounding_mode=mode),
            fg.compile(lambda x, m=mode: x.div(fg.tensor(b), rounding_mode=m))(fg.tensor(a)),
            changed,
        ):
            np.testing.assert_array_equal(found.numpy(), expected)
            assert found.dtype == dtype


def test_without_a_mode_it_is_the_quotient() -> None:
    x = fg.ones(3, requires_grad=True)
    x.div(2).sum().backward()
    assert x.grad.tolist() == [0.5] * 3
    assert fg.div(fg.ones(2), b=4).tolist() == [0.25, 0.25]
    assert fg.ones(2).div_(4, rounding_mode=None).tolist() == [0.25, 0.25]
    x = fg.ones(3, requires_grad=True)
    x.div(2, rounding_mode="trunc").sum().backward()
    assert x.grad.tolist() == [0.0] * 3
    out = fg.zeros(2)
    assert fg.div(fg.ones(2), 0.4, rounding_mode="trunc", out=out) is out
    assert out.tolist() == [2.0, 2.0]


def test_another_mode_is_an_error() -> None:
    for call in (fg.div, fg.Tensor.div, fg.Tensor.div_):
        with pytest.raises(ArgumentError, match="rounding_mode is 'up'; give \"floor\""):
            call(fg.ones(2), 2, rounding_mode="up")
