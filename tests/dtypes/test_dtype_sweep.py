"""Every operation of the table, of every real dtype of NumPy: dtypes and values of the results."""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from op_support import (
    REGISTRY,
    ROWS,
    function,
    parts,
    reference,
    same,
    settled,
    tensors,
    with_arrays,
)

WHOLE = [np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
TAKEN = [case for case in ROWS if case.ints and any(with_arrays(case))]
FLOATS = [case for case in ROWS if any(with_arrays(case))]


def numpy_ufunc(case: Case) -> Any:
    """The ufunc of NumPy that the operation is, or None."""
    for path in REGISTRY[case.key].get("numpy", ()):
        found = getattr(np, path, None)
        if isinstance(found, np.ufunc):
            return found
    return None


def expected_of(case: Case, call: Any, arrays: list[np.ndarray]) -> Any:
    """NumPy's result for whole numbers; float64 where NumPy has no such function."""
    own = numpy_ufunc(case) is not None and case.key != "reciprocal"
    given = arrays if case.ints == "numpy" or own else [a.astype(np.float64) for a in arrays]
    with np.errstate(all="ignore"):
        return settled(call.apply(reference(case), given))


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case.key)
def test_whole_numbers(case: Case) -> None:
    call = next(with_arrays(case))
    count = len(call.arrays())
    rng = np.random.default_rng(5)
    pairs = itertools.product(WHOLE, WHOLE) if count == 2 else ((d,) * count for d in WHOLE)
    for dtypes in pairs:
        arrays = [
            rng.integers(0, 5, a.shape).astype(d)
            for a, d in zip(call.arrays(), dtypes, strict=True)
        ]
        why = [d.name for d in dtypes]
        try:
            expected = expected_of(case, call, arrays)
        except TypeError:
            with pytest.raises(fg.errors.DTypeError):
                print(why, call.apply(function(case), tensors(arrays)))
            continue
        actual = call.apply(function(case), tensors(arrays))
        narrow = any(np.asarray(part).dtype.itemsize < 8 for part in parts(expected))
        # Where infinities have no meaning, an element may be a zero that many terms add up to.
        slack = case.rtol if case.finite else 0.0
        same(actual, expected, rtol=2e-3 if narrow else 1e-12, atol=slack, why=why)
        assert not any(part.requires_grad for part in parts(actual))


#: Transforms and eigenvalues are complex numbers, and those of the least precision are of float32.
COMPLEX = ("fft.", "linalg.eig")


@pytest.mark.parametrize(
    "case", [c for c in FLOATS if not c.key.startswith(COMPLEX)], ids=lambda case: case.key
)
def test_float16_is_float32_rounded(case: Case) -> None:
    for call in itertools.islice(with_arrays(case), 3):
        check_float16(case, call)


def check_float16(case: Case, call: Any) -> None:
    halves = [a.astype(np.float16) for a in call.arrays()]
    single = parts(call.apply(function(case), tensors([a.astype(np.float32) for a in halves])))
    actual = parts(call.apply(function(case), tensors(halves)))
    for ours, wide in zip(actual, single, strict=True):
        narrow = np.float16 if wide.dtype == np.float32 else wide.dtype
        assert ours.dtype == narrow, case.key
        if wide.dtype.kind in "fc":
            wanted = wide.numpy().astype(narrow).astype(np.float64)
            scale = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))
            found = ours.numpy().astype(np.float64)
            np.testing.assert_allclose(found, wanted, 2e-3, 1e-3 * scale, err_msg=case.key)
        else:
            np.testing.assert_array_equal(ours.numpy(), wide.numpy(), case.key)
