"""Random tensors from NumPy's generators.

Owns: the package's default generator and the functions that draw from one. Never draws from NumPy's
global state. Invariant: the same seed gives the same numbers at any thread count.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, _is_recording_program, get_default_dtype, tensor
from ferrograd._tensor.creation import dtype_for, placed, shape_of
from ferrograd.errors import ArgumentError, ArgumentTypeError, CompileError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


_GENERATORS: weakref.WeakSet[Generator] = weakref.WeakSet()
States = list[tuple["weakref.ref[Generator]", dict[str, Any]]]


class Generator:
    """A source of random numbers: `numpy.random.Generator` under PyTorch's name."""

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        self._seed = seed
        self._rng: np.random.Generator | None = None
        _GENERATORS.add(self)

    @property
    def numpy(self) -> np.random.Generator:
        """The NumPy generator behind it."""
        if self._rng is None:
            self._rng = np.random.default_rng(self._seed)
        return self._rng

    def manual_seed(self, seed: int) -> Generator:
        """Starts again from a seed."""
        self._seed, self._rng = seed, None
        return self


_DEFAULT = Generator()


def generator_states() -> States:
    """Where every living generator stands."""
    return [(weakref.ref(each), dict(each.numpy.bit_generator.state)) for each in _GENERATORS]


def set_generator_states(states: States) -> None:
    """Puts generators back where they stood."""
    for generator, state in states:
        if (living := generator()) is not None:
            living.numpy.bit_generator.state = state


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator and returns it."""
    return _DEFAULT.manual_seed(seed)


def source(generator: Generator | np.random.Generator | None) -> np.random.Generator:
    """The NumPy generator that is meant; the default one for None.

    A program would repeat the numbers that were drawn for it, so none are.
    """
    if _is_recording_program():
        raise CompileError(
            "random: numbers are drawn while fg.compile records the function, and would be the same"
            " in every later call; draw them outside and pass them as an argument"
        )
    if generator is None:
        return _DEFAULT.numpy
    return generator.numpy if isinstance(generator, Generator) else generator


def rand(
    *shape: Any,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1)."""
    values = source(generator).random(shape_of("rand", shape))
    made = tensor(values, dtype=dtype or get_default_dtype(), requires_grad=requires_grad)
    return placed("rand", made, out)


def randn(
    *shape: Any,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal numbers."""
    values = source(generator).standard_normal(shape_of("randn", shape))
    made = tensor(values, dtype=dtype or get_default_dtype(), requires_grad=requires_grad)
    return placed("randn", made, out)


def randint(
    low: int,
    *rest: Any,
    out: Tensor | None = None,
    generator: Generator | np.random.Generator | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Integers: `randint(high, shape)` or `randint(low, high, shape)`; `high` is excluded."""
    if len(rest) == 1:
        low, high, shape = 0, low, rest[0]
    elif len(rest) == 2:
        high, shape = rest
    else:
        raise ArgumentTypeError(
            "randint: wrong number of arguments; use randint([low,] high, shape)"
        )
    if not all(hasattr(end, "__index__") for end in (low, high)) or low >= high:
        raise ArgumentError(
            f"randint: the range from {low!r} to {high!r} holds no integer; give low < high"
        )
    made = tensor(
        source(generator).integers(low, high, shape_of("randint", (shape,))),
        dtype=dtype_for(dtype, out),
    )
    return placed("randint", made, out)


def randperm(
    n: int, *, out: Tensor | None = None, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """A random permutation of the integers below `n`."""
    shape_of("randperm", (n,))
    made = tensor(source(generator).permutation(n))
    return placed("randperm", made, out)


def rand_like(x: Tensor, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers in the shape and dtype of another tensor."""
    return rand(x.shape, dtype=dtype or x.dtype, requires_grad=requires_grad)


def randn_like(x: Tensor, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Standard normal numbers in the shape and dtype of another tensor."""
    return randn(x.shape, dtype=dtype or x.dtype, requires_grad=requires_grad)


def randint_like(x: Tensor, low: int, high: int | None = None) -> Tensor:
    """Integers in the shape and dtype of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, x.shape, dtype=x.dtype)


def _inside(op: str, what: str, holds: Any) -> None:
    if not np.all(holds):
        raise ArgumentError(f"{op}: {what}")


def _values(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


def bernoulli(
    p: Any, *, out: Tensor | None = None, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Ones with the probabilities that a tensor holds, else zeros; a constant of its shape."""
    if not isinstance(p, Tensor) or p.dtype.kind != "f":
        kind = p.dtype if isinstance(p, Tensor) else type(p).__name__
        raise ArgumentTypeError(f"bernoulli: p is a {kind}; pass a tensor of probabilities")
    values = _values(p)
    _inside("bernoulli", "p is outside 0..1; pass probabilities", (values >= 0) & (values <= 1))
    made = tensor(source(generator).random(values.shape) < values, dtype=p.dtype)
    return placed("bernoulli", made, out)


def bernoulli_(
    self: Tensor, p: Any = 0.5, *, generator: Generator | np.random.Generator | None = None
) -> Tensor:
    """Changes the elements to ones with probability `p`, else to zeros."""
    values = _values(p)
    _inside("bernoulli_", "p is outside 0..1; pass probabilities", (values >= 0) & (values <= 1))
    drawn = source(generator).random(self.shape) < values
    return self.copy_(tensor(drawn, dtype=self.dtype))


def _floats(op: str, x: Tensor) -> None:
    if x.dtype.kind != "f":
        raise ArgumentTypeError(f"{op}: the tensor is {x.dtype}; use random_, or a float dtype")


def normal_(
    self: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Changes the elements to normal numbers."""
    _floats("normal_", self)
    _inside("normal_", f"std is {std}; give at least 0", std >= 0)
    return self.copy_(tensor(source(generator).normal(mean, std, self.shape), dtype=self.dtype))


def uniform_(
    self: Tensor,
    low: float = 0.0,
    high: float = 1.0,
    *,
    generator: Generator | np.random.Generator | None = None,
) -> Tensor:
    """Changes the elements to uniform numbers in [low, high)."""
    _floats("uniform_", self)
    _inside("uniform_", f"the range from {low} to {high}; give low <= high", low <= high)
    return self.copy_(tensor(source(generator).uniform(low, high, self.shape), dtype=self.dtype))


def _largest(dtype: np.dtype[Any]) -> int:
    """The number below which every integer is exact in a dtype, plus one."""
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
    """Changes the elements to integers: `random_()`, `random_(high)` or `random_(low, high)`.

    `high` is excluded; without it, every integer from 0 on that the dtype holds exactly is drawn.
    """
    if high is None:
        low, high = (0, low) if low else (0, _largest(self.dtype))
    _inside(
        "random_", f"the range from {low} to {high} holds no integer; give low < high", low < high
    )
    drawn = source(generator).integers(low, high - 1, self.shape, endpoint=True)
    return self.copy_(tensor(drawn, dtype=self.dtype))


def _bernoulli(self: Tensor, *, generator: Generator | np.random.Generator | None = None) -> Tensor:
    """`bernoulli` of the probabilities that this tensor holds."""
    return bernoulli(self, generator=generator)


Tensor.bernoulli = _bernoulli  # type: ignore[method-assign]
for _method in (bernoulli_, normal_, uniform_, random_):
    setattr(Tensor, _method.__name__, _method)
