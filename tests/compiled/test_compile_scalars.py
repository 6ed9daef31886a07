"""Results without axes of compiled functions: every dtype, in every company, at every call."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def results(z: Any, dtype: str, count: int) -> Any:
    """So many scalars of a dtype, beside a scalar of another dtype and an array."""
    cast = np.asarray(z).astype(dtype) if isinstance(z, np.ndarray) else z.astype(dtype)
    scalars = tuple((cast * cast[k % len(z)]).sum(dtype=dtype) for k in range(count))
    return (*scalars, abs(z).sum(), z.real * 2.0)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_are_those_of_the_function(dtype: str, count: int) -> None:
    f = fg.compile(lambda z: results(z, dtype, count))
    start = np.array([1 + 2j, 0, 3 - 1j] if dtype.startswith("complex") else [1.0, 0.0, 3.0])
    for step in range(4):
        z = start + 2 * step
        for got, want in zip(f(z), results(z, dtype, count), strict=True):
            assert (got.dtype, np.shape(got)) == (want.dtype, np.shape(want))
            assert np.array_equal(got, want), (step, got, want)


def test_many_complex_scalars_replay() -> None:
    f = fg.compile(lambda z: tuple((z * (k + 1)).sum() for k in range(7)))
    z = np.array([1 + 2j, 3.0])
    for _ in range(200):
        assert f(z) == tuple((z * (k + 1)).sum() for k in range(7))
    run = f.bind(z)
    assert [r.item() for r in run()] == [(z * (k + 1)).sum() for k in range(7)]
