"""Transforms: values, structures and kinds of what comes out, nesting, and mathematics."""

import dataclasses
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ferrograd as fg
import ferrograd.core
from ferrograd import Tensor

X = np.linspace(0.1, 1.0, 5)


def cubes(x: Any) -> Any:
    return np.sum(x**3)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Model:
    weight: Any
    bias: Any
    power: int = dataclasses.field(default=2, metadata={"static": True})


def test_first_second_and_third_derivative_of_a_float() -> None:
    for order, expected in enumerate((np.cos(0.7), -np.sin(0.7), -np.cos(0.7)), start=1):
        f: Callable[..., Any] = np.sin
        for _ in range(order):
            f = fg.grad(f)
        found = f(0.7)
        assert type(found) is float
        assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (lambda x: x * fg.grad(lambda y: x * y)(x), 3.0, 6.0),
        (lambda x: x * fg.grad(lambda y: x + y)(1.0), 2.0, 1.0),
        (lambda x: x * fg.grad(lambda y: x + y)(x), 2.0, 1.0),
        (lambda a: fg.grad(lambda y: a * y**2)(3.0), 2.0, 6.0),
        (lambda a: a * fg.grad(lambda y: y**2)(3.0), 2.0, 6.0),
        (lambda x: fg.grad(lambda y: x**3 * fg.grad(lambda z: y * z**2)(y))(x), 2.0, 80.0 * 2),
        (lambda x: fg.grad(lambda y: fg.grad(lambda z: x * y * z)(x) * y)(x), 2.0, 8.0),
    ],
)
def test_nested_gradients_of_one_value_stay_apart(
    f: Callable[..., Any], at: float, expected: float
) -> None:
    numeric = (f(at + 1e-6) - f(at - 1e-6)) / 2e-6
    assert fg.grad(f)(at) == pytest.approx(float(numeric), rel=1e-6)
    assert fg.grad(f)(at) == pytest.approx(expected if expected != 160.0 else 4 * 2 * 2.0**3 * 2)


def test_an_inner_gradient_of_nothing_outer_is_a_plain_number() -> None:
    seen = []

    def f(a: Any) -> Any:
        inner = fg.grad(lambda y: y**2)(3.0)
        seen.append(inner)
        return a * inner

    assert fg.grad(f)(2.0) == 6.0
    assert seen == [6.0]
    assert type(seen[0]) is float


def test_arrays_come_out_fresh_writable_contiguous_and_of_their_dtype() -> None:
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        kept["x"] = x
        return np.sum(x.T * 2.0)

    for dtype in (np.float64, np.float32):
        x = np.asfortranarray(np.ones((2, 3), dtype))
        value, slope = fg.value_and_grad(f)(x)
        assert slope.dtype == dtype
        assert value.dtype == dtype
        assert slope.flags.writeable
        assert slope.flags.c_contiguous
        slope[...] = 7.0
        assert_array_equal(x, np.ones((2, 3)))
        assert_array_equal(kept["x"].detach().numpy(), np.ones((2, 3)))
    kept.clear()


def test_an_identity_gives_values_that_share_nothing() -> None:
    x = np.ones(3)
    value, pull = fg.vjp(lambda x: x, x)
    seed = np.arange(3.0)
    (slope,) = pull(seed)
    slope[0] = value[0] = 9.0
    assert_array_equal(x, np.ones(3))
    assert_array_equal(seed, np.arange(3.0))


@pytest.mark.parametrize(
    ("x", "kind"),
    [(2.0, float), (np.float64(2.0), np.float64), (np.float32(2.0), np.float32)],
)
def test_numbers_keep_their_kind(x: Any, kind: type) -> None:
    value, slope = fg.value_and_grad(lambda x: x**2)(x)
    assert type(slope) is kind
    assert slope == 4.0
    assert value == 4.0
    assert isinstance(value, float | np.floating)


def test_floats_are_float64_whatever_the_default_dtype_is() -> None:
    before = fg.get_default_dtype()
    fg.set_default_dtype(np.float32)
    try:
        assert fg.value_and_grad(lambda x: x / 3.0)(1.0) == (1.0 / 3.0, 1.0 / 3.0)
        assert fg.hessian(lambda x: x**3 / 3.0)(1.0) == 2.0
    finally:
        fg.set_default_dtype(before)


def test_an_array_without_axes_stays_one() -> None:
    slope = fg.grad(lambda x: x**2)(np.array(3.0))
    assert isinstance(slope, np.ndarray)
    assert slope.shape == ()
    assert slope == 6.0


def test_tensors_give_tensors_without_history() -> None:
    x = fg.tensor(X)
    value, slope = fg.value_and_grad(lambda x: (x**2).sum())(x)
    assert isinstance(slope, Tensor)
    assert isinstance(value, Tensor)
    assert not slope.requires_grad
    assert not value.requires_grad
    assert not x.requires_grad
    assert_allclose(slope.numpy(), 2 * X)


def test_a_gradient_with_respect_to_a_recorded_tensor_can_be_differentiated() -> None:
    x = fg.tensor(X, requires_grad=True)
    slope = fg.grad(lambda x: (x**3).sum())(x)
    assert slope.requires_grad
    slope.sum().backward()
    assert_allclose(x.grad.numpy(), 6 * X)


def test_a_gradient_that_depends_on_a_recorded_closure_stays_recorded() -> None:
    w = fg.tensor(2.0, requires_grad=True)
    slope = fg.grad(lambda x: w * (x**2).sum())(fg.tensor(X))
    slope.sum().backward()
    assert w.grad.item() == pytest.approx(2 * X.sum())


def scaled(x: Any) -> Any:
    """The sine, with a backward that also reads `x`."""

    class Scaled(fg.Function):
        @staticmethod
        def forward(ctx: Any, y: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(y)
            return y.sin()

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            (y,) = ctx.saved_tensors
            return g * x * y.cos()

    return Scaled.apply


INNER: dict[str, tuple[Callable[[Any], Any], float]] = {
    "grad": (lambda f: fg.grad(f)(3.0), np.cos(3.0)),
    "value_and_grad": (lambda f: fg.value_and_grad(f)(3.0)[1], np.cos(3.0)),
    "elementwise_grad": (lambda f: fg.elementwise_grad(f)(3.0), np.cos(3.0)),
    "vjp": (lambda f: fg.vjp(f, 3.0)[1](1.0)[0], np.cos(3.0)),
    "jvp": (lambda f: fg.jvp(f, (3.0,), (1.0,))[1], np.cos(3.0)),
    "jacobian": (lambda f: fg.jacobian(f)(3.0), np.cos(3.0)),
    "hessian": (lambda f: fg.hessian(f)(3.0), -np.sin(3.0)),
    "hvp": (lambda f: fg.hvp(f)(3.0, 1.0), -np.sin(3.0)),
}


@pytest.mark.parametrize("name", INNER)
def test_what_a_backward_reads_is_differentiated(name: str) -> None:
    inner, slope = INNER[name]
    assert fg.grad(lambda x: inner(scaled(x)))(2.0) == pytest.approx(slope)

    def plain(x: Any) -> Any:
        factor = inner(scaled(1.0))
        assert type(factor) is float
        return x * factor

    assert fg.grad(plain)(2.0) == pytest.approx(slope)


@pytest.mark.parametrize("mode", [fg.no_grad, fg.inference_mode])
def test_recording_may_be_off_around_a_transform(mode: Any) -> None:
    with mode():
        assert_allclose(fg.grad(cubes)(X), 3 * X**2)
        assert_allclose(fg.hvp(cubes)(X, X), 6 * X**2)
        assert_allclose(fg.jvp(np.sin, (X,), (X,))[1], X * np.cos(X))
        assert not fg.is_grad_enabled()


def containers() -> list[Any]:
    return [
        {"w": X, "b": [1.0, {"c": X[:2]}]},
        (X, (2.0, [])),
        [X, None, X],
        Pair(X, 2.0),
        Model(X, 1.5),
        OrderedDict(z=X, a=2.0),
        defaultdict(list, k=X),
        Counter({"a": 2.0, "b": 3.0}),
    ]


@pytest.mark.parametrize("tree", containers(), ids=lambda tree: type(tree).__name__)
def test_containers_come_back_with_their_structure(tree: Any) -> None:
    def squares(value: Any) -> Any:
        if isinstance(value, Tensor):
            return (value**2).sum()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return squares(value.weight) + squares(value.bias)
        items = value.values() if isinstance(value, dict) else value
        return sum(squares(item) for item in items if item is not None)

    def compare(got: Any, given: Any) -> None:
        assert type(got) is type(given)
        if isinstance(given, np.ndarray | float):
            assert_allclose(got, 2 * np.asarray(given))
        elif isinstance(given, Model):
            compare(got.weight, given.weight)
            compare(got.bias, given.bias)
            assert got.power == given.power
        elif isinstance(given, dict):
            assert list(got) == list(given)
            for key in given:
                compare(got[key], given[key])
        elif given is not None:
            assert len(got) == len(given)
            for a, b in zip(got, given, strict=True):
                compare(a, b)

    compare(fg.grad(squares)(tree), tree)


def test_argnums_by_position_name_default_and_alias() -> None:
    def f(x: Any, y: Any = 2.0, *, z: Any = 3.0) -> Any:
        return np.sum(x * y * z)

    assert fg.grad(f, 1)(2.0, 5.0) == 6.0
    assert fg.grad(f, -1)(2.0, 5.0) == 6.0
    assert fg.grad(f, argnum=1)(2.0, 5.0) == 6.0
    assert fg.grad(f, "z")(2.0, 5.0) == 10.0
    assert fg.grad(f, "y")(2.0, z=4.0) == 8.0
    assert fg.grad(f, 0)(x=2.0) == 6.0
    assert fg.grad(f, (0, 1))(2.0, 5.0) == (15.0, 6.0)
    assert fg.grad(f, ["x", "z"])(2.0, 5.0) == (15.0, 10.0)
    assert fg.grad(fg.grad(f, "x"), "z")(2.0, 5.0) == 5.0


def test_other_arguments_pass_untouched() -> None:
    given = object()

    def f(x: Any, other: Any, *, key: Any) -> Any:
        assert other is given
        assert key is given
        return x**2

    assert fg.grad(f)(3.0, given, key=given) == 6.0


def test_one_value_for_two_arguments_is_two_variables() -> None:
    assert fg.grad(lambda x, y: x**2 * y, (0, 1))(3.0, 3.0) == (18.0, 9.0)


@pytest.mark.parametrize("constant", [1.0, 5, np.float64(2.0), np.ones(1), fg.tensor(3.0)])
def test_a_constant_has_zeros(constant: Any) -> None:
    value, slope = fg.value_and_grad(lambda x: constant)(X)
    assert_array_equal(slope, np.zeros(5))
    assert float(np.asarray(value).item()) == float(np.asarray(constant).item())
    assert fg.grad(lambda x, y: x * 2.0, (0, 1))(1.0, 3.0) == (2.0, 0.0)
    assert fg.grad(lambda x: constant)(1.0) == 0.0


def test_aux_comes_back_as_values() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2), {"y": x * 2, "names": ["s"], "arg": x.argmax()}

    (value, aux), slope = fg.value_and_grad(f, has_aux=True)(X)
    assert value == pytest.approx((X**2).sum())
    assert_allclose(slope, 2 * X)
    assert isinstance(aux["y"], np.ndarray)
    assert_allclose(aux["y"], 2 * X)
    assert aux["names"] == ["s"]
    assert aux["arg"] == 4
    assert_allclose(fg.grad(f, has_aux=True)(X)[0], 2 * X)
    assert_allclose(fg.jacobian(f, has_aux=True)(X)[0], 2 * X)
    assert_allclose(fg.elementwise_grad(f, has_aux=True)(X)[0], 2 * X)


def test_control_flow_is_pythons() -> None:
    def f(x: Any) -> Any:
        while x < 10:
            x = x * x if x > 1.5 else x + 1.0
        return x

    assert fg.grad(f)(1.2) == pytest.approx(4 * 2.2**3)

    def power(x: Any, n: int) -> Any:
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert fg.grad(power)(2.0, 5) == 80.0


@pytest.mark.parametrize("make", [lambda f, x: fg.make_vjp(f)(x), ferrograd.core.make_vjp])
def test_masks_and_whole_numbers_are_constants_under_make_vjp(make: Any) -> None:
    pull, value = make(lambda x: x > 1.0, 3.0)
    assert (value, pull(1.0)) == (True, 0.0)
    x = np.array([1.0, 5.0, 2.0])
    pull, value = make(lambda x: (np.argmax(x), x > 1.0, 2.0 * x), x)
    assert value[0] == 1
    assert value[1].tolist() == [False, True, True]
    assert pull((7.0, np.ones(3), np.ones(3))).tolist() == [2.0, 2.0, 2.0]
    pull, value = make(lambda x: bool(x.sum() > 0), x)
    assert value is True
    assert pull(1.0).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(fg.errors.DTypeError, match="not differentiable"):
        fg.grad(lambda x: x > 1.0)(3.0)


EMPTY = [(), [], {}, {"a": []}, [(), {}]]


class TestEmpty:
    """Containers that hold no number: nothing to differentiate, or nothing to do it by."""

    @pytest.mark.parametrize("tree", EMPTY, ids=repr)
    def test_as_an_argument(self, tree: Any) -> None:
        def f(p: Any, x: Any = 2.0) -> Any:
            return x * 1.5

        assert fg.grad(f)(tree) == tree
        assert fg.value_and_grad(f)(tree) == (3.0, tree)
        assert fg.elementwise_grad(f)(tree) == tree
        assert fg.jacobian(f)(tree) == tree
        pull, value = fg.make_vjp(f)(tree)
        assert value == 3.0
        assert pull(1.0) == tree
        assert fg.vjp(f, tree)[1](1.0) == (tree,)
        assert fg.grad(f, argnums=(0, 1))(tree, 2.0) == (tree, 1.5)
        assert fg.jacobian(f, argnums=(0, 1))(tree, 2.0) == (tree, 1.5)

    @pytest.mark.parametrize("tree", EMPTY, ids=repr)
    def test_as_a_result(self, tree: Any) -> None:
        x = np.array([1.0, 2.0])
        pull, value = fg.make_vjp(lambda _: tree)(x)
        assert value == tree
        np.testing.assert_array_equal(pull(tree), [0.0, 0.0])
        value, pull = fg.vjp(lambda _: tree, x)
        assert value == tree
        np.testing.assert_array_equal(pull(tree)[0], [0.0, 0.0])
        assert fg.jacobian(lambda _: tree)(x) == tree
        assert fg.hessian(lambda _: tree)(x) == tree
        assert fg.jvp(lambda _: tree, (x,), (x,)) == (tree, tree)
        assert fg.make_jvp(lambda _: tree)(x)(x) == (tree, tree)
        np.testing.assert_array_equal(fg.elementwise_grad(lambda _: tree)(x), [0.0, 0.0])

    @pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad])
    def test_is_no_number(self, transform: Any) -> None:
        for tree in EMPTY:
            with pytest.raises(fg.errors.ArgumentError, match="not one number"):
                transform(lambda _, tree=tree: tree)(1.0)

    def test_an_empty_part_stays(self) -> None:
        x = np.array([1.0, 2.0])
        made = fg.jacobian(lambda p: (p["x"] * 2, []))({"x": x, "none": ()})
        assert made[1] == []
        assert made[0]["none"] == ()
        np.testing.assert_array_equal(made[0]["x"], 2 * np.eye(2))
