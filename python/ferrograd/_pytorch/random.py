"""Random numbers under PyTorch's names: choices, and draws from distributions.

Invariant: the same seed gives the same numbers; results are constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, get_default_dtype
from ferrograd._pytorch.validate import check_integer
from ferrograd._tensor.creation import parse_shape, write_out
from ferrograd._tensor.device import check_device
from ferrograd._tensor.generator import Generator, draw_tensor
from ferrograd._tensor.random import _check_float_dtype
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError

Source = Generator | np.random.Generator | None


def multinomial(
    input: Any,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Source = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the weights in the last axis: (n,) to (k,), (m, n) to (m, k), int64.

    Weights need not sum to 1. Without replacement, indices are distinct. Errors: `ArgumentError`
    for weights that are negative or not finite, and for fewer positive weights than draws;
    `ShapeError` for other ranks.

    >>> import ferrograd as fg
    >>> fg.multinomial(fg.tensor([0.0, 3.0, 0.0]), 1).tolist()
    [1]
    """
    weights, num_samples = (
        asarray(input),
        check_integer("multinomial", "num_samples", num_samples, 1),
    )
    if weights.ndim not in (1, 2) or weights.dtype.kind != "f":
        raise ShapeError(
            f"multinomial: the weights are {weights.dtype} of shape {tuple(weights.shape)}; give"
            " floats of one or two axes"
        )

    def values(rng: np.random.Generator, given: np.ndarray) -> np.ndarray:
        rows = np.atleast_2d(given).astype(np.float64)
        _check_weights(rows, num_samples, replacement)
        if replacement or num_samples == 1:
            picked = _choose_with_replacement(rng, rows, num_samples)
        else:
            picked = [rng.choice(len(row), num_samples, False, row / row.sum()) for row in rows]
        return np.array(picked, np.int64).reshape(*given.shape[:-1], num_samples)

    return write_out("multinomial", draw_tensor(generator, values, weights, dtype="int64"), out)


def _choose_with_replacement(rng: np.random.Generator, rows: np.ndarray, count: int) -> list[Any]:
    """The draws of `rng.choice` for independent indices, all at once."""
    sums = (rows / rows.sum(-1, keepdims=True)).cumsum(-1)
    sums /= sums[:, -1:]
    at = rng.random((len(rows), count))
    return [ends.searchsorted(x, "right") for ends, x in zip(sums, at, strict=True)]


def _check_weights(rows: np.ndarray, count: int, replacement: bool) -> None:
    if not ((rows >= 0) & (rows < np.inf)).all():
        raise ArgumentError(
            "multinomial: a weight is negative or not finite; give weights of at least 0"
        )
    fewest = int((rows > 0).sum(-1).min()) if len(rows) else count
    if count < 1 or fewest < (1 if replacement else count):
        raise ArgumentError(
            f"multinomial: num_samples is {count} and a row has {fewest} weights above 0; give at"
            " least 1, and at most as many unless replacement=True"
        )


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Source = None,
    out: Tensor | None = None,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Normal numbers, with a given shape or that of the tensors of means and deviations.

    Errors: `ArgumentError` for a deviation below 0.

    >>> import ferrograd as fg
    >>> fg.normal(0.0, 2.0, (2, 3)).shape, fg.normal(fg.zeros(4), fg.ones(4)).shape
    ((2, 3), (4,))
    """
    check_device(device)
    given = [asarray(x) for x in (mean, std) if isinstance(x, Tensor | np.ndarray)]
    kind = dtype or (given[0].dtype if given else get_default_dtype())
    shape = None if size is None else parse_shape("normal", (size,))
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    # A traced draw keeps this function, so it must not refer to the tensors of one call.
    others = [None if isinstance(x, Tensor) else np.asarray(x) for x in (mean, std)]

    def values(rng: np.random.Generator, *found: np.ndarray) -> Any:
        rest = iter(found)
        m, s = (next(rest) if x is None else x for x in others)
        if not np.all(s >= 0):
            raise ArgumentError("normal: std holds a negative number; give at least 0")
        return rng.normal(m, s, shape)

    made = write_out("normal", draw_tensor(generator, values, *tensors, dtype=kind), out)
    return made.requires_grad_() if requires_grad else made


def poisson(input: Any, generator: Source = None) -> Tensor:
    """Poisson numbers with the rates in a tensor, with its shape and dtype.

    >>> import ferrograd as fg
    >>> fg.poisson(fg.zeros(2)).tolist()
    [0.0, 0.0]
    """
    rates = asarray(input)
    if rates.dtype.kind != "f":
        raise ArgumentTypeError(f"poisson: the rates are {rates.dtype}; give floats")

    def values(rng: np.random.Generator, found: np.ndarray) -> Any:
        if not np.all(found >= 0):
            raise ArgumentError("poisson: a rate is negative or NaN; give rates of at least 0")
        return rng.poisson(found)

    return draw_tensor(generator, values, rates, dtype=rates.dtype)


def _fill_random(self: Tensor, op: str, generator: Source, values: Any) -> Tensor:
    _check_float_dtype(op, self)
    return self.copy_(draw_tensor(generator, values, dtype=self.dtype))


def _check_positive(op: str, what: str, value: float) -> None:
    if not value > 0:
        raise ArgumentError(f"{op}: {what} is {value}; give more than 0")


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Source = None) -> Tensor:
    """Fills with exponential numbers with the rate `lambd`, mean 1 / lambd, in place."""
    _check_positive("exponential_", "lambd", lambd)
    shape = self.shape
    return _fill_random(
        self, "exponential_", generator, lambda rng: rng.exponential(1 / lambd, shape)
    )


def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Source = None
) -> Tensor:
    """Fills with log-normal numbers in place."""
    _check_positive("log_normal_", "std", std)
    shape = self.shape
    return _fill_random(self, "log_normal_", generator, lambda rng: rng.lognormal(mean, std, shape))


def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Source = None
) -> Tensor:
    """Fills with Cauchy numbers in place."""
    _check_positive("cauchy_", "sigma", sigma)
    shape = self.shape
    values = lambda rng: median + sigma * rng.standard_cauchy(shape)  # noqa: E731
    return _fill_random(self, "cauchy_", generator, values)


def geometric_(self: Tensor, p: float, *, generator: Source = None) -> Tensor:
    """Changes the elements to how many trials of probability p it takes to succeed, from 1 on."""
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_: p is {p}; give a number between 0 and 1")
    shape = self.shape
    return self.copy_(draw_tensor(generator, lambda rng: rng.geometric(p, shape), dtype=self.dtype))
