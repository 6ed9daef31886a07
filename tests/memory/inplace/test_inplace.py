"""Changes in place: their values, their gradients, through views, and what is refused.

Every function of the table is compared with the same function without changes in place, in value
and in gradient.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

Body = Callable[[Any], Any]


def at(x: fg.Tensor, key: Any, value: Any) -> fg.Tensor:
    """A copy of `x` with `x[key] = value`, written with a mask."""
    mask = np.zeros(x.shape, bool)
    mask[key] = True
    spread = fg.zeros_like(x)
    rows = np.arange(mask.size).reshape(mask.shape)[key]
    values = value + fg.zeros(*rows.shape)
    matrix = np.zeros((mask.size, rows.size))
    matrix[rows.ravel(), np.arange(rows.size)] = 1.0
    spread = (fg.tensor(matrix) @ values.reshape(-1)).reshape(x.shape)
    return fg.where(mask, spread, x)


def operators(x: Any) -> Any:
    y = x * 1
    y += x
    y *= 2
    y -= 1
    y /= x
    return y


def operators_apart(x: Any) -> Any:
    return ((x * 1 + x) * 2 - 1) / x


def power(x: Any) -> Any:
    y = x * 1
    y **= 2
    return y * x


def by_itself(x: Any) -> Any:
    y = x * 1
    y *= y
    y += y
    return y


def by_a_tensor(x: Any) -> Any:
    y = x * 1
    y *= x
    y /= x * x
    return y


def constant_changed(x: Any) -> Any:
    z = fg.zeros(3, 4)
    z += x
    z *= x
    return z


def product(x: Any) -> Any:
    y = x * 1
    y @= fg.ones(4, 4)
    return y


def row(x: Any) -> Any:
    y = x * 1
    y[0] = x[1] * 2
    return y * y


def repeated_rows(x: Any) -> Any:
    z = fg.zeros(3, 4)
    z[1] = x[0]
    z[:, 2] = x[:, 1]
    return z * z


def masked(x: Any) -> Any:
    y = x * 1
    y[np.eye(3, 4, dtype=bool)] = 0.0
    return y * x


def chosen(x: Any) -> Any:
    y = x * 1
    y[[0, 2], [1, 3]] = x[1, :2]
    return y * y


def overlapping(x: Any) -> Any:
    y = x * 1
    y[1:] = y[:-1]
    return y * y


def through_a_row(x: Any) -> Any:
    y = x * 1
    v = y[1]
    v *= 3
    return y * y


def through_a_row_apart(x: Any) -> Any:
    y = at(x, 1, x[1] * 3)
    return y * y


def through_a_slice(x: Any) -> Any:
    y = x * 1
    v = y[:, ::2]
    v += x[:, 1::2]
    return y * v.sum()


def through_a_slice_apart(x: Any) -> Any:
    v = x[:, ::2] + x[:, 1::2]
    return at(x, (slice(None), slice(None, None, 2)), v) * v.sum()


def through_a_transpose(x: Any) -> Any:
    y = x * 1
    y.T[0] = x[0, :3]
    return y * y


def through_a_transpose_apart(x: Any) -> Any:
    y = at(x, (slice(None), 0), x[0, :3])
    return y * y


def through_views_of_views(x: Any) -> Any:
    y = x * 1
    w = y.reshape(2, 6)[1]
    w *= x.ravel()[:6]
    return y * y


def through_views_of_views_apart(x: Any) -> Any:
    flat = x.ravel()
    y = fg.concatenate([flat[:6], flat[6:] * flat[:6]]).reshape(3, 4)
    return y * y


def a_view_taken_before(x: Any) -> Any:
    y = x * 1
    v = y[0]
    y *= x
    return v * v


def a_constant_through_its_view(x: Any) -> Any:
    z = fg.zeros(3, 4)
    z[1:][0] = x[0]
    return z * x


TABLE: dict[str, tuple[Body, Body]] = {
    "operators": (operators, operators_apart),
    "power": (power, lambda x: x**2 * x),
    "by itself": (by_itself, lambda x: x * x + x * x),
    "by a tensor": (by_a_tensor, lambda x: (x * x) / (x * x)),
    "a constant changed": (constant_changed, lambda x: x * x),
    "product": (product, lambda x: x @ fg.ones(4, 4)),
    "row": (row, lambda x: at(x, 0, x[1] * 2) * at(x, 0, x[1] * 2)),
    "repeated rows": (
        repeated_rows,
        lambda x: at(at(fg.zeros(3, 4), 1, x[0]), (slice(None), 2), x[:, 1]) ** 2,
    ),
    "masked": (masked, lambda x: fg.where(np.eye(3, 4, dtype=bool), 0.0, x) * x),
    "chosen": (chosen, lambda x: at(x, ([0, 2], [1, 3]), x[1, :2]) ** 2),
    "overlapping": (overlapping, lambda x: fg.concatenate([x[:1], x[:2]]) ** 2),
    "through a row": (through_a_row, through_a_row_apart),
    "through a slice": (through_a_slice, through_a_slice_apart),
    "through a transpose": (through_a_transpose, through_a_transpose_apart),
    "through views of views": (through_views_of_views, through_views_of_views_apart),
    "a view taken before": (a_view_taken_before, lambda x: (x[0] * x[0]) ** 2),
    "a constant through its view": (
        a_constant_through_its_view,
        lambda x: at(fg.zeros(3, 4), 1, x[0]) * x,
    ),
}


def compare(body: Body, apart: Body) -> None:
    rng = np.random.default_rng(0)
    point = rng.uniform(0.5, 2.0, (3, 4))
    results = []
    for function in (body, apart):
        x = fg.tensor(point, requires_grad=True)
        y = function(x)
        weights = np.linspace(-1, 1, y.numel()).reshape(y.shape)
        (g,) = fg.autograd.grad(y, x, weights, create_graph=True)
        curved = (g * x).sum()
        (second,) = fg.autograd.grad(curved, x)
        results.append([t.detach().numpy() for t in (y, g, second)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-12, 1e-13)


@pytest.mark.parametrize("name", TABLE)
def test_changes_have_the_gradients_of_what_they_compute(name: str) -> None:
    compare(*TABLE[name])


SETTERS: tuple[Any, ...] = (
    *(
        0,
        -1,
        slice(1, None),
        slice(None, None, -2),
        (1, 2),
        (..., 0),
        None,
        ...,
        [2, 0],
        [[0], [1]],
    ),
    *((slice(None), [0, 0, 3]), np.array([True, False, True]), (0, slice(None, None, -1))),
)


@pytest.mark.parametrize("key", SETTERS, ids=str)
@pytest.mark.parametrize("recorded", [False, True])
def test_setitem_is_numpy_s(key: Any, recorded: bool) -> None:
    array = np.arange(12.0).reshape(3, 4)
    t = fg.tensor(array, requires_grad=recorded) * 1
    source = -np.arange(float(array[key].size)).reshape(array[key].shape) - 1
    for value in (7.0, source):
        array[key] = value
        before = t._version
        t[key] = value
        np.testing.assert_array_equal(t.detach().numpy(), array)
        assert t._version > before
        assert t.requires_grad is recorded


def test_a_change_keeps_the_object_and_bumps_the_version_of_all_views() -> None:
    t = fg.zeros(3)
    same, view = t, t[1:]
    t += 2
    assert t is same
    assert (t._version, view._version, t.detach()._version) == (1, 1, 1)
    assert view.tolist() == [2.0, 2.0]
    t.data = fg.ones(3)
    assert (t.tolist(), view.tolist(), t._version) == ([1, 1, 1], [1, 1], 2)


def test_leaves_change_only_outside_recording() -> None:
    w = fg.ones(2, requires_grad=True)
    for change in (lambda: w.__iadd__(1), lambda: w.__setitem__(0, 2.0)):
        with pytest.raises(fg.errors.InPlaceError, match="leaf that requires grad"):
            change()
    assert w.tolist() == [1.0, 1.0]
    with fg.no_grad():
        w -= 0.5
        w[0] = 9.0
    assert (w.tolist(), w.is_leaf, w.requires_grad) == ([9.0, 0.5], True, True)
    (w * w).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [18.0, 1.0])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda t: t.__iadd__(fg.ones(2, 3)), fg.errors.ShapeError),
        (lambda t: t.__setitem__(slice(None), fg.ones(2)), fg.errors.ShapeError),
        (lambda t: t.__setitem__(5, 1.0), fg.errors.IndexOutOfRangeError),
        (lambda t: t.long().__iadd__(0.5), fg.errors.DTypeError),
        (lambda t: t.astype(fg.uint8).__iadd__(t.long()), fg.errors.DTypeError),
        (lambda t: t.long().__iadd__(fg.ones(3)), fg.errors.DTypeError),
        (lambda t: t.__setitem__(0, "a"), fg.errors.ArgumentTypeError),
        (lambda t: t[:1].expand(3).__iadd__(1.0), fg.errors.InPlaceError),
    ],
)
def test_a_refused_change_changes_nothing(change: Any, error: type[Exception]) -> None:
    t = fg.tensor([1.0, 2.0, 3.0])
    with pytest.raises(error):
        change(t)
    assert (t.tolist(), t._version) == ([1.0, 2.0, 3.0], 0)


@pytest.mark.parametrize(
    "made",
    [
        [1.0, 2.0],
        (1.0, 2.0),
        [[1.0, 2.0]],
        list(range(2000)),
        [np.float64(3), np.float64(4)],
        np.float32(5),
    ],
    ids=["list", "tuple", "nested", "long", "scalars", "scalar"],
)
def test_what_is_made_of_python_objects_is_the_tensors_own(made: Any) -> None:
    for convert in (fg.asarray, fg.tensor, fg.array_api.asarray):
        t = convert(made)
        expected = np.array(made) * 2
        t *= 2
        assert t.tolist() == expected.tolist()
        t[...] = 1
        assert t.numpy(writable=True).flags.writeable


def layouts(dtype: str) -> dict[str, Callable[[], fg.Tensor]]:
    """Tensors of many elements, new ones at every call: what lies in a run, and what does not."""

    def new(*shape: int) -> fg.Tensor:
        return fg.tensor(np.random.default_rng(1).normal(size=shape).astype(dtype))

    return {
        "run": lambda: new(70, 301),
        "odd": lambda: new(1, 65)[:, 1:],
        "part": lambda: new(300, 100)[7:250],
        "columns": lambda: new(100, 200)[:, 20:],
        "steps": lambda: new(5000)[::2],
        "transposed": lambda: new(90, 50).T,
        "backwards": lambda: new(3000).flip(0)[::-1],
    }


@pytest.mark.parametrize("name", layouts("float64"))
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_large_changes_have_the_bits_of_what_they_compute(name: str, dtype: str) -> None:
    make = layouts(dtype)[name]
    for change in ("add", "subtract", "multiply", "maximum"):
        if change == "maximum" and dtype == "complex128":
            continue
        function = getattr(fg, change)
        for other in ("apart", "itself", "number", "one", "row", "column", "swapped"):
            x = make()
            apart = fg.tensor(np.random.default_rng(2).normal(size=x.shape).astype(dtype))
            rest = {"apart": apart, "itself": x, "number": 3, "one": apart.flatten()[:1]}
            rest |= {"row": apart[:1], "column": apart[..., :1]}
            operands = (apart, x) if other == "swapped" else (x, rest[other])
            want = function(*operands).numpy().copy()
            function(*operands, out=x)
            np.testing.assert_array_equal(x.numpy(), want, err_msg=f"{change} {other}")
            again = make()
            if other != "swapped":
                value = again if other == "itself" else rest[other]
                getattr(again, f"{change}_")(value)
                np.testing.assert_array_equal(again.numpy(), want, err_msg=f"{change}_ {other}")
