"""A tensor kept from an earlier call of a transform and used in a later one is an error.

The derivative through the argument of the earlier call would be missing without a word.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import GradientError

X = np.array([1.0, 2.0, 3.0])


def cached() -> Callable[[Any], Any]:
    cache: dict[str, Any] = {}

    def f(x: Any) -> Any:
        if "square" not in cache:
            cache["square"] = x * x
        return (cache["square"] * x).sum()

    return f


def memoised() -> Callable[[Any], Any]:
    class Model:
        def __init__(self) -> None:
            self.features: Any = None

        def __call__(self, x: Any) -> Any:
            if self.features is None:
                self.features = np.sin(x)
            return (self.features * x).sum()

    return Model()


def listed() -> Callable[[Any], Any]:
    history: list[Any] = []

    def f(x: Any) -> Any:
        loss = (x * x).sum()
        history.append(loss)
        return loss + 0.1 * history[0]

    return f


def argument() -> Callable[[Any], Any]:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        return (kept[0] * x).sum()

    return f


def buffered() -> Callable[[Any], Any]:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        if not kept:
            kept.append(fg.zeros(3))
            kept[0][1] = x[0] * 2
        return (kept[0] * x).sum()

    return f


KEEPING: dict[str, tuple[Callable[[], Any], str]] = {
    "cache": (cached, r"a tensor of shape \(3,\) that multiply made"),
    "attribute": (memoised, r"a tensor of shape \(3,\) that sin made"),
    "list": (listed, r"a tensor of shape \(\) that sum made"),
    "argument": (
        argument,
        r"(an argument of shape \(3,\), kept|a tensor of shape \(3,\) that clone made)",
    ),
    "buffer": (buffered, r"a tensor"),
}

WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "jacobian": fg.jacobian,
    "hessian": fg.hessian,
    "elementwise_grad": fg.elementwise_grad,
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.ones(3),)),
    "hvp": lambda f: lambda x: fg.hvp(f)(x, np.ones(3)),
    "of a tensor": lambda f: lambda x: fg.grad(f)(fg.tensor(x)),
    "two arguments": lambda f: lambda x: fg.grad(lambda a, b: f(a) * b, (0, 1))(x, 2.0),
    "nested": lambda f: lambda x: fg.grad(lambda y: fg.grad(f)(y).sum())(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KEEPING)
def test_a_later_call_raises_and_names_the_tensor(name: str, way: str) -> None:
    make, what = KEEPING[name]
    found = WAYS[way](make())
    found(X)
    with pytest.raises(GradientError, match=f"used {what}") as raised:
        found(X)
    text = str(raised.value)
    assert "in an earlier call of a transform, which has ended" in text
    assert "keep x.detach() or an array" in text
    assert "fg.record_call_sites()" in text


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", ["grad", "jvp", "nested"])
def test_another_transform_raises_too(first: str, second: str) -> None:
    f = cached()
    WAYS[first](f)(X)
    with pytest.raises(GradientError, match="an earlier call of a transform"):
        WAYS[second](f)(X)


def test_the_line_that_made_it_is_named() -> None:
    f = fg.grad(cached())
    with fg.record_call_sites():
        f(X)
    with pytest.raises(GradientError, match=r"multiply made at .*test_kept_tensors\.py") as raised:
        f(X)
    line = cached.__code__.co_firstlineno + 5
    assert re.search(rf"\b{line}\b", str(raised.value))


def test_what_is_computed_of_it_outside_is_found() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x * 2)
        return x.sum()

    fg.grad(keep)(X)
    later = kept[0] + 1.0
    with pytest.raises(GradientError, match=r"of shape \(3,\) that multiply made"):
        fg.grad(lambda x: (x * later).sum())(X)


@pytest.mark.parametrize("keep", [lambda t: t.detach(), lambda t: t.detach().numpy()])
def test_constants_may_be_kept(keep: Callable[[Any], Any]) -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(keep(x * x))
        return (kept[0] * x).sum()

    gradient = fg.grad(f)
    for _ in range(3):
        assert gradient(X).tolist() == [1.0, 4.0, 9.0]


def test_what_is_kept_and_not_used_is_no_error() -> None:
    history: list[Any] = []

    def f(x: Any) -> Any:
        history.append((x * x).sum())
        return history[-1]

    gradient = fg.value_and_grad(f)
    for _ in range(20):
        value, slope = gradient(X)
        assert value == 14.0
        assert slope.tolist() == [2.0, 4.0, 6.0]
    assert float(history[0].detach()) == 14.0
    history.clear()


def test_after_a_refusal_the_cache_may_be_emptied() -> None:
    cache: list[Any] = []

    def f(x: Any) -> Any:
        if not cache:
            cache.append(x * x)
        return (cache[0] * x).sum()

    for _ in range(2):
        assert fg.grad(f)(X).tolist() == [3.0, 12.0, 27.0]
        with pytest.raises(GradientError):
            fg.grad(f)(X)
        cache.clear()


def test_a_backward_of_users_leaves_is_no_transform() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * x)
        return x.sum()

    fg.grad(f)(X)
    w = fg.tensor(X, requires_grad=True)
    (w * kept[0]).sum().backward()
    assert w.grad.tolist() == [1.0, 4.0, 9.0]


def test_parameters_and_what_was_computed_of_them_may_be_kept() -> None:
    w = fg.tensor([2.0, 2.0, 2.0], requires_grad=True)
    cache: list[Any] = []

    def f(x: Any) -> Any:
        if not cache:
            cache.append(w * w)
        return (cache[0] * x * x).sum()

    for _ in range(3):
        assert fg.grad(f)(X).tolist() == [8.0, 16.0, 24.0]
        assert np.diag(fg.hessian(f)(X)).tolist() == [8.0, 8.0, 8.0]
    cache.clear()


def test_a_pull_lives_as_long_as_somebody_has_it() -> None:
    _, pull = fg.vjp(lambda x: x * x, X)
    back, value = fg.make_vjp(lambda x: np.sin(x))(X)
    push = fg.make_jvp(lambda x: x * x)(X)
    product, gradient = fg.make_hvp(lambda x: (x**3).sum())(X)
    for _ in range(3):
        assert pull(np.ones(3))[0].tolist() == [2.0, 4.0, 6.0]
        assert np.allclose(back(np.ones(3)), np.cos(X))
        assert push(np.ones(3))[1].tolist() == [2.0, 4.0, 6.0]
        assert product(np.ones(3)).tolist() == [6.0, 12.0, 18.0]
    assert np.allclose(value, np.sin(X))
    assert gradient.tolist() == [3.0, 12.0, 27.0]


def test_a_pull_of_recorded_weights_is_differentiable() -> None:
    _, pull = fg.vjp(lambda x: x * x * x, X)
    found = fg.grad(lambda v: (pull(v)[0] ** 2).sum())
    for _ in range(2):
        assert found(np.ones(3)).tolist() == [18.0, 288.0, 1458.0]


def test_a_pull_made_in_a_transform_differentiates_both() -> None:
    def f(x: Any) -> Any:
        _, pull = fg.vjp(lambda y: y * y * x, x)
        return pull(fg.ones(3))[0].sum()

    for _ in range(2):
        assert fg.grad(f)(X).tolist() == [4.0, 8.0, 12.0]


NESTED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "outer value": (lambda x: fg.grad(lambda y: (y * y * x).sum())(x).sum(), 4 * X),
    "inner constant": (
        lambda x: fg.grad(lambda a: a * a * x.sum())(3.0),
        np.full(3, 6.0),
    ),
    "inner twice": (
        lambda x: sum(fg.grad(lambda a: (a * a * x).sum())(float(k)) for k in range(3)),
        np.full(3, 6.0),
    ),
    "second order": (
        lambda x: fg.grad(lambda y: fg.grad(lambda z: (z**4).sum())(y).sum())(x).sum(),
        24 * X,
    ),
    "inner value and gradient": (
        lambda x: sum(fg.value_and_grad(lambda a: a * (x * x).sum())(2.0)),
        6 * X,
    ),
    "inner hessian": (
        lambda x: fg.hessian(lambda y: (y**3).sum() * x[0])(x).sum(),
        np.array([6 * 7.0, 6.0, 6.0]),
    ),
    "inner jvp": (
        lambda x: fg.jvp(lambda y: y * y * x, (np.ones(3),), (np.ones(3),))[1].sum(),
        np.full(3, 2.0),
    ),
    "a step of Newton": (
        lambda x: (x - fg.grad(lambda y: (y**3).sum())(x) / 6).sum(),
        1 - X,
    ),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("compiled", [False, True])
def test_nested_transforms(name: str, compiled: bool) -> None:
    f, expected = NESTED[name]
    gradient = fg.grad(f)
    gradient = fg.compile(gradient) if compiled else gradient
    for _ in range(3):
        assert np.allclose(gradient(X), expected)


def test_values_of_an_inner_transform_may_be_kept_within_the_outer() -> None:
    def f(x: Any) -> Any:
        slopes: list[Any] = []
        for k in range(3):
            slopes.append(fg.grad(lambda y, k=k: (y * y * x).sum() * (k + 1.0))(x))
        return sum(s.sum() for s in slopes)

    assert fg.grad(f)(X).tolist() == [24.0, 48.0, 72.0]


def test_checkpoints_and_loops() -> None:
    block = fg.checkpoint(lambda x: np.sin(x) * x)

    def f(x: Any) -> Any:
        last, ys = fg.scan(lambda c, v: (c * v, c + v), 1.0, block(x))
        return last + ys.sum()

    first = fg.grad(f)(X)
    for _ in range(2):
        assert np.array_equal(fg.grad(f)(X), first)
        assert np.allclose(fg.compile(fg.grad(f))(X), first)


def test_a_failed_call_says_what_it_said() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            fg.grad(f)(X)


def test_tensors_that_come_out_recorded_may_go_into_another_transform() -> None:
    w = fg.tensor(X, requires_grad=True)
    slope = fg.grad(lambda x: (x * x * w).sum())(fg.tensor(X))
    assert slope.requires_grad
    assert fg.grad(lambda x: (x * slope).sum())(X).tolist() == [2.0, 8.0, 18.0]
    slope.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0]
