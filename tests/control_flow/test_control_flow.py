"""Loops and branches: `scan`, `fori_loop`, `while_loop`, `cond`, `switch`, compiled and not."""

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ferrograd as fg
from ferrograd.errors import ArgumentError, CompileError, GradientError, InPlaceError

rng = np.random.default_rng(11)


def leaf(*shape: int) -> Any:
    return fg.tensor(rng.standard_normal(shape), requires_grad=True)


def bits(x: Any) -> bytes:
    return b"" if x is None else np.asarray(x.detach() if isinstance(x, fg.Tensor) else x).tobytes()


def python_scan(f: Any, carry: Any, xs: Any, reverse: bool = False) -> Any:
    rows = []
    for k in range(len(xs))[:: -1 if reverse else 1]:
        carry, y = f(carry, xs[k])
        rows.append(y)
    return carry, fg.stack(rows[:: -1 if reverse else 1])


def recurrent(w: Any) -> Callable[[Any, Any], Any]:
    def step(h: Any, x: Any) -> Any:
        h = fg.tanh(w @ h + x)
        return h, (h * h).sum()

    return step


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_scan_computes_what_a_loop_computes(length: int, reverse: bool) -> None:
    w, h, xs = leaf(3, 3), leaf(3), leaf(length, 3)
    last, rows = fg.scan(recurrent(w), h, xs, reverse=reverse)
    assert rows.shape == (length,)
    if length == 0:
        assert bits(last) == bits(h)
        return
    want_last, want_rows = python_scan(recurrent(w), h, xs, reverse)
    assert bits(last) == bits(want_last)
    assert bits(rows) == bits(want_rows)
    weights = fg.tensor(np.cos(np.arange(length)))
    got = fg.autograd.grad(last.sum() + (rows * weights).sum(), [w, h, xs])
    want = fg.autograd.grad(want_last.sum() + (want_rows * weights).sum(), [w, h, xs])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-15)


def test_a_closures_gradient_has_the_bits_of_the_loop() -> None:
    """The order of the sums is the engine's, when every step uses the closure several times."""
    w, h, xs = leaf(4), leaf(4), leaf(6, 4)

    def step(c: Any, x: Any) -> Any:
        return w * c + w * x + fg.sin(w), None

    def looped() -> Any:
        c = h
        for k in range(6):
            c, _ = step(c, xs[k])
        return c

    (got,) = fg.autograd.grad(fg.scan(step, h, xs)[0].sum(), [w])
    (want,) = fg.autograd.grad(looped().sum(), [w])
    assert bits(got) == bits(want)


def test_compiled_scans_replay_on_other_values() -> None:
    def loss(w: Any, h: Any, xs: Any) -> Any:
        last, rows = fg.scan(recurrent(fg.sin(w)), h * 2.0, xs)
        return last.sum() + rows.sum()

    slopes = fg.value_and_grad(loss, argnums=(0, 1, 2))
    compiled = fg.compile(slopes)
    for _ in range(3):
        given = (rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((9, 3)))
        value, found = compiled(*given)
        expected, want = slopes(*given)
        assert bits(value) == bits(expected)
        assert [bits(g) for g in found] == [bits(g) for g in want]
    assert len(compiled.programs) == 1
    assert "scan(" in compiled.explain(*given)


def test_a_compiled_scan_is_a_short_program() -> None:
    def orbit(x: Any) -> Any:
        return fg.fori_loop(0, 1000, lambda i, s: s + 1e-3 * fg.stack([s[1], -s[0]]), x)

    def total(x: Any) -> Any:
        return orbit(x).sum()

    compiled = fg.compile(fg.value_and_grad(total))
    value, slope = compiled(np.array([1.0, 0.0]))
    again = compiled(np.array([0.0, 1.0]))
    assert value == pytest.approx(np.cos(1.0) - np.sin(1.0), abs=1e-3)
    assert slope == pytest.approx(np.cos(1.0) + np.array([-1, 1]) * np.sin(1.0), abs=1e-3)
    assert again[0] == pytest.approx(np.cos(1.0) + np.sin(1.0), abs=1e-3)
    (program,) = compiled.programs
    assert len(program.steps()) < 20


def test_one_node_of_a_compiled_function_holds_a_loop() -> None:
    w = leaf(3, 3)
    f = fg.compile(lambda h, xs: fg.scan(recurrent(w), h, xs)[1].sum())
    for _ in range(3):
        h, xs = leaf(3), leaf(5, 3)
        got = fg.autograd.grad(f(h, xs), [w, h, xs])
        want = fg.autograd.grad(fg.scan(recurrent(w), h, xs)[1].sum(), [w, h, xs])
        assert [bits(a) for a in got] == [bits(b) for b in want]


def test_trees_dtypes_and_numbers() -> None:
    def step(state: dict[str, Any], x: Any) -> Any:
        count, (total,) = state["count"], state["sum"]
        return {"count": count + 1, "sum": (total + x["a"] * x["b"],)}, {"both": (total, count)}

    xs = {"a": np.arange(4.0), "b": fg.tensor([1, 2, 3, 4])}
    last, rows = fg.scan(step, {"count": fg.tensor(0), "sum": (0.0,)}, xs)
    assert last["count"].item() == 4
    assert last["sum"][0].item() == float(np.arange(4) @ np.arange(1, 5))
    assert rows["both"][1].tolist() == [0, 1, 2, 3]
    assert rows["both"][0].dtype.name == "float64"
    assert fg.scan(lambda c, _: (c * 2, None), 1, length=5) == (32, None)


def test_nested_loops_and_branches() -> None:
    def inner(c: Any, x: Any) -> Any:
        return fg.cond(x > 0, lambda c: c * x, lambda c: c - x * c, c), None

    def outer(c: Any, row: Any) -> Any:
        return fg.scan(inner, c, row)[0], c

    def plain(c: Any, xs: Any) -> Any:
        for row in xs:
            for x in row:
                c = c * x if x > 0 else c - x * c
        return c

    def looped(c: Any, xs: Any) -> Any:
        return fg.scan(outer, c, xs)[0]

    compiled = fg.compile(fg.value_and_grad(looped, argnums=(0, 1)))
    for _ in range(4):
        xs = rng.standard_normal((3, 4))
        value, slopes = compiled(1.5, xs)
        expected, want = fg.value_and_grad(plain, argnums=(0, 1))(1.5, xs)
        assert value == pytest.approx(expected, rel=1e-13)
        for a, b in zip(slopes, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert len(compiled.programs) == 1


def test_while_loops() -> None:
    def newton(a: Any) -> Any:
        """The square root of a."""

        def far(x: Any) -> Any:
            return fg.abs(x * x - a) > 1e-12

        return fg.while_loop(far, lambda x: 0.5 * (x + a / x), 1.0 + 0.0 * a)

    compiled = fg.compile(fg.value_and_grad(newton))
    for a in (2.0, 9.0, 1e6, 0.25):
        value, slope = compiled(a)
        assert value == pytest.approx(a**0.5, rel=1e-9)
        assert slope == pytest.approx(0.5 / a**0.5, rel=1e-6)
    assert len(compiled.programs) == 1
    assert fg.while_loop(lambda x: x < 0, lambda x: x * 2.0, 3.0).item() == 3.0
    x = leaf()
    (slope,) = fg.autograd.grad(fg.while_loop(lambda x: x < 100, lambda x: x * x + 2.0, x), x)
    assert np.isfinite(slope.item())


@pytest.mark.parametrize("compiled", [False, True])
def test_branches(compiled: bool) -> None:
    w = leaf(2)

    def f(x: Any, index: Any) -> Any:
        branches = [lambda x: x * 2.0, lambda x: fg.sin(x) * w, lambda x: (x + 1.0).sum() * w]
        return fg.switch(index, branches, x).sum()

    run: Any = fg.compile(f) if compiled else f
    for k in (0, 1, 2, 5, -3, 1):
        x, index = leaf(2), fg.tensor(k)
        value = run(x, index)
        got = fg.autograd.grad(value, [x, w], allow_unused=True)
        number = min(max(k, 0), 2)
        plain = [x * 2.0, fg.sin(x) * w, (x + 1.0).sum() * w][number].sum()
        want = fg.autograd.grad(plain, [x, w], allow_unused=True, materialize_grads=True)
        assert value.item() == plain.item()
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(0.0 if a is None else a.numpy(), b.numpy() + 0.0)
    if compiled:
        assert len(run.programs) == 1


def test_higher_derivatives_run_the_loop_in_python() -> None:
    def power(x: Any) -> Any:
        return fg.fori_loop(0, 4, lambda i, y: y * x, 1.0 + 0.0 * x)

    assert fg.grad(fg.grad(power))(3.0) == pytest.approx(12 * 9.0)
    assert fg.grad(fg.grad(fg.compile(power)))(3.0) == pytest.approx(12 * 9.0)
    assert fg.hessian(lambda x: fg.cond(x[0] > 0, lambda x: (x**3).sum(), fg.sum, x))(
        np.array([1.0, 2.0])
    ) == pytest.approx(np.diag([6.0, 12.0]))


def test_indices_that_are_loop_counters() -> None:
    table = fg.tensor(rng.standard_normal(5))

    def f(x: Any) -> Any:
        return fg.fori_loop(0, 5, lambda i, s: s + table[i] * x * i, 0.0 * x)

    compiled = fg.compile(fg.value_and_grad(f))
    for x in (1.0, -2.0):
        value, slope = compiled(x)
        expected = float(table.numpy() @ np.arange(5))
        assert slope == pytest.approx(expected, rel=1e-14)
        assert value == pytest.approx(expected * x, rel=1e-14)


def test_bodies_that_look_at_values_run_in_python() -> None:
    def step(c: Any, x: Any) -> Any:
        return (c + x if x > 0 else c - x), None

    xs = fg.tensor([1.0, -2.0, 3.0])
    assert fg.scan(step, 0.0, xs)[0].item() == 6.0
    with pytest.raises(CompileError, match="Python reads a value"):
        fg.compile(lambda xs: fg.scan(step, 0.0, xs)[0])(xs)


def test_bodies_that_draw_random_numbers_run_in_python() -> None:
    def walk(x: Any) -> Any:
        return fg.scan(lambda c, _: (c + fg.randn(2), None), x, length=4)[0]

    compiled = fg.compile(walk)
    for _ in range(2):
        fg.manual_seed(5)
        got = compiled(fg.zeros(2))
        fg.manual_seed(5)
        assert bits(got) == bits(walk(fg.zeros(2)))


def test_memory_outside_is_read_anew() -> None:
    scale = fg.tensor(2.0)
    f = fg.compile(lambda x: fg.fori_loop(0, 3, lambda i, s: s * scale, x))
    assert f(fg.tensor(1.0)).item() == 8.0
    scale.fill_(3.0)
    assert f(fg.tensor(1.0)).item() == 27.0


OPERATIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda c, x, w: c * x + w,
    lambda c, x, w: fg.tanh(c) - w * x,
    lambda c, x, w: fg.where(c > x, c, w),
    lambda c, x, w: c[::-1] * 0.5 + x,
    lambda c, x, w: c + (w * x).sum(),
    lambda c, x, w: fg.maximum(c, x) * fg.exp(-w * w),
]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 5), st.integers(0, 9999))
def test_random_bodies(chosen: list[int], length: int, seed: int) -> None:
    values = np.random.default_rng(seed)

    def step(w: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            for k in chosen:
                c = OPERATIONS[k](c, x, w)
            return c, c.sum()

        return body

    def loss(loop: Any) -> Any:
        def of(w: Any, c: Any, xs: Any) -> Any:
            last, rows = loop(step(w), c, xs)
            return (last * last).sum() + (rows * rows).sum()

        return fg.value_and_grad(of, argnums=(0, 1, 2))

    compiled, eager, plain = fg.compile(loss(fg.scan)), loss(fg.scan), loss(python_scan)
    for _ in range(2):
        given = [values.standard_normal(shape) * 0.5 for shape in (3, 3, (length, 3))]
        value, slopes = compiled(*given)
        same, same_slopes = eager(*given)
        assert bits(value) == bits(same)
        assert [bits(g) for g in slopes] == [bits(g) for g in same_slopes]
        want, want_slopes = plain(*given)
        assert value == want
        for a, b in zip(slopes, want_slopes, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_higher_derivatives_of_loops_that_begin_with_a_constant() -> None:
    def power(t: Any) -> Any:
        return fg.fori_loop(0, 3, lambda i, y: y * t, 1.0)

    assert fg.grad(fg.grad(power))(2.0) == pytest.approx(12.0)
    assert fg.jvp(power, (2.0,), (1.0,))[1] == pytest.approx(12.0)
    twice = fg.scan(lambda c, x: ((c[0] * x, c[1]), None), (leaf(), 2.0), fg.ones(3))[0][0]
    assert twice.requires_grad


def test_hooks_of_closures_run_once() -> None:
    q = fg.ones(2, requires_grad=True)
    q.register_hook(lambda g: g * 2.0)
    fg.fori_loop(0, 3, lambda i, c: c * q, fg.ones(2)).sum().backward()
    assert q.grad is not None
    assert q.grad.tolist() == [6.0, 6.0]
    m = leaf(2) * 2.0
    m.retain_grad()
    result = fg.cond(True, lambda c: c * m, lambda c: c, fg.ones(2))
    assert m.grad is None
    result.sum().backward()
    assert m.grad.tolist() == [1.0, 1.0]


def test_loops_without_iterations_lead_gradients_on() -> None:
    ones = np.ones(2)
    never = fg.grad(
        lambda x: fg.while_loop(lambda c: c.sum() < 0.0, lambda c: c.detach() * 2, x * 3.0).sum()
    )
    assert never(ones).tolist() == [3.0, 3.0]
    empty = fg.grad(
        lambda x: fg.scan(lambda c, k: (c.detach() * k, None), x * 3.0, fg.zeros((0, 2)))[0].sum()
    )
    assert empty(ones).tolist() == [3.0, 3.0]


def test_iterations_that_decide_otherwise() -> None:
    f = fg.grad(lambda x: fg.scan(lambda c, k: (fg.max(fg.stack([c, k])), None), x[0], x)[0])
    assert f(np.array([1.0, np.nan, 0.0])).tolist() == [0.0, 1.0, 0.0]


CLOSED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "compile": lambda p: fg.compile(lambda x: x * x * p),
    "fori_loop": lambda p: lambda x: fg.fori_loop(0, 2, lambda i, s: s * s * p, x),
    "scan": lambda p: lambda x: fg.scan(lambda s, _: (s * s * p, None), x, fg.ones(2))[0],
    "cond": lambda p: lambda x: fg.cond(x.sum() > 0, lambda x: x * x * p, fg.sin, x),
}


def slopes(f: Callable[[Any], Any], changed: fg.Tensor | None, order: int) -> list[list[float]]:
    """Derivatives of the sum; `changed` is changed before each backward pass."""
    x = fg.tensor([0.5, 1.5], requires_grad=True)
    y, found = f(x).sum(), []
    for k in range(order):
        if changed is not None:
            changed.mul_(3.0)
        (slope,) = fg.autograd.grad(y, x, create_graph=k + 1 < order)
        found.append(slope.tolist())
        y = (slope * slope).sum()
    return found


@pytest.mark.parametrize("name", CLOSED)
def test_memory_that_changes_before_backward_counts_as_it_was(name: str) -> None:
    p, q = fg.tensor([2.0, 3.0]), fg.tensor([2.0, 3.0])
    assert slopes(CLOSED[name](p), p, 1) == slopes(CLOSED[name](q), None, 1)


@pytest.mark.parametrize("name", CLOSED)
def test_memory_that_changes_before_a_second_run_is_found(name: str) -> None:
    p = fg.tensor([2.0, 3.0])
    with pytest.raises(GradientError, match=r"closes over was changed .* as an argument"):
        slopes(CLOSED[name](p), p, 2)


PASSED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "compile": lambda p: lambda x: fg.compile(lambda x, p: x * x * p)(x, p),
    "fori_loop": lambda p: (
        lambda x: fg.fori_loop(0, 2, lambda i, s: (s[0] * s[0] * s[1], s[1]), (x, p))[0]
    ),
    "scan": lambda p: lambda x: fg.scan(lambda s, q: (s * s * q, None), x, p)[0],
    "cond": lambda p: lambda x: fg.cond(x.sum() > 0, lambda x, p: x * x * p, lambda x, p: x, x, p),
}


@pytest.mark.parametrize("name", PASSED)
def test_arguments_that_change_before_a_second_run_count_as_they_were(name: str) -> None:
    p, q = fg.tensor([2.0, 3.0]), fg.tensor([2.0, 3.0])
    assert slopes(PASSED[name](p), p, 2) == slopes(PASSED[name](q), None, 2)


@pytest.mark.parametrize("name", CLOSED)
def test_memory_that_changes_before_backward_is_found_where_that_is_refused(name: str) -> None:
    p, x = fg.tensor([2.0, 3.0]), fg.tensor([0.5, 1.5], requires_grad=True)
    y = CLOSED[name](p)(x)
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        p.add_(1.0)
    with pytest.raises(InPlaceError):
        y.sum().backward()


def test_a_long_fori_loop_makes_no_array_of_counters() -> None:
    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    try:
        for compiled in (False, True):
            loop = lambda x: fg.fori_loop(0, 10**12, lambda i, v: v + i, x)  # noqa: E731
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(TimeoutError):
                (fg.compile(loop) if compiled else loop)(fg.tensor(0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("unroll", [1, 4, True, False])
def test_the_arguments_of_jax(unroll: Any) -> None:
    """Names and order are those of `jax.lax`; how iterations are cut changes nothing."""
    xs = fg.tensor([1.0, 2.0, 3.0])
    f = lambda s, x: (s + x, s * x)  # noqa: E731
    want = fg.scan(f, 0.0, xs, reverse=True)
    for found in (
        fg.scan(f, 0.0, xs, None, True, unroll),
        fg.scan(f=f, init=0.0, xs=xs, length=3, reverse=True, unroll=unroll),
    ):
        assert [x.tolist() for x in found] == [x.tolist() for x in want]
    found = fg.fori_loop(lower=1, upper=4, body_fun=lambda i, v: v + i, init_val=0, unroll=unroll)
    assert found.item() == 6
    doubled = fg.while_loop(cond_fun=lambda v: v < 9, body_fun=lambda v: v * 2, init_val=2)
    assert doubled.item() == 16


@pytest.mark.parametrize("unroll", [0, -1, 1.5, "all"])
def test_an_unroll_that_makes_no_sense(unroll: Any) -> None:
    for loop in (
        lambda: fg.fori_loop(0, 2, lambda i, v: v + i, 0, unroll=unroll),
        lambda: fg.scan(lambda s, x: (s, None), 0.0, length=2, unroll=unroll),
    ):
        with pytest.raises(ArgumentError, match=r"unroll is .* at least 1"):
            loop()
