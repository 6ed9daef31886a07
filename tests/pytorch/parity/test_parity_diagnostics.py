"""PyTorch's debugging and functional rows (facts 1h), each under its name.

What they find when something is wrong: `test_anomaly.py`, `test_gradcheck.py`; pictures:
`test_explain.py`.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

functional = fg.autograd.functional

A = np.array([0.5, 1.0, 2.0])
B = np.array([3.0, -1.0, 4.0])


def equal(found: fg.Tensor, expected: Any) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, 1e-12, 1e-12)


def cubes(x: fg.Tensor) -> fg.Tensor:
    return (x**3).sum()


class TestDetectAnomaly:
    def test_detect_anomaly_raises_where_nan_appears_and_warns_of_nothing(self) -> None:
        x = fg.tensor([0.0], requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with fg.autograd.detect_anomaly():
                y = x.sqrt() * 0.0
                with pytest.raises(RuntimeError, match='"sqrt" made NaN') as caught:
                    y.sum().backward()
        assert "forward call" in caught.value.__notes__[0]

    def test_detect_anomaly_check_nan_false(self) -> None:
        x = fg.tensor([0.0], requires_grad=True)
        with fg.autograd.detect_anomaly(check_nan=False):
            (x.sqrt() * 0.0).sum().backward()
        assert np.isnan(x.grad.numpy()).all()

    def test_set_detect_anomaly_as_function_and_context(self) -> None:
        with fg.autograd.set_detect_anomaly(True):
            assert fg.autograd.is_anomaly_enabled()
            with fg.autograd.set_detect_anomaly(False):
                assert not fg.autograd.is_anomaly_enabled()
            assert fg.autograd.is_anomaly_check_nan_enabled()
        assert not fg.autograd.is_anomaly_enabled()


class TestGradcheck:
    def test_gradcheck_takes_pytorch_s_arguments(self) -> None:
        x = fg.tensor(A, requires_grad=True)
        assert fg.autograd.gradcheck(
            fg.sin,
            (x,),
            eps=1e-6,
            atol=1e-5,
            rtol=1e-3,
            raise_exception=True,
            nondet_tol=0.0,
            check_undefined_grad=True,
            check_grad_dtypes=True,
            fast_mode=True,
        )

    def test_gradcheck_raise_exception_false_is_falsy(self) -> None:
        x = fg.tensor(A, requires_grad=True)
        assert not fg.autograd.gradcheck(
            lambda t: t.detach() * t, (x,), raise_exception=False
        ).passed

    def test_gradgradcheck_takes_grad_outputs(self) -> None:
        x = fg.tensor(A, requires_grad=True)
        g = fg.tensor(B)
        assert fg.autograd.gradgradcheck(lambda t: t**3, (x,), (g,))
        assert fg.autograd.gradgradcheck(lambda t: t**3, (x,), fast_mode=True)


class TestFunctional:
    def test_jacobian_of_one_input(self) -> None:
        found = functional.jacobian(lambda x: x**2, fg.tensor(A))
        equal(found, np.diag(2 * A))
        assert not found.requires_grad

    def test_jacobian_of_tuples(self) -> None:
        found = functional.jacobian(lambda x, y: (x * y, x.sum()), (fg.tensor(A), fg.tensor(B)))
        (xx, xy), (sx, sy) = found
        equal(xx, np.diag(B))
        equal(xy, np.diag(A))
        equal(sx, np.ones(3))
        equal(sy, np.zeros(3))

    def test_jacobian_vectorize_changes_nothing(self) -> None:
        one, other = (
            functional.jacobian(fg.sin, fg.tensor(A), vectorize=v).numpy() for v in (False, True)
        )
        np.testing.assert_array_equal(one, other)

    def test_jacobian_create_graph(self) -> None:
        x = fg.tensor(A, requires_grad=True)
        found = functional.jacobian(lambda t: t**2, x, create_graph=True)
        equal(fg.autograd.grad(found.sum(), x)[0], np.full(3, 2.0))

    def test_strict_refuses_independent_results(self) -> None:
        with pytest.raises(RuntimeError, match="does not depend on input"):
            functional.jacobian(lambda x: fg.ones(2), fg.tensor(A), strict=True)
        equal(functional.jacobian(lambda x: fg.ones(2), fg.tensor(A)), np.zeros((2, 3)))

    def test_hessian_of_one_input(self) -> None:
        equal(functional.hessian(cubes, fg.tensor(A)), np.diag(6 * A))

    def test_hessian_of_tuples(self) -> None:
        found = functional.hessian(lambda x, y: (x * y**2).sum(), (fg.tensor(A), fg.tensor(B)))
        equal(found[0][0], np.zeros((3, 3)))
        equal(found[0][1], np.diag(2 * B))
        equal(found[1][0], np.diag(2 * B))
        equal(found[1][1], np.diag(2 * A))

    def test_vjp_gives_the_value_and_the_product(self) -> None:
        value, product = functional.vjp(lambda x: x**2, fg.tensor(A), fg.tensor(B))
        equal(value, A**2)
        equal(product, 2 * A * B)

    def test_vjp_of_tuples(self) -> None:
        _, (of_x, of_y) = functional.vjp(
            lambda x, y: x * y, (fg.tensor(A), fg.tensor(B)), fg.ones(3)
        )
        equal(of_x, B)
        equal(of_y, A)

    def test_vjp_without_v_needs_one_element(self) -> None:
        equal(functional.vjp(cubes, fg.tensor(A))[1], 3 * A**2)
        with pytest.raises(ValueError, match="more than one element"):
            functional.vjp(lambda x: x, fg.tensor(A))

    def test_jvp_gives_the_value_and_the_product(self) -> None:
        value, product = functional.jvp(lambda x: x**2, fg.tensor(A), fg.tensor(B))
        equal(value, A**2)
        equal(product, 2 * A * B)

    def test_jvp_of_tuples(self) -> None:
        tangents = (fg.ones(3), fg.zeros(3))
        equal(functional.jvp(lambda x, y: x * y, (fg.tensor(A), fg.tensor(B)), tangents)[1], B)

    @pytest.mark.parametrize("product", ["hvp", "vhp"])
    def test_hvp_and_vhp(self, product: str) -> None:
        value, found = getattr(functional, product)(cubes, fg.tensor(A), fg.tensor(B))
        equal(value, np.sum(A**3))
        equal(found, 6 * A * B)

    @pytest.mark.parametrize("product", ["vjp", "jvp", "hvp", "vhp"])
    def test_products_with_create_graph(self, product: str) -> None:
        x = fg.tensor(A, requires_grad=True)
        function = (lambda t: t**3) if product in ("vjp", "jvp") else cubes
        _, found = getattr(functional, product)(function, x, fg.ones(3), create_graph=True)
        slope = 6 * A if product in ("vjp", "jvp") else np.full(3, 6.0)
        equal(fg.autograd.grad(found.sum(), x)[0], slope)
        _, plain = getattr(functional, product)(function, x, fg.ones(3))
        assert not plain.requires_grad


class TestFunc:
    """`torch.func`: the reverse-mode transforms, which are `fg.grad` and its kin here."""

    def test_grad_and_value(self) -> None:
        value, slope = fg.value_and_grad(cubes)(fg.tensor(A))
        equal(value, np.sum(A**3))
        equal(slope, 3 * A**2)

    def test_grad_needs_a_scalar_output(self) -> None:
        with pytest.raises((TypeError, ValueError, RuntimeError), match="not one number"):
            fg.grad(lambda x: x * 2)(fg.tensor(A))

    def test_grad_composes(self) -> None:
        third = fg.grad(fg.grad(fg.grad(lambda x: x**4)))
        equal(third(fg.tensor(2.0)), 48.0)

    def test_vjp_returns_the_value_and_a_function(self) -> None:
        value, pull = fg.vjp(lambda x: x**2, fg.tensor(A))
        equal(value, A**2)
        found = pull(fg.tensor(B))
        equal(found[0] if isinstance(found, tuple) else found, 2 * A * B)

    def test_jacrev_and_hessian(self) -> None:
        equal(fg.jacobian(lambda x: x**2)(fg.tensor(A)), np.diag(2 * A))
        equal(fg.hessian(cubes)(fg.tensor(A)), np.diag(6 * A))


class TestGraphPictures:
    def test_to_dot_is_built_in(self) -> None:
        x = fg.tensor(A, requires_grad=True, name="x")
        dot = fg.graph.to_dot(cubes(x))
        assert dot.startswith("digraph")
        assert "x (3,)" in dot
