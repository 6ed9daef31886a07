"""What programs for HIPS autograd do beyond gradients: its building blocks and its corners."""

import math
from functools import reduce
from typing import Any

import numpy as onp
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ferrograd as fg
import ferrograd.numpy as np
from ferrograd import core, dict as adict, grad, isinstance as ainstance, list as alist
from ferrograd.differential_operators import make_jvp_reversemode
from ferrograd.extend import VSpace, defvjp, primitive, primitive_vjps, vspace
from ferrograd.misc import flatten
from ferrograd.numpy.numpy_boxes import ArrayBox
from ferrograd.numpy.numpy_vjps import repeat_to_match_shape, unbroadcast, unbroadcast_f
from ferrograd.test_util import check_equivalent, check_grads
from ferrograd.tracer import Node, trace
from ferrograd.util import func, quick_grad_check, subval, subvals
from ferrograd.wrap_util import unary_to_nary, wraps

X = onp.array([0.3, -1.2, 2.0])
NESTED = {"a": [1.0, onp.ones((2, 1))], "b": (onp.zeros(2), {"c": 0.5})}


class TestCore:
    """Unary pullbacks, spaces of vectors, the table of rules."""

    def test_products(self) -> None:
        pull, value = core.make_vjp(lambda x: x**2, 3.0)
        assert (pull(1.0), value) == (6.0, 9.0)
        assert core.make_jvp(lambda x: x**2, 3.0)(2.0) == (9.0, 12.0)
        pull, value = core.make_vjp(lambda x: x > 0, 3.0)
        assert (pull(1.0), bool(value)) == (0.0, True)

    def test_operators_of_ones_own(self) -> None:
        @unary_to_nary
        def slope(f: Any, x: Any, scale: float = 1.0) -> Any:
            pull, _ = core.make_vjp(f, x)
            return pull(scale)

        assert slope(lambda x, y: x * y, 1)(2.0, 5.0) == 2.0
        assert slope(lambda x, y: x * y, scale=3.0)(2.0, 5.0) == 15.0
        assert slope(lambda x, y: x * y, (1, 0))(2.0, 5.0) == (2.0, 5.0)
        assert slope(onp.sin).__name__ == "slope_of_sin"

        @wraps(onp.sin, "twice_{fun}", "{op}: {doc}", op="twice")
        def twice(x: Any) -> Any:
            return 2 * onp.sin(x)

        assert twice.__name__ == "twice_sin"
        assert twice.__doc__.startswith("twice: sin(")

    def test_all_derivatives_at_once(self) -> None:
        def hessian_slope_and_value(f: Any, x: Any) -> Any:
            def both(x: Any) -> Any:
                pull, value = core.make_vjp(f, x)
                return pull(vspace(value).ones()), value

            pull, (slope, value) = core.make_vjp(both, x)
            zero = vspace(value).zeros()
            rows = (pull((v, zero)) for v in vspace(x).standard_basis())
            return np.stack(rows), slope, value

        def f(x: Any) -> Any:
            return np.sum(np.sin(x) * x[::-1])

        h, slope, value = hessian_slope_and_value(f, X)
        assert_allclose(h, fg.hessian(f)(X), atol=1e-12)
        assert_allclose(slope, grad(f)(X))
        assert value == pytest.approx(f(X))

    @pytest.mark.parametrize("value", [1.5, X, onp.ones((2, 0)), NESTED], ids=str)
    def test_spaces(self, value: Any) -> None:
        space = vspace(value)
        assert isinstance(space, VSpace)
        x, y = space.randn(), space.randn()
        assert space == vspace(x) == vspace(space.zeros())
        assert space != vspace([value])
        total = space.inner_prod(x, y)
        assert total == pytest.approx(float(flatten(x)[0] @ flatten(y)[0]))
        check_equivalent(space.add(x, space.scalar_mul(x, -1.0)), space.zeros())
        basis = list(space.standard_basis())
        assert len(basis) == space.size
        check_equivalent(reduce(space.add, basis, space.zeros()), space.ones())
        if space.size:
            check_grads(space.inner_prod, (0, 1))(x, y)
            check_grads(space.scalar_mul, (0, 1))(x, 2.0)
        assert "shapes" in repr(space)

    def test_what_is_no_vector(self) -> None:
        for value in ("text", onp.arange(3), 3):
            with pytest.raises(TypeError, match="vspace"):
                vspace(value)

    def test_rules_can_be_read_and_removed(self) -> None:
        @primitive
        def twice(x: Any) -> Any:
            return 2 * x

        assert twice not in primitive_vjps
        defvjp(twice, lambda ans, x: lambda g: 2 * g)
        assert grad(twice)(1.0) == 2.0
        maker = primitive_vjps.pop(twice)
        assert maker((0,), 2.0, (1.0,), {})(1.0) == (2.0,)
        with pytest.raises(NotImplementedError, match="has no rule"):
            grad(twice)(1.0)
        primitive_vjps[twice] = maker
        assert grad(twice)(1.0) == 2.0
        assert twice in set(primitive_vjps)
        assert len(primitive_vjps) >= 1

    def test_rules_as_methods(self) -> None:
        @primitive
        def product(x: Any, y: Any) -> Any:
            return x * y

        product.defgrad(lambda ans, x, y: lambda g: g * y)
        product.defvjp(lambda g, ans, vs, gvs, x, y: vs.scalar_mul(g, x), argnum=1)
        check_grads(product, (0, 1))(2.0, 3.0)
        product.defvjp_is_zero([0, 1])
        assert grad(lambda x: product(x, x) + x)(3.0) == 1.0

    def test_a_primitive_as_a_method(self) -> None:
        class Scale:
            factor = 3.0

            @primitive
            def apply(self, x: Any) -> Any:
                return self.factor * x

        defvjp(func(Scale.apply), lambda ans, self, x: lambda g: self.factor * g, argnums=[1])
        assert grad(Scale().apply)(2.0) == 3.0

    def test_small_helpers(self) -> None:
        assert subvals((1, 2, 3), [(0, 5), (2, 6)]) == (5, 2, 6)
        assert subval([1, 2], 1, 0) == (1, 0)
        quick_grad_check(lambda x, y: x**2 * y, X, (2.0,))
        with pytest.raises(AssertionError):
            quick_grad_check(lambda x: onp.where(x > 0, 0.0, 1e9), 1e-6)
        value = flatten(3.0 + 1j)
        assert value[1](value[0]) == 3.0 + 1j

    def test_builtins_at_the_top(self) -> None:
        def f(x: Any) -> Any:
            assert ainstance(x, adict)
            assert ainstance(x["w"], onp.ndarray)
            return sum(alist([x["w"][0], x["b"]]))

        check_equivalent(grad(f)({"w": X, "b": 1.0}), {"w": onp.array([1.0, 0, 0]), "b": 1.0})


class Listed(Node):
    """A node that keeps all it is told."""

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, at: Any, parents: Any) -> None:
        self.value, self.name, self.args, self.at = value, fun.__name__, args, at
        self.text = f"{self.name}({', '.join(p.text for p in parents)})"

    def initialize_root(self, text: str) -> None:
        self.text = text


class TestTrace:
    """The operations of a function, one node each."""

    def test_nodes(self) -> None:
        value, node = trace(Listed.new_root("x"), lambda x: np.sin(x + x) / 2, 1.23)
        assert value == pytest.approx(onp.sin(2.46) / 2)
        assert (node.text, node.at, node.args[1]) == ("divide(sin(add(x, x)))", (0,), 2)
        assert node.value == value
        inner = trace(Listed.new_root("x"), lambda x: np.sum(np.concatenate([X, x])), X)[1]
        assert (inner.text, inner.value) == ("sum(concatenate(x))", pytest.approx(2 * X.sum()))

    def test_a_gradient_lists_its_function(self) -> None:
        seen: list[str] = []

        class Told(Listed):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                seen.append(self.name)

        with pytest.warns(UserWarning, match="does not depend"):
            value, node = trace(Told.new_root("x"), grad(lambda x: np.sin(x) * x), 2.0)
        assert node is None
        assert value == pytest.approx(onp.sin(2.0) + 2 * onp.cos(2.0))
        assert seen == ["clone", "sin", "multiply"]

    def test_a_node_without_definitions(self) -> None:
        with pytest.raises(NotImplementedError, match="initialize_root"):
            Node.new_root()


class TestChecks:
    """`check_grads` looks at both arguments of a derivative and names what failed."""

    def test_first_and_second_order(self) -> None:
        @primitive
        def wrong(x: Any) -> Any:
            return x * 2.0

        defvjp(wrong, lambda ans, x: lambda g: g * 2.01)
        with pytest.raises(AssertionError, match=r"\(VJP\) check of wrong failed"):
            check_grads(wrong, modes=["rev"])(1.0)

    def test_a_rule_that_is_wrong_in_the_gradient_only(self) -> None:
        @primitive
        def outer(x: Any) -> Any:
            return x * 2.0

        @primitive
        def inner(x: Any) -> Any:
            return x * 1.0

        defvjp(outer, lambda ans, x: lambda g: inner(g) * 2.0)
        defvjp(inner, lambda ans, x: lambda g: g * 1.01)
        check_grads(outer, modes=["rev"], order=1)(1.0)
        with pytest.raises(AssertionError, match=r"\(VJP\) check of vjp_outer failed"):
            check_grads(outer, modes=["rev"])(1.0)

    def test_complex_arguments_are_checked(self) -> None:
        check_grads(np.abs)(1.0 + 1j)
        check_grads(lambda z: np.exp(z) * np.conj(z))(1.0 + 1j)


class TestNamespace:
    """Corners of `ferrograd.numpy`."""

    def test_joining_between_brackets(self) -> None:
        c = onp.array([5.0, 6.0])
        for join in (
            lambda np, x: np.r_[x],
            lambda np, x: np.r_[x, c, 1.5, x],
            lambda np, x: np.r_[x, 0:4, 2:3:5j],
            lambda np, x: np.r_["0,2", x, x],
            lambda np, x: np.c_[x, x * 2],
            lambda np, x: np.c_[onp.ones((3, 2)), x],
        ):
            assert_array_equal(join(np, fg.tensor(X)).numpy(), join(onp, X))
            assert_array_equal(join(np, X), join(onp, X))
            check_grads(lambda x, join=join: join(np, x))(X)

    def test_functions_of_elements(self) -> None:
        scaled = np.vectorize(lambda t, scale=1.0: scale * t**2 if t > 0 else t, excluded={"scale"})
        assert_array_equal(scaled(fg.tensor(X)).numpy(), onp.where(X > 0, X**2, X))
        check_grads(lambda x: scaled(x, scale=3.0))(X)
        check_grads(lambda x, y: np.vectorize(lambda a, b: (a * b, a))(x, y[:, None])[0], (0, 1))(
            X, onp.ones(2)
        )
        with pytest.raises(ValueError, match="signature"):
            np.vectorize(np.sum, signature="(n)->()")(fg.tensor(X))
        check_grads(lambda x: sum(v**2 * (i + 1) for (i,), v in np.ndenumerate(x)))(X)
        assert [v for _, v in np.ndenumerate(X)] == list(X)

    def test_quotient_and_remainder(self) -> None:
        for f in (lambda x: divmod(x, 0.7), lambda x: divmod(3.4, x)):
            for ours, theirs in zip(f(fg.tensor(X)), f(X), strict=True):
                assert_allclose(ours.numpy(), theirs)
            check_grads(lambda x, f=f: f(x)[1])(X)

    def test_arrays_from_any_iterable(self) -> None:
        for join in (np.stack, np.concatenate, np.vstack, np.hstack, np.column_stack):
            theirs = getattr(onp, join.__name__)
            found = join({"a": fg.tensor(X), "b": X}.values())
            assert_allclose(found.numpy(), theirs([X, X]))
            assert_allclose(join(x * 2 for x in (X, X)), theirs([2 * X, 2 * X]))
            check_grads(lambda x, join=join: join(map(np.sin, (x, X))))(X)

    def test_lists_of_tensors_by_keyword(self) -> None:
        assert_array_equal(grad(lambda x: np.sum(np.cumsum(a=[x[0], x[2]])))(X), [2.0, 0.0, 1.0])
        assert_array_equal(np.average([1.0, 3.0], weights=[1.0, 1.0]), 2.0)

    def test_functions_of_math_are_told_apart(self) -> None:
        with pytest.raises(TypeError, match=r"ferrograd\.numpy has the functions of math"):
            grad(lambda x: math.exp(x[0]))(X)

    def test_forward_products_alone(self) -> None:
        push = make_jvp_reversemode(np.sin)(X)
        assert_allclose(push(onp.ones(3)), onp.cos(X))

    def test_diagonals(self) -> None:
        d = onp.arange(6.0).reshape(2, 3)
        assert_array_equal(np.make_diagonal(d)[1], onp.diag(d[1]))
        check_grads(lambda d: np.make_diagonal(d, axis1=-1, axis2=-2))(d)

    @pytest.mark.parametrize("half", ["L", "U"])
    def test_the_triangle_that_is_not_read_has_no_gradient(self, half: str) -> None:
        a = onp.array([[2.0, 0.3, 0.1], [0.5, -1.0, 0.7], [0.2, 0.4, 3.0]])
        for name in ("eigh", "eigvalsh"):
            f = getattr(np.linalg, name)
            check_grads(lambda a, f=f: f(a, half))(a)
            slope = grad(lambda a, f=f: np.sum(f(a, half)[0]))(a)
            assert not onp.any(
                (onp.triu if half == "L" else onp.tril)(slope, 1 if half == "L" else -1)
            )

    def test_whole_numbers_have_no_derivative(self) -> None:
        def pick(x: Any) -> Any:
            places = np.int64(x)
            assert type(places) is onp.ndarray
            return np.sum(x[places % 3] * onp.asarray(x, dtype=int))

        assert_array_equal(grad(pick)(onp.array([1.5, 2.5, 0.5])), [0.0, 1.0, 2.0])

    def test_second_derivatives_of_powers_at_zero(self) -> None:
        zero = onp.array(0.0)
        for y in (0.0, 1.0, 2.0, 3.0):
            slope = grad(grad(lambda x, y=y: np.power(x, onp.array(y))))
            assert slope(0.0) == {2.0: 2.0}.get(y, 0.0)
        check_grads(lambda y: np.power(0.0, y))(0.7)
        check_grads(lambda y: np.power(zero, y), order=3)(0.7)

    def test_decompositions_have_the_fields_of_numpy(self) -> None:
        a = onp.array([[2.0, 0.3], [0.5, -1.0]])
        for home in (np, onp):
            for name in ("svd", "eigh", "qr", "slogdet"):
                found = getattr(home.linalg, name)(fg.tensor(a))
                assert found._fields == getattr(onp.linalg, name)(a)._fields
                assert all(isinstance(part, fg.Tensor) for part in found)
        assert np.linalg.svd(fg.tensor(a), compute_uv=False).shape == (2,)
        check_grads(lambda a: np.linalg.slogdet(a).logabsdet)(a)

    def test_signs_of_singular_vectors_follow_the_matrix(self) -> None:
        random = onp.random.default_rng(5)
        for _ in range(30):
            a = random.standard_normal((4, 4))
            a[:, 3] = a[:, 0] + 1e-3 * a[:, 3]
            near = a + 1e-9 * random.standard_normal((4, 4))
            found, moved = np.linalg.svd(fg.tensor(a)), np.linalg.svd(fg.tensor(near))
            for one, other in zip(found, moved, strict=True):
                assert_allclose(one.numpy(), other.numpy(), atol=1e-4)

    def test_a_tensor_times_the_jacobian_over_its_axes(self) -> None:
        a = onp.arange(24.0).reshape(2, 3, 4) / 10
        v = onp.arange(6.0).reshape(2, 3)
        found = fg.tensor_jacobian_product(np.sin)(a, v)
        assert_allclose(found, onp.tensordot(v, fg.jacobian(np.sin)(a), 2))


class TestRulesThatBroadcast:
    """The helpers for rules, and the class of traced arrays."""

    def test_sums_to_the_shape_of_the_argument(self) -> None:
        times = primitive(onp.multiply)
        defvjp(
            times,
            lambda ans, x, y: unbroadcast_f(x, lambda g: g * y),
            lambda ans, x, y: unbroadcast_f(y, lambda g: g * x),
        )
        column, matrix = onp.ones((2, 1)), onp.arange(12.0).reshape(2, 2, 3)
        assert unbroadcast(X, np.metadata(2.0)) == pytest.approx(X.sum())
        assert np.metadata(fg.tensor(X)) == ((3,), 1, onp.dtype(float), False)
        for x, y in ((X, 2.0), (column, X), (matrix, X), (2.0, matrix), (column, matrix)):
            check_grads(times, (0, 1))(x, y)

    def test_repeats_over_what_was_reduced(self) -> None:
        total = primitive(onp.mean)

        def rule(ans: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            def pull(g: Any) -> Any:
                repeated, count = repeat_to_match_shape(g, np.shape(x), float, axis, keepdims)
                return repeated / count

            return pull

        defvjp(total, rule)
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                check_grads(lambda x, a=axis, k=keepdims: total(x, axis=a, keepdims=k))(
                    onp.arange(12.0).reshape(2, 2, 3)
                )
        check_grads(total)(2.0)

    def test_traced_arrays_can_be_asked(self) -> None:
        def f(x: Any) -> Any:
            assert isinstance(x, ArrayBox)
            assert type(x._value) is onp.ndarray
            return np.sum(x) * float(onp.sum(x._value))

        assert_allclose(grad(f)(X), onp.full(3, X.sum()))
        assert not isinstance(X, ArrayBox)
