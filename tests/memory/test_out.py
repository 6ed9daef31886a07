"""`out=`: every function that has it in NumPy or PyTorch writes its result there."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

X = np.array([[0.3, 0.8], [0.6, 0.4]])
UFUNCS = sorted(
    name
    for name in dir(np)
    if isinstance(ufunc := getattr(np, name), np.ufunc)
    and ufunc.nout == 1
    and ufunc.signature is None
    and ufunc.__name__ == name
    and hasattr(fg, name)
)
# NumPy's functions that are no ufuncs and take `out`, each as a call with an array or a tensor.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "all": lambda x, **k: np.all(x > 0.5, 0, **k),
    "any": lambda x, **k: np.any(x > 0.5, 0, **k),
    "amax": lambda x, **k: np.amax(x, 0, **k),
    "amin": lambda x, **k: np.amin(x, 0, **k),
    "max": lambda x, **k: np.max(x, 0, **k),
    "min": lambda x, **k: np.min(x, 0, **k),
    "argmax": lambda x, **k: np.argmax(x, 0, **k),
    "argmin": lambda x, **k: np.argmin(x, 0, **k),
    "around": lambda x, **k: np.around(x, 1, **k),
    "round": lambda x, **k: np.round(x, 1, **k),
    "choose": lambda x, **k: np.choose([0, 1], [x[0], x[1]], **k),
    "clip": lambda x, **k: np.clip(x, 0.4, 0.7, **k),
    "compress": lambda x, **k: np.compress([True, False], x, 0, **k),
    "concatenate": lambda x, **k: np.concatenate([x, x], **k),
    "concat": lambda x, **k: np.concat([x, x], **k),
    "cumprod": lambda x, **k: np.cumprod(x, 1, **k),
    "cumsum": lambda x, **k: np.cumsum(x, 1, **k),
    "cumulative_prod": lambda x, **k: np.cumulative_prod(x, axis=1, **k),
    "cumulative_sum": lambda x, **k: np.cumulative_sum(x, axis=1, **k),
    "dot": lambda x, **k: np.dot(x, x, **k),
    "einsum": lambda x, **k: np.einsum("ij,jk->ik", x, x, **k),
    "fix": lambda x, **k: np.fix(x, **k),
    "mean": lambda x, **k: np.mean(x, 0, **k),
    "median": lambda x, **k: np.median(x, 0, **k),
    "nanargmax": lambda x, **k: np.nanargmax(x, 0, **k),
    "nanargmin": lambda x, **k: np.nanargmin(x, 0, **k),
    "nancumprod": lambda x, **k: np.nancumprod(x, 1, **k),
    "nancumsum": lambda x, **k: np.nancumsum(x, 1, **k),
    "nanmax": lambda x, **k: np.nanmax(x, 0, **k),
    "nanmean": lambda x, **k: np.nanmean(x, 0, **k),
    "nanmedian": lambda x, **k: np.nanmedian(x, 0, **k),
    "nanmin": lambda x, **k: np.nanmin(x, 0, **k),
    "nanpercentile": lambda x, **k: np.nanpercentile(x, 30, 0, **k),
    "nanprod": lambda x, **k: np.nanprod(x, 0, **k),
    "nanquantile": lambda x, **k: np.nanquantile(x, 0.3, 0, **k),
    "nanstd": lambda x, **k: np.nanstd(x, 0, **k),
    "nansum": lambda x, **k: np.nansum(x, 0, **k),
    "nanvar": lambda x, **k: np.nanvar(x, 0, **k),
    "outer": lambda x, **k: np.outer(x[0], x[1], **k),
    "percentile": lambda x, **k: np.percentile(x, 30, 0, **k),
    "prod": lambda x, **k: np.prod(x, 0, **k),
    "ptp": lambda x, **k: np.ptp(x, 0, **k),
    "quantile": lambda x, **k: np.quantile(x, 0.3, 0, **k),
    "stack": lambda x, **k: np.stack([x, x], **k),
    "std": lambda x, **k: np.std(x, 0, **k),
    "sum": lambda x, **k: np.sum(x, 0, **k),
    "take": lambda x, **k: np.take(x, [1, 0], 1, **k),
    "trace": lambda x, **k: np.trace(x, **k),
    "var": lambda x, **k: np.var(x, 0, **k),
    "isneginf": lambda x, **k: np.isneginf(x - np.inf, **k),
    "isposinf": lambda x, **k: np.isposinf(x + np.inf, **k),
    "spacing": lambda x, **k: np.spacing(x, **k),
    "linalg.multi_dot": lambda x, **k: np.linalg.multi_dot([x, x, x], **k),
}
# Those of dates.
OTHERS = {"busday_count", "busday_offset", "is_busday"}
REPEATING = {"clip", "fix", "spacing"}


def operands(name: str) -> tuple[np.ndarray, ...]:
    """One or two operands that the ufunc takes."""
    whole = "bitwise" in name or "shift" in name or name in {"invert", "gcd", "lcm"}
    numbers = np.array([[1, 3], [2, 4]])
    x = numbers if whole else X + (name in {"arccosh", "acosh"})
    other = numbers if name == "ldexp" else x
    return (x, other[:1])[: getattr(np, name).nin]


@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_repeats_its_result_in_a_larger_place(name: str) -> None:
    arrays = operands(name)
    tensors = tuple(fg.asarray(a) for a in arrays)
    ufunc = getattr(np, name)
    expected = ufunc(*arrays)
    for shape in (expected.shape, (3, *expected.shape), (2, 1, 2, 2)):
        place = fg.zeros(shape, dtype=fg.asarray(expected).dtype)
        for call in (getattr(fg, name), ufunc):
            assert call(*tensors, out=place) is place
            np.testing.assert_allclose(place, np.broadcast_to(expected, shape), rtol=1e-12)
        array = np.zeros(shape, expected.dtype)
        assert ufunc(*tensors, out=array) is array
        np.testing.assert_allclose(array, np.broadcast_to(expected, shape), rtol=1e-12)
    for shape in (
        (3, 2),
        (2,),
        (1, 2),
    ):
        place = fg.zeros(shape, dtype=fg.asarray(expected).dtype)
        with pytest.raises(fg.errors.ShapeError, match="broadcast"):
            getattr(fg, name)(*tensors, out=place)


def test_the_gradient_of_a_repeated_result_sums() -> None:
    x = fg.tensor([1.0, 5.0], requires_grad=True)
    place = fg.zeros(3, 2)
    assert np.clip(x, 0.0, 2.0, out=place) is place
    assert place.tolist() == [[1.0, 2.0]] * 3
    place.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0]
    array = np.zeros((3, 2))
    np.clip(x.detach(), 0.0, 2.0, out=array)
    assert array.tolist() == [[1.0, 2.0]] * 3
    place = fg.zeros(4, 2, 2)
    fg.matmul(X, X, out=place)
    np.testing.assert_allclose(place, np.broadcast_to(X @ X, (4, 2, 2)))
    for call in (fg.clip, np.clip):
        assert call(x.detach(), 0.0, 2.0, out=fg.zeros(3, 2)).shape == (3, 2)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_of_numpy_write_there(name: str) -> None:
    call, t = FUNCTIONS[name], fg.tensor(X)
    expected = call(X)
    place = fg.zeros(expected.shape, dtype=expected.dtype)
    assert call(t, out=place) is place
    np.testing.assert_allclose(place, expected, rtol=1e-12)
    array = np.zeros(expected.shape, expected.dtype)
    assert call(t, out=array) is array
    np.testing.assert_allclose(array, expected, rtol=1e-12)
    if name not in REPEATING:
        with pytest.raises(ValueError, match="shape"):
            call(t, out=fg.zeros((3, *expected.shape), dtype=expected.dtype))


def test_no_function_of_numpy_with_a_place_is_missing() -> None:
    for home, prefix in ((np, ""), (np.linalg, "linalg.")):
        for name in dir(home):
            function = getattr(home, name)
            if not inspect.isroutine(function) or isinstance(function, np.ufunc):
                continue
            try:
                takes = "out" in inspect.signature(function).parameters
            except ValueError:
                continue
            if takes and prefix + name not in OTHERS:
                assert prefix + name in FUNCTIONS


MADE: dict[str, Callable[..., Any]] = {
    "zeros": lambda **k: fg.zeros(2, 3, **k),
    "ones": lambda **k: fg.ones((2, 3), **k),
    "empty": lambda **k: fg.empty(2, 3, **k),
    "full": lambda **k: fg.full((2, 3), 7, **k),
    "full of a tensor": lambda **k: fg.full((2, 3), fg.tensor(7.0), **k),
    "arange": lambda **k: fg.arange(1, 6, **k),
    "linspace": lambda **k: fg.linspace(0, 1, 5, **k),
    "eye": lambda **k: fg.eye(2, 3, **k),
    "rand": lambda **k: fg.rand(2, 3, generator=fg.Generator(0), **k),
    "randn": lambda **k: fg.randn(2, 3, generator=fg.Generator(0), **k),
    "randint": lambda **k: fg.randint(2, 9, (2, 3), generator=fg.Generator(0), **k),
    "randperm": lambda **k: fg.randperm(5, generator=fg.Generator(0), **k),
    "bernoulli": lambda **k: fg.bernoulli(fg.full((3,), 0.5), generator=fg.Generator(0), **k),
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_what_is_made_goes_there(name: str) -> None:
    call = MADE[name]
    expected = call()
    for dtype in (np.float64, np.float32):
        place = fg.full(tuple(expected.shape), -1.0, dtype=dtype)
        version = place._version
        assert call(out=place) is place
        assert place._version == version + 1
        np.testing.assert_array_equal(place, expected.astype(dtype))
    assert call(out=None).shape == expected.shape
    with pytest.raises(fg.errors.ShapeError, match=r"out has shape \(9, 9\)"):
        call(out=fg.zeros(9, 9))
    with pytest.raises(fg.errors.ArgumentTypeError, match="out is a ndarray"):
        call(out=np.zeros(expected.shape))


def test_a_place_keeps_its_dtype() -> None:
    whole = fg.zeros(3, dtype=np.int32)
    assert fg.ones(3, out=whole).tolist() == [1, 1, 1]
    assert fg.arange(3, out=whole).dtype == np.int32
    for call in (lambda: fg.rand(3, out=whole), lambda: fg.zeros(3, out=whole, dtype=np.float64)):
        with pytest.raises(fg.errors.DTypeError, match="the result is float64 and out int32"):
            call()
    with pytest.raises(fg.errors.ArgumentError, match=r"out.requires_grad_\(\)"):
        fg.zeros(3, out=fg.zeros(3), requires_grad=True)
    with pytest.raises(fg.errors.InPlaceError, match="leaf"):
        fg.zeros(3, out=fg.ones(3).requires_grad_())


def test_an_array_loses_no_gradient() -> None:
    x = fg.tensor(X, requires_grad=True)
    for name in ("nancumsum", "nanprod", "sum", "clip", "sin"):
        call = FUNCTIONS.get(name, np.sin)
        with pytest.raises(fg.errors.GraphCutError, match="leave out= out"):
            call(x, out=np.zeros_like(call(X)))


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_ufuncs_of_two_results_write_both(name: str) -> None:
    ufunc = getattr(np, name)
    given = [np.array([7.0, -8.25, 9.5]), np.array([2.0, 3.0, -4.0])][: ufunc.nin]
    wanted = ufunc(*given)
    tensors = [fg.tensor(x) for x in given]
    places = tuple(fg.zeros(w.shape, dtype=w.dtype) for w in wanted)
    made = ufunc(*tensors, out=places)
    assert all(one is place for one, place in zip(made, places, strict=True))
    for place, want in zip(places, wanted, strict=True):
        assert np.array_equal(place.numpy(), want)
    first = fg.zeros(3)
    made = ufunc(*tensors, out=(first, None))
    assert made[0] is first
    assert np.array_equal(made[1], wanted[1])
    array = np.zeros_like(wanted[1])
    assert ufunc(*tensors, out=(first, array))[1] is array
    assert np.array_equal(array, wanted[1])


def test_places_of_two_results_are_recorded() -> None:
    x = fg.tensor([7.0, -8.25], requires_grad=True)
    whole, part = fg.zeros(2), fg.zeros(2)
    np.divmod(x, 2.0, out=(whole, part))
    part.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
