"""What NumPy's functions take besides operands, and the methods of its ufuncs, from the table.

Values are NumPy's, gradients those of differences, and what is not obeyed is refused with its
reason.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import A, Case
from derivatives import check
from op_support import REGISTRY, ROWS, same


def ufunc_of(case: Case) -> np.ufunc:
    return next(f for f in map(find, REGISTRY[case.key]["numpy"]) if isinstance(f, np.ufunc))


def find(path: str) -> Any:
    found: Any = np
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def has_ufunc(case: Case) -> bool:
    return any(isinstance(find(path), np.ufunc) for path in REGISTRY[case.key]["numpy"])


BINARY = [case for case in ROWS if case.operands == 2 and has_ufunc(case)]
UNARY = [case for case in ROWS if case.operands == 1 and has_ufunc(case)]
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])


def rows(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.key)


def data(case: Case, *shape: int, operand: int = 0, seed: int = 0) -> np.ndarray:
    """Values that the row's operation takes; positive ones, so that chains of it stay inside."""
    spec = case.calls[0].args[operand]
    low, high = max(spec.low, 0.3), max(spec.high, 1.5)
    return A(*shape, low=low, high=high, avoid=spec.avoid).make(np.random.default_rng(seed))


def agrees(case: Case, of: Callable[[Any], Any], *arrays: np.ndarray) -> None:
    """Value as NumPy's, gradient as by differences, recorded if the operation is."""
    with np.errstate(all="ignore"):
        expected = of(*arrays)
    leaves = [fg.tensor(a, requires_grad=True) for a in arrays]
    actual = of(*leaves)
    same(actual, expected, rtol=1e-12, atol=1e-13, why=case.key)
    assert actual.requires_grad is (case.order > 0)
    if case.order and np.isfinite(expected).all() and case.key not in STEPPED:
        check(lambda *xs: [of(*xs)], list(arrays), 1)


#: Folds of these are piecewise constant or end on the steps of the operation itself.
STEPPED = ("floor_divide", "remainder", "fmod", "heaviside")
#: Along an axis of stride 1 NumPy 2.4 gives `f(first, last)` for these, not their fold.
LAST_WINS = ("power", "arctan2")
NOT_REDUCED = ("logical_xor", "equal", "not_equal", "less", "less_equal", "greater")


@rows([c for c in BINARY if c.key not in (*NOT_REDUCED, "greater_equal")])
def test_reduce_and_accumulate(case: Case) -> None:
    ufunc = ufunc_of(case)
    if not case.order and case.ints == "numpy" and "f" not in str(ufunc.types):
        x = np.arange(12).reshape(3, 4) % 5 + 1
        for axis in (0, 1):
            same(ufunc.reduce(fg.tensor(x), axis), ufunc.reduce(x, axis), rtol=0)
        return
    x = data(case, 3, 4)
    agrees(case, ufunc.reduce, x)
    if case.key in LAST_WINS:
        x = np.asfortranarray(x)
    agrees(case, lambda t: ufunc.reduce(t, axis=-1, keepdims=True), x)
    if case.order:
        agrees(case, lambda t: ufunc.accumulate(t, 1), x)
        agrees(case, lambda t: ufunc.reduceat(t, [0, 2, 1]), x)


@rows([c for c in BINARY if "f" in str(ufunc_of(c).types)])
def test_outer(case: Case) -> None:
    ufunc = ufunc_of(case)
    agrees(case, ufunc.outer, data(case, 3), data(case, 2, 2, operand=1, seed=1))
    agrees(case, lambda t: ufunc.outer(t, np.array([1.25, 2.25])), data(case, 3))
    agrees(case, lambda t: ufunc.outer(1.75, t), data(case, 3, operand=1))


@rows([c for c in BINARY if c.order])
def test_at_changes_tensors_that_are_no_leaves(case: Case) -> None:
    ufunc, array = ufunc_of(case), data(case, 3)
    x = fg.tensor(array, requires_grad=True)
    with pytest.raises(fg.errors.InPlaceError, match="a leaf that requires grad"):
        ufunc.at(x, [0], 1.5)
    y = x * 1
    ufunc.at(y, [0], 1.5)
    ufunc.at(array, [0], 1.5)
    np.testing.assert_allclose(y.detach(), array, 1e-14)
    with pytest.raises(fg.errors.FerrogradError, match=r"import ferrograd\.numpy as np"):
        ufunc.at(np.ones(3), [0], x[0])


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.subtract])
def test_initial_and_where_of_reduce(ufunc: np.ufunc) -> None:
    x = A(3, 4, low=-1.0, high=2.5, distinct=True).make(np.random.default_rng(0))
    case = next(c for c in BINARY if ufunc_of(c) is ufunc)
    agrees(case, lambda t: ufunc.reduce(t, axis=1, initial=0.5), x)
    agrees(case, lambda t: ufunc.reduce(t, axis=0, initial=0.5, keepdims=True), x)
    if ufunc is not np.subtract:
        agrees(case, lambda t: ufunc.reduce(t, axis=1, initial=0.5, where=MASK), x)
        agrees(case, lambda t: ufunc.reduce(t, axis=None, initial=0.5), x)


@rows([c for c in UNARY + BINARY if c.order and "d" in str(ufunc_of(c).types)])
def test_out_where_and_dtype_of_a_call(case: Case) -> None:
    ufunc = ufunc_of(case)
    arrays = [data(case, 3, 4, operand=i, seed=i) for i in range(case.operands)]
    if case.key in ("arcsin", "arccos", "arctanh", "erfinv"):
        arrays = [a / 4 for a in arrays]
    plain = [fg.tensor(a) for a in arrays]
    leaves = [fg.tensor(a, requires_grad=True) for a in arrays]
    expected = ufunc(*arrays)
    room = np.zeros((3, 4))
    assert ufunc(*plain, out=room) is room
    np.testing.assert_allclose(room, expected, 1e-12)
    with pytest.raises(fg.errors.GraphCutError, match=f"numpy.{ufunc.__name__}: .*detach"):
        ufunc(*leaves, out=np.zeros((3, 4)))
    held = fg.zeros(3, 4)
    assert ufunc(*leaves, out=held, where=MASK) is held
    same(held, np.where(MASK, expected, 0.0), rtol=1e-12)
    assert held.requires_grad
    with pytest.raises(fg.errors.ArgumentError, match="where= without out="):
        ufunc(*leaves, where=MASK)
    with pytest.raises(fg.errors.ShapeError, match="out has shape"):
        ufunc(*plain, out=np.zeros(5))
    narrow = ufunc(*leaves, dtype=np.float32)
    same(narrow, ufunc(*[a.astype(np.float32) for a in arrays]), rtol=1e-5)
    assert narrow.requires_grad


REDUCTIONS: dict[str, dict[str, Any]] = {
    "sum": {"dtype": True, "initial": 1.5},
    "prod": {"dtype": True, "initial": 1.5},
    "mean": {"dtype": True},
    "var": {"dtype": True, "ddof": 1},
    "std": {"dtype": True, "ddof": 1},
    "max": {"initial": 1.5},
    "min": {"initial": 0.5},
    "nansum": {"dtype": True, "initial": 1.5},
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_keywords_of_reductions(name: str, axis: Any, keepdims: bool) -> None:
    theirs, options = getattr(np, name), REDUCTIONS[name]
    case = next(c for c in ROWS if c.key == name)
    x = A(3, 4, low=-1.0, high=2.5, distinct=True).make(np.random.default_rng(0))
    common = {"axis": axis, "keepdims": keepdims}
    start = {k: v for k, v in options.items() if k == "initial"}
    agrees(case, lambda t: theirs(t, **common, **start), x)
    agrees(case, lambda t: theirs(t, **common, **start, where=MASK), x)
    if "ddof" in options:
        agrees(case, lambda t: theirs(t, **common, ddof=1, where=MASK), x)
        agrees(case, lambda t: theirs(t, **common, correction=1), x)
    if "dtype" in options:
        single = theirs(fg.tensor(x, requires_grad=True), dtype=np.float32, **common)
        same(single, theirs(x, dtype=np.float32, **common), rtol=1e-5)
    room = np.zeros(np.shape(theirs(x, **common)))
    assert theirs(fg.tensor(x), out=room, **common) is room
    np.testing.assert_allclose(room, theirs(x, **common), 1e-12)
    with pytest.raises(fg.errors.GraphCutError):
        theirs(fg.tensor(x, requires_grad=True), out=room, **common)


def test_predicates_take_where() -> None:
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    mask = np.array([[False, True], [True, False]])
    for theirs in (np.all, np.any):
        for axis in (None, 0):
            found = theirs(fg.tensor(x, requires_grad=True), axis=axis, where=mask)
            same(found, theirs(x, axis=axis, where=mask), rtol=0)


# fmt: off
SPELLINGS: list[Callable[[Any, Any], Any]] = [
    lambda np, t: np.sum(t, 0, None, None, True),
    lambda np, t: np.median(t, 1, None, False, True),
    lambda np, t: np.clip(t, a_min=0.6, a_max=None),
    lambda np, t: np.clip(t, min=0.6, max=0.8),
    lambda np, t: np.sort(t, kind="stable"),
    lambda np, t: np.reshape(t, (4, 3), order="C"),
    lambda np, t: np.reshape(t, (4, 3), order="F"),
    lambda np, t: np.ravel(t, order="F"),
    lambda np, t: np.linalg.pinv(t, rtol=1e-10),
    lambda np, t: np.trace(t, dtype=np.float64),
    lambda np, t: np.concatenate([t, t], dtype=np.float32),
    lambda np, t: np.stack([t, t], axis=-1, dtype=np.float64),
    lambda np, t: np.compress([True, False, True], t, axis=0),
    lambda np, t: np.moveaxis(t, source=0, destination=1),
    lambda np, t: np.transpose(t, (1, 0)),
    lambda np, t: np.meshgrid(t[0], t[1], indexing="ij")[0],
    lambda np, t: np.einsum("ij,ij->i", t, t, optimize=True),
    lambda np, t: np.pad(t, 1, constant_values=3.0),
    lambda np, t: np.cov(m=t, rowvar=False),
    lambda np, t: np.average(t, 0, [1.0, 2.0, 3.0]),
]
REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda t: np.sort(t, order="f"), "numpy.sort: order='f'"),
    (lambda t: np.linalg.svd(t, hermitian=True), "numpy.linalg.svd: hermitian=True"),
    (lambda t: np.median(t, 0, out=np.zeros(4)), "numpy.median: the result would silently"),
    (lambda t: np.max(t, where=MASK), "numpy.max: no element may be chosen"),
    (lambda t: np.maximum.reduce(t, where=MASK), "numpy.maximum.reduce: no element may be chosen"),
    (lambda t: np.subtract.reduce(t, axis=(0, 1)), "numpy.subtract.reduce: axis="),
    (lambda t: np.add(t, t, dtype=np.int64), "numpy.add: Cannot cast ufunc 'add' input 0"),
    (lambda t: np.less(t, t, dtype=np.float64), "numpy.less: No loop matching"),
    (lambda t: np.add(t, 1j, casting="safe", signature="dd->d"), "numpy.add: Cannot cast ufunc"),
    (lambda t: np.add(t, t, order="F"), "numpy.add: order='F'"),
]
# fmt: on


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_arguments_spelled_as_numpy_does(spelled: Callable[[Any, Any], Any]) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4))
    found = spelled(np, fg.tensor(x, requires_grad=True))
    assert found.requires_grad
    same(found, spelled(np, x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_not_obeyed_is_refused(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((ValueError, TypeError, NotImplementedError)) as caught:
        call(fg.ones(3, 4, requires_grad=True))
    assert str(caught.value).startswith(text)
    assert ";" in str(caught.value), "no remedy"
