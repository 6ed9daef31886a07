"""PyTorch's methods that change their tensor.

The names, values and derivatives of those in Python.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

A, B = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([[2.0, 2.0], [-1.0, 0.5]])
STACK = np.arange(12.0).reshape(3, 2, 2) / 10
COMPARED = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
COMPARED |= {"eq": np.equal, "ne": np.not_equal, "less": np.less, "greater": np.greater}
COMPARED |= {"less_equal": np.less_equal, "greater_equal": np.greater_equal}
COMPARED |= {"not_equal": np.not_equal}

#: What the method does, and the value in NumPy.
CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "addmm_": (lambda x: x.addmm_(B, A, beta=2.0, alpha=0.5), 2 * A + 0.5 * B @ A),
    "addmv_": (lambda x: x[0].clone().addmv_(B, A[1]), A[0] + B @ A[1]),
    "addr_": (lambda x: x.addr_(A[0], B[1]), A + np.outer(A[0], B[1])),
    "addbmm_": (lambda x: x.addbmm_(STACK, STACK), A + (STACK @ STACK).sum(0)),
    "baddbmm_": (lambda x: fg.stack([x] * 3).baddbmm_(STACK, STACK), A + STACK @ STACK),
    "renorm_": (lambda x: x.renorm_(2, 0, 1.0), A / (np.linalg.norm(A, axis=1)[:, None] + 1e-7)),
    "clamp_min_": (lambda x: x.clamp_min_(0.75), np.maximum(A, 0.75)),
    "clamp_max_": (lambda x: x.clamp_max_(0.75), np.minimum(A, 0.75)),
    "ldexp_": (lambda x: x.ldexp_(fg.tensor(2)), A * 4),
    "float_power_": (lambda x: x.float_power_(2), A**2),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_value_and_the_derivative(name: str) -> None:
    call, expected = CALLS[name]
    x = fg.tensor(A, requires_grad=True)
    found = call(x * 1)
    np.testing.assert_allclose(found.detach(), expected)
    fg.gradcheck(lambda x: call(x * 1), (x,))
    y = fg.tensor(A)
    assert call(y) is y or name in ("addmv_", "baddbmm_")


@pytest.mark.parametrize("name", COMPARED)
def test_a_comparison_keeps_the_dtype(name: str) -> None:
    for dtype in ("float32", "int64", "bool"):
        x = fg.tensor(A.astype(dtype))
        assert getattr(x, f"{name}_")(B.astype(dtype)) is x
        expected = COMPARED[name](A.astype(dtype), B.astype(dtype)).astype(dtype)
        assert x.dtype == np.dtype(dtype)
        assert np.array_equal(x, expected)


def test_a_result_of_another_shape_is_refused() -> None:
    with pytest.raises(fg.errors.ShapeError, match=r"^lt_: .*\(2, 2\).*; use x = x\.lt\(…\)"):
        fg.ones(2).lt_(A)


NAMES = """abs acos acosh add addbmm addcdiv addcmul addmm addmv addr asin asinh atan atan2 atanh
    baddbmm bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor cauchy ceil clamp clamp_max
    clamp_min clip copy copysign cos cosh cumprod cumsum deg2rad digamma div eq erf erfc erfinv exp
    exp2 expm1 exponential fill fill_diagonal fix float_power floor floor_divide fmod frac gcd ge
    geometric greater greater_equal gt heaviside hypot index_add index_copy index_fill index_put
    index_reduce lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 log_normal
    logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter mul
    nan_to_num ne neg nextafter normal not_equal pow rad2deg random reciprocal relu remainder renorm
    round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc sinh sqrt square sub
    swapaxes tan tanh transpose tril triu trunc uniform xlogy zero"""


def test_the_names_are_there_in_a_fresh_process() -> None:
    """A method that only some other module puts into the class is none."""
    text = f"import ferrograd as fg\nfor n in '''{NAMES}'''.split(): getattr(fg.Tensor, n + '_')"
    text += "\nfg.manual_seed(0)\nassert fg.ones(3).normal_().uniform_().bernoulli().shape == (3,)"
    subprocess.run([sys.executable, "-c", text], check=True)
