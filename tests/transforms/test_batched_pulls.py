"""Whole Jacobians pull many rows at once: each equals the pull of that row alone."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Call, Case
from ferrograd._core import _jacobian
from op_support import ROWS, function, parts, tensors, with_arrays

SMALL = 80
SMOOTH = [case for case in ROWS if case.order]


def rows_of(out: fg.Tensor, inputs: list[fg.Tensor], create: bool) -> list[Any]:
    """The blocks of a Jacobian by one pull for each element."""
    table = []
    for k in range(out.numel()):
        seed = np.zeros(out.shape, out.dtype)
        seed.flat[k] = 1.0
        table.append(
            fg.autograd.grad(
                out, inputs, seed, retain_graph=True, create_graph=create, allow_unused=True
            )
        )
    blocks: list[Any] = []
    for x, column in zip(inputs, zip(*table, strict=True), strict=True):
        if all(row is None for row in column):
            blocks.append(None)
            continue
        full = [fg.zeros(x.shape, dtype=x.dtype) if row is None else row for row in column]
        blocks.append(fg.stack(full).reshape((*out.shape, *x.shape)))
    return blocks


def compare(found: list[Any], expected: list[Any], why: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None), why
        if one is not None:
            assert one.shape == other.shape, why
            a, b = one.detach().numpy(), other.detach().numpy()
            scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
            np.testing.assert_allclose(a, b, 1e-12, 1e-13 * scale, err_msg=str(why))


def results(case: Case, call: Call, inputs: list[fg.Tensor]) -> list[fg.Tensor]:
    outs = parts(call.apply(function(case), inputs))
    return [o for o in outs if o.requires_grad and 1 < o.numel() <= SMALL]


@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.key)
def test_rows_equal_single_pulls(case: Case) -> None:
    for call in with_arrays(case):
        arrays = call.arrays()
        if sum(a.size for a in arrays) > SMALL:
            continue
        inputs = tensors(arrays, grad=True)
        for out in results(case, call, inputs):
            compare(_jacobian(out, inputs, False), rows_of(out, inputs, False), call)


@pytest.mark.parametrize(
    "case", [case for case in SMOOTH if case.order > 1], ids=lambda case: case.key
)
def test_the_second_order_too(case: Case) -> None:
    """Over a recorded gradient, and of a recorded Jacobian."""
    for call in with_arrays(case):
        arrays = call.arrays(seed=1)
        if sum(a.size for a in arrays) > SMALL // 2:
            continue
        inputs = tensors(arrays, grad=True)
        for out in results(case, call, inputs):
            weights = fg.tensor(np.random.default_rng(0).standard_normal(out.shape))
            slopes = fg.autograd.grad(
                (out * weights).sum(), inputs, create_graph=True, allow_unused=True
            )
            for slope in slopes:
                if slope is not None and slope.requires_grad and slope.numel():
                    found = _jacobian(slope, inputs, False)
                    compare(found, rows_of(slope, inputs, False), call)
            recorded = _jacobian(out, inputs, True)
            expected = rows_of(out, inputs, True)
            compare(recorded, expected, call)
            compare(summed(recorded, inputs), summed(expected, inputs), call)


#: Products whose kernels are the batch: they are taken one after the other.
ONE_BY_ONE = {"conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"}


@pytest.mark.parametrize(
    "case", [c for c in SMOOTH if c.name not in ONE_BY_ONE], ids=lambda case: case.key
)
def test_no_rule_is_called_row_by_row(case: Case) -> None:
    """A recorded Jacobian has as many nodes for three rows as for two."""

    def nodes(call: Call, output: int, rows: int) -> int:
        inputs = tensors(call.arrays(), grad=True)
        outs = parts(call.apply(function(case), list(inputs)))
        # The square records what a linear rule does with the gradient, too.
        part = outs[output].square().reshape(-1)[:rows]
        before = fg.live_nodes()
        blocks = _jacobian(part, inputs, True)
        found = fg.live_nodes() - before
        del blocks
        return found

    for call in with_arrays(case):
        outs = parts(call.apply(function(case), tensors(call.arrays(), grad=True)))
        for k, out in enumerate(outs):
            if out.requires_grad and out.numel() >= 3:
                assert nodes(call, k, 2) == nodes(call, k, 3), call


def summed(blocks: list[Any], inputs: list[fg.Tensor]) -> list[Any]:
    """The gradient of a weighted sum of the blocks."""
    total = fg.tensor(0.0)
    for block in blocks:
        if block is not None and block.requires_grad:
            total = total + (block * np.cos(np.arange(block.numel())).reshape(block.shape)).sum()
    if not total.requires_grad:
        return [None] * len(inputs)
    return list(fg.autograd.grad(total, inputs, retain_graph=True, allow_unused=True))


class Cube(fg.Function):
    """A rule that knows nothing of batches, and refuses a gradient with an axis too many."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        assert g.shape == x.shape
        return 3 * x**2 * g


X = np.linspace(0.5, 2.0, 4)


def test_a_custom_function_sees_single_rows() -> None:
    found = fg.jacobian(lambda x: fg.sin(Cube.apply(x * 2.0)))(X)
    np.testing.assert_allclose(found, np.diag(24 * X**2 * np.cos(8 * X**3)), 1e-12)
    second = fg.hessian(lambda x: np.sum(Cube.apply(x) * x))(X)
    np.testing.assert_allclose(second, np.diag(12 * X**2), 1e-12)


def test_a_custom_function_may_depend_on_the_row() -> None:
    class Halved(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g, None) if g.numpy()[0] else (None, g)

    x, y = (fg.tensor(X, requires_grad=True) for _ in "xy")
    by_x, by_y = _jacobian(Halved.apply(x, y), [x, y], False)
    assert by_x is not None
    assert by_y is not None
    first = np.zeros((4, 4))
    first[0, 0] = 1.0
    np.testing.assert_array_equal(by_x.numpy(), first)
    np.testing.assert_array_equal(by_y.numpy(), np.eye(4) - first)


def test_hooks_see_each_row_on_its_own() -> None:
    seen = []

    def f(x: Any) -> Any:
        y = x**2
        y.register_hook(lambda g: seen.append(g.shape) or 2 * g)
        return np.sin(y)

    found = fg.jacobian(f)(X)
    np.testing.assert_allclose(found, np.diag(4 * X * np.cos(X**2)), 1e-12)
    assert seen == [(4,)] * 4


def test_checkpoints_and_anomaly_mode() -> None:
    def f(x: Any) -> Any:
        return np.tanh(np.sin(x) * x[::-1])

    expected = fg.jacobian(f)(X)
    np.testing.assert_allclose(fg.jacobian(fg.checkpoint(f))(X), expected, 1e-14)
    with fg.autograd.detect_anomaly():
        np.testing.assert_allclose(fg.jacobian(f)(X), expected, 1e-14)
        with pytest.raises(fg.errors.FerrogradError, match="NaN"):
            fg.jacobian(lambda x: np.sqrt(x - x) * 0.0)(X)


@pytest.mark.parametrize("n", [1, 3, 700])
def test_many_rows_are_cut_into_passes(n: int) -> None:
    """Enough rows and work that one pass does not hold them; the cut shows nowhere."""
    w = np.random.default_rng(0).standard_normal((n, n))
    x = np.linspace(0.0, 1.0, n)
    found = fg.jacobian(lambda x: np.tanh(w @ x))(x)
    np.testing.assert_allclose(found, (1 - np.tanh(w @ x) ** 2)[:, None] * w, 1e-11, 1e-12)
    both = fg.jacobian(lambda x, y: x * y.sum(), (0, 1))(x, x)
    np.testing.assert_allclose(both[0], np.eye(n) * x.sum(), 1e-12)
    np.testing.assert_allclose(both[1], np.repeat(x[:, None], n, 1), 1e-12)


def test_empty_results_and_empty_arguments() -> None:
    assert fg.jacobian(lambda x: x[:0] * 2.0)(X).shape == (0, 4)
    assert fg.jacobian(lambda x, y: np.concatenate([x, y]), 1)(X, X[:0]).shape == (4, 0)
    assert fg.hessian(lambda x: np.sum(x**2))(X[:0]).shape == (0, 0)


def test_recorded_passes_are_joined() -> None:
    x = np.linspace(0.1, 1.0, 300)
    found = fg.grad(lambda x: np.sum(fg.jacobian(np.square)(x) ** 2))(x)
    np.testing.assert_allclose(found, 8 * x, 1e-12)


@pytest.mark.parametrize("threads", [2, 4])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    w = np.random.default_rng(0).standard_normal((400, 400))

    def f(x: Any) -> Any:
        return np.tanh(w @ np.tanh(w @ x)) * np.sum(x)

    fg.set_num_threads(1)
    alone = fg.jacobian(f)(w[0])
    fg.set_num_threads(threads)
    np.testing.assert_array_equal(fg.jacobian(f)(w[0]), alone)
