"""What moves numbers by positions, beside loops over the positions: folds, writes, choices."""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

F = fg.nn.functional
FOLDS = {"amax": np.maximum, "amin": np.minimum, "prod": np.multiply}
DTYPES = ("float64", "float32", "int64", "int16", "uint64", "uint8", "bool", "complex64")


def folded(x: Any, index: Any, src: Any, how: str, include_self: bool) -> Any:
    out, met = x.copy(), np.zeros(len(x), bool)
    for i, value in zip(index, src, strict=True):
        first = not include_self and not met[i]
        out[i] = value if first else FOLDS[how](out[i], value)
        met[i] = True
    return out


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("how", FOLDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_meet_are_folded(dtype: str, how: str, include_self: bool) -> None:
    rng = np.random.default_rng(0)
    x, src = (rng.integers(0, 9, n).astype(dtype) for n in (7, 40))
    index = rng.integers(-6, 6, 40)
    found = fg.scatter_reduce(
        fg.tensor(x), 0, fg.tensor(index), fg.tensor(src), how, include_self=include_self
    )
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.numpy(), folded(x, index, src, how, include_self))
    rows = np.stack([src, src[::-1]], 1)
    both = fg.index_reduce(
        fg.tensor(np.stack([x, x], 1)), 0, index, fg.tensor(rows), how, include_self
    )
    np.testing.assert_array_equal(both.numpy()[:, 0], found.numpy())


def test_the_ends_of_integers_are_values() -> None:
    for dtype in ("int64", "uint64", "int8"):
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
        for how in ("amax", "amin"):
            for include_self in (True, False):
                args = (np.array([5, 5], dtype), np.array([0, 1]), ends, how, include_self)
                x, index, src = map(fg.tensor, args[:3])
                found = fg.scatter_reduce(x, 0, index, src, how, include_self=include_self)
                np.testing.assert_array_equal(found.numpy(), folded(*args))


@pytest.mark.parametrize("how", ["amax", "amin"])
def test_nan_stays_and_infinity_is_a_number(how: str) -> None:
    x = fg.tensor([np.nan, 1.0, -np.inf, np.inf])
    src = fg.tensor([3.0, np.nan, -np.inf, np.inf, 2.0])
    found = fg.scatter_reduce(x, 0, fg.tensor([0, 1, 2, 3, 1]), src, how).tolist()
    assert np.isnan(found[0])
    assert np.isnan(found[1])
    assert found[2:] == [-np.inf, np.inf]


def test_the_product_of_the_others_is_exact() -> None:
    src = np.array([0.0, 2.0, 3.0, 0.0, 0.0, 5.0])
    index = np.array([0, 0, 1, 1, 2, 2])
    x, s = fg.ones(3, requires_grad=True), fg.tensor(src, requires_grad=True)
    fg.scatter_reduce(x, 0, fg.tensor(index), s, "prod").sum().backward()
    assert s.grad.tolist() == [2.0, 0.0, 0.0, 3.0, 5.0, 0.0]
    y = fg.tensor(np.arange(6.0), requires_grad=True)
    fg.gradgradcheck(lambda s: fg.scatter_reduce(fg.ones(3), 0, fg.tensor(index), s, "prod"), (y,))


@pytest.mark.parametrize("size", [9, 3_000_000])
def test_only_the_last_write_has_a_gradient(size: int) -> None:
    index = [size - 1, 0, 5, 0, size - 1, 0]
    values = fg.tensor(np.arange(6.0), requires_grad=True)
    x = fg.zeros(size, requires_grad=True) * 1.0
    x[fg.tensor(index)] = values
    (x[np.array([0, 5, size - 1])] * fg.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert values.grad.tolist() == [0.0, 0.0, 2.0, 0.0, 3.0, 1.0]


def test_gradients_of_writes_of_rows_come_in_batches() -> None:
    index = np.array([[0, 2, 0], [1, 1, 1]])
    src = np.arange(6.0).reshape(2, 3)
    whole = fg.jacobian(lambda s: fg.scatter(np.zeros((2, 3)), 1, index, s))(src)
    expected = np.zeros((2, 3, 2, 3))
    for row, column in ((0, 1), (0, 2), (1, 2)):
        expected[row, index[row, column], row, column] = 1.0
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_writes_are_the_same_with_and_without_a_graph(name: str, axis: int) -> None:
    rng = np.random.default_rng(1)
    x, src = rng.normal(size=(4, 5, 6)), rng.normal(size=(4, 5, 9))
    index = rng.integers(-4, 4, (3, 4, 8) if axis == 2 else (3, 4, 6))
    function = getattr(fg, name)
    leaf = fg.tensor(x, requires_grad=True)
    recorded = function(leaf, axis, index, fg.tensor(src)).detach()
    layouts = (x, np.asfortranarray(x), x[::-1].copy()[::-1])
    for each, index_of in itertools.product(layouts, (index, np.asfortranarray(index))):
        found = function(fg.asarray(each), axis, fg.asarray(index_of), fg.tensor(src))
        np.testing.assert_array_equal(found.numpy(), recorded.numpy())
    with pytest.raises(fg.errors.IndexOutOfRangeError, match=f"{name}: index 99"):
        function(fg.tensor(x), axis, np.full((1, 1, 1), 99), 1.0)


def test_compiled_writes_follow_their_indices() -> None:
    def both(x: Any, index: Any) -> Any:
        y = fg.scatter_add(x, 0, index, x)
        return fg.scatter(y, 0, index, 2 * x), fg.scatter_reduce(y, 0, index, x, "amax")

    compiled, x = fg.compile(both), np.arange(4.0)
    for index in ([0, 1, 2, 3], [3, 3, 0, 0], [1, 1, 1, 2]):
        arrays = fg.tensor(x), fg.tensor(index)
        for found, expected in zip(compiled(*arrays), both(*arrays), strict=True):
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [(2, 2, 1), (3, 1, 1), (3, 2, 2), (2, 3, 1)]
)
def test_values_without_their_places(kernel: int, stride: int, dilation: int, padding: int) -> None:
    x = np.random.default_rng(2).normal(size=(2, 3, 9, 12)).astype(np.float32)
    x[0, 0, 2, 3], x[1, 1] = np.nan, -np.inf
    for flat in (x, x[:, :, :1], x[0, 0]):
        args = (kernel, stride, padding, dilation)
        pool, seen = (
            (F.max_pool1d, flat.reshape(-1, flat.shape[-1]))
            if flat.shape[-2] == 1
            else (F.max_pool2d, flat)
        )
        found, _ = pool(fg.tensor(seen), *args, return_indices=True)
        np.testing.assert_array_equal(pool(fg.tensor(seen), *args).numpy(), found.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool", "complex128"])
def test_lines_are_turned(dtype: str) -> None:
    for n in (1, 7, 8, 33, 700):
        x = np.arange(3 * n).reshape(3, n).astype(dtype)
        np.testing.assert_array_equal(fg.flip(fg.tensor(x), (1,)).clone().numpy(), x[:, ::-1])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [0, 1, 5, 8, 9])
def test_few_of_short_lines_are_the_first_of_equals(k: int, largest: bool) -> None:
    x = np.random.default_rng(3).integers(0, 6, (20, 30)).astype(float)
    x[3, 4] = np.nan
    values, indices = fg.topk(fg.tensor(x), k, largest=largest)
    order = np.argsort(-x if largest else x, 1, kind="stable")[:, :k]
    if largest:
        assert k == 0 or np.isnan(values[3, 0].item())
        order[3, :] = np.roll(np.argsort(-x[3], kind="stable"), 1)[:k]
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("n", [0, 1, 5, 24, 25, 60])
def test_short_lists_are_gone_through(n: int) -> None:
    rng = np.random.default_rng(4)
    for dtype in ("int64", "uint8", "float32", "bool"):
        values, known = (
            rng.integers(0, 90, 3000).astype(dtype),
            rng.integers(0, 90, n).astype(dtype),
        )
        for invert in (False, True):
            found = fg.isin(fg.tensor(values), fg.tensor(known), invert=invert)
            np.testing.assert_array_equal(found.numpy(), np.isin(values, known, invert=invert))
    assert fg.isin(fg.tensor([np.nan, 0.0]), fg.tensor([np.nan, -0.0])).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements_of_equal_parts_are_counted_as_numpy_does(dtype: Any) -> None:
    ends = np.array([-1.0, 0.0, 0.3, 0.75, 1.5, 2.25, 3.0, 3.5, np.nan, np.inf], dtype)
    for x in (ends, ends[:0], np.random.default_rng(0).normal(1, 2, (20, 30)).astype(dtype)):
        for bins in (1, 4, 7):
            found = fg.histc(fg.tensor(x), bins, 0, 3)
            assert found.dtype == dtype
            assert found.tolist() == np.histogram(x, bins, (0, 3))[0].tolist()
    with pytest.raises(ValueError, match="range"):
        fg.histc(fg.tensor([np.nan, 1.0]), 2)


def test_positions_of_true_elements_in_any_layout() -> None:
    mask = np.random.default_rng(5).random((130, 70)) < 0.5
    for each in (mask, mask.T, mask[::-1, ::3], mask[:0]):
        for ours, theirs in zip(fg.nonzero(fg.asarray(each)), np.nonzero(each), strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (1, 1), (4, 6), (6, 4)])
def test_places_of_triangles(rows: int, columns: int) -> None:
    for offset in (-(1 << 61), -4, -1, 0, 2, 7, 1 << 61):
        near = max(min(offset, 10), -10)
        for name in ("tril", "triu"):
            found = getattr(fg, f"{name}_indices")(rows, columns, offset)
            expected = getattr(np, f"{name}_indices")(rows, near, columns)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found.numpy(), np.stack(expected))


def test_the_kth_value_is_the_first_of_equals() -> None:
    x = fg.tensor([[3.0, 1.0, 3.0, np.nan], [2.0, 2.0, 2.0, 2.0]], requires_grad=True)
    found = [fg.kthvalue(x, k) for k in (1, 2, 3, 4)]
    assert [f.indices.tolist() for f in found] == [[1, 0], [0, 1], [2, 2], [3, 3]]
    found[1].values.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]


@pytest.mark.parametrize("how", ["amax", "amin"])
def test_what_took_no_part_has_no_gradient_beside_infinity(how: str) -> None:
    x, row = fg.tensor([1.0, 2.0, 3.0], requires_grad=True), fg.tensor([5.0])
    found = fg.scatter_reduce(x, 0, fg.tensor([2]), row, how, include_self=False)
    weights = fg.tensor([1.0, 1.0, np.inf])
    assert fg.autograd.grad(found, [x], grad_outputs=[weights])[0].tolist() == [1.0, 1.0, 0.0]
