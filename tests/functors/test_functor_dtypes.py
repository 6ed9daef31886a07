"""`fg.functors` of every dtype.

Axes and attributes are in `test_functors.py`.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import functors as F  # noqa: N812
from test_functors import check, leaf

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]

# Each functor of two matrices, and what it is in NumPy.
FUNCTORS: dict[str, tuple[Any, Any]] = {
    "add": (lambda x, y: F.add(2.0, x, -3.0, y), lambda x, y: 2 * x - 3 * y),
    "add of ones": (lambda x, y: F.add(1.0, x, 1.0, y), lambda x, y: x + y),
    "gemm": (lambda x, y: F.gemm(x, y, 0.5, True), lambda x, y: 0.5 * x.T @ y),
    "batched gemm": (
        lambda x, y: F.gemm(x, y, 0.5, ndim=0, batch_ndim=1),
        lambda x, y: 0.5 * np.einsum("mb,nb->mnb", x, y),
    ),
    "add_fiber": (
        lambda x, y: F.add_fiber(2.0, x[0], -3.0, y, 1),
        lambda x, y: 2 * x[0] - 3 * y,
    ),
    "add_fiber alone": (
        lambda x, y: F.add_fiber(2.0, x[0], 0.0, y, 1),
        lambda x, y: 2 * x[0] + 0 * y,
    ),
    "sum_fiber": (lambda x, y: F.sum_fiber(x, 1, 0, 0.5), lambda x, y: 0.5 * x.sum(0)),
}


def matrix(dtype: str) -> Any:
    a = np.array([[1, 2, 3], [3, 1, 0]], float)
    return (a + 1j * a[::-1]).astype(dtype) if dtype.startswith("c") else a.astype(dtype)


@pytest.mark.parametrize("name", FUNCTORS)
@pytest.mark.parametrize(("one", "other"), list(itertools.product(DTYPES, DTYPES)))
def test_every_dtype(one: str, other: str, name: str) -> None:
    ours, theirs = FUNCTORS[name]
    x, y = matrix(one), matrix(other)
    both = np.result_type(x, y) if name != "sum_fiber" else x.dtype
    both = both if both.kind in "fc" else np.dtype(float)
    got = ours(fg.tensor(x), fg.tensor(y))
    assert got.dtype == both
    want = theirs(x.astype(both), y.astype(both) if name != "sum_fiber" else y)
    np.testing.assert_allclose(got.numpy(), want, rtol=4 * float(np.finfo(both).eps))


@pytest.mark.parametrize("name", FUNCTORS)
def test_complex_numbers_have_derivatives(name: str) -> None:
    ours, _ = FUNCTORS[name]
    x, y = (fg.tensor(matrix("complex128") * s, requires_grad=True) for s in (1, 1j))
    real = leaf(2, 3)
    for pair in ((x, y), (x, real), (real, y)):
        check(ours, *pair)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu_takes_real_numbers(dtype: str) -> None:
    x = fg.tensor(matrix(dtype))
    if dtype.startswith("c"):
        with pytest.raises(fg.errors.DTypeError, match=f"gelu.*{dtype}"):
            F.gelu(x)
        return
    want = fg.gelu(x.astype(float)).numpy()
    np.testing.assert_allclose(F.gelu(x).numpy(), want, rtol=2e-3 if dtype == "float16" else 1e-6)
