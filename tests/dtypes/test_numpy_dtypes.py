"""NumPy's functions and ufuncs on tensors of every dtype: dtypes and values of the results.

The calls are in `numpy_calls.py`.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from numpy_calls import CALLS, Called

DTYPES = [np.dtype(c) for c in "?bhiqBHIQefdFD"]
UFUNCS = [
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc) and name not in ("pow", "abs")
]
NUMBERS = {
    "b": [0, 1, 1, 0, 1, 1],
    "i": [0, 1, -1, 3, -7, 100],
    "u": [0, 1, 2, 3, 7, 200],
    "f": [0.5, 0.125, 1.0, -2.5, 3, 0.25],
    "c": [0.5 + 1j, 0.125, 1.0 - 2j, -2.5, 3, 0.25j],
}


def result(f: Any, args: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        try:
            found = f(*args)
        except (TypeError, ValueError, OverflowError, fg.errors.FerrogradError) as error:
            return error
    parts = found if isinstance(found, tuple | list) else (found,)
    return [np.asarray(p.detach() if isinstance(p, fg.Tensor) else p) for p in parts]


def near(wanted: np.ndarray, found: np.ndarray, error: float) -> bool:
    if wanted.shape != found.shape:
        return False
    if wanted.dtype.kind not in "fc":
        return np.array_equal(wanted, found)
    eps = max(error, 64 * float(np.finfo(wanted.dtype).eps))
    whole = wanted.astype(complex)
    size = float(np.abs(whole[np.isfinite(whole)]).max(initial=0.0))
    with np.errstate(all="ignore"):
        same = np.isclose(found.astype(complex), whole, eps, eps * size, equal_nan=True)
    return bool(np.all(same | (np.isinf(wanted) & np.isinf(found))))


def differs(wanted: Any, found: Any, error: float) -> str | None:
    """What is wrong with our result; what NumPy refuses is our own affair."""
    if isinstance(wanted, Exception):
        return None
    if isinstance(found, Exception):
        return f"raises {found}"
    for one, other in zip(wanted, found, strict=True):
        if one.dtype != other.dtype:
            return f"{other.dtype} instead of {one.dtype}"
        if not near(one, other, error):
            return f"{other.tolist()} instead of {one.tolist()}"
    return None


def numbers(dtype: np.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) > 0.4
    if dtype.kind in "iu":
        return rng.integers(-4 if dtype.kind == "i" else 0, 6, shape).astype(dtype)
    values = 2 * rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if dtype.kind == "c" else values).astype(dtype)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("called", CALLS, ids=lambda called: called.name)
def test_functions(called: Called) -> None:
    several = len(called.shapes) == 2
    choices = itertools.product(DTYPES, DTYPES) if several else ((d,) for d in DTYPES)
    for dtypes in choices:
        arrays = [
            numbers(d, s, 1 + i) for i, (d, s) in enumerate(zip(dtypes, called.shapes, strict=True))
        ]
        if called.name.startswith("trapezoid") and dtypes[0] == np.bool_:
            continue  # NumPy adds truth values as truth values
        wanted = result(called.call, [a.copy() for a in arrays])
        found = result(called.call, [fg.tensor(a) for a in arrays])
        # What NumPy computes in between is as coarse as the operands.
        coarse = [16 * float(np.finfo(d).eps) for d in dtypes if d.kind in "fc"]
        wrong = differs(wanted, found, max(coarse, default=0.0))
        assert not wrong, (dtypes, wrong)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name: str) -> None:
    ufunc = getattr(np, name)
    if ufunc.signature is not None or name == "reciprocal":
        return  # products of matrices; integers: docs/differences.md
    arrays = [np.array(NUMBERS[d.kind]).astype(d) for d in DTYPES]
    if ufunc.nin == 1:
        calls = [[a] for a in arrays] + [[a[1]] for a in arrays]
    else:
        calls = [[a, np.roll(b, 1)] for a, b in itertools.product(arrays, arrays)]
        for number, a in itertools.product((True, 2, 2.5, 1j), arrays):
            calls += [[a, number], [number, a]]
    for args in calls:
        given = [fg.tensor(a) if isinstance(a, np.ndarray | np.generic) else a for a in args]
        wanted, found = result(ufunc, args), result(ufunc, given)
        # NumPy multiplies small whole powers of complex numbers out, in their own precision.
        wrong = differs(wanted, found, 1e-4 if name == "power" else 1e-13)
        assert not wrong, (args, wrong)


def test_negative_whole_numbers_have_a_negative_fraction_of_zero() -> None:
    parts, _ = np.modf(fg.tensor([-3.0, 0.0, -0.0, -2.5]))
    assert np.signbit(parts.numpy()).tolist() == [True, False, True, True]
    x = fg.tensor([-3.0, 0.0, 2.5], requires_grad=True)
    np.modf(x)[0].sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_complex_ends_of_a_geometric_progression() -> None:
    for ends in ((1j, 4 + 1j), (-1.0, 8j), (2 - 1j, -3.0)):
        wanted = np.geomspace(*ends, 5)
        np.testing.assert_allclose(np.geomspace(*(fg.tensor(e) for e in ends), 5), wanted)
    assert fg.gradcheck(lambda a, b: np.geomspace(a, b, 4), (
        fg.tensor(1 + 1j, requires_grad=True), fg.tensor(2 - 1j, requires_grad=True)
    ))  # fmt: skip


def test_quantiles_beside_nan_have_derivatives() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 6))
    rows[0, 2] = rows[1, :3] = np.nan
    for method in ("linear", "hazen", "lower", "median_unbiased", "inverted_cdf"):
        x = fg.tensor(rows, requires_grad=True)
        found = np.nanquantile(x, 0.3, axis=1, method=method)
        np.testing.assert_allclose(found.detach(), np.nanquantile(rows, 0.3, axis=1, method=method))
        found.sum().backward()
        np.testing.assert_allclose(x.grad.numpy().sum(1), 1.0)
        assert not x.grad.numpy()[np.isnan(rows)].any()
    with pytest.raises(ValueError, match="method"):
        np.nanquantile(fg.tensor(rows), 0.3, axis=1, method="none")


def test_complex_numbers_are_sorted_with_derivatives() -> None:
    z = fg.tensor([2 + 1j, 1 - 1j, 0.5 - 2j], requires_grad=True)
    np.testing.assert_array_equal(np.sort_complex(z).detach(), np.sort_complex(z.detach().numpy()))
    assert fg.gradcheck(np.sort_complex, z)
