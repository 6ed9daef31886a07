"""`fg.extend`: derivatives that users give to plain functions of arrays."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd import Tensor
from ferrograd.extend import defvjp, primitive

X = np.array([1.0, 2.0, 0.5])


@primitive
def logsumexp(x: Any) -> Any:
    """The example of every tutorial."""
    assert type(x) is np.ndarray
    top = x.max()
    return top + np.log(np.sum(np.exp(x - top)))


defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))


@primitive
def product_and_power(a: Any, b: Any, k: int = 2) -> Any:
    return a * b, a**k


defvjp(
    product_and_power,
    lambda ans, a, b, k=2: lambda g: g[0] * b + g[1] * k * a ** (k - 1),
    lambda ans, a, b, k=2: lambda g: g[0] * a,
)


def test_graphs_and_errors_show_the_name_of_the_function() -> None:
    @primitive
    def doubled(x: Any) -> Any:
        return 2 * x

    defvjp(doubled, lambda ans, x: lambda g: 1 // 0 if x[0] else 2 * g)
    x = fg.tensor([1.0], requires_grad=True)
    y = doubled(x)
    assert "DoubledBackward" in repr(y.grad_fn)
    with pytest.raises(ZeroDivisionError) as caught:
        y.sum().backward()
    assert caught.value.__notes__ == ["raised in the backward of doubled"]
    compiled = fg.compile(fg.grad(lambda x: doubled(x).sum()))
    assert "doubled backward" in compiled.explain(np.zeros(1))


def test_arrays_go_straight_through() -> None:
    assert isinstance(logsumexp(X), float)
    assert logsumexp.__name__ == "logsumexp"
    assert repr(logsumexp) == "<primitive logsumexp>"


def test_derivatives_of_any_order() -> None:
    soft = np.exp(X - logsumexp(X))
    assert_allclose(fg.grad(logsumexp)(X), soft)
    assert_allclose(fg.hessian(logsumexp)(X), np.diag(soft) - np.outer(soft, soft))
    fg.check_grads(logsumexp, order=3)(X)


def test_several_results_and_keywords() -> None:
    fg.check_grads(lambda a, b: product_and_power(a, b, k=3))(1.5, 2.5)
    fg.check_grads(lambda a: product_and_power(a, 3.0)[0] + a)(1.5)
    value, slope = fg.value_and_grad(lambda a: product_and_power(a, 2.0)[1])(3.0)
    assert (value, slope) == (9.0, 6.0)


def test_a_rule_sees_arrays_first_and_tensors_when_recorded() -> None:
    seen: list[type] = []

    @primitive
    def square(x: Any) -> Any:
        return x * x

    def rule(ans: Any, x: Any) -> Any:
        seen.append(type(x))
        return lambda g: 2 * x * g

    defvjp(square, rule)
    fg.grad(square)(X[0])
    fg.grad(fg.grad(square))(X[0])
    assert seen[0] is np.ndarray
    assert Tensor in seen[1:]


def test_none_is_a_zero_derivative_and_argnums_choose() -> None:
    @primitive
    def scale(x: Any, k: Any) -> Any:
        return x * k

    defvjp(scale, lambda ans, x, k: lambda g: g * k, None)
    assert fg.grad(scale, (0, 1))(2.0, 3.0) == (3.0, 0.0)
    defvjp(scale, lambda ans, x, k: lambda g: g * x, argnums=[1])
    assert fg.grad(scale, (0, 1))(2.0, 3.0) == (3.0, 2.0)


def test_tensors_outside_transforms() -> None:
    x = fg.tensor(X, requires_grad=True)
    logsumexp(x).backward()
    assert_allclose(x.grad.numpy(), np.exp(X - logsumexp(X)))
    with fg.no_grad():
        assert not logsumexp(x).requires_grad


def test_errors() -> None:
    @primitive
    def double(x: Any, k: Any = 2.0) -> Any:
        return x * k

    with pytest.raises(NotImplementedError, match="argument 0 requires grad and has no rule"):
        fg.grad(double)(1.0)
    defvjp(double, lambda ans, x, k=2.0: lambda g: g * k)
    with pytest.raises(NotImplementedError, match="keyword argument or inside a container"):
        fg.grad(lambda k: double(1.0, k=k))(2.0)
    with pytest.raises(TypeError, match="decorate the function"):
        defvjp(np.sin, lambda ans, x: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="2 rules for 1 argnums"):
        defvjp(double, None, None, argnums=[0])
    with pytest.raises(TypeError, match="a rule is a int"):
        defvjp(double, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="decorate a function of arrays"):
        primitive(3)  # type: ignore[arg-type]


def test_rules_may_come_before_the_primitive() -> None:
    """As HIPS autograd takes them, with a warning: until then nothing uses them."""

    def cube(x: Any) -> Any:
        return x**3

    with pytest.warns(UserWarning, match=r"^defvjp: cube is no primitive, .* @primitive$"):
        defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)  # type: ignore[arg-type]
    assert fg.grad(primitive(cube))(2.0) == 12.0


def test_a_container_is_asked_what_it_holds() -> None:
    """Not what it says when it is iterated, which may have no end."""

    class Endless(tuple[Any]):
        def __iter__(self) -> Any:
            return itertools.repeat(1.0)

    @primitive
    def counted(x: Any, options: Any) -> Any:
        return x * 2.0

    defvjp(counted, lambda ans, x, options: lambda g: 2.0 * g)
    assert fg.grad(lambda x: counted(x, Endless()))(1.0) == 2.0
    hidden = fg.tensor(1.0, requires_grad=True)
    with pytest.raises(fg.errors.NotDifferentiableError, match="inside a container"):
        counted(1.0, Endless((hidden,)))


@pytest.mark.parametrize("name", ["a real argument", "complex numbers", "both by one rule"])
def test_complex_gradients_of_rules_are_those_of_fg_grad(name: str) -> None:
    """As in HIPS autograd: a rule multiplies by the slope itself, not by its conjugate."""

    @primitive
    def times(a: Any, b: Any) -> Any:
        return a * b

    if name == "both by one rule":
        fg.extend.defvjp_argnums(
            times,
            lambda argnums, ans, args, kwargs: lambda g: tuple(g * args[1 - k] for k in argnums),
        )
    else:
        defvjp(times, lambda ans, a, b: lambda g: g * b, lambda ans, a, b: lambda g: g * a)
    b = np.array([1 + 2j, -0.5j, 3.0])
    x = X if name == "a real argument" else X * (1 - 2j)
    assert_allclose(
        fg.grad(lambda x: np.sum(np.abs(times(x, b) + 1)))(x),
        fg.grad(lambda x: np.sum(np.abs(x * b + 1)))(x),
    )
    fg.check_grads(times, order=2)(x, b)
    t = fg.tensor(x, requires_grad=True)
    assert fg.gradcheck(lambda t: times(t, b), (t,))


def test_graphs_show_the_numbers_of_a_call() -> None:
    x = fg.tensor(X, requires_grad=True)
    with fg.Graph() as graph:
        product_and_power(x, x, k=3)
    assert "product_and_power(k=3)" in str(graph)
    assert "object at" not in str(graph)
