"""What the tests derived from the operation table share."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import ferrograd as fg
from case_model import Call, Case, grown
from cases import CASES


def qualified(row: dict[str, Any]) -> str:
    """The name below `fg`: "sum", "linalg.det"."""
    spaces = row["namespaces"]
    return row["name"] if not spaces or "" in spaces else f"{spaces[0]}.{row['name']}"


REGISTRY = {qualified(row): row for row in fg._core._registry()}
ROWS = list(CASES.values())
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)


def plain(case: Case) -> Any:
    """The operation itself; one that is a method only, of anything that converts to a tensor."""
    found: Any = fg
    if case.key.startswith("Tensor."):
        return lambda x, *args, **kwargs: getattr(fg.asarray(x), case.name)(*args, **kwargs)
    for part in case.key.split("."):
        found = getattr(found, part)
    return found


def function(case: Case) -> Any:
    """The operation as users call it, or what its row makes of it."""
    found = plain(case)
    return case.through(found) if case.through else found


def reference(case: Case) -> Any:
    """What the operation is compared with."""
    return case.through(case.ref) if case.through else case.ref


def parts(result: Any) -> list[Any]:
    """The tensors or arrays of a result; one truth value is a 0-d tensor."""
    if isinstance(result, bool):
        return [fg.tensor(result)]
    return list(result) if isinstance(result, tuple | list) else [result]


def tensors(arrays: list[np.ndarray], *, grad: bool = False) -> list[fg.Tensor]:
    return [fg.tensor(a, requires_grad=grad and a.dtype.kind == "f") for a in arrays]


def with_arrays(case: Case) -> Iterator[Call]:
    """The calls that have an array to vary."""
    return (call for call in case.calls if call.arrays())


def large_calls(case: Case) -> tuple[Call, ...]:
    """The calls of a row whose work is split over threads, or the first that grows to that size."""
    for call in () if case.large else case.calls:
        larger = grown(call, case.grown)
        if larger is None:
            continue
        try:
            with np.errstate(all="ignore"):
                larger.apply(reference(case), larger.arrays())
        except (ValueError, IndexError):
            # Its other arguments name the sizes that it had.
            continue
        return (larger,)
    return case.large


def settled(expected: Any) -> Any:
    """A reference as arrays."""
    if isinstance(expected, tuple | list):
        return [settled(part) for part in expected]
    return np.asarray(expected)


def same(
    actual: Any, expected: Any, *, rtol: float, atol: float = 0.0, dtype: bool = True, why: Any = ""
) -> None:
    """Asserts equal structure, shape, dtype and values, NaN in the same places."""
    for ours, theirs in zip(parts(actual), parts(expected), strict=True):
        theirs = np.asarray(theirs)
        assert isinstance(ours, fg.Tensor), why
        assert ours.shape == theirs.shape, why
        assert not dtype or ours.dtype == theirs.dtype, (ours.dtype, theirs.dtype, why)
        found = ours.detach().numpy()
        if theirs.dtype.kind == "f":
            finite = np.abs(theirs[np.isfinite(theirs)])
            slack = atol * (finite.max() if finite.size else 1.0)
            np.testing.assert_allclose(found, theirs, rtol, slack, equal_nan=True, err_msg=str(why))
        else:
            np.testing.assert_array_equal(found, theirs, err_msg=str(why))


def same_zeros(actual: fg.Tensor, expected: Any, why: Any = "") -> None:
    """Asserts that zeros have the same sign."""
    theirs = np.asarray(expected)
    zero = theirs == 0
    ours = actual.detach().numpy()
    np.testing.assert_array_equal(np.signbit(ours[zero]), np.signbit(theirs[zero]), str(why))


def gradients(case: Case, call: Call, inputs: list[fg.Tensor], seed: int = 7) -> list[np.ndarray]:
    """The gradients of the inputs, with fixed random weights on the outputs."""
    rng = np.random.default_rng(seed)
    outputs = [o for o in parts(call.apply(function(case), inputs)) if o.requires_grad]
    weights = [rng.standard_normal(o.shape) for o in outputs]
    found = fg.autograd.grad(outputs, inputs, weights, materialize_grads=True)
    return [g.numpy().copy() for g in found]


def arranged(array: np.ndarray, how: str) -> np.ndarray:
    """The same values (for "broadcast": those of the first row) in another memory layout."""
    if how == "behind":
        return np.array(array, order="C")
    if how == "transposed":
        return np.array(array.T, order="C").T
    flip = (*(slice(None, None, -1) for _ in array.shape), ...)
    if how == "negative":
        return np.array(array[flip], order="C")[flip]
    if how == "broadcast":
        return np.broadcast_to(array[:1].copy(), array.shape) if array.ndim else array
    assert how == "strided"
    room = np.full([2 * n + 1 for n in array.shape], np.nan, array.dtype)
    view = room[(*(slice(1, None, 2) for _ in array.shape), ...)]
    view[...] = array
    return view


def behind(array: np.ndarray) -> fg.Tensor:
    """The elements in C order, behind others in one memory."""
    view: fg.Tensor = fg.tensor(np.stack([np.full_like(array, 7), array]))[1]
    return view.detach()
