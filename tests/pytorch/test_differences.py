"""`docs/differences.md`: every test it names exists, and those that are nowhere else stand here."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

TESTS = Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs" / "differences.md").read_text()
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| (?!what|-)", line)]
NAMED = sorted(set(re.findall(r"`(test_\w+): (test_\w+)`", TEXT)))


@pytest.mark.parametrize(("file", "test"), NAMED, ids=lambda v: v)
def test_a_test_that_the_table_names_exists(file: str, test: str) -> None:
    (path,) = TESTS.rglob(f"{file}.py")
    text = path.read_text()
    assert re.search(rf"^ *def {test}\(", text, re.MULTILINE)


def test_every_row_names_a_test() -> None:
    assert len(ROWS) > 40
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4, row
        assert all(cells), row
        assert re.search(r"`test_\w+: test_\w+`", cells[3]), row


X = np.array([[3.0, 1.0, 2.0, 4.0]])

# What is computed here, and what NumPy computes; PyTorch's answer is the one it must not be.
VALUES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "default dtype": (lambda x: fg.tensor([1.5]).dtype.itemsize, 8, 4),
    "max along an axis": (lambda x: x.max(axis=1), [4.0], ([4.0], [3])),
    "min along an axis": (lambda x: x.min(axis=1), [1.0], ([1.0], [1])),
    "sort": (lambda x: fg.sort(x, axis=1), [[1.0, 2.0, 3.0, 4.0]], "a pair"),
    "median": (lambda x: x.median(), 2.5, 2.0),
    "std": (lambda x: x.std(), np.std(X), np.std(X, ddof=1)),
    "var": (lambda x: x.var(axis=1), np.var(X, axis=1), np.var(X, axis=1, ddof=1)),
    "split": (lambda x: len(fg.split(x, 2, axis=1)), 2, None),
    "split of unequal parts": (lambda x: [p.shape for p in fg.chunk(x, 3, 1)][-1], (1, 2), None),
    "repeat": (lambda x: fg.repeat(x.ravel()[:2], 2), [3.0, 3.0, 1.0, 1.0], [3.0, 1.0, 3.0, 1.0]),
    "tile": (lambda x: fg.tile(x.ravel()[:2], 2), [3.0, 1.0, 3.0, 1.0], None),
    "nonzero": (lambda x: [tuple(i.tolist()) for i in fg.nonzero(x > 2)], [(0, 0), (0, 3)], None),
    "meshgrid": (lambda x: fg.meshgrid(fg.ones(2), fg.ones(3))[0].shape, (3, 2), (2, 3)),
    "sign of nan": (lambda x: fg.sign(fg.tensor(np.nan)), np.nan, 0.0),
    "cumsum": (lambda x: x.cumsum().shape, (4,), (1, 4)),
    "equal": (lambda x: x.equal(X), [[True] * 4], True),
    "array_equal": (lambda x: bool(fg.array_equal(x, X)), True, None),
    "plus": (lambda x: [(+x).add_(1.0), x][1], X, X + 1.0),
    "sum of uint8": (lambda x: fg.tensor([200, 100], dtype=np.uint8).sum(), 300, 44),
    "float32 beside int64": (lambda x: (x.float() * fg.tensor([1])).dtype.itemsize, 8, 4),
    "float32 beside np.float64": (lambda x: (x.float() / np.sqrt(2)).dtype.itemsize, 8, 4),
    "integers times a number": (lambda x: (fg.arange(3) * 0.1).dtype.itemsize, 8, 4),
    "split at places": (lambda x: len(fg.split(x[0], [2, 3])), 3, 2),
    "sin of integers": (lambda x: fg.sin(fg.tensor([1])).dtype.itemsize, 8, 4),
}


@pytest.mark.parametrize("name", VALUES)
def test_numpy_wins(name: str) -> None:
    compute, expected, other = VALUES[name]
    found = compute(fg.tensor(X))
    found = found.numpy() if isinstance(found, fg.Tensor) else found
    np.testing.assert_array_equal(found, expected)
    assert other is None or str(other) != str(expected)


HABITS: dict[str, Callable[[fg.Tensor], Any]] = {
    "max(dim=)": lambda x: x.max(dim=0),
    "min(dim=)": lambda x: x.min(dim=0),
    "sort(dim=)": lambda x: x.sort(dim=0),
    "median(dim=)": lambda x: x.median(dim=0),
    "std(dim=)": lambda x: x.std(dim=0),
    "var(dim=)": lambda x: x.var(dim=0),
    "transpose(0, 1)": lambda x: x.transpose(0, 1),
    "squeeze(axis)": lambda x: x.squeeze(1),
    "softmax()": lambda x: fg.softmax(x),
    "split(dim=)": lambda x: x.split(1, dim=1),
}


@pytest.mark.parametrize("name", HABITS)
def test_habits_that_would_differ_silently_raise(name: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        HABITS[name](fg.tensor(X))
    assert name.split("(")[0] in str(caught.value)


def test_linear_has_weights_in_by_out() -> None:
    layer = fg.nn.Linear(3, 2)
    assert tuple(layer.weight.shape) == (3, 2)
    x, w = fg.ones(5, 3), fg.ones(3, 2)
    assert tuple(fg.nn.functional.linear(x, w).shape) == (5, 2)


def test_a_change_through_data_leaves_what_was_saved() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    y.data.mul_(0.0)
    z.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2.0, 4.0]))


def test_a_change_through_data_is_noticed_where_it_is_refused() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        y.data.mul_(0.0)
    with pytest.raises(fg.errors.InPlaceError, match='changed in place by "mul'):
        z.backward()


def test_what_is_no_number_is_refused_with_the_reason() -> None:
    for dtype in ("M8[s]", "U3", "S2", object):
        with pytest.raises(fg.errors.DTypeError, match="tensor"):
            fg.tensor(np.zeros(2, dtype=dtype))


def test_there_is_no_vmap() -> None:
    assert not hasattr(fg, "vmap")


def test_levels_of_forward_mode_nest() -> None:
    forward_ad = fg.autograd.forward_ad
    with forward_ad.dual_level(), forward_ad.dual_level():
        x = forward_ad.make_dual(fg.tensor(2.0), fg.tensor(1.0))
        assert forward_ad.unpack_dual(x * x).tangent.item() == 4.0


def test_scalars_are_0d_tensors() -> None:
    x = fg.tensor(X)
    assert isinstance(x[0, 0], fg.Tensor)
    assert isinstance(x.sum(), fg.Tensor)
    assert x.sum().shape == ()
    old = same = x[0, 0]
    x[0, 0] = 7.0
    same += 1
    assert (old.item(), same.item(), x[0, 0].item()) == (X[0, 0], X[0, 0] + 1, 7.0)


def test_no_floating_point_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf((1.0 / fg.zeros(1)).item())
        assert np.isnan(fg.log(fg.tensor(-1.0)).item())


def test_reciprocals_of_integers_are_floats() -> None:
    assert np.reciprocal(np.array([2])).tolist() == [0]
    found = np.reciprocal(fg.tensor([2]))
    assert (found.dtype, found.tolist()) == (np.float64, [0.5])


def test_a_stack_of_vectors_is_a_matrix_in_solve() -> None:
    a, b = np.eye(3) * np.array([1.0, 2.0, 4.0])[:, None, None], np.ones((3, 3))
    assert fg.linalg.solve(a, b).shape == np.linalg.solve(a, b).shape == (3, 3, 3)
    assert fg.linalg.solve(a, b[..., None])[..., 0].tolist() == [[1.0] * 3, [0.5] * 3, [0.25] * 3]


def test_the_grid_of_nearest_places_takes_no_part() -> None:
    image, grid = fg.ones(1, 1, 2, 2), fg.zeros((1, 1, 1, 2), requires_grad=True)
    assert not fg.nn.functional.grid_sample(image, grid, mode="nearest").requires_grad


def test_the_gradient_of_a_determinant_that_is_0() -> None:
    x = fg.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    fg.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0, 0, 0], [0, 0, 0], [0, 0, 1]], atol=1e-15)


def test_cross_takes_pytorch_s_axis() -> None:
    found = fg.linalg.cross(fg.eye(3)[:1].T, fg.eye(3)[1:2].T, dim=0)
    assert found[:, 0].tolist() == [0.0, 0.0, 1.0]
