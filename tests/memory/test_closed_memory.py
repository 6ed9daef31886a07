"""Memory that the function of a loop, a branch or a compiled call closes over, and others write.

The first derivative is that of the call; a second one, for which the function is called again, is
that as well, or an error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

START, VALUES = np.array([0.5, 0.25]), np.array([3.0, 2.0])


def _step(s: Any, c: Any) -> Any:
    return fg.sin(s) * c * s


CONSTRUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "scan": lambda x, c: fg.scan(lambda s, _: (_step(s, c), s), x, length=3)[0],
    "scan with checkpoints": lambda x, c: fg.scan(
        lambda s, _: (_step(s, c), s), x, length=4, checkpoint=2
    )[0],
    "cond": lambda x, c: fg.cond(fg.tensor(True), lambda x: _step(x, c), lambda x: x, x),
    "while_loop": lambda x, c: fg.while_loop(lambda s: s.sum() < 9.0, lambda s: _step(s, c) + 1, x),
    "condition": lambda x, c: fg.while_loop(lambda s: s.sum() < c.sum(), lambda s: s * s + 1.0, x),
    "fori_loop": lambda x, c: fg.fori_loop(0, 3, lambda i, s: _step(s, c), x),
    "compile": lambda x, c: fg.compile(lambda x: _step(x, c))(x),
    "compiled scan": lambda x, c: fg.compile(lambda x: CONSTRUCTS["scan"](x, c))(x),
}


def _from_numpy() -> tuple[Any, np.ndarray]:
    array = VALUES.copy()
    return fg.from_numpy(array), array


def _asarray() -> tuple[Any, np.ndarray]:
    c = fg.tensor(VALUES)
    return c, np.asarray(c.detach())


def _numpy() -> tuple[Any, np.ndarray]:
    c = fg.tensor(VALUES)
    return c, c.numpy(writable=True)


def _from_dlpack() -> tuple[Any, np.ndarray]:
    array = VALUES.copy()
    return fg.from_dlpack(array), array


def _own() -> tuple[Any, Any]:
    c = fg.tensor(VALUES)
    return c, c


ROUTES = {
    "from_numpy": _from_numpy,
    "asarray": _asarray,
    "numpy": _numpy,
    "from_dlpack": _from_dlpack,
    "own": _own,
}
CHANGED = r"backward: .*a tensor that it closes over was changed meanwhile"


def _call(name: str, route: str) -> tuple[fg.Tensor, fg.Tensor, Any]:
    c, writable = ROUTES[route]()
    x = fg.tensor(START, requires_grad=True)
    return x, (CONSTRUCTS[name](x, c) ** 2).sum(), writable


def _derivative(of: fg.Tensor, x: fg.Tensor, **options: Any) -> fg.Tensor:
    return fg.autograd.grad(of, [x], **options)[0]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_first_derivative_is_that_of_the_call(name: str, route: str) -> None:
    x, y, writable = _call(name, route)
    expected = _derivative(y, x, retain_graph=True)
    writable[:] = 7.0
    np.testing.assert_array_equal(_derivative(y, x), expected)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_second_derivative_is_that_of_the_call_or_an_error(name: str, route: str) -> None:
    x, y, writable = _call(name, route)
    first = _derivative(y, x, create_graph=True)
    expected = _derivative(first.sum(), x, retain_graph=True)
    writable[:] = 7.0
    np.testing.assert_array_equal(_derivative(first.sum(), x), expected)
    x, y, writable = _call(name, route)
    writable[:] = 7.0
    with pytest.raises(fg.errors.GradientError, match=CHANGED):
        _derivative(y, x, create_graph=True)
    # Others count no writes: what holds what it held was not changed.
    x, y, writable = _call(name, route)
    if route != "own":
        writable[:] = 7.0
        writable[:] = VALUES
    first = _derivative(y, x, create_graph=True)
    np.testing.assert_array_equal(_derivative(first.sum(), x), expected)


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_hooks_that_pack_what_was_kept(name: str) -> None:
    with fg.autograd.graph.save_on_cpu():
        x, y, array = _call(name, "from_numpy")
    array[:] = 7.0
    with pytest.raises(fg.errors.GradientError, match=CHANGED):
        _derivative(y, x, create_graph=True)


#: What keeps copies of small arrays of NumPy's that its functions close over.
COPYING = ["scan", "scan with checkpoints", "cond", "while_loop", "condition", "fori_loop"]


@pytest.mark.parametrize("name", CONSTRUCTS)
@pytest.mark.parametrize("also", [False, True])
def test_arrays_themselves_are_copied_or_changes_are_seen(name: str, also: bool) -> None:
    def call(array: np.ndarray) -> tuple[fg.Tensor, fg.Tensor]:
        x, c = fg.tensor(START, requires_grad=True), fg.from_numpy(array)
        f = CONSTRUCTS[name]
        # The function closes over the array, or over a tensor of its memory as well.
        return x, (f(x, array) ** 2).sum() if not also else _both(name, x, array, c)

    x, y = call(VALUES.copy())
    first = _derivative(y, x, create_graph=True)
    expected = _derivative(first.sum(), x)
    array = VALUES.copy()
    x, y = call(array)
    array[:] = 7.0
    if name not in COPYING or also:
        with pytest.raises(fg.errors.GradientError, match=CHANGED):
            _derivative(y, x, create_graph=True)
        return
    first = _derivative(y, x, create_graph=True)
    np.testing.assert_array_equal(_derivative(first.sum(), x), expected)


def _both(name: str, x: Any, array: np.ndarray, c: Any) -> Any:
    def summed(s: Any) -> Any:
        return _step(s, array) + c

    loops: dict[str, Callable[[], Any]] = {
        "cond": lambda: fg.cond(fg.tensor(True), summed, lambda x: x, x),
        "compile": lambda: fg.compile(summed)(x),
        "fori_loop": lambda: fg.fori_loop(0, 3, lambda i, s: summed(s), x),
        "while_loop": lambda: fg.while_loop(lambda s: s.sum() < 9.0, lambda s: summed(s) + 1, x),
    }
    loop = loops.get(name, lambda: fg.scan(lambda s, _: (summed(s), s), x, length=3)[0])
    return (loop() ** 2).sum()


@pytest.mark.parametrize("name", ["scan", "cond", "fori_loop"])
def test_changes_of_large_arrays_are_seen(name: str) -> None:
    x, array = fg.full(1 << 14, 0.5, requires_grad=True), np.full(1 << 14, 2.0)
    y = CONSTRUCTS[name](x, array).sum()
    array[7] = 7.0
    with pytest.raises(fg.errors.GradientError, match=CHANGED):
        _derivative(y, x, create_graph=True)
