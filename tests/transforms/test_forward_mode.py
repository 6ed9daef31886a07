"""Forward mode: every operation's push is the transpose of its pull, and levels nest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp
from case_model import Case
from ferrograd._core import _enter_dual_level, _exit_dual_level, _make_dual, _unpack_dual
from ferrograd.autograd import forward_ad
from op_support import ROWS, function, parts, tensors, with_arrays

SMOOTH = [case for case in ROWS if case.order]
COLUMNS = 3


def random_like(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    found = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.normal(size=shape)
    return np.asarray(found).astype(dtype)


def push(case: Case, call: Any, arrays: list[Any], tangents: list[Any], columns: int | None) -> Any:
    """The results of an operation and their changes."""
    inputs = [x.detach() for x in tensors(arrays, grad=True)]
    level = _enter_dual_level(False, columns)
    try:
        duals = [
            _make_dual(x, fg.tensor(t), level) if x.dtype.kind in "fc" else x
            for x, t in zip(inputs, tangents, strict=True)
        ]
        outs = parts(call.apply(function(case), duals))
        return [_unpack_dual(o, level) if isinstance(o, fg.Tensor) else (o, None) for o in outs]
    finally:
        _exit_dual_level(level)


def inner(a: Any, b: Any) -> float:
    return float(np.sum(np.conj(np.asarray(a)) * np.asarray(b)).real)


def assert_same(found: float, expected: float, scale: float, what: Any) -> None:
    if np.isfinite(expected):
        assert abs(found - expected) <= 1e-11 * max(scale, 1.0), what


@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.key)
def test_a_push_is_the_transpose_of_the_pull(case: Case) -> None:
    rng = np.random.default_rng(0)
    for call in with_arrays(case):
        arrays = call.arrays()
        inputs = tensors(arrays, grad=True)
        if not any(x.requires_grad for x in inputs) or any(
            x.dtype.char not in "dDlqb?" for x in inputs
        ):
            continue
        outs = parts(call.apply(function(case), inputs))
        tangents = [random_like(rng, (COLUMNS, *x.shape), x.dtype) for x in inputs]
        batch = push(case, call, arrays, tangents, COLUMNS)
        single = push(case, call, arrays, [t[0] for t in tangents], None)
        for out, (value, change), (_, changes) in zip(outs, single, batch, strict=True):
            if not isinstance(out, fg.Tensor) or not out.requires_grad:
                continue
            np.testing.assert_array_equal(value.numpy(), out.detach().numpy(), err_msg=case.key)
            weight = random_like(rng, out.shape, out.dtype)
            wanted = [x for x in inputs if x.requires_grad]
            pulled = fg.autograd.grad(
                out, wanted, fg.tensor(weight), retain_graph=True, allow_unused=True
            )
            own = [t for x, t in zip(inputs, tangents, strict=True) if x.requires_grad]
            pairs = [(g, t) for g, t in zip(pulled, own, strict=True) if g is not None]
            terms = [[inner(g.numpy(), t[k]) for g, t in pairs] for k in range(COLUMNS)]
            scale = float(np.sum(np.abs(terms)))
            moved = 0.0 if change is None else inner(weight, change.numpy())
            assert_same(moved, sum(terms[0]), scale, (case.key, call, "one"))
            for k in range(COLUMNS):
                moved = 0.0 if changes is None else inner(weight, changes.numpy()[k])
                assert_same(moved, sum(terms[k]), scale, (case.key, call, k))


@pytest.mark.parametrize("case", [c for c in SMOOTH if c.order > 1], ids=lambda case: case.key)
def test_forward_over_reverse_is_reverse_over_reverse(case: Case) -> None:
    """The change of a gradient, against the gradient of the gradient along the same vector."""
    rng = np.random.default_rng(1)
    for call in with_arrays(case):
        arrays = call.arrays(seed=1)
        inputs = tensors(arrays, grad=True)
        wanted = [k for k, x in enumerate(inputs) if x.requires_grad]
        if not wanted or any(x.dtype.char not in "dDlqb?" for x in inputs):
            continue
        vectors = [random_like(rng, x.shape, x.dtype) for x in inputs]

        def gradients(xs: list[fg.Tensor], call: Any = call, wanted: Any = wanted) -> list[Any]:
            total = fg.tensor(0.0)
            for number, out in enumerate(parts(call.apply(function(case), list(xs)))):
                if isinstance(out, fg.Tensor) and out.requires_grad:
                    weight = np.cos(np.arange(out.numel()) + number).reshape(out.shape)
                    # The square, so that linear operations have a second derivative.
                    total = total + (abs(out) ** 2 * weight).sum()
            if not total.requires_grad:
                return [None for _ in wanted]
            return list(
                fg.autograd.grad(
                    total, [xs[k] for k in wanted], create_graph=True, allow_unused=True
                )
            )

        slopes = gradients(inputs)
        along = fg.tensor(0.0)
        for k, slope in zip(wanted, slopes, strict=True):
            if slope is not None:
                along = along + (slope.conj() * vectors[k]).real.sum()
        if not along.requires_grad:
            continue
        expected = fg.autograd.grad(along, [inputs[k] for k in wanted], allow_unused=True)
        with forward_ad.dual_level() as level:
            duals = [
                _make_dual(x, fg.tensor(v), level) if x.requires_grad else x
                for x, v in zip(tensors(arrays, grad=True), vectors, strict=True)
            ]
            changes = [
                None if slope is None else forward_ad.unpack_dual(slope).tangent
                for slope in gradients(duals)
            ]
        for found, other in zip(changes, expected, strict=True):
            if other is not None and np.all(np.isfinite(other.numpy())):
                a = 0.0 if found is None else found.detach().numpy()
                scale = np.max(np.abs(other.numpy()), initial=1.0)
                np.testing.assert_allclose(
                    a, other.numpy(), 1e-9, 1e-11 * scale, err_msg=f"{case.key} {call}"
                )


def cube_sum(x: Any) -> Any:
    return (x * x * x).sum()


def along(f: Any) -> Any:
    return lambda x: fg.jvp(f, (x,), (1.0,))[1]


def test_orders_by_any_mix_of_levels_and_passes() -> None:
    def f(x: Any) -> Any:
        return np.tanh(x) ** 3 / (1 + x * x)

    third = fg.grad(fg.grad(fg.grad(f)))(0.3)
    for transforms in np.ndindex(2, 2, 2):
        g = f
        for k in transforms:
            g = (fg.grad, along)[k](g)
        assert g(0.3) == pytest.approx(third, rel=1e-12), transforms


def test_perturbations_are_not_confused() -> None:
    def inner_of_sum(x: Any) -> Any:
        return x * fg.jvp(lambda y: x + y, (1.0,), (1.0,))[1]

    def inner_of_product(x: Any) -> Any:
        return x * fg.jvp(lambda y: x * y * y, (x,), (1.0,))[1]

    assert fg.jvp(inner_of_sum, (1.0,), (1.0,))[1] == 1.0
    assert fg.jvp(inner_of_product, (1.0,), (1.0,))[1] == 6.0


def test_memory_does_not_grow_with_a_loop() -> None:
    def nodes(steps: int) -> int:
        most = 0

        def f(x: Any) -> Any:
            nonlocal most
            for _ in range(steps):
                x = np.sin(x) + 0.1 * x * x
                most = max(most, fg.live_nodes())
            return x

        before = fg.live_nodes()
        fg.jvp(f, (np.ones(3),), (np.ones(3),))
        return most - before

    assert nodes(1000) == nodes(10)


def test_writes_into_buffers() -> None:
    def f(x: Any) -> Any:
        a = fnp.zeros((3, 3))
        for i in range(3):
            a[i] = x * i
            a[i, 0] += x[1] ** 2
        a[0], a[2] = a[2].copy(), a[0].copy()
        row = a[1]
        row *= x
        a += 1.0
        return a @ x

    x, v = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.5, -0.3])
    change = fg.jvp(f, (x,), (v,))[1]
    np.testing.assert_allclose(change, fg.jacobian(f)(x) @ v, rtol=1e-13)
    np.testing.assert_allclose(change, fg.jacfwd(f)(x) @ v, rtol=1e-13)


class Cube(fg.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


PROGRAMS: dict[str, Any] = {
    "custom function": lambda x: Cube.apply(x) * x,
    "checkpoint": lambda x: fg.checkpoint(lambda y: np.sin(y) * y)(x),
    "compiled": fg.compile(lambda x: np.sin(x) * x),
    "scan": lambda x: fg.scan(lambda c, r: (np.sin(c) + r, c * r), x[0] * 1.0, x)[1],
    "while_loop": lambda x: fg.while_loop(lambda s: s.sum() < 9.0, lambda s: s * 1.5, x),
    "cond": lambda x: fg.cond(x.sum() > 0, np.sin, np.cos, x),
    "branch": lambda x: np.stack([e * e if e > 0 else np.exp(e) for e in x]),
    "gradient": fg.grad(cube_sum),
    "jacobian": lambda x: fg.jacobian(lambda y: np.tanh(y * y[0]))(x),
    "hessian": fg.hessian(cube_sum),
    "vjp": lambda x: fg.vjp(np.sin, x)[1](x * x)[0],
    "no_grad": fg.no_grad()(lambda x: np.sin(x) * x),
    "complex": lambda x: abs(np.fft.fft(x * (1 + 2j))),
    "eigh": lambda x: np.linalg.eigh(np.outer(x, x) + np.diag(x))[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_change_is_the_jacobian_times_the_vector(name: str) -> None:
    f = PROGRAMS[name]
    x, v = np.array([0.5, -0.7, 1.3]), np.array([1.0, 0.5, -0.3])
    value, change = fg.jvp(f, (x,), (v,))
    h = 1e-6

    def plain(y: Any) -> Any:
        return np.asarray(f(fg.tensor(y)))

    np.testing.assert_allclose(value, plain(x), rtol=1e-13)
    slope = (plain(x + h * v) - plain(x - h * v)) / (2 * h)
    np.testing.assert_allclose(change, slope, rtol=1e-7, atol=1e-8)
    matrix = fg.jacfwd(f)(x)
    np.testing.assert_allclose(matrix @ v, change, rtol=1e-11, atol=1e-13)
