"""`fg.functors`: the five functors of document 001."""

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
    with pytest.raises(fg.errors.ArgumentError, match="use 0 or more"):
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


def test_add_names_the_factor_that_is_an_array() -> None:
    x = fg.ones(2)
    wrong: Any = fg.functors.add
    with pytest.raises(
        fg.errors.ArgumentTypeError, match=r"add: alpha is a tensor of shape \(2,\)"
    ):
        wrong(x, x, x, x)
    with pytest.raises(fg.errors.ArgumentTypeError, match="add: beta is an array of shape"):
        wrong(1.0, x, np.ones(3), x)
