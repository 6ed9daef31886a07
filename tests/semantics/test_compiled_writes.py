"""Functions, loops and branches that write to tensors which they close over, or were given."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd.errors import CompileError

X = np.array([0.3, 0.7, -0.5, 1.1])
Program = Callable[[Any, Any, Callable[[Any], Any]], Any]


def replaced(x: Any, np: Any, c: Any) -> Any:
    u = x * 1

    def write(z: Any) -> Any:
        u[0] = z[1] * 3.0
        return z.sum()

    r = c(write)(x)
    u[1:] *= u[0]
    return r + (u * u).sum()


def filled(x: Any, np: Any, c: Any) -> Any:
    u = np.zeros(4)

    def write(z: Any) -> Any:
        u[...] = u * z[1] + z
        return z.sum()

    g = c(write)
    return g(x) + g(x) + g(2 * x) + (u * u).sum()


def nothing(x: Any, np: Any, c: Any) -> Any:
    u = x * 1
    c(lambda z: u.__setitem__(0, z[1] * 3.0))(x)
    return (u * u).sum()


def scaled(x: Any, np: Any, c: Any) -> Any:
    u = x * 1
    g = c(lambda z: u.__imul__(z).sum())
    return g(x) * g(x) + (u * u).sum()


def through_a_view(x: Any, np: Any, c: Any) -> Any:
    u = x * 1
    v = u[1:]
    g = c(lambda z: v.__imul__(z[1:]).sum())
    return g(x) * g(x) + (u * u).sum()


def counted(x: Any, np: Any, c: Any) -> Any:
    m = np.zeros(())

    def write(z: Any) -> Any:
        m.__iadd__(z.sum())
        return m * z[0]

    g = c(write)
    return g(x) * g(x) + m


def into(x: Any, np: Any, c: Any) -> Any:
    u = x * 1
    q = (u * u).sum()

    def write(z: Any) -> Any:
        np.multiply(u, z, out=u)
        return u[0] * 1

    return c(write)(x) + (u * u).sum() + q


FUNCTIONS = [replaced, filled, nothing, scaled, through_a_view, counted, into]


def differences(f: Callable[[Any], Any]) -> Any:
    return np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)])


def leaf(f: Callable[[Any], Any]) -> Any:
    x = fg.tensor(X, requires_grad=True)
    y = f(x)
    y.backward()
    return y.item(), x.grad


WAYS: dict[str, Callable[[Any], Any]] = {
    "leaf": leaf,
    "grad": lambda f: fg.value_and_grad(f)(X),
    "compiled grad": lambda f: fg.compile(fg.value_and_grad(f))(X),
    "grad of compiled": lambda f: fg.value_and_grad(fg.compile(f))(X),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", FUNCTIONS)
def test_gradients_of_what_compiled_functions_write(program: Program, way: str) -> None:
    def plain(x: Any) -> Any:
        return program(x, np, lambda f: f)

    module = fg if way == "leaf" else fnp
    value, slope = WAYS[way](lambda x: program(x, module, fg.compile))
    assert np.isclose(value, plain(X))
    assert np.allclose(slope, differences(plain), atol=1e-6)


def test_what_is_closed_over_and_requires_grad_is_written_once() -> None:
    p, u = fg.tensor(2.0, requires_grad=True), fg.ones(2)
    f = fg.compile(lambda z: (u.__imul__(p), (z * p).sum())[1])
    r = f(np.array([1.0, 2.0])) + u.sum()
    r.backward()
    assert u.tolist() == [2, 2]
    assert p.grad.item() == 5
    assert any("writes what requires grad" in line for line in f.log)


def test_unrecorded_writes_are_compiled() -> None:
    mean = fg.zeros(4)

    def f(x: Any) -> Any:
        with fg.no_grad():
            mean.mul_(0.5).add_(x)
        return (x * x).sum()

    compiled, x = fg.compile(f), fg.tensor(X, requires_grad=True)
    for _ in range(3):
        compiled(x).backward()
    assert len(compiled.programs) == 1
    assert np.allclose(mean.numpy(), X * 1.75)
    assert np.allclose(x.grad.numpy(), 6 * X)


def pyscan(body: Any, c: Any, xs: Any) -> Any:
    ys = []
    for e in xs:
        c, y = body(c, e)
        ys.append(y)
    return c, np.array(ys)


def pyfor(lower: int, upper: int, body: Any, c: Any) -> Any:
    for i in range(lower, upper):
        c = body(i, c)
    return c


def pywhile(condition: Any, body: Any, c: Any) -> Any:
    while condition(c):
        c = body(c)
    return c


def pycond(pred: Any, a: Any, b: Any, *args: Any) -> Any:
    return a(*args) if pred else b(*args)


class Python:
    """The same control flow for arrays."""

    scan, fori_loop = staticmethod(pyscan), staticmethod(pyfor)
    while_loop, cond = staticmethod(pywhile), staticmethod(pycond)


def buffer(x: Any, np: Any, lax: Any) -> Any:
    u = np.zeros(3)
    u[0] = x[0]

    def body(i: Any, c: Any) -> Any:
        u[i + 1] = 2 * u[i]
        return c

    lax.fori_loop(0, 2, body, x[0] * 1.0)
    return u.sum()


def doubled(x: Any, np: Any, lax: Any) -> Any:
    u = x * 1
    lax.fori_loop(0, 2, lambda i, c: (u.__imul__(2.0), c)[1], x[0] * 1.0)
    return u.sum()


def carry(x: Any, np: Any, lax: Any) -> Any:
    def body(c: Any, e: Any) -> Any:
        c[0] += e
        return c, c[1] * e

    first = x * 1
    c, ys = lax.scan(body, first, x)
    return c.sum() + (ys * ys).sum() + first.sum()


def scanned(x: Any, np: Any, lax: Any) -> Any:
    u = x * 1

    def body(c: Any, e: Any) -> Any:
        u[0] += e
        return c * e, u[0] * 1

    c, ys = lax.scan(body, x[0], x)
    return c + ys.sum() + u.sum()


def looped(x: Any, np: Any, lax: Any) -> Any:
    u = x * 1

    def body(c: Any) -> Any:
        u[0] *= 1.5
        return c + 1

    lax.while_loop(lambda c: c < 3, body, 0.0)
    return u.sum() + u[0] ** 2


def chosen(x: Any, np: Any, lax: Any) -> Any:
    u = x * 1

    def one(z: Any) -> Any:
        u[0] *= z[1]
        return z[0]

    def other(z: Any) -> Any:
        u[1] *= z[1]
        return z[0]

    return lax.cond(x[0] > 0, one, other, x) * u.sum()


BODIES = [buffer, doubled, carry, scanned, looped, chosen]
#: How often these run, or which of them, a program cannot tell.
REFUSED = {looped, chosen}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", BODIES)
def test_bodies_that_write_outside_run_in_python(program: Program, way: str) -> None:
    def plain(x: Any) -> Any:
        return program(x, np, Python)

    def ours(x: Any) -> Any:
        return program(x, fg if way == "leaf" else fnp, fg)

    if program in REFUSED and "compiled" in way:
        with pytest.raises(CompileError, match="carry it"):
            WAYS[way](ours)
        return
    value, slope = WAYS[way](ours)
    assert np.isclose(value, plain(X))
    assert np.allclose(slope, differences(plain), atol=1e-6)
