"""What runs again in a backward pass sees the names that it closes over as they were at the call.

Every program has the values and derivatives of the one that calls its functions as they stand. What
checkpoints save: `tests/engine/test_checkpoint.py`.
"""

import functools
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

X = np.array([0.3, 0.7, -0.5, 1.1])

Program = Callable[..., Any]


def plainly(function: Any) -> Any:
    return function


def written(x: Any, ck: Any) -> Any:
    b = x * 1
    r = ck(lambda z: (z * b).sum())(x)
    b *= 2
    return r * b.sum()


def element_written(x: Any, ck: Any) -> Any:
    b = x * 1
    r = ck(lambda z: (z * b * b).sum())(x)
    b[0] = 5.0
    return r


def bound_anew(x: Any, ck: Any) -> Any:
    b = x * 1
    r = ck(lambda z: (z * b * b).sum())(x)
    b = b * 2
    return r + b.sum()


def late_bound(x: Any, ck: Any) -> Any:
    y = x
    for k in range(1, 4):
        y = ck(lambda q: np.sin(q * k))(y)  # noqa: B023
    return y.sum()


def late_bound_tensor(x: Any, ck: Any) -> Any:
    y = x * 2
    for _ in range(3):
        y = ck(lambda q: np.sin(q * y))(x)  # noqa: B023
    return y.sum()


def value_bound_anew(x: Any, ck: Any) -> Any:
    s = x[0] * x[1]
    r = ck(lambda z: (z * z * s).sum())(x)
    s += x[2]
    return r * s


def memory_without_axes(x: Any, ck: Any) -> Any:
    m = fg.zeros(())
    m += x[0]
    r = ck(lambda z: (z * m).sum())(x)
    m += x[1]
    return r * m


def in_a_default(x: Any, ck: Any) -> Any:
    b = x * 1
    r = ck(lambda z, b=b, *, c=b: (z * b * c).sum())(x)
    b *= 3
    return r


def in_a_partial(x: Any, ck: Any) -> Any:
    b = x * 1
    r = ck(functools.partial(lambda b, z: (z * z * b).sum(), b))(x)
    b *= 3
    return r


def in_a_nested_function(x: Any, ck: Any) -> Any:
    b, k = x * 1, 2.0

    def inner(z: Any) -> Any:
        return z * b * k

    def outer(z: Any) -> Any:
        return (inner(z) * z).sum()

    r = ck(outer)(x)
    b, k = b * 3, 7.0
    inner = plainly  # noqa: F811
    return r + b.sum()


def decorated(x: Any, ck: Any) -> Any:
    k = 2.0

    def twice(f: Any) -> Any:
        @functools.wraps(f)
        def run(z: Any) -> Any:
            return f(f(z))

        return run

    @twice
    def f(z: Any) -> Any:
        return np.sin(z * k)

    r = ck(f)(x).sum()
    k = 5.0
    return r * k


def recursive(x: Any, ck: Any) -> Any:
    b = x * 1

    def power(z: Any, n: int) -> Any:
        return z * b if n == 0 else power(z, n - 1) * z

    r = ck(power)(x, 3).sum()
    b *= 2
    return r


def method(x: Any, ck: Any) -> Any:
    k = 2.0

    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w

        def step(self, z: Any) -> Any:
            return (z * z * self.w * k).sum()

    r = ck(Model(x * 1).step)(x)
    k = 5.0
    return r * k


def array_written(x: Any, ck: Any) -> Any:
    c = np.ones(4)
    top = c[:2]
    r = ck(lambda z: (z * z * c).sum() + (z[:2] * z[2:] * top).sum())(x)
    c += 1
    return r


def array_argument(x: Any, ck: Any) -> Any:
    c = np.ones(4)
    r = ck(lambda z, c, d: (z * z * c * d).sum())(x, c, d=c[::-1])
    c += 1
    return r


def array_used_as_scratch(x: Any, ck: Any) -> Any:
    c = np.zeros(4)
    tail = c[2:]

    def f(z: Any) -> Any:
        c[:2] += 1.0
        tail[:] += 2.0
        return (z * z * c).sum()

    call = ck(f)
    return call(x) + call(2 * x)


def reads_a_buffer(x: Any, ck: Any) -> Any:
    U = fg.zeros((5, 4))
    U[0] = x
    step = ck(lambda t: np.sin(U[t]) * 1.1)
    for t in range(4):
        U[t + 1] = step(t)
    return (U * U).sum()


def writes_a_buffer(x: Any, ck: Any) -> Any:
    U = fg.zeros((5, 4))
    U[0] = x

    def step(t: int) -> None:
        U[t + 1] = np.sin(U[t]) * U[t]

    call = ck(step)
    for t in range(4):
        call(t)
    return (U * U).sum()


def writes_two_buffers(x: Any, ck: Any) -> Any:
    U, V = fg.zeros(4), fg.zeros(4)

    def f(z: Any) -> Any:
        U[0] = z[0]
        V[1] = z[1] * 2
        return (z * U * V).sum() + (U * z[1] + V).sum()

    return ck(f)(x) * U[0] * V[1]


def counts_in_memory(x: Any, ck: Any) -> Any:
    n = fg.zeros(())

    def f(z: Any) -> Any:
        n[...] = n + 1
        return (z * z * n).sum()

    call = ck(f)
    return (call(x) + call(x) + call(x)) * n


def counts_in_a_name(x: Any, ck: Any) -> Any:
    n = 0

    def f(z: Any) -> Any:
        nonlocal n
        n += 1
        return (z * z * n).sum()

    call = ck(f)
    return (call(x) + call(x) + call(x)) * n


def nested(x: Any, ck: Any) -> Any:
    b, k = x * 1, 2.0
    r = ck(lambda z: ck(lambda q: np.sin(q * b * k))(z).sum())(x)
    b *= 2
    k = 5.0
    return r * k


def writes_an_argument(x: Any, ck: Any) -> Any:
    y = x * 1

    def f(z: Any) -> Any:
        z[0] *= z[1]
        return (z * z).sum()

    r = ck(f)(y[:])
    y[1] = 2.0
    return r + (y * y).sum()


CHECKPOINTS: dict[str, Program] = {
    f.__name__: f
    for f in (
        written,
        element_written,
        bound_anew,
        late_bound,
        late_bound_tensor,
        value_bound_anew,
        memory_without_axes,
        in_a_default,
        in_a_partial,
        in_a_nested_function,
        decorated,
        recursive,
        method,
        array_written,
        array_argument,
        array_used_as_scratch,
        reads_a_buffer,
        writes_a_buffer,
        writes_two_buffers,
        counts_in_memory,
        counts_in_a_name,
        nested,
        writes_an_argument,
    )
}


def leaf_gradient(f: Program) -> Callable[[np.ndarray], Any]:
    def gradient(x: np.ndarray) -> Any:
        w = fg.tensor(x, requires_grad=True)
        f(w).backward()
        return w.grad.numpy()

    return gradient


def hessian_product(f: Program) -> Callable[[np.ndarray], Any]:
    return lambda x: fg.hvp(f)(x, np.ones(len(x)))


DERIVATIVES: dict[str, Callable[[Program], Callable[[np.ndarray], Any]]] = {
    "grad": fg.grad,
    "leaf": leaf_gradient,
    "hvp": hessian_product,
}


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_checkpoint_is_the_function(name: str, derivative: str) -> None:
    f, of = CHECKPOINTS[name], DERIVATIVES[derivative]
    found = of(lambda x: f(x, fg.checkpoint))(X)
    np.testing.assert_allclose(found, of(lambda x: f(x, plainly))(X), rtol=1e-12)
    assert fg.value_and_grad(lambda x: f(x, fg.checkpoint))(X)[0] == f(fg.tensor(X), plainly).item()


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_compiled_checkpoint_is_the_function(name: str) -> None:
    f = CHECKPOINTS[name]
    want = fg.grad(lambda x: f(x, plainly))(X)
    compiled = fg.compile(fg.grad(lambda x: f(x, fg.checkpoint)))
    for _ in range(2):
        np.testing.assert_allclose(compiled(X), want, rtol=1e-12)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoints_of_closures_leave_nothing_behind(name: str) -> None:
    f = CHECKPOINTS[name]
    gc.collect()
    before = fg.live_nodes()
    leaf_gradient(lambda x: f(x, fg.checkpoint))(X)
    gc.collect()
    assert fg.live_nodes() == before


class TestRefusals:
    def test_a_leaf_that_was_changed(self) -> None:
        w = fg.tensor(X, requires_grad=True)
        y = fg.checkpoint(lambda z: (z * z * w).sum())(w)
        with fg.no_grad():
            w *= 2
        with pytest.raises(fg.errors.InPlaceError, match="changed in place"):
            y.backward()

    @pytest.mark.parametrize("views", [True, False])
    def test_writes_that_two_tensors_show(self, views: bool) -> None:
        x = fg.tensor(X, requires_grad=True)
        y = x * 1
        top = y[:2]

        def f(z: fg.Tensor) -> fg.Tensor:
            top.mul_(2)
            return (y * z).sum()

        def of_argument(z: fg.Tensor) -> fg.Tensor:
            z.mul_(2)
            return (y * z).sum()

        with pytest.raises(ValueError, match="memory that two tensors show"):
            fg.checkpoint(f if views else of_argument)(y[:] if not views else x)

    def test_constants_of_inference_mode_stay_allowed(self) -> None:
        with fg.inference_mode():
            c = fg.tensor(X)
        x = fg.tensor(X, requires_grad=True)
        with fg.no_grad():
            want = 2 * x * c
        # Products keep their operands, which such a tensor refuses; a sum does not.
        fg.checkpoint(lambda z: (z * z + c.clone()).sum())(x).backward()
        np.testing.assert_allclose(x.grad, 2 * X)
        assert want.shape == x.shape


def repeated(lower: int, upper: int, body: Any, carry: Any) -> Any:
    for i in range(lower, upper):
        carry = body(i, carry)
    return carry


def while_python(condition: Any, body: Any, carry: Any) -> Any:
    while condition(carry):
        carry = body(carry)
    return carry


def scan_python(body: Any, carry: Any, xs: Any) -> Any:
    rows = []
    for e in xs:
        carry, row = body(carry, e)
        rows.append(row)
    return carry, rows


class Ours:
    fori, cond, loop, scan, compile = fg.fori_loop, fg.cond, fg.while_loop, fg.scan, fg.compile


class Python:
    fori, loop, scan, compile = repeated, while_python, scan_python, plainly

    @staticmethod
    def cond(pred: Any, true: Any, false: Any, *operands: Any) -> Any:
        return true(*operands) if pred else false(*operands)


def loops_of_loops(x: Any, m: Any) -> Any:
    h = x[0] * x[1]
    for _ in range(2):
        h = m.fori(0, 3, lambda i, c: c * h, x[1] * 1.0)  # noqa: B023
    return h


def loop_and_value(x: Any, m: Any) -> Any:
    s = x[0]
    r = m.fori(0, 3, lambda i, c: c * s, x[1] * 1.0)
    s += 1
    return r * s


def loop_late_bound(x: Any, m: Any) -> Any:
    r = 1.0
    for k in range(1, 3):
        r *= m.fori(0, 2, lambda i, c: c * x[0] * k, x[1] * 1.0)  # noqa: B023
    return r


def branch(x: Any, m: Any) -> Any:
    h = x[0] * x[1]
    h = m.cond(x[0] > 0, lambda z: z * h, lambda z: z + h, x[1] * 2.0)
    return h * h


def compiled(x: Any, m: Any) -> Any:
    h, k = x[0] * x[1], 3.0
    g = m.compile(lambda z: z * z * h * k)
    r = g(x[1] * 1.0)
    h, k = h * 2, 5.0
    return r * h * k


def compiled_without_tensors(x: Any, m: Any) -> Any:
    k = 3.0
    g = m.compile(lambda z: (z * z * z * k).sum())
    r = g(x)
    k = 5.0
    return r * k


def while_loop(x: Any, m: Any) -> Any:
    h, n = x[0] * x[1], 3
    h = m.loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * h), (0, x[1] * 1.0))[1]
    n = 0
    return h * x[0] + n


def scanned(x: Any, m: Any) -> Any:
    h = x[0] * x[1]
    h = m.scan(lambda c, e: (c * h, c), x[1] * 1.0, np.arange(3.0))[0]
    return h * x[0]


def loop_with_array(x: Any, m: Any) -> Any:
    c = np.array([2.0, 3.0, 4.0, 5.0])
    r = m.fori(0, 2, lambda i, q: q * q * c, x * 1.0)
    c *= 2
    return r.sum()


def loop_that_counts(x: Any, m: Any) -> Any:
    n = 0

    def body(i: Any, c: Any) -> Any:
        nonlocal n
        n += 1
        return c * x * (n > 0)

    return m.fori(0, 2, body, x * 1.0).sum()


def loop_over_written_memory(x: Any, m: Any) -> Any:
    a, b = x * 1, x * 2
    a[0] = x[1] * x[2]
    tail = b[1:]
    b[2] = x[0] * x[3]
    r = m.fori(0, 2, lambda i, c: c * a, x * 1.0).sum()
    return r + m.cond(True, lambda z: z * tail * tail, lambda z: z, x[1:] * 1.0).sum()


LOOPS: dict[str, Program] = {
    f.__name__: f
    for f in (
        loops_of_loops,
        loop_and_value,
        loop_late_bound,
        branch,
        compiled,
        compiled_without_tensors,
        while_loop,
        scanned,
        loop_with_array,
        loop_that_counts,
        loop_over_written_memory,
    )
}


@pytest.mark.parametrize("name", LOOPS)
def test_second_derivatives_of_loops_branches_and_compiled_functions(name: str) -> None:
    f = LOOPS[name]
    want = fg.hessian(lambda x: f(x, Python))(X)
    np.testing.assert_allclose(fg.hessian(lambda x: f(x, Ours))(X), want, rtol=1e-12, atol=1e-15)
    if name != "while_loop":
        compiled = fg.compile(fg.hessian(lambda x: f(x, Ours)))
        for _ in range(2):
            np.testing.assert_allclose(compiled(X), want, rtol=1e-12, atol=1e-15)


def test_a_compiled_leaf_function_keeps_the_names_it_was_recorded_with() -> None:
    def found(change: Any) -> list[Any]:
        k = 3.0
        g = change(lambda q: (q * q * q * k).sum())
        t = fg.tensor(X, requires_grad=True)
        r = g(t)
        k = 5.0
        (d,) = fg.autograd.grad(r, [t], create_graph=True)
        (h,) = fg.autograd.grad(d.sum(), [t])
        return [d.tolist(), h.tolist(), k]

    ours, plain = found(fg.compile), found(plainly)
    np.testing.assert_allclose(ours[0], plain[0])
    np.testing.assert_allclose(ours[1], plain[1])


@pytest.mark.parametrize("of_checkpoint", [True, False])
@pytest.mark.parametrize("by_default", [True, False])
def test_deep_chains_of_functions(of_checkpoint: bool, by_default: bool) -> None:
    def after(f: Any, k: float) -> Any:
        return (lambda z, f=f: f(z) + k) if by_default else (lambda z: f(z) + k)

    f, depth = (lambda z: z * z), 400
    for k in range(depth):
        f = after(f, float(k))

    def g(x: Any) -> Any:
        found = fg.checkpoint(f)(x) if of_checkpoint else fg.cond(True, f, f, x)
        return (found * found).sum()

    with fg.no_grad():
        want = fg.tensor(X * X + sum(range(depth))).tolist()
    np.testing.assert_allclose(fg.grad(g)(X), 4 * X * np.array(want), rtol=1e-12)
