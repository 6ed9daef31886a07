"""`gradcheck` and `gradgradcheck` find what is wrong, and say what they compared.

That the operations pass is the business of the operation table.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

MODES = pytest.mark.parametrize("fast", [False, True], ids=["full", "fast"])


def leaf(*shape: int, dtype: Any = np.float64, seed: int = 0) -> fg.Tensor:
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return fg.tensor(values, dtype=dtype, requires_grad=True)


def custom(backward: Callable[[Any, Any, Any], Any]) -> Callable[[fg.Tensor], fg.Tensor]:
    """`x²` with a backward of the test's."""

    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return backward(ctx, g, x)

    return Square.apply


right = custom(lambda ctx, g, x: 2 * g * x)
wrong = custom(lambda ctx, g, x: 3 * g * x)


@MODES
class TestModes:
    def test_right_derivatives_pass(self, fast: bool) -> None:
        for function in (right, fg.sin, lambda x: fg.linalg.inv(x @ x.T + 2 * fg.eye(3)).sum()):
            assert fg.gradcheck(function, leaf(3, 3), fast_mode=fast).passed
        both = lambda x, y: (x @ y, (x * 2).sum())  # noqa: E731
        assert fg.gradcheck(both, [leaf(2, 3), leaf(3, 2, seed=1)], fast_mode=fast)

    def test_wrong_derivatives_are_found(self, fast: bool) -> None:
        report = fg.gradcheck(wrong, leaf(2, 2), fast_mode=fast, raise_exception=False)
        assert not report
        assert report.max_rel_error == pytest.approx(1 / 3)
        with pytest.raises(fg.errors.GradcheckError, match="gradcheck FAILED in"):
            fg.gradcheck(wrong, leaf(2, 2), fast_mode=fast)

    def test_a_wrong_second_derivative_is_found(self, fast: bool) -> None:
        straight = custom(lambda ctx, g, x: g * (2 * x).detach())
        assert fg.gradcheck(straight, leaf(3), fast_mode=fast)
        report = fg.gradgradcheck(straight, leaf(3), fast_mode=fast, raise_exception=False)
        assert not report.passed
        assert fg.gradgradcheck(right, leaf(3), fast_mode=fast)

    def test_one_wrong_entry_is_enough(self, fast: bool) -> None:
        def off(ctx: Any, g: fg.Tensor, x: fg.Tensor) -> fg.Tensor:
            slope = (2 * x).detach().clone()
            slope[5] += 0.1
            return g * slope

        assert not fg.gradcheck(custom(off), leaf(8), fast_mode=fast, raise_exception=False)

    def test_a_function_that_is_not_deterministic_fails(self, fast: bool) -> None:
        rng = np.random.default_rng(0)
        noisy = custom(lambda ctx, g, x: g * (2 * x + 1e-8 * rng.standard_normal()))
        report = fg.gradcheck(noisy, leaf(3), fast_mode=fast, raise_exception=False)
        assert not report
        assert "not deterministic" in report.summary()
        assert fg.gradcheck(noisy, leaf(3), fast_mode=fast, nondet_tol=1e-6)

    def test_arrays_are_inputs_when_no_tensor_requires_grad(self, fast: bool) -> None:
        a, b = np.array([0.5, 1.0]), np.array([2.0, 3.0])
        assert fg.gradcheck(lambda x, y: np.sin(x) * y, (a, b), fast_mode=fast).entries == (
            2 if fast else 8
        )
        assert fg.gradcheck(np.sin, a, fast_mode=fast)
        assert fg.gradgradcheck(lambda x: x**3, a, np.ones(2), fast_mode=fast)
        mixed = fg.gradcheck(lambda x, y: x * y, (leaf(2), b), fast_mode=fast)
        assert mixed.entries == (1 if fast else 4), "beside a leaf an array is a constant"
        np.testing.assert_array_equal(a, [0.5, 1.0])


def test_fast_mode_evaluates_twice_for_each_input() -> None:
    calls = 0

    def counted(x: fg.Tensor) -> fg.Tensor:
        nonlocal calls
        calls += 1
        return x * x

    fg.gradcheck(counted, leaf(1000), fast_mode=True, check_undefined_grad=False)
    assert calls <= 8  # two of them compare tensors with arrays


class TestReport:
    def test_it_names_the_entry_and_both_values(self) -> None:
        def twice(ctx: Any, g: fg.Tensor, x: fg.Tensor) -> fg.Tensor:
            slope = (2 * x).detach().clone()
            slope[1, 0] = 7.0
            return g * slope

        x = fg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        report = fg.gradcheck(custom(twice), x, raise_exception=False)
        (failure,) = report.failures
        assert (failure.output_index, failure.input_index) == ((1, 0), (1, 0))
        assert (failure.analytic, round(failure.numeric, 6)) == (7.0, 6.0)
        assert "d output 0[1, 0] / d input 0[1, 0]: numeric 6" in str(report)
        assert "analytic 7" in str(report)

    def test_many_failures_are_cut_short(self) -> None:
        report = fg.gradcheck(wrong, leaf(9), raise_exception=False)
        assert len(report.failures) == 9
        assert report.summary().count("numeric") == 5
        assert "… and 4 more" in report.summary()

    def test_float32_is_checked_in_float64_and_said_so(self) -> None:
        report = fg.gradcheck(fg.sin, leaf(3, dtype=np.float32))
        assert "input 0 is float32 and was checked in float64" in report.summary()

    def test_nothing_to_check_is_refused(self) -> None:
        with pytest.raises(fg.errors.ArgumentError, match="no input requires grad"):
            fg.gradcheck(fg.sin, fg.ones(2))

    @pytest.mark.parametrize("fast", [False, True])
    @pytest.mark.parametrize(
        ("function", "text"),
        [
            (lambda x: x.sum().item(), "a float instead of a tensor"),
            (lambda x: 3.0, "a float instead of a tensor"),
            (lambda x: None, "None"),
            (lambda x: x > 1, "values of dtype bool"),
            (lambda x: (), "a tuple without float tensors"),
        ],
    )
    def test_a_function_without_float_tensors_is_refused(
        self, function: Any, text: str, fast: bool
    ) -> None:
        message = f"gradcheck: the function returned {text}, so there is nothing to check; return"
        with pytest.raises(fg.errors.ArgumentError, match=message):
            fg.gradcheck(function, leaf(2), fast_mode=fast)
        with pytest.raises(fg.errors.ArgumentError, match=message):
            fg.gradgradcheck(function, leaf(2), fast_mode=fast)

    def test_a_forward_that_returns_a_number_is_refused(self) -> None:
        class Number(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> Any:
                return 3.0

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                return g

        with pytest.raises(fg.errors.ArgumentError, match="returned a float instead of a tensor"):
            fg.gradcheck(Number.apply, leaf(2))


class TestOtherChecks:
    def test_a_missing_gradient_must_count_as_zeros(self) -> None:
        class Two(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> Any:
                ctx.set_materialize_grads(False)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx: Any, a: Any, b: Any) -> Any:
                return 2 * a + 3 * b

        report = fg.gradcheck(Two.apply, leaf(2), raise_exception=False)
        assert "with a gradient for output 0 alone backward raised TypeError" in str(report)
        assert "with a gradient for output 1 alone backward raised TypeError" in str(report)
        assert not report
        assert fg.gradcheck(Two.apply, leaf(2), check_undefined_grad=False)
        assert fg.gradcheck(fg.unbind, leaf(2, 2))

    def test_the_dtypes_of_gradients(self) -> None:
        assert fg.gradcheck(fg.sin, leaf(2, dtype=np.float32), check_grad_dtypes=True)

    def test_an_input_the_result_does_not_depend_on_has_zeros(self) -> None:
        assert fg.gradcheck(lambda x, y: x * 2, [leaf(2), leaf(2)])
        assert fg.gradcheck(lambda x: fg.ones(2), leaf(2))

    def test_0d_and_empty(self) -> None:
        assert fg.gradcheck(fg.exp, fg.tensor(0.5, requires_grad=True))
        assert fg.gradcheck(fg.exp, fg.zeros(0, requires_grad=True)).entries == 0

    def test_the_caller_s_tensors_are_as_before(self) -> None:
        x = leaf(2)
        before = x.detach().numpy().copy()
        with fg.no_grad():
            fg.gradcheck(right, x)
            fg.gradgradcheck(right, x, fast_mode=True)
            assert not fg.is_grad_enabled()
        assert x.grad is None
        np.testing.assert_array_equal(x.detach().numpy(), before)


class TestUndefinedGradients:
    def test_a_backward_that_needs_a_gradient_fails(self) -> None:
        def careless(ctx: Any, g: Any, x: fg.Tensor) -> Any:
            return 2 * g * x

        def careful(ctx: Any, g: Any, x: fg.Tensor) -> Any:
            return None if g is None else 2 * g * x

        for backward, passes in ((careless, False), (careful, True)):
            function = without_materialized(backward)
            report = fg.gradcheck(function, leaf(2), raise_exception=False)
            assert bool(report) is passes, report.summary()
            assert fg.gradcheck(function, leaf(2), check_undefined_grad=False)
            if not passes:
                assert "without any gradient the backward of" in report.summary()

    def test_a_gradient_out_of_nothing_fails(self) -> None:
        function = without_materialized(lambda ctx, g, x: x if g is None else 2 * g * x)
        report = fg.gradcheck(function, leaf(2), raise_exception=False)
        assert "without any, the backward of" in report.summary()

    def test_zeros_for_a_missing_gradient_pass(self) -> None:
        function = without_materialized(lambda ctx, g, x: 0 * x if g is None else 2 * g * x)
        assert fg.gradcheck(function, leaf(2))


def without_materialized(backward: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """`x²` whose backward sees None for a missing gradient."""

    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            return backward(ctx, g, ctx.saved_tensors[0])

    return Square.apply


@MODES
class TestOutputsThatChange:
    @pytest.mark.parametrize(
        ("other", "said"),
        [
            (lambda x: (x * x).float(), r"float64 of shape \(1,\).*float32 of shape \(1,\)"),
            (lambda x: (x * x).long(), r"float64 of shape \(1,\).*int64 of shape \(1,\)"),
            (lambda x: fg.stack([x, x]), r"\(1,\).*\(2, 1\)"),
            (lambda x: (x * x, x), r"float64 of shape \(1,\)', 'float64 of shape"),
            (lambda x: 3.0, "'float'"),
        ],
    )
    def test_a_dtype_or_shape_that_depends_on_values_is_named(
        self, fast: bool, other: Any, said: str
    ) -> None:
        x = fg.tensor([1.0], requires_grad=True)
        jumps = lambda x: x * x if x.detach().item() <= 1.0 else other(x)  # noqa: E731
        said = "the dtype or shape of an output depends on the values of the inputs: .*" + said
        with pytest.raises(fg.errors.GradcheckError, match=said):
            fg.gradcheck(jumps, x, fast_mode=fast)
        report = fg.gradcheck(jumps, x, fast_mode=fast, raise_exception=False)
        assert not report
        assert "depends on the values" in report.summary()


def test_a_derivative_that_is_nan_points_to_the_operation() -> None:
    x = fg.tensor([0.0, 1.0], requires_grad=True)
    f = lambda x: (x * 0).sqrt() * x  # noqa: E731
    report = fg.gradcheck(f, (x,), raise_exception=False)
    assert "inside fg.detect_anomaly(), which names" in str(report)
    with pytest.raises(fg.errors.GradcheckError, match=r"fg\.detect_anomaly"):
        fg.check_grads(f, modes=["rev"], order=1)(np.array([0.0, 1.0]))
