"""`custom_vjp`, `custom_jvp`, `stop_gradient`: JAX's programs with rules of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError

X = np.array([0.5, -1.0, 2.0])


@fg.custom_vjp
def cube(x: Any) -> Any:
    return x * x * x


cube.defvjp(lambda x: (cube(x), x), lambda x, g: (3 * x * x * g,))


@fg.custom_jvp
def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y


@wave.defjvp
def wave_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return wave(x, y), np.cos(x) * dx * y + np.sin(x) * dy


class TestVjp:
    """A reverse rule."""

    def test_every_order_and_direction(self) -> None:
        assert cube(2.0) == 8.0
        assert isinstance(cube(X), np.ndarray)
        assert fg.grad(cube)(2.0) == 12.0
        assert fg.grad(fg.grad(cube))(2.0) == 12.0
        assert fg.grad(fg.grad(fg.grad(cube)))(2.0) == 6.0
        assert fg.jvp(cube, (2.0,), (1.0,)) == (8.0, 12.0)
        assert fg.jvp(fg.grad(cube), (2.0,), (1.0,)) == (12.0, 12.0)
        np.testing.assert_allclose(fg.jacfwd(cube)(X), np.diag(3 * X**2))
        np.testing.assert_allclose(fg.jacrev(cube)(X), np.diag(3 * X**2))
        fast = fg.compile(fg.grad(lambda x: cube(x).sum()))
        for _ in range(3):
            np.testing.assert_allclose(fast(X), 3 * X**2)

    def test_the_rule_is_used(self) -> None:
        @fg.custom_vjp
        def clipped(x: Any) -> Any:
            return x

        clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1, 1),))
        slope = fg.grad(lambda x: (clipped(x) * np.array([5.0, 0.5, -3.0])).sum())(X)
        np.testing.assert_array_equal(slope, [1.0, 0.5, -1.0])

    def test_containers_constants_and_methods(self) -> None:
        class Model:
            scale = 3.0

            @fg.custom_vjp
            def energy(self, p: dict[str, Any], n: int) -> dict[str, Any]:
                return {"e": (p["a"] * p["b"]).sum() * n * self.scale, "a": p["a"] * 1.0}

        Model.energy = fg.custom_vjp(Model.energy._function, nondiff_argnums=(0, 2))
        Model.energy.defvjp(
            lambda self, p, n: (Model.energy._function(self, p, n), (p, {"k": 2.0})),
            lambda self, n, res, g: (
                {
                    "a": g["e"] * res[0]["b"] * n * self.scale + g["a"],
                    "b": g["e"] * res[0]["a"] * n * self.scale,
                },
            ),
        )
        model, p = Model(), {"a": X, "b": X + 1}
        found = fg.grad(lambda p: (lambda r: r["e"] + r["a"].sum())(model.energy(p, 2)))(p)
        np.testing.assert_allclose(found["a"], 6 * (X + 1) + 1)
        np.testing.assert_allclose(found["b"], 6 * X)

    def test_errors(self) -> None:
        bare = fg.custom_vjp(lambda x: x)
        with pytest.raises(NotDifferentiableError, match=r"has no rule; define one with"):
            fg.grad(bare)(1.0)
        assert bare(1.0) == 1.0
        bare.defvjp(lambda x: x, lambda r, g: (g,))
        with pytest.raises(ArgumentError, match="return the result and the residuals"):
            fg.grad(bare)(1.0)
        bare.defvjp(lambda x: (x, None), lambda r, g: (g, g))
        with pytest.raises(ArgumentError, match="for each of 1 arguments"):
            fg.grad(bare)(1.0)
        bare.defvjp(lambda x: (x, None), lambda r, g: ({"a": g},))
        with pytest.raises(ArgumentError, match="for argument 0, which has"):
            fg.grad(bare)(1.0)
        with pytest.raises(ArgumentTypeError, match="bwd is a int"):
            bare.defvjp(lambda x: x, 3)  # type: ignore[arg-type]
        with pytest.raises(ArgumentTypeError, match="decorate a function"):
            fg.custom_vjp(3)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="nondiff_argnums names argument 1"):
            fg.custom_vjp(lambda x: x, nondiff_argnums=1)(1.0)


class TestJvp:
    """A forward rule, which reverse mode transposes."""

    def test_every_order_and_direction(self) -> None:
        assert fg.jvp(wave, (0.0, 2.0), (1.0, 0.0)) == (0.0, 2.0)
        assert fg.grad(wave)(0.0, 2.0) == 2.0
        assert fg.grad(wave, 1)(0.5, 2.0) == pytest.approx(np.sin(0.5))
        assert fg.grad(fg.grad(wave))(0.5, 2.0) == pytest.approx(-2 * np.sin(0.5))
        assert fg.grad(fg.grad(wave), 1)(0.5, 2.0) == pytest.approx(np.cos(0.5))
        mixed = fg.jvp(lambda x: fg.grad(wave)(x, 2.0), (0.5,), (1.0,))[1]
        assert mixed == pytest.approx(-2 * np.sin(0.5))
        other = fg.grad(lambda x: fg.jvp(lambda z: wave(z, x), (x,), (1.0,))[1])(0.5)
        assert other == pytest.approx(np.cos(0.5) - 0.5 * np.sin(0.5))
        np.testing.assert_allclose(fg.jacfwd(wave)(X, X + 1), np.diag(np.cos(X) * (X + 1)))
        np.testing.assert_allclose(fg.jacrev(wave)(X, X + 1), np.diag(np.cos(X) * (X + 1)))

    def test_one_rule_for_each_argument(self) -> None:
        @fg.custom_jvp
        def product(x: Any, y: Any) -> Any:
            return x * y

        product.defjvps(lambda t, ans, x, y: 10 * t * y, None)
        assert fg.grad(product)(3.0, 4.0) == 40.0
        assert fg.grad(product, 1)(3.0, 4.0) == 0.0
        assert fg.jvp(product, (3.0, 4.0), (1.0, 1.0)) == (12.0, 40.0)

    def test_arguments_without_a_derivative(self) -> None:
        @fg.custom_jvp
        def plain(f: Any, x: Any) -> Any:
            return f(x)

        applied = fg.custom_jvp(plain._function, nondiff_argnums=0)
        applied.defjvp(lambda f, primals, tangents: (f(primals[0]), tangents[0] * 7.0))
        assert fg.grad(lambda x: applied(np.sin, x))(0.5) == 7.0

    def test_errors(self) -> None:
        bare = fg.custom_jvp(lambda x: {"a": x})
        with pytest.raises(NotDifferentiableError, match=r"defjvp\(rule\)"):
            fg.jvp(bare, (1.0,), (1.0,))
        bare.defjvp(lambda p, t: t)
        with pytest.raises(ArgumentError, match="return the result and its change"):
            fg.jvp(bare, (1.0,), (1.0,))
        bare.defjvp(lambda p, t: (p, t[0]))
        with pytest.raises(ArgumentError, match="a change of the structure"):
            fg.jvp(bare, (1.0,), (1.0,))


def test_stop_gradient() -> None:
    assert fg.grad(lambda x: x * fg.stop_gradient(x))(3.0) == 3.0
    assert fg.jvp(lambda x: x * fg.stop_gradient(x), (3.0,), (1.0,)) == (9.0, 3.0)
    kept = fg.stop_gradient({"a": 1.0, "b": fg.ones(2, requires_grad=True)})
    assert kept["a"] == 1.0
    assert not kept["b"].requires_grad
