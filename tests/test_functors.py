"""Document 001: `fg.functors`, its five functors and the base class for the user's own.

Owns: values against NumPy's einsum, derivatives against finite differences at both orders, axis
rules, attributes, names, validation, and graphs of functors deep enough to break a recursion.
"""

import gc
import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, functors as F  # noqa: N812

RNG = np.random.default_rng(1)


def leaf(*shape: int, dtype: Any = np.float64) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape).astype(dtype), requires_grad=True)


def check(function: Any, *inputs: Tensor) -> None:
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(function, inputs, atol=1e-6)


# --- gemm --------------------------------------------------------------------------------------

LETTERS = {"m": "ab", "n": "cd", "k": "ef", "b": "gh"}
SIZES = {"a": 2, "b": 3, "c": 2, "d": 1, "e": 3, "f": 2, "g": 2, "h": 1}


def gemm_case(m: int, n: int, k: int, b: int, ta: bool, tb: bool) -> tuple[str, str, str]:
    """The subscripts of a, b and c."""
    M, N, K, B = (LETTERS[x][:count] for x, count in zip("mnkb", (m, n, k, b), strict=True))
    return (K + M if ta else M + K) + B, (N + K if tb else K + N) + B, M + N + B


COUNTS = [
    (1, 1, 1, 0),
    (1, 1, 1, 1),
    (2, 1, 1, 0),
    (1, 2, 1, 1),
    (1, 1, 2, 0),
    (2, 1, 2, 1),
    (2, 2, 2, 0),
    (2, 2, 1, 2),
    (0, 1, 1, 0),
    (1, 0, 1, 1),
    (0, 0, 2, 0),
    (1, 2, 0, 1),
]
TRANSPOSES = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize(("ta", "tb"), TRANSPOSES)
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_gemm_equals_einsum_and_its_derivatives_are_right(
    counts: tuple[int, int, int, int], ta: bool, tb: bool
) -> None:
    m, n, k, batch = counts
    sa, sb, sc = gemm_case(m, n, k, batch, ta, tb)
    a, b = (leaf(*(SIZES[s] for s in subscripts)) for subscripts in (sa, sb))
    c = F.gemm(a, b, -1.5, ta, tb, ndim=k, batch_ndim=batch)
    want = -1.5 * np.einsum(f"{sa},{sb}->{sc}", a.detach().numpy(), b.detach().numpy())
    np.testing.assert_allclose(c.detach().numpy(), want, rtol=1e-13, atol=1e-13)
    assert c.shape == want.shape
    check(lambda a, b: F.gemm(a, b, -1.5, ta, tb, ndim=k, batch_ndim=batch), a, b)


@pytest.mark.parametrize(("ta", "tb"), TRANSPOSES)
def test_gemm_gradients_with_upstream_minus_one(ta: bool, tb: bool) -> None:
    sa, sb, sc = gemm_case(2, 1, 1, 1, ta, tb)
    a, b = (leaf(*(SIZES[s] for s in subscripts)) for subscripts in (sa, sb))
    c = F.gemm(a, b, 2.0, ta, tb, batch_ndim=1)
    g = -np.ones(c.shape)
    c.backward(g)
    A, B = a.detach().numpy(), b.detach().numpy()
    assert a.grad is not None
    assert b.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), 2.0 * np.einsum(f"{sc},{sb}->{sa}", g, B))
    np.testing.assert_allclose(b.grad.numpy(), 2.0 * np.einsum(f"{sc},{sa}->{sb}", g, A))


def test_gemm_of_a_tensor_with_itself_sums_both_gradients() -> None:
    a = leaf(3, 3)
    check(lambda a: F.gemm(a, a, trans_b=True), a)


def test_gemm_of_strided_views() -> None:
    a, b = leaf(4, 6), leaf(6, 5)
    c = F.gemm(a[:, ::2], b[1::2])
    want = a.detach().numpy()[:, ::2] @ b.detach().numpy()[1::2]
    np.testing.assert_allclose(c.detach().numpy(), want)
    check(lambda a, b: F.gemm(a[:, ::2], b[1::2]), a, b)


def test_gemm_over_an_empty_axis_is_zero() -> None:
    a, b = fg.zeros(2, 0, requires_grad=True), fg.zeros(0, 3, requires_grad=True)
    c = F.gemm(a, b)
    assert c.tolist() == [[0.0] * 3] * 2
    c.sum().backward()
    assert a.grad is not None
    assert a.grad.shape == (2, 0)


def test_gemm_of_float32_and_of_mixed_dtypes() -> None:
    a, b = leaf(2, 3, dtype=np.float32), leaf(3, 2)
    assert F.gemm(a, a, trans_b=True).dtype == np.float32
    c = F.gemm(a, b)
    assert c.dtype == np.float64
    c.sum().backward()
    assert a.grad is not None
    assert a.grad.dtype == np.float32


def test_a_zero_alpha_spreads_nan_as_ieee_has_it() -> None:
    a = fg.tensor([[np.nan]])
    assert np.isnan(F.gemm(a, fg.ones(1, 1), alpha=0.0).item())


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ((2, 3), (4, 2), {}, r"gemm: the contracted dimensions of a are \(3,\) and those of b are"),
        ((2, 3, 4), (3, 5, 2), {"batch_ndim": 1}, r"batch dimensions of a are \(4,\) .* \(2,\)"),
        ((2, 3, 4), (3, 5, 1), {"batch_ndim": 1}, "batch dimensions"),
        ((3,), (3,), {"ndim": 2}, "a has 1 dimensions, fewer than ndim 2 [+] batch_ndim 0"),
        ((2, 3), (3,), {"batch_ndim": 1}, "b has 1 dimensions"),
    ],
)
def test_gemm_refuses_axes_that_do_not_fit(
    a: tuple[int, ...], b: tuple[int, ...], options: dict[str, int], message: str
) -> None:
    with pytest.raises(fg.errors.ShapeError, match=message):
        F.gemm(fg.ones(*a), fg.ones(*b), **options)


@pytest.mark.parametrize("options", [{"ndim": -1}, {"batch_ndim": -2}])
def test_gemm_refuses_negative_counts(options: dict[str, int]) -> None:
    with pytest.raises(fg.errors.ArgumentError, match="at least 0"):
        F.gemm(fg.ones(2, 2), fg.ones(2, 2), **options)


# --- add ---------------------------------------------------------------------------------------


def test_add_scales_both() -> None:
    x, y = leaf(2, 3), leaf(2, 3)
    z = F.add(2.0, x, 3.0, y)
    np.testing.assert_array_equal(
        z.detach().numpy(), 2.0 * x.detach().numpy() + 3.0 * y.detach().numpy()
    )
    z.sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert (x.grad.numpy() == 2).all()
    assert (y.grad.numpy() == 3).all()
    check(lambda x, y: F.add(2.0, x * x, -3.0, y), x, y)


def test_add_of_a_tensor_with_itself_sums_both_gradients() -> None:
    x = leaf(3)
    F.add(2.0, x, 3.0, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5.0] * 3


def test_add_of_views_and_dtypes() -> None:
    x, y = leaf(3, 4), leaf(4, 3, dtype=np.float32)
    z = F.add(1.0, x.T, 2.0, y)
    assert (z.dtype, z.shape) == (np.float64, (4, 3))
    z.sum().backward()
    assert y.grad is not None
    assert y.grad.dtype == np.float32
    assert F.add(1.0, fg.tensor([1, 2]), 1.0, fg.tensor([3, 4])).dtype == np.float64


def test_add_refuses_unequal_shapes() -> None:
    with pytest.raises(fg.errors.ShapeError, match=r"add: x has shape \(2,\) and y has shape"):
        F.add(1.0, fg.ones(2), 1.0, fg.ones(2, 1))


# --- fibers ------------------------------------------------------------------------------------

FIBERS = [
    (shape, axis, batch)
    for shape in [(4,), (2, 3), (2, 3, 4), (3, 1, 2, 2)]
    for batch in range(len(shape))
    for axis in range(len(shape) - batch)
]


def summed(shape: tuple[int, ...], axis: int, batch: int) -> tuple[int, ...]:
    return tuple(i for i in range(len(shape) - batch) if i != axis)


@pytest.mark.parametrize(("shape", "axis", "batch"), FIBERS)
def test_sum_fiber(shape: tuple[int, ...], axis: int, batch: int) -> None:
    x = leaf(*shape)
    y = F.sum_fiber(x, axis, batch, alpha=-0.5)
    want = -0.5 * x.detach().numpy().sum(axis=summed(shape, axis, batch))
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-14)
    assert y.shape == (shape[axis], *shape[len(shape) - batch :])
    check(lambda x: F.sum_fiber(x, axis, batch, alpha=-0.5) ** 2, x)


@pytest.mark.parametrize(("shape", "axis", "batch"), FIBERS)
def test_add_fiber(shape: tuple[int, ...], axis: int, batch: int) -> None:
    x, fiber = leaf(*shape), leaf(shape[axis], *shape[len(shape) - batch :])
    out = F.add_fiber(2.0, fiber, -3.0, x, axis, batch)
    spread = [d if i == axis or i >= len(shape) - batch else 1 for i, d in enumerate(shape)]
    want = 2.0 * fiber.detach().numpy().reshape(spread) - 3.0 * x.detach().numpy()
    np.testing.assert_allclose(out.detach().numpy(), want, rtol=1e-14)
    check(lambda fiber, x: F.add_fiber(2.0, fiber, -3.0, x, axis, batch) ** 2, fiber, x)


def test_a_zero_beta_does_not_read_the_tensor() -> None:
    out = F.add_fiber(1.0, fg.ones(2), 0.0, fg.tensor([np.nan, np.inf]))
    assert out.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("axis", "batch"), [(2, 0), (1, 1), (0, 2), (0, 5)])
def test_fibers_refuse_an_axis_beyond_the_batch(axis: int, batch: int) -> None:
    message = f"axis {axis} with batch_ndim {batch} for a tensor of 2 dimensions"
    with pytest.raises(fg.errors.ShapeError, match=message):
        F.sum_fiber(fg.ones(2, 3), axis, batch)
    with pytest.raises(fg.errors.ShapeError, match=message):
        F.add_fiber(1.0, fg.ones(2), 1.0, fg.ones(2, 3), axis, batch)


def test_fibers_refuse_negative_axes() -> None:
    with pytest.raises(fg.errors.ArgumentError, match="axis is -1"):
        F.sum_fiber(fg.ones(2, 3), -1)
    with pytest.raises(fg.errors.ArgumentError, match="batch_ndim is -1"):
        F.add_fiber(1.0, fg.ones(2), 1.0, fg.ones(2, 3), 0, -1)


def test_add_fiber_refuses_a_fiber_of_another_shape() -> None:
    with pytest.raises(fg.errors.ShapeError, match=r"fiber has shape \(3,\) but must have \(2,\)"):
        F.add_fiber(1.0, fg.ones(3), 1.0, fg.ones(2, 3))
    with pytest.raises(fg.errors.ShapeError, match=r"must have \(2, 3\)"):
        F.add_fiber(1.0, fg.ones(2), 1.0, fg.ones(2, 3), 0, 1)


def test_sum_fiber_is_the_same_at_any_number_of_threads(threads: int) -> None:
    x = fg.tensor(np.random.default_rng(0).standard_normal((300, 7, 200)))
    fg.set_num_threads(1)
    alone = F.sum_fiber(x, 1).numpy().copy()
    fg.set_num_threads(threads)
    np.testing.assert_array_equal(F.sum_fiber(x, 1).numpy(), alone)


# --- gelu --------------------------------------------------------------------------------------


def test_gelu_keeps_the_negative_tail() -> None:
    from scipy.special import erfc

    x = np.array([-30.0, -10.0, -1.0, 0.0, 1.0, 10.0])
    want = 0.5 * x * erfc(-x / np.sqrt(2))
    np.testing.assert_allclose(F.gelu(fg.tensor(x)).numpy(), want, rtol=1e-12)
    assert F.gelu(fg.tensor(-10.0)).item() != 0
    check(F.gelu, leaf(5))


# --- callable objects and free functions -------------------------------------------------------

X, Y, W = (np.arange(6.0).reshape(2, 3) + k for k in range(3))
CALLS = [
    (F.Add, F.add, (2.0, X, 3.0, Y), {"alpha": 2.0, "beta": 3.0}),
    (
        F.Gemm,
        F.gemm,
        (X, Y, 2.0, False, True),
        {"alpha": 2.0, "trans_a": False, "trans_b": True, "ndim": 1, "batch_ndim": 0},
    ),
    (
        F.AddFiber,
        F.add_fiber,
        (2.0, X[0], 3.0, Y, 1, 0),
        {"alpha": 2.0, "beta": 3.0, "axis": 1, "batch_ndim": 0},
    ),
    (F.SumFiber, F.sum_fiber, (X, 1, 0, 2.0), {"alpha": 2.0, "axis": 1, "batch_ndim": 0}),
    (F.Gelu, F.gelu, (X,), {}),
]
IDS = [row[0].__name__ for row in CALLS]


def tensors(arguments: tuple[Any, ...]) -> list[Any]:
    return [fg.tensor(x, requires_grad=True) if isinstance(x, np.ndarray) else x for x in arguments]


@pytest.mark.parametrize(("functor", "function", "arguments", "attrs"), CALLS, ids=IDS)
def test_callable_equals_free_function(
    functor: Any, function: Any, arguments: tuple[Any, ...], attrs: dict[str, Any]
) -> None:
    given = tensors(arguments)
    called, free = functor()(*given, name="z"), function(*given, name="z")
    np.testing.assert_array_equal(called.detach().numpy(), free.detach().numpy())
    assert (called.name, free.name) == ("z", "z")
    assert functor.build_forward(*given).grad_fn.name() == called.grad_fn.name()
    assert isinstance(functor(), F.AutogradFunction)


@pytest.mark.parametrize(("functor", "function", "arguments", "attrs"), CALLS, ids=IDS)
def test_a_functor_is_one_node_with_its_attributes(
    functor: Any, function: Any, arguments: tuple[Any, ...], attrs: dict[str, Any]
) -> None:
    given = tensors(arguments)
    leaves = [x for x in given if isinstance(x, Tensor)]
    before = fg.live_nodes()
    out = functor()(*given)
    assert fg.live_nodes() - before == 1 + len(leaves)
    assert out.grad_fn.attrs == attrs
    out.sum().backward()
    assert out.grad_fn.attrs == attrs, "also when the saved values are gone"


@pytest.mark.parametrize(("functor", "function", "arguments", "attrs"), CALLS, ids=IDS)
def test_build_backward_is_what_backward_does(
    functor: Any, function: Any, arguments: tuple[Any, ...], attrs: dict[str, Any]
) -> None:
    given = tensors(arguments)
    leaves = [x for x in given if isinstance(x, Tensor)]
    out = functor()(*given)
    g = fg.tensor(RNG.standard_normal(out.shape))
    op = F.Op(functor.__name__, leaves, [out], attrs, [g])
    by_hand = functor.build_backward(op)
    out.backward(g)
    for x, found in zip(leaves, by_hand, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), x.grad.numpy())


@pytest.mark.parametrize(("functor", "function", "arguments", "attrs"), CALLS, ids=IDS)
def test_null_inputs_are_refused(
    functor: Any, function: Any, arguments: tuple[Any, ...], attrs: dict[str, Any]
) -> None:
    for i, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            given = [None if k == i else x for k, x in enumerate(arguments)]
            with pytest.raises(TypeError, match="inputs must not be null"):
                function(*given)


def test_under_no_grad_nothing_is_recorded() -> None:
    x = leaf(3)
    with fg.no_grad():
        y = F.add(1.0, x, 1.0, x)
    assert not y.requires_grad
    assert y.grad_fn is None


def test_functors_take_arrays_and_sequences() -> None:
    assert F.add(1.0, np.ones(2), 1.0, [1.0, 2.0]).tolist() == [2.0, 3.0]


# --- the base class ----------------------------------------------------------------------------


class Square(F.AutogradFunction):
    @staticmethod
    def build_forward(x: Tensor, name: str | None = None) -> Tensor:
        return Square.run([x], {"power": 2}, lambda: x * x, name=name)

    @staticmethod
    def build_backward(op: F.Op) -> list[Tensor]:
        return [2 * op.inputs[0] * op.grad_outputs[0]]


def test_a_functor_of_ones_own() -> None:
    x = leaf(3)
    y = Square()(x, name="y")
    assert (y.name, y.grad_fn.name(), y.grad_fn.attrs) == ("y", "SquareBackward", {"power": 2})
    check(lambda x: Square()(x), x)


def test_run_shows_the_whole_operation() -> None:
    seen: list[F.Op] = []
    x, y = leaf(2), leaf(2)

    def backward(op: F.Op) -> list[Any]:
        seen.append(op)
        return [op.grad_outputs[0] * op.inputs[1], None]

    z = F.AutogradFunction.run([x, y], "attributes", lambda: x * y, backward, name="z")
    z.backward(fg.tensor([1.0, 2.0]))
    (op,) = seen
    assert (op.name, op.attrs) == ("AutogradFunction", "attributes")
    assert [t.tolist() for t in op.inputs] == [x.tolist(), y.tolist()]
    assert op.outputs[0].tolist() == z.tolist()
    assert op.grad_outputs[0].tolist() == [1.0, 2.0]
    assert op.needs_input_grad == (True, True)
    assert y.grad is None
    assert "AutogradFunction" in repr(op)
    del op
    seen.clear()


def test_run_records_only_when_recording_and_needed() -> None:
    plain = fg.ones(2)
    out = F.AutogradFunction.run([plain], None, lambda: plain * 2, lambda op: [None])
    assert not out.requires_grad
    x = leaf(2)
    with fg.no_grad():
        out = F.AutogradFunction.run([x], None, lambda: x * 2, lambda op: [None])
    assert not out.requires_grad
    assert out.is_leaf


def test_run_is_not_recorded_inside() -> None:
    x = leaf(2)
    before = fg.live_nodes()
    out = F.AutogradFunction.run([x], None, lambda: ((x * 2) * 3) + 1, lambda op: op.grad_outputs)
    assert fg.live_nodes() - before == 2
    assert out.requires_grad


def test_run_works_under_no_grad_for_its_own_backward() -> None:
    x = leaf(2)
    out = F.AutogradFunction.run([x], None, lambda: x, lambda op: [op.grad_outputs[0] * 5])
    assert out is not x
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, None, lambda: 1, lambda op: []), TypeError, "inputs must not be null"),
        (([None], None, lambda: 1, lambda op: []), TypeError, "entry 0 is None"),
        (([1.0], None, lambda: 1, lambda op: []), TypeError, "entry 0 of inputs is a float"),
        (([fg.ones(1)], None, None, lambda op: []), TypeError, "forward_fn is a NoneType"),
        (([fg.ones(1)], None, lambda: fg.ones(1), None), TypeError, "backward_fn is a NoneType"),
        (
            ([fg.ones(1)], None, lambda: None, lambda op: []),
            RuntimeError,
            "^Forward pass returned null",
        ),
    ],
)
def test_run_refuses_what_it_cannot_run(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        F.AutogradFunction.run(*arguments)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (None, RuntimeError, "^Backward pass returned null"),
        ([fg.ones(3), None], ValueError, "^Gradient at index 0 has shape .* but expected"),
        ([fg.ones(2)], ValueError, "^Expected 2 gradients but got 1"),
    ],
)
def test_gradients_are_validated(returned: Any, error: type[Exception], message: str) -> None:
    x, y = leaf(2), leaf(2)
    out = F.AutogradFunction.run([x, y], None, lambda: x * y, lambda op: returned)
    with pytest.raises(error, match=message):
        out.sum().backward()
    assert x.grad is None


def test_a_functor_without_build_forward_says_so() -> None:
    class Empty(F.AutogradFunction):
        pass

    with pytest.raises(TypeError, match="Empty: the functor has no build_forward"):
        Empty()()
    assert repr(Empty()) == "Empty()"


def test_any_input_requires_grad() -> None:
    test = F.AutogradFunction.any_input_requires_grad
    assert test([fg.ones(1), leaf(1)])
    assert not test([fg.ones(1), None])
    assert not test([])


# --- register_op -------------------------------------------------------------------------------


def test_register_op_makes_an_existing_tensor_a_result() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = x * x
    known = y
    Square.register_op([x], y, {"power": 2}, name="y")
    assert y is known
    assert (y.requires_grad, y.is_leaf, y.name) == (True, False, "y")
    assert (y.grad_fn.name(), y.grad_fn.attrs) == ("SquareBackward", {"power": 2})
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


def test_register_op_with_several_outputs_runs_backward_once() -> None:
    x, calls = leaf(4), []
    with fg.no_grad():
        a, b = x[:2] * 1, x[2:] * 1

    def backward(op: F.Op) -> list[Tensor]:
        calls.append(op.grad_outputs)
        return [fg.concatenate(list(op.grad_outputs))]

    F.AutogradFunction.register_op([x], [a, b], None, backward)
    (2 * a).sum().backward()
    assert len(calls) == 1
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0]
    calls.clear()


def test_register_op_is_differentiable_twice() -> None:
    def function(x: Tensor) -> Tensor:
        with fg.no_grad():
            y = x**3
        F.AutogradFunction.register_op(
            [x], y, None, lambda op: [3 * op.inputs[0] ** 2 * op.grad_outputs[0]]
        )
        return y

    check(function, leaf(3))


def test_register_op_leaves_outputs_alone_when_nothing_is_recorded() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = x * 2
        F.AutogradFunction.register_op([x], y, None, lambda op: [None])
    assert not y.requires_grad
    y = fg.ones(2)
    F.AutogradFunction.register_op([fg.ones(2)], y, None, lambda op: [None])
    assert not y.requires_grad
    labels = fg.tensor([1, 2])
    F.AutogradFunction.register_op([x], labels, None, lambda op: [None])
    assert not labels.requires_grad


def test_register_op_checks_the_number_of_gradients() -> None:
    x = leaf(2)
    with fg.no_grad():
        y = x * 2
    F.AutogradFunction.register_op([x], y, None, lambda op: [])
    with pytest.raises(ValueError, match="Expected 1 gradients but got 0"):
        y.sum().backward()


def test_a_cycle_names_both_ends() -> None:
    x = leaf(2)
    y = fg.tensor([1.0, 2.0], requires_grad=True, name="y")
    message = '"Square" to its input 1 would close a cycle, because input 1 depends on "output 0'
    with pytest.raises(fg.errors.CycleError, match=message):
        Square.register_op([x, y], y)
    later = (y * 2).exp()
    with pytest.raises(fg.errors.CycleError, match=message + r" \(y\)"):
        Square.register_op([x, later], y)
    middle = y * 2
    with pytest.raises(fg.errors.CycleError, match="close a cycle"):
        Square.register_op([middle.exp()], middle)
    assert y.is_leaf
    assert x.grad is None


def test_register_op_refuses_outputs_that_have_a_place() -> None:
    x, y = leaf(2), leaf(2)
    with pytest.raises(fg.errors.GradientError, match="is a leaf that requires grad"):
        Square.register_op([x], y)
    z = y * 2
    with pytest.raises(fg.errors.GradientError, match="comes from <MultiplyBackward>"):
        Square.register_op([x], z)
    with pytest.raises(TypeError, match="outputs must not be null"):
        Square.register_op([x], None)


# --- deep graphs -------------------------------------------------------------------------------


def test_a_graph_of_300_000_functors_runs_and_drops() -> None:
    x = fg.tensor([1.0], requires_grad=True)
    one = fg.tensor([1e-9])
    y = x
    for _ in range(300_000):
        y = F.add(1.0, y, 1.0, one)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0
    z = x
    for _ in range(100_000):
        z = F.add(1.0, z, 1.0, one)
    del y, z
    gc.collect()


@pytest.mark.slow
def test_a_graph_of_300_000_calls_of_run_runs_and_drops() -> None:
    x = fg.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(300_000):
        y = F.AutogradFunction.run([y], None, lambda y=y: y, lambda op: op.grad_outputs)
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0
