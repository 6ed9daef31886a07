"""What composed functions refuse is said in the package's words, with what was given."""

import io
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexOutOfRangeError,
    ShapeError,
)
from ferrograd.scipy import stats

ROW: Any = fg.tensor([1.0, 2.0, 3.0])
FIELD: Any = fg.tensor(np.arange(12.0).reshape(3, 4))
PLACES: Any = fg.tensor([1, 2])

REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "gcd of shapes": (lambda: fg.gcd(PLACES, fg.tensor([1, 2, 3])), ShapeError, r"\(2,\).*\(3,\)"),
    "gcd of floats": (lambda: fg.gcd(ROW, ROW), DTypeError, "float64"),
    "gcd of widths": (
        lambda: fg.gcd(fg.tensor([1], dtype="uint64"), fg.tensor([1])),
        DTypeError,
        "uint64 and int64",
    ),
    "a place too far": (lambda: fg.unravel_index([20], (3, 4)), IndexOutOfRangeError, "20.*12"),
    "a place before": (lambda: fg.unravel_index([-1], (3, 4)), IndexOutOfRangeError, "-1"),
    "half a place": (lambda: fg.unravel_index(ROW, (3, 4)), DTypeError, "float64"),
    "half a side": (lambda: fg.unravel_index(PLACES, (2.5, 3)), ArgumentTypeError, "2.5"),
    "a side of a word": (lambda: fg.unravel_index(PLACES, "ab"), ArgumentTypeError, "'ab'"),
    "half a size": (lambda: fg.as_strided(ROW, (2.5,), (1,)), ArgumentTypeError, "2.5"),
    "one size": (lambda: fg.as_strided(ROW, 2, (1,)), ArgumentTypeError, "size is 2"),
    "half an offset": (
        lambda: fg.as_strided(ROW, (1,), (1,), 0.5),
        ArgumentTypeError,
        "storage_offset is 0.5",
    ),
    "a negative size": (lambda: fg.as_strided(ROW, (-2,), (1,)), ArgumentError, "-2"),
    "a norm of a word": (lambda: fg.renorm(FIELD, "a", 0, 1.0), ArgumentTypeError, "p is 'a'"),
    "a limit of a word": (lambda: fg.renorm(FIELD, 2, 0, "a"), ArgumentTypeError, "maxnorm is 'a'"),
    "distances of batches": (
        lambda: fg.cdist(fg.ones(2, 3, 4), fg.ones(3, 3, 4)),
        ShapeError,
        "broadcast",
    ),
    "distances of vectors": (lambda: fg.cdist(ROW, ROW), ShapeError, "no matrices"),
    "distances of a word": (lambda: fg.cdist(FIELD, FIELD, p="a"), ArgumentTypeError, "p is 'a'"),
    "distances by a mode": (
        lambda: fg.cdist(FIELD, FIELD, compute_mode="fast"),
        ArgumentError,
        "'fast'",
    ),
    "a quantile's way": (
        lambda: fg.nanquantile(ROW, 0.5, interpolation="foo"),
        ArgumentError,
        '"foo".*linear',
    ),
    "a quantile's level": (lambda: fg.nanquantile(ROW, float("nan")), ArgumentError, "nan"),
    "a level of a word": (lambda: fg.nanquantile(ROW, "a"), ArgumentTypeError, "'a'"),
    "half an axis": (lambda: fg.nanquantile(ROW, 0.5, dim=0.5), ArgumentTypeError, "0.5"),
    "a logit's margin": (lambda: fg.logit(ROW, eps=0.6), ArgumentError, "0.6"),
    "a margin of a word": (lambda: fg.logit(ROW, eps="a"), ArgumentTypeError, "'a'"),
    "half a power": (lambda: fg.linalg.vander(ROW, N=2.5), ArgumentTypeError, "2.5"),
    "a negative count": (lambda: fg.linalg.vander(ROW, N=-1), ArgumentError, "-1"),
    "an axis twice": (lambda: fg.gradient(FIELD, dim=(0, 0)), ArgumentError, r"\(0, 0\).*once"),
    "half an axis of slopes": (lambda: fg.gradient(FIELD, dim=0.5), ArgumentTypeError, "0.5"),
    "too sure": (lambda: stats.norm.interval(1.5), ArgumentError, "1.5"),
    "unsure": (lambda: stats.t.interval(-1.0, 3.0), ArgumentError, "-1"),
    "positive booleans": (lambda: fg.positive(fg.tensor([True])), DTypeError, "bool"),
    "NumPy's of them": (lambda: np.positive(fg.tensor([True])), DTypeError, "bool"),
    "saving to text": (lambda: fg.save({"a": ROW}, io.StringIO()), ArgumentTypeError, "'wb'"),
    "loading of text": (lambda: fg.load(io.StringIO("abc")), ArgumentTypeError, "'rb'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_has_the_value(case: str) -> None:
    call, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words):
        call()


def test_files_of_text_are_named(tmp_path: Any) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("weights, some day")
    with open(path) as text, pytest.raises(ArgumentTypeError, match=r"notes\.txt.*'rb'"):
        fg.load(text)
    with open(path, "w") as text, pytest.raises(ArgumentTypeError, match=r"notes\.txt.*'wb'"):
        fg.save({"a": ROW}, text)


def test_what_is_at_the_borders_is_taken() -> None:
    assert fg.logit([0.2, 0.9], eps=0.5).tolist() == [0.0, 0.0]
    assert fg.linalg.vander(ROW, N=0).shape == (3, 0)
    low, high = stats.norm.interval([0.0, 1.0])
    assert low.tolist() == [0.0, -np.inf]
    assert high.tolist() == [0.0, np.inf]
    assert fg.cdist(fg.ones(2, 1, 3, 4), fg.ones(5, 3, 4)).shape == (2, 5, 3, 3)


class TestPowersOfTwo:
    def test_whole_exponents_round_once(self) -> None:
        x, powers = np.array([1.5, -3.0, 1.0, 5e-324]), np.array([-1074, 1021, -1080, 2000])
        assert np.array_equal(fg.ldexp(fg.tensor(x), fg.tensor(powers)), np.ldexp(x, powers))

    def test_they_may_be_arguments_of_a_compiled_function(self) -> None:
        f = fg.compile(fg.ldexp)
        for powers in ([1, 2], [3, -4]):
            assert f(fg.ones(2), fg.tensor(powers)).tolist() == [2.0**k for k in powers]

    def test_other_exponents_have_a_derivative(self) -> None:
        x, power = fg.tensor(3.0, requires_grad=True), fg.tensor(2.0, requires_grad=True)
        fg.ldexp(x, power).backward()
        assert x.grad == 4.0
        assert np.isclose(power.grad, 12.0 * np.log(2.0))


def test_adjoints_are_a_function_and_a_method() -> None:
    x = fg.tensor([[1.0, 2.0j], [3.0, 4.0]])
    assert np.array_equal(fg.adjoint(x), x.numpy().conj().T)
    assert np.array_equal(x.adjoint(), fg.adjoint(x))


def test_positive_numbers_of_numpy_are_a_copy() -> None:
    x = fg.tensor([1.0, -2.0])
    y: Any = np.positive(x)
    y[0] = 5.0
    assert x.tolist() == [1.0, -2.0]
