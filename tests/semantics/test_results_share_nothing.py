"""Which results show the memory of an argument: those whose NumPy results do."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

DTYPES = ["bool", "uint8", "int64", "float32", "float64", "complex128"]
NAMES = sorted(
    name
    for name in dir(np)
    if not name.startswith(("_", "test", "info", "set", "show", "save", "print"))
    and callable(getattr(np, name))
    and not isinstance(getattr(np, name), type)
)

#: Calls that change no element, of NumPy's module and one of the arrays.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "round": lambda m, x: m.round(x, 2),
    "around": lambda m, x: m.around(x, decimals=0),
    "x.round": lambda m, x: x.round(),
    "nan_to_num": lambda m, x: m.nan_to_num(x, nan=3.0),
    "clip": lambda m, x: m.clip(x, None, None),
    "astype": lambda m, x: x.astype(x.dtype),
    "tile": lambda m, x: m.tile(x, 1),
    "repeat": lambda m, x: m.repeat(x, 1),
    "roll": lambda m, x: m.roll(x, 0),
    "concatenate": lambda m, x: m.concatenate([x]),
    "stack": lambda m, x: m.stack([x]),
    "pad": lambda m, x: m.pad(x, 0),
    "delete": lambda m, x: m.delete(x, []),
    "sum over no axis": lambda m, x: m.sum(x, axis=()),
    "max over no axis": lambda m, x: m.max(x, axis=()),
    "nansum over no axis": lambda m, x: m.nansum(x, axis=()),
    "sum of one": lambda m, x: m.sum(x[None], axis=0),
    "max of one": lambda m, x: m.max(x[None], axis=0),
    "median of one": lambda m, x: m.median(x[None], axis=0),
    "cumsum of one": lambda m, x: m.cumsum(x[None], axis=0),
    "sort": lambda m, x: m.sort(x[None], axis=0),
    "take": lambda m, x: m.take(x, np.arange(3)),
    "where": lambda m, x: m.where(True, x, x),
    "x[mask]": lambda m, x: x[np.array([True] * 3)],
    "x[list]": lambda m, x: x[[0, 1, 2]],
    "x ** 1": lambda m, x: x**1,
    "x * 1": lambda m, x: x * 1,
    "+x": lambda m, x: +x,
    "abs": lambda m, x: abs(x),
    "conj": lambda m, x: m.conj(x),
    "x.conj": lambda m, x: x.conj(),
    "real": lambda m, x: m.real(x),
    "tril": lambda m, x: m.tril(x[None].T),
    "einsum": lambda m, x: m.einsum("ij->i", x[None].T),
    "reduce": lambda m, x: m.add.reduce(x[None], axis=0),
    "rot90": lambda m, x: m.rot90(x[None], 4),
    "flip": lambda m, x: m.flip(x, ()),
    "squeeze": lambda m, x: m.squeeze(x),
    "diff": lambda m, x: m.diff(x, n=0),
}

EMPTY = np.zeros(0, np.int64)
#: Calls of PyTorch's names that have nothing to change, and copy there.
COPIES: dict[str, Callable[[Any], Any]] = {
    "scatter_reduce": lambda x: x.scatter_reduce(0, fg.tensor(EMPTY), x[:0], "sum"),
    "index_reduce": lambda x: x.index_reduce(0, fg.tensor(EMPTY), x[:0], "amax"),
    "index_add": lambda x: x.index_add(0, fg.tensor(EMPTY), x[:0]),
    "scatter": lambda x: x.scatter(0, fg.tensor(EMPTY), x[:0]),
    "masked_fill": lambda x: x.masked_fill(fg.tensor([False] * 3), 1),
    "positive": fg.positive,
    "adaptive_avg_pool1d": lambda x: fg.nn.functional.adaptive_avg_pool1d(x[None, None], 3),
}


def shares(call: Callable[[Any], Any], x: Any) -> bool | None:
    """Whether the first array that the call gives shows memory of `x`; None where it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call(x)
    except Exception:
        return None
    if isinstance(found, tuple | list) and found:
        found = found[0]
    arrays = [np.asarray(t.detach()) if isinstance(t, fg.Tensor) else t for t in (found, x)]
    return all(isinstance(a, np.ndarray) for a in arrays) and np.shares_memory(*arrays)


@pytest.mark.parametrize("module", [np, fg, fnp], ids=["np", "fg", "fg.numpy"])
def test_results_of_numpys_names(module: Any) -> None:
    wrong, count = [], 0
    calls = {name: (lambda m, x, name=name: getattr(m, name)(x)) for name in NAMES}
    for name, call in (calls | CALLS).items():
        if name in calls and not hasattr(module, name):
            continue
        for dtype in DTYPES:
            array = np.array([1, 0, 1]).astype(dtype)
            theirs = shares(lambda x, call=call: call(np, x), array)
            ours = shares(lambda x, call=call: call(module, x), fg.tensor(array))
            count += ours is not None
            if ours and theirs is False:
                wrong.append((name, dtype))
    assert not wrong
    assert count > 500


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_calls_that_have_nothing_to_change(name: str, dtype: str) -> None:
    x = fg.tensor(np.array([1, 2, 3]).astype(dtype))
    if "pool" in name and dtype == "int64":
        x = x.float()
    assert not shares(COPIES[name], x)


def test_a_rounded_integer_is_written_to() -> None:
    t = fg.tensor([1, 2, 3])
    for rounded in (np.round(t), t.round(), round(t), fg.nan_to_num(t), fg.positive(t)):
        rounded += 10
    assert t.tolist() == [1, 2, 3]
    number = fg.tensor(4)
    rounded = np.round(number)
    rounded += 1
    assert number.item() == 4
