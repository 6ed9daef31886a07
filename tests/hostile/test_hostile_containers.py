"""Containers that contain themselves, are nested without an end, or are longer than time.

Each must end as an error that says so; before the limits each killed or stopped the process, so a
failure here shows as one of the whole run. `test_hostile_calls.py` sweeps every name.
"""

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError
from ferrograd.hips.misc.flatten import flatten
from hostile.values import deep

X = fg.tensor([[1.0, 2.0], [3.0, 4.0]])


def loop(*items: Any) -> list[Any]:
    """A list that contains these and itself."""
    made = [*items]
    made.append(made)
    return made


def crossed() -> list[Any]:
    """Two containers that contain each other, with a tensor beside."""
    inner: list[Any] = [fg.tensor(1.0)]
    inner.append((inner, 2.0))
    return inner


def nested(depth: int, core: Any) -> Any:
    """A value inside so many lists."""
    for _ in range(depth):
        core = [core]
    return core


ENDLESS = {
    "itself": loop(),
    "itself beside a tensor": loop(fg.tensor(1.0)),
    "itself twice": [x := loop(1.0), x],
    "each other": crossed(),
    "deep list": deep(list),
    "deep tuple": deep(tuple),
    "a tensor beside a deep list": [fg.tensor(1.0), deep(list)],
    "70 levels": nested(70, 1.0),
    "a tensor in 70 levels": nested(70, fg.tensor(1.0)),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "tensor": fg.tensor,
    "asarray": fg.asarray,
    "Tensor": fg.Tensor,
    "add": lambda r: X + r,
    "radd": lambda r: r + X,
    "less": lambda r: r > X,
    "matmul": lambda r: X @ r,
    "xor": lambda r: (X > 0) ^ r,
    "iadd": lambda r: X.clone().__iadd__(r),
    "function": fg.exp,
    "index": lambda r: X[r],
    "assigned": lambda r: X.clone().__setitem__(0, r),
    "assigned by": lambda r: X.clone().__setitem__(r, 0.0),
    "concat": fg.concat,
    "stack": fg.stack,
    "where": lambda r: fg.where(X > 0, X, r),
    "clip": lambda r: fg.clip(X, r, None),
    "masked_fill": lambda r: X.masked_fill(r, 0.0),
    "einsum": lambda r: fg.einsum("ij,jk->ik", X, r),
    "multi_dot": lambda r: fg.linalg.multi_dot([X, r]),
    "backward": lambda r: (fg.ones(2, requires_grad=True) * 2).backward(r),
    "gradient": lambda r: np.gradient(X, r),
    "numpy": lambda r: fg.numpy.array([r, X]),
    "functor": lambda r: fg.functors.add(1.0, X, 1.0, r),
    "layer": lambda r: fg.nn.Linear(2, 2)(r),
    "parameter": fg.nn.Parameter,
    "grad": lambda r: fg.grad(lambda x: fg.tensor(1.0))(r),
    "flatten": flatten,
}


@pytest.mark.parametrize("name", READERS)
def test_nesting_without_an_end_is_an_error(name: str) -> None:
    for what, value in ENDLESS.items():
        with pytest.raises((ValueError, TypeError, IndexError)) as caught:
            print(what, READERS[name](value))
        assert len(str(caught.value)) < 400, what


@pytest.mark.parametrize("name", ["tensor", "add", "index", "concat", "stack", "grad"])
def test_the_error_says_what_the_matter_is(name: str) -> None:
    with pytest.raises(ShapeError, match="nested more than 64 levels deep, or contains itself"):
        READERS[name](loop(1.0))


def test_64_levels_are_read() -> None:
    assert fg.tensor(nested(64, 1.0)).ndim == 64
    made = fg.tensor(nested(63, fg.tensor([1.0], requires_grad=True)))
    assert made.ndim == 64
    assert made.requires_grad


def test_arguments_of_functions_are_as_deep() -> None:
    def call(value: Any) -> Any:
        class Same(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return fg.tensor(1.0)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return None

        return Same.apply(value)

    call(nested(60, fg.tensor(1.0)))
    for value in (loop(1.0), crossed(), deep(list), {"a": loop()}):
        with pytest.raises(ShapeError, match="64 levels deep"):
            call(value)


def test_trees_of_arguments_are_as_deep() -> None:
    table: dict[str, Any] = {"a": np.ones(2)}
    value, slope = fg.value_and_grad(lambda t: (t["a"] * 3.0).sum())(table)
    assert value == 6.0
    assert list(slope) == ["a"]
    table["again"] = table
    for walk in (fg.grad, fg.value_and_grad, fg.jacobian):
        with pytest.raises(ShapeError, match="a dict is nested more than 64 levels deep"):
            walk(lambda t: (t["a"] * 3.0).sum())(table)


LONG = (range(2**62), range(2**40), range(2**70), itertools.count(), itertools.repeat(0))
NAMED: dict[str, Callable[[Any], Any]] = {
    "amax": lambda r: fg.amax(X, r),
    "sum": lambda r: X.sum(axis=r),
    "sum by dim": lambda r: X.sum(dim=r),
    "numpy sum": lambda r: np.sum(X, axis=r),
    "mean": lambda r: fg.mean(X, r),
    "permute": lambda r: X.permute(r),
    "transpose": lambda r: X.transpose(r),
    "moveaxis": lambda r: fg.moveaxis(X, r, 0),
    "reshape": lambda r: X.reshape(r),
    "view": lambda r: X.view(r),
    "expand": lambda r: X.expand(r),
    "expand_dims": lambda r: fg.expand_dims(X, r),
    "squeeze": lambda r: X.squeeze(r),
    "flip": lambda r: fg.flip(X, r),
    "roll": lambda r: fg.roll(X, r, 0),
    "roll axes": lambda r: fg.roll(X, 1, r),
    "tile": lambda r: fg.tile(X, r),
    "broadcast_to": lambda r: fg.broadcast_to(X, r),
    "zeros": fg.zeros,
    "ones": lambda r: fg.ones(r),
    "full": lambda r: fg.full(r, 1.0),
    "randn": lambda r: fg.randn(r),
    "tensordot": lambda r: fg.tensordot(X, X, r),
    "sliding": lambda r: fg.sliding_window_view(X, r),
    "layer_norm": lambda r: fg.nn.functional.layer_norm(X, r),
    "conv": lambda r: fg.nn.functional.conv1d(X[None], X[None], stride=r),
    "pad": lambda r: fg.nn.functional.pad(X, r),
    "split": lambda r: fg.split(X, r),
    "concat": fg.concat,
    "stack": fg.stack,
    "grad": lambda r: fg.autograd.grad(fg.ones(2, requires_grad=True).sum(), r),
    "backward": lambda r: fg.autograd.backward(r),
    "hook": lambda r: fg.autograd.graph.register_multi_grad_hook(r, print),
}


@pytest.mark.parametrize("name", NAMED)
def test_lists_longer_than_time_are_errors(name: str) -> None:
    for value in LONG:
        with pytest.raises((TypeError, ValueError)):
            print(value, NAMED[name](value))


def test_the_error_says_how_long_a_list_may_be() -> None:
    with pytest.raises(ArgumentError, match=r"amax: axis has 4611686018427387904 elements; give"):
        fg.amax(X, range(2**62))
    with pytest.raises(ArgumentError, match=r"sum: axis has more than 64 elements; give at most"):
        X.sum(axis=iter(itertools.count()))


class Liar:
    """Says of itself what is not so."""

    def __init__(self, length: int, items: list[Any]) -> None:
        self.length, self.items = length, items

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Any:
        return self.items[i]


def test_a_length_that_is_a_lie_reserves_nothing() -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        fg.concat(Liar(2**60, [X, X]))
    assert X.reshape(Liar(1, [4])).shape == (4,)
    assert fg.concat(Liar(0, [X, X])).shape == (4, 2)


def test_a_deep_shape_is_named_in_short() -> None:
    for make in (fg.zeros, fg.randn, fg.full):
        with pytest.raises(ArgumentTypeError, match="holds something else than integers"):
            make(nested(5000, 1), 1.0) if make is fg.full else make(nested(5000, 1))


class Raising:
    """Raises what it was given, from everything."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __index__(self) -> int:
        raise self.error

    def __len__(self) -> int:
        raise self.error


def test_what_an_argument_raises_is_raised() -> None:
    for error in (KeyError("mine"), RuntimeError("mine"), OSError("mine")):
        for use in (X.reshape, lambda a: X.sum(axis=a), lambda a: X.sum(axis=(a,)), fg.zeros):
            with pytest.raises(type(error), match="mine"):
                use(Raising(error))


def test_a_deep_pickle_is_one_of_pickle_alone() -> None:
    for value in (nested(60, fg.tensor(1.0)), loop(fg.tensor(1.0))):
        again = pickle.loads(pickle.dumps(value))
        assert isinstance(again, list)


class Endless(list[Any]):
    """A list that says it never ends."""

    def __iter__(self) -> Any:
        return itertools.repeat(1.0)


def test_a_search_for_tensors_reads_what_a_list_holds() -> None:
    with pytest.raises(ArgumentTypeError, match="the first argument is a tensor"):
        fg.grad(Endless([fg.ones(2)]))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"list|Endless"):
        fg.grad(Endless([1.0]))  # type: ignore[arg-type]
