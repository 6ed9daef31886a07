"""`jacfwd`, `jacrev`, `linearize`, `forward_ad`, forward rules of users: results and errors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd._tensor.pytree import flatten
from ferrograd.autograd import forward_ad
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    ContractError,
    DTypeError,
    GradientError,
    NotDifferentiableError,
    ShapeError,
)

X = np.array([0.5, -1.0, 2.0])


def model(p: dict[str, Any], y: Any) -> Any:
    return {"a": np.sin(p["w"]) * y, "b": (p["w"] @ p["v"]).sum(), "c": y[0]}


P = {"w": np.arange(6.0).reshape(2, 3), "v": np.ones((3, 2))}
Y = np.array([1.0, 2.0, 3.0])


class TestMatrices:
    """Both directions give `jacobian`'s blocks."""

    @pytest.mark.parametrize("chunk_size", [None, 1, 4, 100])
    def test_containers(self, chunk_size: int | None) -> None:
        for argnums in (0, 1, (0, 1)):
            expected = fg.jacobian(model, argnums)(P, Y)
            for found in (
                fg.jacfwd(model, argnums, chunk_size=chunk_size)(P, Y),
                fg.jacrev(model, argnums)(P, Y),
            ):
                leaves, tree = flatten(found)
                others, same = flatten(expected)
                assert tree == same
                for a, b in zip(leaves, others, strict=True):
                    assert type(a) is type(b)
                    np.testing.assert_allclose(a, b, rtol=1e-13)

    @pytest.mark.parametrize("transform", [fg.jacfwd, fg.jacrev])
    def test_kinds(self, transform: Any) -> None:
        assert transform(lambda x: x * x)(3.0) == 6.0
        assert isinstance(transform(lambda x: x * x)(3.0), float)
        found = transform(lambda x: x * x)(fg.tensor(X))
        assert isinstance(found, fg.Tensor)
        np.testing.assert_array_equal(found.numpy(), np.diag(2 * X))
        assert transform(lambda x: 1.0)(X).shape == (3,)
        assert transform(lambda x: x)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
        matrix, aux = transform(lambda x: (x[:2], x.sum()), has_aux=True)(X)
        assert matrix.shape == (2, 3)
        assert aux == 1.5

    @pytest.mark.parametrize("transform", [fg.jacfwd, fg.jacrev])
    def test_complex(self, transform: Any) -> None:
        z = X + 1j
        found = transform(lambda z: z**3, holomorphic=True)(z)
        np.testing.assert_allclose(found, np.diag(3 * z**2), rtol=1e-13)
        mixed = transform(lambda x: np.exp(1j * x))(X)
        np.testing.assert_allclose(mixed, np.diag(1j * np.exp(1j * X)), rtol=1e-13)
        with pytest.raises(DTypeError, match="holomorphic"):
            transform(lambda z: z**3)(z)

    def test_second_derivatives_in_every_order(self) -> None:
        expected = fg.hessian(lambda x: np.sum(x**3) * x[0])(X)
        for outer in (fg.jacfwd, fg.jacrev):
            for inner in (fg.jacfwd, fg.jacrev, fg.grad):
                found = outer(inner(lambda x: np.sum(x**3) * x[0]))(X)
                np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_bad_chunk_size(self) -> None:
        with pytest.raises(ArgumentError, match="chunk_size is 0"):
            fg.jacfwd(np.sin, chunk_size=0)


class TestLinearize:
    """One call of the function for many directions."""

    def test_many_pushes(self) -> None:
        calls = []

        def f(x: Any, y: Any) -> Any:
            calls.append(1)
            return {"s": np.sin(x) * y}

        value, push = fg.linearize(f, X, 2.0)
        np.testing.assert_allclose(value["s"], np.sin(X) * 2)
        for v in np.eye(3):
            np.testing.assert_allclose(push(v, 1.0)["s"], 2 * np.cos(X) * v + np.sin(X))
        assert len(calls) == 1

    def test_auxiliary_part_and_errors(self) -> None:
        value, push, aux = fg.func.linearize(lambda x: (x * x, "kept"), 3.0, has_aux=True)
        assert (value, push(1.0), aux) == (9.0, 6.0, "kept")
        with pytest.raises(ArgumentError, match="1 primals and 2 tangents"):
            push(1.0, 2.0)
        with pytest.raises(ArgumentError, match="no primal"):
            fg.linearize(np.sin)


class TestForwardAD:
    """PyTorch's dual tensors, and levels inside of levels."""

    def test_values_and_tangents(self) -> None:
        x, t = fg.tensor(X), fg.ones(3)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, t)
            y = (dual * dual).sum()
            primal, tangent = forward_ad.unpack_dual(y)
            assert primal.item() == (X * X).sum()
            assert tangent is not None
            assert tangent.item() == 2 * X.sum()
            assert forward_ad.unpack_dual(x).tangent is None
            assert forward_ad.unpack_dual(dual.detach()).tangent is None
            with fg.no_grad():
                assert forward_ad.unpack_dual(dual * 2).tangent is not None
        assert forward_ad.unpack_dual(x) == (x, None)

    def test_levels_nest(self) -> None:
        with forward_ad.dual_level() as outer:
            x = forward_ad.make_dual(fg.tensor(2.0), fg.tensor(1.0))
            with forward_ad.dual_level() as inner:
                y = forward_ad.make_dual(x, fg.tensor(1.0)) ** 3
                slope = forward_ad.unpack_dual(y, level=inner).tangent
            assert slope is not None
            assert forward_ad.unpack_dual(slope, level=outer).tangent.item() == 12.0  # type: ignore[union-attr]

    def test_tangents_of_parameters_are_recorded(self) -> None:
        w = fg.tensor(3.0, requires_grad=True)
        with forward_ad.dual_level():
            x = forward_ad.make_dual(fg.tensor(2.0), fg.tensor(1.0))
            tangent = forward_ad.unpack_dual(x * x * w).tangent
        assert tangent is not None
        tangent.backward()
        assert w.grad is not None
        assert w.grad.item() == 4.0

    def test_errors(self) -> None:
        x = fg.ones(3)
        with pytest.raises(GradientError, match="no level is entered"):
            forward_ad.make_dual(x, x)
        with pytest.raises(GradientError, match="no level is entered"):
            forward_ad.exit_dual_level()
        with forward_ad.dual_level() as outer:
            with pytest.raises(ShapeError, match=r"shape \(3,\) and the tangent \(2,\)"):
                forward_ad.make_dual(x, fg.ones(2))
            with pytest.raises(DTypeError, match="float64 and the tangent float32"):
                forward_ad.make_dual(x, fg.ones(3, dtype=np.float32))
            with pytest.raises(DTypeError, match="int64"):
                forward_ad.make_dual(fg.tensor([1]), fg.tensor([1]))
            with pytest.raises(ArgumentTypeError, match="give a tensor"):
                forward_ad.make_dual(X, x)  # type: ignore[arg-type]
            with pytest.raises(GradientError, match="is not entered"):
                forward_ad.unpack_dual(x, level=-1)
            with (
                forward_ad.dual_level(),
                pytest.raises(GradientError, match="not the innermost"),
            ):
                forward_ad.exit_dual_level(level=outer)

    def test_a_tensor_with_a_tangent_stays_on_its_thread(self) -> None:
        raised: list[BaseException] = []

        def compute(dual: fg.Tensor) -> None:
            try:
                dual * 2
            except GradientError as error:
                raised.append(error)

        with forward_ad.dual_level():
            dual = forward_ad.make_dual(fg.ones(3), fg.ones(3))
            thread = threading.Thread(target=compute, args=(dual,))
            thread.start()
            thread.join()
        assert "multiply: a tensor with a tangent is used on another thread" in str(raised[0])
        # Outside of every level and transform it is a constant.
        np.testing.assert_array_equal((dual * 2).detach().numpy(), 2 * np.ones(3))

    def test_a_tangent_is_no_gradient(self) -> None:
        def f(x: Any) -> Any:
            return fg.autograd.grad((x * x).sum(), x)[0]

        with pytest.raises(GradientError, match="does not require grad"):
            fg.jvp(f, (X,), (X,))
        change = fg.jvp(fg.grad(lambda x: (x * x).sum()), (X,), (X,))[1]
        np.testing.assert_allclose(change, 2 * X)

    def test_an_error_ends_the_level(self) -> None:
        def fail(x: Any) -> Any:
            raise KeyError("own")

        for _ in range(2):
            with pytest.raises(KeyError):
                fg.jvp(fail, (X,), (X,))
        np.testing.assert_array_equal((fg.tensor(X) * 2).numpy(), 2 * X)


class Scale(fg.Function):
    """Its forward rule doubles on purpose, to show which rule is used."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, factor: float) -> Any:
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x * y * factor, x + y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y * ctx.factor + h, g * x * ctx.factor + h, None

    @staticmethod
    def jvp(ctx: Any, x_t: Any, y_t: Any, factor_t: Any) -> Any:
        assert factor_t is None
        x, y = ctx.saved_tensors
        return 2 * (x_t * y + x * y_t) * ctx.factor, 2 * (x_t + y_t)


class TestOwnRules:
    """Forward rules of custom functions."""

    def test_a_forward_rule_is_used(self) -> None:
        def f(x: Any) -> Any:
            a, b = Scale.apply(x, x * 3.0, 0.5)
            return a + b

        expected = 2 * (3.0 * X + 4.0)
        np.testing.assert_allclose(fg.jvp(f, (X,), (np.ones(3),))[1], expected)
        np.testing.assert_allclose(fg.jacfwd(f)(X), np.diag(expected))
        np.testing.assert_allclose(fg.jacrev(f)(X), np.diag(expected / 2))
        second = fg.jvp(lambda x: fg.jvp(f, (x,), (np.ones(3),))[1], (X,), (np.ones(3),))[1]
        np.testing.assert_allclose(second, np.full(3, 6.0))
        over = fg.grad(lambda x: fg.jvp(f, (x,), (np.ones(3),))[1].sum())(X)
        np.testing.assert_allclose(over, np.full(3, 6.0))

    def test_what_it_returns_is_checked(self) -> None:
        def made(rule: Any) -> Any:
            members = {
                "forward": staticmethod(lambda ctx, x: x * 2),
                "backward": staticmethod(lambda ctx, g: g * 2),
                "jvp": staticmethod(rule),
            }
            return type("Own", (fg.Function,), members)

        def change(rule: Any) -> Any:
            return fg.jvp(made(rule).apply, (X,), (X,))[1]

        np.testing.assert_array_equal(change(lambda ctx, t: None), np.zeros(3))
        np.testing.assert_array_equal(change(lambda ctx, t: t.numpy() * 2), 2 * X)
        with pytest.raises(ContractError, match="returned 2 tangents, but forward has 1 outputs"):
            change(lambda ctx, t: (t, t))
        with pytest.raises(ContractError, match=r"shape \(2,\) for output 0 of shape \(3,\)"):
            change(lambda ctx, t: t[:2])
        with pytest.raises(TypeError, match="the jvp of Own"):
            change(lambda ctx, t: "text")
        with pytest.raises(ZeroDivisionError):
            change(lambda ctx, t: 1 // 0)

    def test_primitives(self) -> None:
        @fg.primitive
        def times(x: Any, y: Any) -> Any:
            return np.multiply(x, y)

        fg.extend.defjvp(times, lambda g, ans, x, y: 2 * g * y, "same")
        assert fg.jvp(times, (3.0, 4.0), (1.0, 0.0)) == (12.0, 8.0)
        assert fg.jvp(times, (3.0, 4.0), (0.0, 1.0)) == (12.0, 3.0)
        with pytest.raises(NotDifferentiableError, match="defvjp"):
            fg.grad(times)(3.0, 4.0)

        @fg.primitive
        def tripled(x: Any) -> Any:
            return 3 * np.asarray(x)

        fg.extend.def_linear(tripled)
        assert fg.jvp(tripled, (2.0,), (5.0,)) == (6.0, 15.0)
        with pytest.raises(ArgumentTypeError, match='give a function, "same" or None'):
            fg.extend.defjvp(times, 3)


class Thresholded(fg.Function):
    """Its backward is not linear, so that its transpose is no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return fg.where(abs(g) > 1e-3, g * 2, g)


class TestChecks:
    """`gradcheck` compares forward mode, too."""

    def test_right_ones_pass(self) -> None:
        x = fg.tensor(X, requires_grad=True)
        for fast_mode in (False, True):
            assert fg.gradcheck(
                lambda x: (x * x, x.sum()), x, check_forward_ad=True, fast_mode=fast_mode
            )
        assert fg.gradgradcheck(lambda x: x**3, x, check_fwd_over_rev=True)
        z = fg.tensor(X + 1j, requires_grad=True)
        assert fg.gradcheck(lambda z: z * z.conj() * z, z, check_forward_ad=True)

    def test_a_wrong_forward_rule_is_found(self) -> None:
        x = fg.tensor(X, requires_grad=True)
        with pytest.raises(fg.errors.GradcheckError, match="forward mode: along a random"):
            fg.gradcheck(lambda x: Scale.apply(x, x, 1.0), x, check_forward_ad=True)

    def test_a_backward_that_is_not_linear_is_found(self) -> None:
        x = fg.tensor(X, requires_grad=True)
        report = fg.gradcheck(
            Thresholded.apply,
            x,
            check_forward_ad=True,
            check_undefined_grad=False,
            raise_exception=False,
        )
        assert not report
        assert "forward mode" in report.summary()
