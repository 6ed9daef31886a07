"""Rows that numbers name: by an index that is repeated beside them; and pairs of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.nn._operations import euclidean_distances

F = fg.nn.functional
RNG = np.random.default_rng(11)
FOLDS = ("sum", "prod", "mean", "amax", "amin")


def ways(axis: int) -> dict[str, Callable[[Any, Any, Any], Any]]:
    found: dict[str, Callable[[Any, Any, Any], Any]] = {
        "gather": lambda x, i, src: fg.gather(x, axis, i) * src,
        "take_along_axis": lambda x, i, src: fg.take_along_axis(x, i, axis) * src,
        "scatter": lambda x, i, src: fg.scatter(x, axis, i, src) ** 2,
        "scatter_add": lambda x, i, src: fg.scatter_add(x, axis, i, src) ** 2,
    }
    for how in FOLDS:
        for own in (True, False):
            found[f"{how} {own}"] = lambda x, i, src, how=how, own=own: (
                fg.scatter_reduce(x, axis, i, src, how, include_self=own) ** 2
            )
    return found


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_index_that_is_repeated_names_rows(axis: int) -> None:
    dims, numbers = [4, 5, 6], RNG.integers(-4, 4, 7)
    x = RNG.normal(size=dims)
    dims[axis] = 7
    src = RNG.normal(size=dims)
    column = fg.tensor(numbers.reshape([7 if a == axis else 1 for a in range(3)]))
    spread = column.expand(dims)
    for name, function in ways(axis).items():
        found = []
        for index in (spread, spread.contiguous()):
            leaves = [fg.tensor(t, requires_grad=True) for t in (x, src)]
            out = function(leaves[0], index, leaves[1])
            assert np.allclose(function(x, index, src).numpy(), out.detach().numpy()), name
            first = fg.autograd.grad((out**2).sum(), leaves, create_graph=True)
            second = fg.autograd.grad(sum((g**2).sum() for g in first), leaves)
            found.append([t.detach().numpy() for t in (out, *first, *second)])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, err_msg=name)


def test_a_repeated_index_beside_longer_axes_names_elements() -> None:
    x, src = RNG.normal(size=(4, 6)), RNG.normal(size=(3, 5))
    spread = fg.tensor([[3], [0], [3]]).expand(3, 5)
    expected = x.copy()
    np.add.at(expected, ([[3], [0], [3]], np.arange(5)), src)
    np.testing.assert_allclose(fg.scatter_add(x, 0, spread, src).numpy(), expected)
    np.testing.assert_array_equal(fg.gather(x, 0, spread).numpy(), x[[[3], [0], [3]], np.arange(5)])
    for function in (fg.scatter_add, fg.scatter):
        with pytest.raises(IndexError, match="index 4 is out of range for axis 0 of size 4"):
            function(x, 0, fg.tensor([[1], [4]]).expand(2, 6), 1.0)
    assert fg.gather(x, 0, fg.zeros(0, 1, dtype="int64").expand(0, 6)).shape == (0, 6)


@pytest.mark.parametrize("how", ["add", "amax"])
def test_repeated_indices_follow_in_programs(how: str) -> None:
    def function(x: Any, numbers: Any) -> Any:
        index = numbers.unsqueeze(1).expand(-1, 3)
        if how == "add":
            return fg.scatter_add(x, 0, index, x)
        return fg.scatter_reduce(x, 0, index, x, how)

    compiled, x = fg.compile(function), fg.tensor(RNG.normal(size=(4, 3)))
    for numbers in ([0, 1, 2, 3], [3, 3, 0, 0], [1, 1, 1, 2]):
        args = x, fg.tensor(numbers)
        assert compiled(*args).tolist() == function(*args).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 64, 70])
def test_pairs_of_rows_have_the_distances_of_all_pairs(n: int, dtype: Any) -> None:
    x = RNG.normal(size=(n, 5)).astype(dtype)
    above = np.triu_indices(n, 1)
    for array in (x, x[::-1], np.asfortranarray(x)):
        all_pairs = fg.cdist(fg.asarray(array), fg.asarray(array)).numpy()
        found = F.pdist(fg.asarray(array))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), all_pairs[above])
    with pytest.raises(fg.errors.ShapeError, match="pdist"):
        F.pdist(fg.ones(2, 2, 2))
    with pytest.raises(fg.errors.ShapeError, match="rows of shape"):
        euclidean_distances(fg.ones(2, 2, 2))


def test_distances_of_pairs_have_derivatives_of_any_order() -> None:
    x = fg.tensor(RNG.normal(size=(5, 3)), requires_grad=True)
    fg.gradcheck(F.pdist, (x,))
    fg.gradgradcheck(F.pdist, (x,))
    whole = fg.jacobian(F.pdist)(x.detach().numpy())
    w = RNG.normal(size=10)
    (F.pdist(x) * w).sum().backward()
    np.testing.assert_allclose(np.tensordot(w, whole, 1), x.grad.numpy(), atol=1e-12)
    same = fg.ones(3, 2, requires_grad=True)
    F.pdist(same).sum().backward()
    assert same.grad.tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("length", [3, 4, 5, 31, 33, 60, 63, 64, 65, 127, 128, 129, 300])
def test_runs_of_any_length_are_copied(length: int) -> None:
    for dtype in (np.float32, np.float64, np.int16, np.bool_):
        x = RNG.integers(0, 2, (3, 7, length + 3)).astype(dtype)
        part = x[:, :, 1:-2]
        np.testing.assert_array_equal(fg.tensor(part).clone().numpy(), part)
        framed = fg.pad(fg.tensor(part.astype(float)), ((0, 0), (1, 1), (2, 1)), mode="reflect")
        expected = np.pad(part.astype(float), ((0, 0), (1, 1), (2, 1)), mode="reflect")
        np.testing.assert_array_equal(framed.numpy(), expected)
