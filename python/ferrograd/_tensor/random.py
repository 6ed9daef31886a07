"""Random tensors from NumPy's generators.

Invariant: the same seed gives the same numbers at any thread count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, get_default_dtype
from ferrograd._tensor.creation import parse_shape, parse_shape_keywords, resolve_dtype, write_out
from ferrograd._tensor.device import check_device
from ferrograd._tensor.generator import (
    Generator as Generator,
    draw_tensor,
    get_rng_state as get_rng_state,
    manual_seed as manual_seed,
    normal_numbers,
    set_rng_state as set_rng_state,
    uniform_numbers,
)
from ferrograd.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike


def _make_random_tensor(
    op: str,
    numbers: Callable[..., Any],
    shape: tuple[int, ...],
    generator: Generator | np.random.Generator | None,
    dtype: DTypeLike | None,
    requires_grad: bool,
    out: Tensor | None,
) -> Tensor:
    """Random numbers with a shape and a dtype (the default dtype if none is given)."""
    kind = dtype or get_default_dtype()
    made = draw_tensor(generator, lambda rng: numbers(rng, shape, kind), dtype=kind)
    return write_out(op, made.requires_grad_() if requires_grad else made, out)


def rand(
    *sizes: Any,
    shape: Any = None,
    size: Any = None,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Uniform numbers in [0, 1); with a complex dtype, both parts are uniform."""
    check_device(device)
    numbers = parse_shape_keywords("rand", sizes, shape, size)
    return _make_random_tensor(
        "rand", uniform_numbers, numbers, generator, dtype, requires_grad, out
    )


def randn(
    *sizes: Any,
    shape: Any = None,
    size: Any = None,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Standard normal numbers; in complex ones, each part has the variance ½."""
    check_device(device)
    numbers = parse_shape_keywords("randn", sizes, shape, size)
    return _make_random_tensor(
        "randn", normal_numbers, numbers, generator, dtype, requires_grad, out
    )


def randint(
    low: int,
    *rest: Any,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    dtype: DTypeLike | None = None,
    high: int | None = None,
    size: Any = None,
    device: Any = None,
) -> Tensor:
    """Integers: `randint(high, shape)` or `randint(low, high, shape)`; `high` is excluded."""
    check_device(device)
    rest = (*rest, *(given for given in (high, size) if given is not None))
    if len(rest) == 1:
        low, high, shape = 0, low, rest[0]
    elif len(rest) == 2:
        high, shape = rest
    else:
        raise ArgumentTypeError(
            "randint: wrong number of arguments; use randint([low,] high, shape)"
        )
    whole = type(low) is type(high) is int
    whole = whole or all(hasattr(end, "__index__") for end in (low, high))
    if not whole or low >= high:
        raise ArgumentError(
            f"randint: the range from {low!r} to {high!r} holds no integer; give low < high"
        )
    sizes = parse_shape("randint", (shape,))
    made = draw_tensor(
        generator, lambda rng: rng.integers(low, high, sizes), dtype=resolve_dtype(dtype, out)
    )
    return write_out("randint", made, out)


def randperm(
    n: int,
    *,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    device: Any = None,
) -> Tensor:
    """A random permutation of the integers below `n`."""
    check_device(device)
    parse_shape("randperm", (n,))
    made = draw_tensor(generator, lambda rng: rng.permutation(n))
    return write_out("randperm", made, out)


def rand_like(
    x: Tensor,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Uniform numbers with the shape and dtype of another tensor."""
    check_device(device)
    kind = dtype or x.dtype
    return _make_random_tensor(
        "rand_like", uniform_numbers, x.shape, None, kind, requires_grad, None
    )


def randn_like(
    x: Tensor,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Standard normal numbers with the shape and dtype of another tensor."""
    check_device(device)
    kind = dtype or x.dtype
    return _make_random_tensor(
        "randn_like", normal_numbers, x.shape, None, kind, requires_grad, None
    )


def randint_like(
    x: Tensor,
    low: int,
    high: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Integers with the shape of another tensor, and its dtype unless `dtype` is given."""
    check_device(device)
    low, high = (0, low) if high is None else (low, high)
    made = randint(low, high, x.shape, dtype=dtype or x.dtype)
    return made.requires_grad_() if requires_grad else made


def _check_condition(op: str, what: str, holds: Any) -> None:
    if holds is not True and not np.all(holds):
        raise ArgumentError(f"{op}: {what}")


def _draw_bernoulli(
    op: str,
    p: Any,
    shape: tuple[int, ...],
    generator: Generator | np.random.Generator | None,
    dtype: DTypeLike,
) -> Tensor:
    """Draws for each element whether it falls below its probability."""

    def values(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
        inside = bool(((p >= 0) & (p <= 1)).all())
        _check_condition(op, "p is outside 0..1; pass probabilities", inside)
        found: np.ndarray = rng.random(shape) < p
        return found

    if isinstance(p, Tensor):
        return draw_tensor(generator, values, p, dtype=dtype)
    given = np.asarray(p)
    return draw_tensor(generator, lambda rng: values(rng, given), dtype=dtype)


def bernoulli(
    p: Any, *, out: Tensor | None = None, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Ones with the probabilities in a tensor, zeros elsewhere; a constant of the same shape."""
    if not isinstance(p, Tensor) or p.dtype.kind != "f":
        kind = p.dtype if isinstance(p, Tensor) else type(p).__name__
        raise ArgumentTypeError(f"bernoulli: p is a {kind}; pass a tensor of probabilities")
    return write_out("bernoulli", _draw_bernoulli("bernoulli", p, p.shape, generator, p.dtype), out)


def bernoulli_(
    self: Tensor, p: Any = 0.5, *, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Changes the elements to ones with probability `p`, else to zeros."""
    return self.copy_(_draw_bernoulli("bernoulli_", p, self.shape, generator, self.dtype))


def _check_float_dtype(op: str, x: Tensor, kinds: str = "f") -> None:
    if x.dtype.kind not in kinds:
        raise ArgumentTypeError(f"{op}: the tensor is {x.dtype}; use random_, or a float dtype")


def normal_(
    self: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fills with normal numbers in place; in complex ones, each part has half of the variance."""
    _check_float_dtype("normal_", self, "fc")
    _check_condition("normal_", f"std is {std}; give at least 0", std >= 0)
    shape, kind = self.shape, self.dtype
    if kind.kind == "c":
        values = lambda rng: mean + std * normal_numbers(rng, shape, kind)  # noqa: E731
    else:
        values = lambda rng: rng.normal(mean, std, shape)  # noqa: E731
    return self.copy_(draw_tensor(generator, values, dtype=kind))


def uniform_(
    self: Tensor,
    low: float = 0.0,
    high: float = 1.0,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fills with uniform numbers in [low, high) in place."""
    _check_float_dtype("uniform_", self)
    _check_condition("uniform_", f"the range from {low} to {high}; give low <= high", low <= high)
    shape = self.shape
    return self.copy_(
        draw_tensor(generator, lambda rng: rng.uniform(low, high, shape), dtype=self.dtype)
    )


def _get_integer_limit(dtype: np.dtype[Any]) -> int:
    """The exclusive upper limit of the integers that a dtype represents exactly."""
    if dtype.kind == "f":
        return int(2 ** (np.finfo(dtype).nmant + 1)) + 1
    return 2 if dtype.kind == "b" else int(np.iinfo(dtype).max) + 1


def random_(
    self: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Fills with integers in place: `random_()`, `random_(high)` or `random_(low, high)`.

    `high` is excluded; without it, the integers range from 0 to the largest one that the dtype
    represents exactly.
    """
    if high is None:
        low, high = (0, low) if low else (0, _get_integer_limit(self.dtype))
    _check_condition(
        "random_", f"the range from {low} to {high} holds no integer; give low < high", low < high
    )
    first, last, shape = low, high - 1, self.shape
    return self.copy_(
        draw_tensor(
            generator,
            lambda rng: rng.integers(first, last, shape, endpoint=True),
            dtype=self.dtype,
        )
    )
