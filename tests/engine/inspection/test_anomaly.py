"""Anomaly mode and the record of call sites: where an error of backward comes from.

Every expected line number is found in this file by a marker, so that the tests hold the lines and
not only the words.
"""

import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from function_support import failing

refused = fg.autograd.graph.disallow_mutation_on_saved_tensors

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values), requires_grad=True)


def site(marker: str) -> str:
    """`file:line` of the line that ends with a marker."""
    (line,) = [i for i, text in enumerate(LINES, 1) if text.endswith(f"# {marker}")]
    return f"{HERE}:{line} in "


def notes(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", []))


def infinite_slope(x: fg.Tensor) -> fg.Tensor:
    return fg.sqrt(x) * 0.0  # the slope


Fails = failing(KeyError, "mine")


class TestNotes:
    def test_an_error_carries_the_forward_call_as_a_note(self) -> None:
        with fg.detect_anomaly():
            y = Fails.apply(leaf(1.0)).sum()  # the failing call
            with pytest.raises(KeyError) as caught:
                y.backward()
        text = notes(caught.value)
        assert 'forward call of "Fails' in text
        assert site("the failing call") in text
        assert "(most recent call last)" in text
        assert site("the failing call") in "".join(traceback.format_exception(caught.value))

    def test_the_calls_around_stand_above_it(self) -> None:
        def outer() -> fg.Tensor:
            return infinite_slope(leaf(0.0)).sum()  # the outer call

        with fg.detect_anomaly():
            y = outer()
            with pytest.raises(fg.errors.GradientError) as caught:
                y.backward()
        text = notes(caught.value)
        assert 0 < text.index(site("the outer call")) < text.index(site("the slope"))
        assert "outer" in text
        assert "infinite_slope" in text

    def test_no_line_of_the_package_is_named(self) -> None:
        model = fg.nn.Linear(2, 2)
        with fg.record_call_sites():
            y = model(fg.ones(1, 2)).sqrt().sum()
        package = str(Path(fg.__file__).parent)
        y.backward()
        with pytest.raises(fg.errors.GraphFreedError) as caught:
            y.backward()
        assert package not in notes(caught.value)
        assert str(HERE) in notes(caught.value)

    def test_a_forward_that_ran_outside_is_said_to_be_unknown(self) -> None:
        y = Fails.apply(leaf(1.0)).sum()
        with fg.detect_anomaly(), pytest.raises(KeyError) as caught:
            y.backward()
        assert "is unknown: it ran outside detect_anomaly()" in notes(caught.value)

    def test_without_the_mode_there_is_no_note(self) -> None:
        y = leaf(1.0).exp().sum()
        y.backward()
        with pytest.raises(fg.errors.GraphFreedError) as caught:
            y.backward()
        assert notes(caught.value) == ""

    def test_second_order_names_the_backward_it_was_recorded_in(self) -> None:
        x = leaf(0.0)
        with fg.detect_anomaly(check_nan=False):
            y = (x * x * x).sum()  # the cube
            (g,) = fg.autograd.grad(y, x, create_graph=True)
            loss = g.sum()
            loss.backward()
            with pytest.raises(fg.errors.GraphFreedError) as caught:
                loss.backward()
        text = notes(caught.value)
        assert site("the cube") in text
        assert 'in the backward of "multiply"' in text


class TestNaN:
    def test_the_first_operation_that_makes_nan_is_named(self) -> None:
        x = leaf(0.0, 1.0)
        with fg.detect_anomaly():
            y = (infinite_slope(x * 1.0) + x * 2.0).sum()
            with pytest.raises(fg.errors.GradientError, match='"sqrt" made NaN') as caught:
                y.backward()
        assert site("the slope") in notes(caught.value)
        assert x.grad is None

    def test_nan_from_the_forward_is_traced_to_its_first_operation(self) -> None:
        x = leaf(-1.0, 1.0)
        with fg.detect_anomaly():
            z = fg.log(x)  # the logarithm
            w = ((z + 1.0) * x).sum()
            text = '"multiply" made NaN .* the first NaN of the forward is the result of "log"'
            with pytest.raises(fg.errors.GradientError, match=text) as caught:
                w.backward()
        assert 'forward call of "log" (most recent call last)' in notes(caught.value)
        assert site("the logarithm") in notes(caught.value)

    @pytest.mark.parametrize("gradient", [np.nan, np.array([np.nan, 1.0])])
    def test_a_given_gradient_that_holds_nan_is_not_blamed_on_an_operation(
        self, gradient: Any
    ) -> None:
        x = leaf(1.0, 2.0)
        with fg.detect_anomaly():
            y = x.exp()
            with pytest.raises(fg.errors.GradientError, match="no operation made it"):
                y.backward(fg.tensor(np.broadcast_to(gradient, (2,))))

    def test_nan_from_a_backward_in_python_is_blamed_on_that_function(self) -> None:
        class Poison(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                return x * 1

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                return g * np.nan

        with fg.detect_anomaly():
            y = Poison.apply(leaf(1.0)).sum()
            with pytest.raises(fg.errors.GradientError, match=r'"Poison.*" made NaN'):
                y.backward()

    def test_check_nan_false_checks_nothing(self) -> None:
        x = leaf(0.0)
        with fg.detect_anomaly(check_nan=False):
            infinite_slope(x).sum().backward()
        assert np.isnan(x.grad.numpy()).all()

    def test_recording_sites_is_a_decorator_without_parentheses(self) -> None:
        x = leaf(0.5)

        @fg.record_call_sites
        def fail() -> str:
            y = Fails.apply(x).sum()
            with pytest.raises(KeyError) as caught:
                y.backward()
            return notes(caught.value)

        def plain() -> str:
            y = Fails.apply(x).sum()
            with pytest.raises(KeyError) as caught:
                y.backward()
            return notes(caught.value)

        assert "test_anomaly.py" in fail()
        assert "test_anomaly.py" not in plain()

    def test_a_decorator_needs_no_parentheses(self) -> None:
        @fg.detect_anomaly
        def enabled(both: bool) -> list[bool]:
            found = [fg.autograd.is_anomaly_enabled()]
            return [*found, fg.autograd.is_anomaly_check_nan_enabled()] if both else found

        assert enabled(both=True) == [True, True]
        assert enabled.__name__ == "enabled"
        assert not fg.autograd.is_anomaly_enabled()
        again = fg.detect_anomaly(check_nan=False)(fg.autograd.is_anomaly_check_nan_enabled)
        assert again() is False

    def test_infinite_gradients_pass(self) -> None:
        x = leaf(0.0)
        with fg.detect_anomaly():
            fg.sqrt(x).sum().backward()
        assert np.isinf(x.grad.numpy()).all()

    def test_a_failed_check_leaves_the_saved_values_and_every_grad(self) -> None:
        x, w = leaf(0.0), leaf(2.0)
        y = (infinite_slope(x) + w * 3.0).sum()
        with fg.detect_anomaly(), pytest.raises(fg.errors.GradientError):
            y.backward(retain_graph=True)
        assert x.grad is None
        assert w.grad is None
        y.backward()
        np.testing.assert_array_equal(w.grad.numpy(), [3.0])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_every_thread_count_and_dtype_finds_the_same_operation(
        self, threads: int, dtype: Any
    ) -> None:
        x = fg.tensor(np.linspace(0, 1, 20_000), dtype=dtype, requires_grad=True)
        with fg.detect_anomaly():
            parts = [fg.sin(x * float(i)).exp() for i in range(6)]
            loss = fg.stack([*parts, infinite_slope(x)]).sum()
            with pytest.raises(fg.errors.GradientError, match='"sqrt" made NaN'):
                loss.backward()


class TestSites:
    """Of an operation that saved a value and one that changed it, where that is refused."""

    def test_the_in_place_error_names_both_call_sites(self) -> None:
        x, w = leaf(1.0, 2.0), fg.tensor([3.0, 4.0])
        with fg.record_call_sites():
            y = (x * w).sum()  # saving
            with refused():
                w[0] = 5.0  # changing
        with pytest.raises(fg.errors.InPlaceError) as caught:
            y.backward()
        text = str(caught.value)
        saved = text.index(f'saved by "multiply" (called at {site("saving")}')
        changed = text.index(f'changed in place by "setitem" (called at {site("changing")}')
        assert saved < changed

    def test_anomaly_mode_records_them_too(self) -> None:
        x = leaf(1.0, 2.0)
        with fg.detect_anomaly():
            y = x * 2
            z = y * y  # squared
            with refused():
                y += 1  # overtaken
            with pytest.raises(fg.errors.InPlaceError) as caught:
                z.sum().backward()
        assert site("squared") in str(caught.value)
        assert site("overtaken") in str(caught.value)

    def test_also_for_what_a_function_saved(self) -> None:
        class Square(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                (x,) = ctx.saved_tensors
                return 2 * g * x

        with fg.record_call_sites():
            x = leaf(1.0) * 1.0
            y = Square.apply(x)  # applied
            with refused():
                x += 1.0  # added
        with pytest.raises(fg.errors.InPlaceError) as caught:
            y.sum().backward()
        assert site("applied") in str(caught.value) + notes(caught.value)
        assert site("added") in str(caught.value)

    def test_the_same_line_in_a_loop_is_remembered_once(self) -> None:
        x = fg.zeros(3)
        with fg.record_call_sites():
            for _ in range(100):
                x += 1.0
        assert x._version == 100


SWITCHES: list[tuple[Callable[[], Any], Callable[[], bool]]] = [
    (fg.detect_anomaly, fg.autograd.is_anomaly_enabled),
    (lambda: fg.set_detect_anomaly(True), fg.autograd.is_anomaly_enabled),
    (lambda: fg.detect_anomaly(True), fg.autograd.is_anomaly_check_nan_enabled),
]


class TestSwitches:
    @pytest.mark.parametrize(("mode", "is_on"), SWITCHES)
    def test_a_context_or_a_decorator(
        self, mode: Callable[[], Any], is_on: Callable[[], bool]
    ) -> None:
        assert not is_on()
        with mode():
            assert is_on()
        assert not is_on()
        assert mode()(is_on)()
        assert not is_on()
        with pytest.raises(ZeroDivisionError), mode():
            raise ZeroDivisionError
        assert not is_on()

    def test_set_detect_anomaly_acts_at_once(self) -> None:
        fg.set_detect_anomaly(True, check_nan=False)
        assert fg.autograd.is_anomaly_enabled()
        assert not fg.autograd.is_anomaly_check_nan_enabled()
        fg.set_detect_anomaly(False)
        assert not fg.autograd.is_anomaly_enabled()

    def test_record_call_sites_is_a_function_a_context_and_a_decorator(self) -> None:
        def remembers() -> bool:
            t = leaf(1.0) * 1.0
            y = t * t
            with refused():
                t += 1.0
            with pytest.raises(fg.errors.InPlaceError) as caught:
                y.sum().backward()
            return "called at" in str(caught.value)

        assert not remembers()
        fg.record_call_sites()
        assert remembers()
        fg.record_call_sites(False)
        assert not remembers()
        assert fg.record_call_sites()(remembers)()
        with fg.record_call_sites():
            assert remembers()
        assert not remembers()

    def test_the_modes_belong_to_a_thread(self) -> None:
        seen: list[bool] = []
        with fg.detect_anomaly():
            thread = threading.Thread(target=lambda: seen.append(fg.autograd.is_anomaly_enabled()))
            thread.start()
            thread.join()
        assert seen == [False]

    def test_gradients_and_grad_mode_are_the_same(self) -> None:
        def gradients() -> Any:
            x = leaf(0.5, 1.5)
            (g,) = fg.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
            return [g.detach().numpy(), fg.autograd.grad(g.sum(), x)[0].numpy()]

        plain = gradients()
        with fg.detect_anomaly():
            assert fg.is_grad_enabled()
            np.testing.assert_array_equal(gradients(), plain)
