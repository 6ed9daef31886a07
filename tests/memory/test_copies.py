"""Results that own their memory: where NumPy copies, a write into our result changes no operand.

Views that must share stand in `test_sharing.py`.
"""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from op_support import DTYPES, REGISTRY, ROWS, parts, plain, tensors, with_arrays


def shares(results: Any, operands: list[Any]) -> bool:
    def memory(x: Any) -> np.ndarray:
        return x.detach().numpy() if isinstance(x, fg.Tensor) else x

    arrays = [memory(r) for r in parts(results) if isinstance(r, fg.Tensor | np.ndarray)]
    return any(np.shares_memory(r, memory(x)) for r in arrays for x in operands)


def numpy_function(case: Case) -> Callable[..., Any] | None:
    """The function of NumPy's that means the same, if there is one."""
    for name in REGISTRY[case.key]["numpy"]:
        found: Any = np
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    return None


NUMPY_S = [case for case in ROWS if numpy_function(case)]


@pytest.mark.parametrize("case", NUMPY_S, ids=lambda case: case.key)
def test_an_operation_shares_only_what_numpy_s_does(case: Case) -> None:
    theirs = numpy_function(case)
    assert theirs is not None
    for call in with_arrays(case):
        arrays = call.arrays()
        operands = tensors(arrays)
        try:
            found = call.apply(plain(case), list(operands))
        except fg.errors.FerrogradError:
            continue  # What the row makes of the operation takes these operands.
        if not shares(found, operands):
            continue
        expected = call.apply(theirs, list(arrays))
        if isinstance(expected, np.generic):
            continue  # A scalar has no memory to write to.
        assert shares(expected, arrays), call


#: Calls that have nothing to do, of functions and methods, on a matrix.
IDLE: dict[str, Callable[[Any], Any]] = {
    "sum over no axis": lambda x: np.sum(x, axis=()),
    "mean over no axis": lambda x: np.mean(x, axis=()),
    "prod over no axis": lambda x: np.prod(x, axis=()),
    "max over no axis": lambda x: np.max(x, axis=()),
    "nansum over no axis": lambda x: np.nansum(x, axis=()),
    "sum of one": lambda x: np.sum(x[:1], axis=0),
    "sum of one, kept": lambda x: np.sum(x[:1], axis=0, keepdims=True),
    "max of one": lambda x: np.max(x[:1], axis=0),
    "mean of one": lambda x: np.mean(x[:1], axis=0),
    "median of one": lambda x: np.median(x[:1], axis=0),
    "quantile of one": lambda x: np.quantile(x[:1], 0.5, axis=0),
    "average of one": lambda x: np.average(x[:1], axis=0),
    "cumsum of one": lambda x: np.cumsum(x[:1], axis=0),
    "cumprod of one": lambda x: np.cumprod(x[:1], axis=0),
    "sort of one": lambda x: np.sort(x[:1], axis=0),
    "add.reduce of one": lambda x: np.add.reduce(x[:1]),
    "add.accumulate of one": lambda x: np.add.accumulate(x[:1]),
    "maximum.reduce of one": lambda x: np.maximum.reduce(x[:1]),
    "unwrap of one": lambda x: np.unwrap(x[:1], axis=0),
    "roll by 0": lambda x: np.roll(x, 0),
    "roll by 0 along an axis": lambda x: np.roll(x, 0, axis=1),
    "tile once": lambda x: np.tile(x, 1),
    "repeat once": lambda x: np.repeat(x, 1, axis=0),
    "pad by 0": lambda x: np.pad(x, 0),
    "pad by 0, edge": lambda x: np.pad(x, 0, mode="edge"),
    "concatenate one": lambda x: np.concatenate([x]),
    "stack one": lambda x: np.stack([x]),
    "hstack one": lambda x: np.hstack([x]),
    "vstack one": lambda x: np.vstack([x]),
    "block of one": lambda x: np.block([[x]]),
    "append nothing": lambda x: np.append(x, np.zeros((0, 3)), axis=0),
    "delete nothing": lambda x: np.delete(x, [], axis=0),
    "clip far": lambda x: np.clip(x, -99, None),
    "round": lambda x: np.round(x, 1),
    "round integers": lambda x: np.round(x.astype(np.int64)),
    "floor integers": lambda x: np.floor(x.astype(np.int64)),
    "positive": np.positive,
    "plus": lambda x: +x,
    "absolute": np.absolute,
    "conj": np.conj,
    "conjugate": np.conjugate,
    "nan_to_num": np.nan_to_num,
    "copy": np.copy,
    "copy method": lambda x: x.copy(),
    "astype": lambda x: x.astype(np.float64),
    "astype function": lambda x: np.astype(x, np.float64),
    "astype, no copy": lambda x: x.astype(np.float64, copy=False),
    "astype function, no copy": lambda x: np.astype(x, np.float64, copy=False),
    "where": lambda x: np.where(True, x, x),
    "select": lambda x: np.select([x > -99], [x]),
    "take all": lambda x: np.take(x, [0, 1], axis=0),
    "take one": lambda x: np.take(x, 0, axis=0),
    "compress": lambda x: np.compress([True, True], x, axis=0),
    "diff 0": lambda x: np.diff(x, 0),
    "matrix_power 1": lambda x: np.linalg.matrix_power(x[:, :2], 1),
    "einsum": lambda x: np.einsum("ij->ij", x),
    "tril": lambda x: np.tril(x, 100),
    "triu": lambda x: np.triu(x, -100),
    "rot90 by 0": lambda x: np.rot90(x, 0),
    "meshgrid": lambda x: np.meshgrid(x[0])[0],
    "meshgrid, no copy": lambda x: np.meshgrid(x[0], x[0], copy=False)[0],
    "reshape": lambda x: np.reshape(x, x.shape),
    "reshape with a copy": lambda x: np.reshape(x, (3, 2), copy=True),
    "ravel": np.ravel,
    "ravel transposed": lambda x: np.ravel(x.T),
    "flatten": lambda x: x.flatten(),
    "squeeze": np.squeeze,
    "resize": lambda x: np.resize(x, (2, 3)),
    "diagonal": np.diagonal,
    "diag": np.diag,
    "atleast_1d": np.atleast_1d,
    "trim_zeros": lambda x: np.trim_zeros(x[0]),
    "fix": np.fix,
    "real": np.real,
    "index with a list": lambda x: x[[0, 1]],
    "index with a mask": lambda x: x[x > -99],
    "minus 0": lambda x: x - 0,
    "times 1": lambda x: x * 1,
    "power 1": lambda x: x**1,
    "over 1": lambda x: x / 1,
    "or 0": lambda x: x.astype(np.int64, copy=False) | 0,
}


@pytest.mark.parametrize("name", IDLE)
def test_a_call_with_nothing_to_do_shares_only_what_numpy_s_does(name: str) -> None:
    a = np.arange(1.0, 7.0).reshape(2, 3)
    t = fg.tensor(a)
    expected = IDLE[name](a)
    found = IDLE[name](t)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert not shares(found, [t]) or shares(expected, [a])


def test_a_copy_is_no_operand() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    z = 2 * x
    y = z.astype(np.float64)
    y[0] = 0
    assert z.tolist() == [2, 4]
    (z + y).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 4]
    a = np.ones(2)
    b = fg.asarray(a).astype("float64")
    b += 1
    assert a.tolist() == [1, 1]


def test_astype_without_a_copy_is_the_tensor() -> None:
    a = np.ones((2, 3))
    t = fg.asarray(a)
    assert shares(t.astype(np.float64, copy=False), [a])
    assert shares(t.astype(np.float64, "K", "no", True, False), [a])
    assert shares(fg.astype(t, np.float64, copy=False), [a])
    assert not shares(t.astype(np.float32, copy=False), [a])


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "turned": lambda x: x.transpose(1, 2, 0),
    "reversed": lambda x: x[::-1, :, ::-1],
    "strided": lambda x: x[:, ::2],
    "one": lambda x: x[:1, :1, :1],
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_astype_lays_out_as_numpy(order: Any, layout: str, copy: bool, dtype: Any) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    t = fg.asarray(a)
    expected = LAYOUTS[layout](a).astype(dtype, order=order, copy=copy)
    found = LAYOUTS[layout](t).astype(dtype, order=order, copy=copy)
    np.testing.assert_array_equal(found.numpy(), expected)
    # Where an axis has one element or none, its stride means nothing.
    for size, ours, theirs in zip(expected.shape, found.strides, expected.strides, strict=True):
        assert size <= 1 or expected.size == 0 or ours == theirs, (found.strides, expected.strides)
    assert shares(found, [a]) == np.shares_memory(expected, a)


@pytest.mark.parametrize("rule", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting_is_numpy_s(rule: Any) -> None:
    for source in DTYPES:
        for target in DTYPES:
            x = fg.zeros(2, dtype=source)
            if np.can_cast(source, target, rule):
                assert x.astype(target, casting=rule).dtype == target
            else:
                with pytest.raises(fg.errors.DTypeError, match=f"casting=.{rule}"):
                    x.astype(target, casting=rule)


def test_unknown_rules_are_named() -> None:
    x = fg.zeros(2)
    with pytest.raises(fg.errors.ArgumentError, match='no casting rule "odd"'):
        x.astype(np.float64, casting="odd")
    with pytest.raises(fg.errors.ArgumentError, match='no memory order "Q"'):
        x.astype(np.float64, order="Q")


def test_gradients_of_every_layout() -> None:
    x = fg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    w = np.arange(6.0).reshape(3, 2)
    for order in "CFAK":
        y = x.T.astype(np.float32, order=order) * fg.tensor(w, dtype=np.float32)
        (g,) = fg.autograd.grad(y.sum(), x)
        np.testing.assert_array_equal(g.numpy(), w.T)


class Noted(fg.Tensor):
    """A subclass with attributes of its own."""

    __slots__ = ("__dict__", "unit")
    note: Any


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_of_a_subclass_keep_its_attributes(duplicate: Callable[[Any], Any]) -> None:
    x = Noted([1.0, 2.0])
    x.requires_grad_()
    x.unit, x.note = "m", {"of": [1]}
    found = duplicate(x)
    assert type(found) is Noted
    assert found.requires_grad
    assert (found.unit, found.note, found.tolist()) == ("m", {"of": [1]}, [1.0, 2.0])
    assert (found.note is x.note) is (duplicate is copy.copy)
    plain = duplicate(fg.tensor([1.0]))
    assert type(plain) is fg.Tensor
