"""NumPy arrays in functions that are recorded: made inside, rewritten, closed over."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError

X = np.array([0.5, 1.0, 2.0, 3.0])
MODULE = np.zeros(4)


def in_loop(x: Any) -> Any:
    w, s = np.zeros(4), 0.0
    for i in range(3):
        w[:] = i + 1
        s = s + (x * w).sum()
    return s


def cleared(make: Callable[[], Any], use: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function that uses an array, and clears it afterwards."""

    def function(x: Any) -> Any:
        w = make()
        y = use(x, w)
        w[...] = 0
        return (y * 1.5).sum()

    return function


def halves(x: Any) -> Any:
    w = np.ones(4)
    y = x[:2] * w[:2] + (x * w).sum()
    w += 1
    return y.sum() + (x * w)[0]


def rows(x: Any) -> Any:
    w, s = np.zeros((3, 4)), 0.0
    for i in range(3):
        w[i] = i + 1
        s = s + w[i] @ x
    w[:] = 0
    return s


def overlapping(x: Any) -> Any:
    w = np.ones(4)
    y = x[1:] * w[1:]
    w[3] = 0.0
    return (x * w[::-1] + y.sum()).sum()


def module_level(x: Any) -> Any:
    MODULE[:] = [1, 2, 3, 4]
    y = (x * MODULE).sum()
    MODULE[:] = 7
    return y


def shared(x: Any) -> Any:
    w = np.full(4, 2.0)
    t = fg.from_numpy(w)
    y = x * t
    w[:] = 0
    return (y + x * t).sum()


def summed_up(x: Any) -> Any:
    t = fg.from_numpy(np.zeros(4))
    t += 3.0
    return (x * t).sum()


def large(x: Any) -> Any:
    w = np.ones(200)
    y = x[0] * w
    w *= 2
    return (y + x[1] * w).sum()


def setitem(x: Any, w: Any) -> Any:
    y = x * 1.0
    y[...] = w
    return y * x


def scattered(x: Any, i: Any) -> Any:
    y = x * 1.0
    y[i] = x[::-1] * 2.0
    return y * x


def some(dtype: Any = float) -> Callable[[], Any]:
    return lambda: np.arange(1, 5).astype(dtype)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "in a loop": in_loop,
    "halves": halves,
    "rows": rows,
    "overlapping": overlapping,
    "module level": module_level,
    "shared": shared,
    "changed in place": summed_up,
    "large": large,
    "float32": cleared(some("f4"), lambda x, w: x * w),
    "int": cleared(some(int), lambda x, w: x * w),
    "bool": cleared(some(bool), lambda x, w: x * w),
    "big endian": cleared(some(">f8"), lambda x, w: x * w),
    "0-d": cleared(lambda: np.array(3.0), lambda x, w: x * w),
    "view": cleared(some(), lambda x, w: x[1:] * w[:0:-1]),
    "column": cleared(lambda: np.eye(4) + 1, lambda x, w: x * w[:, 1]),
    "matmul": cleared(lambda: np.eye(4) + 1, lambda x, w: w @ x),
    "einsum": cleared(lambda: np.eye(4) + 1, lambda x, w: np.einsum("ij,j->i", w, x)),
    "concatenate": cleared(some(), lambda x, w: np.concatenate([x, w]) * 2.0),
    "interp": cleared(some(), lambda x, w: np.interp(x, w * 0.8, w * 2)),
    "maximum": cleared(some(), np.maximum),
    "where": cleared(some(bool), lambda x, w: np.where(w, x, 0.0)),
    "gather": cleared(lambda: np.array([0, 2, 3, 1]), lambda x, i: x[i] * x),
    "scatter": cleared(lambda: np.array([0, 2, 3, 1]), scattered),
    "setitem": cleared(some(), setitem),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_keep_what_they_found(name: str) -> None:
    f = PROGRAMS[name]
    compiled, slope = fg.compile(f), fg.compile(fg.grad(f))
    through = fg.grad(fg.compile(f))
    for k in range(3):
        x = X + k
        assert np.allclose(compiled(x), f(x)), k
        want = fg.grad(f)(x)
        assert np.allclose([slope(x), through(x)], want), k
    x = X.copy()
    run = fg.compile(f).bind(x)
    x += 1
    assert np.allclose([run().item(), run().item()], f(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_bodies_of_loops_keep_what_they_found(name: str) -> None:
    f = PROGRAMS[name]

    def step(x: Any) -> Any:
        return x * 0.5 + f(x) / 64

    def looped(x: Any) -> Any:
        return fg.fori_loop(0, 3, lambda i, c: step(c), x).sum()

    def scanned(x: Any) -> Any:
        return fg.scan(lambda c, e: (step(c), f(c)), x, np.arange(3.0))[1].sum()

    def chosen(x: Any) -> Any:
        return fg.cond(True, step, step, x).sum()

    want = step(step(step(X))).sum()
    assert np.isclose(looped(fg.tensor(X)).item(), want)
    assert np.isclose(scanned(fg.tensor(X)).item(), f(X) + f(step(X)) + f(step(step(X))))
    assert np.isclose(chosen(fg.tensor(X)).item(), step(X).sum())
    for function in (looped, scanned, chosen):
        x = fg.tensor(X, requires_grad=True)
        fg.gradcheck(function, (x,), eps=1e-6)
        twice = fg.compile(fg.value_and_grad(function))
        for k in range(2):
            for got, expected in zip(twice(X + k), fg.value_and_grad(function)(X + k), strict=True):
                assert np.allclose(got, expected)


def test_what_custom_functions_save_is_what_they_found() -> None:
    class Scaled(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            w = np.full(4, 2.0)
            ctx.save_for_backward(x, w)
            y = x * w
            w[:] = 7
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[1]

    f = fg.compile(fg.value_and_grad(lambda x: Scaled.apply(x).sum()))
    for _ in range(3):
        value, slope = f(X)
        assert value == 2 * X.sum()
        assert slope.tolist() == [2, 2, 2, 2]


class Looking(fg.Function):
    """Looks at values, so that every call makes its calls again."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(w)
        return fg.tensor(x.numpy() * w)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


def looking(x: Any, w: Any) -> Any:
    return Looking.apply(x, w)


def called_back(x: Any, w: Any) -> Any:
    like = fg.ShapeDtypeStruct(x.shape, x.dtype)
    return fg.pure_callback(np.multiply, like, x.detach(), w) + x


@pytest.mark.parametrize("call", [looking, called_back])
def test_code_that_is_called_again_gets_what_it_was_given(call: Callable[[Any, Any], Any]) -> None:
    f, outside = cleared(some(), call), np.ones(4)
    slope, reads = fg.compile(fg.grad(f)), fg.compile(lambda x: call(x, outside).sum())
    for k in range(1, 4):
        assert np.array_equal(slope(X + k), fg.grad(f)(X + k))
        outside[:] = k
        assert reads(X) == X.sum() * (k if call is looking else k + 1)


@pytest.mark.parametrize("size", [4, 300])
def test_arrays_outside_are_read_where_they_lie(size: int) -> None:
    outside = np.ones(size)
    functions = [
        fg.compile(lambda x: (x * outside).sum()),
        fg.compile(lambda x: np.maximum(x, outside).sum() + (x[:2] * outside[:2]).sum() * 0),
        fg.compile(lambda x: (x * fg.from_numpy(outside)).sum()),
    ]
    x = np.zeros(size) + 1
    for k in range(1, 4):
        outside[:] = k
        assert [f(x) for f in functions] == [k * size] * 3
    assert all(len(f.programs) == 1 for f in functions)


def test_large_arrays_are_not_rewritten() -> None:
    def f(x: Any) -> Any:
        w = np.ones(1 << 22)
        y = (x * w).sum()
        w[:] = 0
        return y

    with pytest.raises(CompileError, match="rewritten by NumPy code while the function is rec"):
        fg.compile(f)(np.ones(1))
    assert fg.compile(lambda x: (x * np.ones(1 << 22)).sum())(np.ones(1)) == 1 << 22


def test_arrays_that_tensors_share_and_change_are_not_rewritten() -> None:
    def f(x: Any) -> Any:
        w = np.ones(4)
        t = fg.from_numpy(w)
        y = x * t
        w[:] = 0
        t += 1
        return y + t

    with pytest.raises(CompileError, match="rewritten by NumPy code"):
        fg.compile(f)(X)


def test_memory_of_tensors_is_not_lent_to_be_written() -> None:
    outside = fg.zeros(4)

    def f(x: Any) -> Any:
        outside.numpy(writable=True)[:] = 5
        return x + outside

    with pytest.raises(CompileError, match="write to the tensor"):
        fg.compile(f)(X)


def test_arrays_made_inside_do_not_make_calls_eager_in_transforms() -> None:
    f = fg.compile(lambda p: np.float64(0.5) * (p * np.array([1.0, 2.0, 3.0, 4.0])).sum())
    for _ in range(3):
        assert fg.grad(f)(X).tolist() == [0.5, 1, 1.5, 2]
    assert len(f.programs) == 1
    assert not any("eager" in line for line in f.log)
