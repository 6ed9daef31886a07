"""The checkers call the function on plain arrays, too, and compare the values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

X = np.array([1.0, 2.0])


def compiled(f: Callable[..., Any], *args: Any) -> None:
    """Every call after the first is checked."""
    program = fg.compile(f, check=1)
    program(*args)
    program(*args)


CHECKERS: dict[str, Callable[..., Any]] = {
    "check_grads": lambda f, *args: fg.check_grads(f)(*args),
    "gradcheck": lambda f, *args: fg.gradcheck(f, args),
    "gradgradcheck": lambda f, *args: fg.gradgradcheck(f, args),
    "compile": compiled,
}
EVERY = pytest.mark.parametrize("check", CHECKERS.values(), ids=CHECKERS)


def by_type(x: Any) -> Any:
    return x * 2.0 if isinstance(x, np.ndarray) else x * 3.0


def by_shape(x: Any) -> Any:
    return x[:1] * 2.0 if isinstance(x, np.ndarray) else x * 2.0


def by_kind_of_one_result(x: Any) -> Any:
    return np.sin(x), x + isinstance(x, np.ndarray)


def by_number_of_results(x: Any) -> Any:
    return (x * 2.0, x) if isinstance(x, np.ndarray) else (x * 2.0,)


DIFFERENT = {
    by_type: r"result\[0\] is 3\.0 on tensors and 2\.0 on arrays",
    by_shape: r"the result has shape \(2,\) on tensors and \(1,\) on arrays",
    by_kind_of_one_result: r"result\[1\]\[0\] is 1\.0 on tensors and 2\.0 on arrays",
    by_number_of_results: r"it returns .* on tensors and .* on arrays",
}


@EVERY
@pytest.mark.parametrize("f", DIFFERENT, ids=lambda f: f.__name__)
def test_another_value_on_arrays_is_an_error_with_both(check: Any, f: Any) -> None:
    with pytest.raises((fg.errors.GradcheckError, fg.errors.CompileError)) as caught:
        check(f, X)
    assert caught.match(DIFFERENT[f])
    assert caught.match(r"computes something else on tensors: look where it .* np\.asarray")


@EVERY
def test_small_differences_are_those_of_rounding(check: Any) -> None:
    check(lambda x: np.sin(x) * (1 + 1e-12 * isinstance(x, np.ndarray)), X)
    with pytest.raises((fg.errors.GradcheckError, fg.errors.CompileError)):
        check(lambda x: np.sin(x) * (1 + 1e-4 * isinstance(x, np.ndarray)), X)


@EVERY
def test_what_is_left_of_large_elements_is_their_rounding(check: Any) -> None:
    check(lambda x: np.stack([x * 1e6, x * 0 + 1e-11 * isinstance(x, np.ndarray)]), X)
    with pytest.raises((fg.errors.GradcheckError, fg.errors.CompileError)):
        check(lambda x: np.stack([x * 1e3, x * 0 + 1e-3 * isinstance(x, np.ndarray)]), X)


@EVERY
def test_functions_that_do_not_take_arrays_are_checked_as_before(check: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(type(x))
        return x.sin().sum()  # arrays have no such method

    check(f, X)
    assert np.ndarray in seen
    with pytest.raises(fg.errors.GradcheckError):
        fg.check_grads(lambda x: x.sin() * x.detach())(X)


@EVERY
def test_arrays_are_copies(check: Any) -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            assert x is not given
            x += 1.0  # refused on tensors
            x -= 1.0
        return np.sum(x * x)

    given = X.copy()
    check(f, given)
    assert given.tolist() == [1.0, 2.0]

    def counting(x: Any, n: Any) -> Any:
        if isinstance(n, np.ndarray) and isinstance(x, np.ndarray):
            n += 1
        return np.sum(x * x)

    counts = np.array([1, 2])
    check(counting, X, counts)
    assert counts.tolist() == [1, 2]

    def keeping(x: Any) -> Any:
        kept.extend([x] if isinstance(x, np.ndarray) else [])
        return np.sum(x * x)

    x = fg.tensor(X, requires_grad=True)
    check(keeping, x)
    for array in kept:
        array[:] = 0.0
    assert kept
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["check_grads", "gradcheck", "gradgradcheck"])
def test_random_functions_give_no_false_alarm(name: str) -> None:
    rng = np.random.default_rng(0)

    def by_the_package(x: Any) -> Any:
        """The draws are the same on arrays: the generator stands where it stood."""
        return np.sum(x * x) + 0.0 * np.sum(fg.rand(2).numpy())

    def by_numpy(x: Any) -> Any:
        """Another number at each call, which no derivative sees."""
        draw = rng.random() if isinstance(x, np.ndarray) else 0.0
        return np.sum(x * x) + draw

    for f in (by_the_package, by_numpy):
        CHECKERS[name](f, X)


def test_the_generators_stand_as_before() -> None:
    drawn: dict[type, list[Any]] = {np.ndarray: [], fg.Tensor: []}

    def f(x: Any) -> Any:
        drawn[type(x)].append(fg.rand(1).item())
        return np.sum(x * x)

    fg.manual_seed(3)
    fg.gradcheck(f, X)
    assert drawn[np.ndarray][0] in drawn[fg.Tensor]


@EVERY
def test_containers_and_other_arguments(check: Any) -> None:
    if check in (CHECKERS["gradcheck"], CHECKERS["gradgradcheck"]):
        check(lambda x, n: np.sum(x**n), X, 2)
        with pytest.raises(fg.errors.GradcheckError):
            check(lambda x, n: by_type(x) ** n, X, 2)
        return
    check(lambda d, n: np.sum(d["a"] * d["b"][0]) ** n, {"a": X, "b": [X, 2.0]}, 2)
    with pytest.raises((fg.errors.GradcheckError, fg.errors.CompileError), match="on arrays"):
        check(lambda d: by_type(d["a"]) * d["b"][0], {"a": X, "b": [X]})


def test_a_report_without_an_error() -> None:
    for check in (fg.gradcheck, fg.gradgradcheck):
        report = check(by_type, X, raise_exception=False)
        assert not report
        assert "3.0 on tensors and 2.0 on arrays" in report.summary()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_coarser_dtypes_have_their_own_rounding(dtype: Any) -> None:
    x = X.astype(dtype)
    compiled(lambda x: x * dtype(1 + 1e-5 * isinstance(x, np.ndarray)) if x.itemsize == 4 else x, x)
    compiled(lambda x: np.sin(x), x)
    with pytest.raises(fg.errors.CompileError, match="on arrays"):
        compiled(lambda x: x * dtype(1 + 1e-2 * isinstance(x, np.ndarray)), x)


def test_a_program_with_state_is_not_taken_for_another_function() -> None:
    calls = []

    def f(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            calls.append(x)
        return np.sum(x * x) + len(calls)

    fg.check_grads(f)(X)
