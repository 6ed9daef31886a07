"""Digests of what every row of the operation table computes, with `tests/cases` on Python's path.

One JSON object: by operation, then by call and dtype, the digests of results and gradients. A
digest tells bit patterns apart, zeros of both signs too, but takes every NaN for the same. With
`large`, of the calls that are split over threads, with `small` of the others.
"""

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import ferrograd as fg
from case_model import Call, Case
from op_support import ROWS, function, large_calls, parts

#: What the floats of a row are converted to.
DTYPES = {
    "small": (
        *("float64", "float32", "float16", "complex128", "complex64"),
        *("int64", "int32", "uint8", "bool"),
    ),
    "large": ("float64", "float32", "complex128", "int64"),
}


def digest(array: np.ndarray) -> str:
    """The digest of dtype, shape and elements."""
    array = np.array(array, order="C")
    if array.dtype.kind in "fc":
        parts_of = array.reshape(-1).view(array.real.dtype)
        parts_of[np.isnan(parts_of)] = np.nan
    facts = f"{array.dtype} {array.shape}".encode()
    return hashlib.blake2b(facts + array.tobytes(), digest_size=8).hexdigest()


def converted(array: np.ndarray, dtype: str) -> np.ndarray:
    """The values in a dtype; imaginary parts are the values in another order."""
    if array.dtype.kind != "f":
        return array
    if dtype.startswith("complex"):
        return (array + 0.5j * array[..., ::-1] if array.ndim else array + 0.5j).astype(dtype)
    return array.astype(dtype)


def weights(result: fg.Tensor) -> np.ndarray:
    """A gradient of a result: the same numbers for the same shape."""
    rng = np.random.default_rng(7)
    given = rng.standard_normal(result.shape).astype(result.real.dtype)
    return given.astype(result.dtype)


def computed(case: Case, call: Call, arrays: list[np.ndarray]) -> list[str]:
    """The digests of the results of a call, and of the gradients of its operands."""
    recorded = case.order > 0
    inputs = [fg.tensor(a, requires_grad=recorded and a.dtype.kind in "fc") for a in arrays]
    results = [r for r in parts(call.apply(function(case), inputs)) if isinstance(r, fg.Tensor)]
    found = [digest(r.detach().numpy()) for r in results]
    outputs = [r for r in results if r.requires_grad]
    leaves = [x for x in inputs if x.requires_grad]
    if outputs and leaves:
        given = [weights(r) for r in outputs]
        gradients = fg.autograd.grad(outputs, leaves, given, materialize_grads=True)
        found += [digest(g.numpy()) for g in gradients]
    return found


def calls(case: Case, size: str) -> Iterator[tuple[str, Call, list[np.ndarray]]]:
    """The calls of a row and those of its special values, or the large ones."""
    for i, call in enumerate(case.calls if size == "small" else large_calls(case)):
        yield f"{i}", call, call.arrays()
    if size == "small" and case.operands and case.points:
        grid = np.meshgrid(*[np.array(case.points)] * case.operands)
        call = next(call for call in case.calls if len(call.arrays()) == case.operands)
        yield "points", call, grid


def digests(case: Case, size: str) -> dict[str, list[str]]:
    """By call and dtype; a call that refuses the dtype has the name of its error."""
    found = {}
    for name, call, arrays in calls(case, size):
        for dtype in DTYPES[size] if arrays else ("float64",):
            given = [converted(a, dtype) for a in arrays]
            try:
                found[f"{name} {dtype}"] = computed(case, call, given)
            except Exception as error:
                found[f"{name} {dtype}"] = [type(error).__name__]
    return found


def main() -> None:
    """Prints the digests of all rows."""
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        found: dict[str, Any] = {case.key: digests(case, sys.argv[1]) for case in ROWS}
    json.dump({"level": fg._core._config()["simd"], "digests": found}, sys.stdout)


if __name__ == "__main__":
    main()
