"""Generators of random numbers, and the draws from them.

Invariant: the same seed gives the same numbers at any thread count, in eager and in compiled
functions.
"""

from __future__ import annotations

import _thread
import contextlib
import sys
import weakref
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, _call_foreign, _is_recording_program, _taken, tensor
from ferrograd.errors import ArgumentError, ArgumentTypeError, CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike


_ALL_GENERATORS: weakref.WeakSet[Generator] = weakref.WeakSet()
States = list[tuple["weakref.ref[Generator]", dict[str, Any]]]


#: The most integers in a seed.
_MAX_SEED_LENGTH = 1 << 16


def _check_seed(op: str, seed: Any) -> Any:
    """Converts a seed to one that NumPy accepts; raises for all others."""
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, Tensor):
        seed = np.asarray(seed.detach())
    if isinstance(seed, np.ndarray) and seed.ndim == 0 and seed.dtype.kind in "iu":
        seed = seed.item()
    if isinstance(seed, int | np.integer):
        if seed < 0:
            raise ArgumentError(f"{op}: seed is {seed}; give a whole number of at least 0")
        return seed
    of_numpy = isinstance(seed, np.random.BitGenerator | np.random.SeedSequence)
    several = type(seed) in {list, tuple, np.ndarray}
    # NumPy also iterates over empty rows.
    if not of_numpy and not (
        several and prod(max(n, 1) for n in np.shape(seed)) <= _MAX_SEED_LENGTH
    ):
        raise ArgumentTypeError(
            f"{op}: seed is a {type(seed).__name__}; give a whole number, a list of at most"
            f" {_MAX_SEED_LENGTH} of them, or what numpy.random.default_rng makes"
        )
    try:
        np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{op}: seed is {seed!r:.80} ({error}); give whole numbers of at least 0"
        ) from None
    return seed


class Generator:
    """A source of random numbers: `numpy.random.Generator` under PyTorch's name."""

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        self._seed = _check_seed("Generator", seed)
        self._rng: np.random.Generator | None = None
        _ALL_GENERATORS.add(self)

    @property
    def numpy(self) -> np.random.Generator:
        """The underlying NumPy generator."""
        if _is_recording_program():
            raise CompileError(
                "Generator.numpy: numbers that NumPy draws while fg.compile records the function"
                " would be the same in every later call; draw them by fg.rand(generator=g) and the"
                " like, or by fg.pure_callback"
            )
        return self._numpy()

    def _numpy(self) -> np.random.Generator:
        if self._rng is None:
            self._rng = np.random.default_rng(self._seed)
        return self._rng

    def manual_seed(self, seed: int) -> Generator:
        """Starts again from a seed."""
        seed = _check_seed("manual_seed", seed)
        if _is_recording_program():
            _call_foreign("manual_seed", _SeedCall(self, seed), [])
        else:
            self._seed, self._rng = seed, None
        return self

    def initial_seed(self) -> int:
        """The seed; without one, a number that restarts the generator in the same state."""
        seeds: Any = self._numpy().bit_generator.seed_seq
        return int(seeds.entropy)

    def get_state(self) -> dict[str, Any]:
        """The state: a dict of numbers and strings, for `set_state` and `fg.save`."""
        return get_generator_state(self.numpy)

    def set_state(self, state: dict[str, Any]) -> Generator:
        """Restores a state returned by `get_state`."""
        set_generator_state(self.numpy, state)
        return self


_DEFAULT_GENERATOR = Generator()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator and returns it."""
    return _DEFAULT_GENERATOR.manual_seed(seed)


def get_rng_state() -> dict[str, Any]:
    """The state of the default generator.

    >>> state = fg.get_rng_state()
    >>> x = fg.rand(2)
    >>> fg.set_rng_state(state)
    >>> fg.array_equal(x, fg.rand(2))
    True
    """
    return _DEFAULT_GENERATOR.get_state()


def set_rng_state(state: dict[str, Any]) -> None:
    """Restores a state of the default generator returned by `get_rng_state`."""
    _DEFAULT_GENERATOR.set_state(state)


def get_generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a NumPy generator, which no later draw changes."""
    return dict(rng.bit_generator.state)


def check_generator_state(rng: np.random.Generator, state: Any) -> None:
    """Raises for a value that is not a state of such a generator."""
    kind = type(rng.bit_generator)
    try:
        kind(0).state = state
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        has = state.get("bit_generator", state) if isinstance(state, dict) else state
        raise ArgumentError(
            f"set_state: {has!r:.80} is no state of a {kind.__name__} generator ({error}); pass"
            " what get_state() of such a one gave"
        ) from None


def set_generator_state(rng: np.random.Generator, state: Any) -> None:
    """Sets the state of a NumPy generator."""
    check_generator_state(rng, state)
    rng.bit_generator.state = state


def _get_numpy_generator(generator: Generator | np.random.Generator | None) -> np.random.Generator:
    """The NumPy generator of an argument; the default one for None."""
    if generator is None:
        return _DEFAULT_GENERATOR._rng or _DEFAULT_GENERATOR._numpy()
    if isinstance(generator, Generator):
        return generator._numpy()
    if not isinstance(generator, np.random.Generator):
        raise ArgumentTypeError(
            f"random: generator is {generator!r:.80}; pass a ferrograd.Generator, or what"
            " numpy.random.default_rng makes"
        )
    return generator


def is_generator(source: Any) -> bool:
    """Whether it is a generator of ferrograd or of NumPy."""
    return isinstance(source, Generator | np.random.Generator)


def get_source_state(source: Any) -> Any:
    """The state of a generator, or of an object with `state_dict`."""
    if is_generator(source):
        return get_generator_state(_get_numpy_generator(source))
    return source.state_dict()


def set_source_state(source: Any, state: Any) -> None:
    """Restores what `get_source_state` returned."""
    if is_generator(source):
        set_generator_state(_get_numpy_generator(source), state)
    else:
        source.load_state_dict(state)


class _RecordedGenerators(_thread._local):
    """The generators that the function draws from which this thread records."""

    def __init__(self) -> None:
        self.generators: list[_GeneratorReference] = []


class _GeneratorReference:
    """A reference to a generator; a trace has one for each generator."""

    def __init__(self, generator: Generator | np.random.Generator) -> None:
        self.generator = generator


_RECORDED_GENERATORS = _RecordedGenerators()


@contextlib.contextmanager
def collect_generators() -> Iterator[Callable[[], None]]:
    """For a trace: returns a check that the function itself made no generator.

    The eager function would make a new one at every call; the program would continue the old one.
    """
    before, _RECORDED_GENERATORS.generators = _RECORDED_GENERATORS.generators, []

    def check() -> None:
        # One reference is the handle's, one the argument's.
        if any(sys.getrefcount(each.generator) <= 2 for each in _RECORDED_GENERATORS.generators):
            raise CompileError(
                "random: the function makes a generator while fg.compile records it, which every"
                " call would make anew; make it outside, or pass it as an argument"
            )

    try:
        yield check
    finally:
        _RECORDED_GENERATORS.generators = before


def _get_reference(generator: Generator | np.random.Generator | None) -> _GeneratorReference:
    found = _DEFAULT_GENERATOR if generator is None else generator
    for known in _RECORDED_GENERATORS.generators:
        if known.generator is found:
            return known
    _RECORDED_GENERATORS.generators.append(_GeneratorReference(found))
    return _RECORDED_GENERATORS.generators[-1]


def get_values(x: Any) -> Any:
    """The values of a tensor or array."""
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


class _DrawCall:
    """A draw that every run of a program repeats, from the current state of the generator."""

    def __init__(
        self,
        generator: Generator | np.random.Generator | None,
        values: Callable[..., np.ndarray | np.generic],
        dtype: DTypeLike | None = None,
    ) -> None:
        self.handle = _get_reference(generator)
        self._values = values
        self._dtype = dtype

    def __call__(self, _shared: dict[Any, Any], *inputs: Tensor) -> list[Tensor]:
        given = (each.numpy() for each in inputs)
        return [
            tensor(
                self._values(_get_numpy_generator(self.handle.generator), *given), dtype=self._dtype
            )
        ]

    def save_state(self) -> Any:
        """The bit generator and its state."""
        generator = self.handle.generator
        made = generator.__dict__.copy() if isinstance(generator, Generator) else None
        return made, _get_numpy_generator(generator).bit_generator.state

    def restore_state(self, held: Any) -> None:
        """Restores the state of the generator."""
        made, state = held
        generator = self.handle.generator
        if isinstance(generator, Generator):
            generator.__dict__.update(made)
        _get_numpy_generator(generator).bit_generator.state = state


class _SeedCall(_DrawCall):
    """A call of `manual_seed` that every run of a program repeats."""

    def __init__(self, generator: Generator, seed: int) -> None:
        super().__init__(generator, np.zeros)
        self._seed = seed

    def __call__(self, _shared: dict[Any, Any], *_inputs: Tensor) -> list[Tensor]:
        generator = self.handle.generator
        if isinstance(generator, Generator):
            generator._seed, generator._rng = self._seed, None
        return []


def draw_tensor(
    generator: Generator | np.random.Generator | None,
    values: Callable[..., np.ndarray | np.generic],
    *inputs: Tensor,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The numbers that `values` draws from a generator for the elements of the inputs, as a tensor.

    In a compiled function, every run of the program draws again.
    """
    if not _is_recording_program():
        return _taken(
            values(_get_numpy_generator(generator), *[get_values(x) for x in inputs]), dtype
        )
    made: Tensor = _call_foreign("random", _DrawCall(generator, values, dtype), list(inputs))[0]
    return made


def uniform_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers in [0, 1) for a dtype; of a complex one, both parts of each are."""
    if np.dtype(dtype).kind != "c":
        return rng.random(shape)
    return rng.random((*shape, 2)).view(np.complex128)[..., 0]


def normal_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Standard normal numbers for a dtype."""
    if np.dtype(dtype).kind != "c":
        return rng.standard_normal(shape)
    return rng.standard_normal((*shape, 2)).view(np.complex128)[..., 0] * np.sqrt(0.5)


class SavedGeneratorStates:
    """The states of all generators at one time; every run of a program saves them again."""

    def __init__(self) -> None:
        self._states: States = _get_all_states()
        if _is_recording_program():
            _call_foreign("save_rng_state", self._save, [])

    def _save(self, shared: dict[Any, Any]) -> list[Tensor]:
        shared[self] = _get_all_states()
        return []

    def restore(self) -> None:
        """Restores the states of the generators."""
        if _is_recording_program():
            _call_foreign("restore_rng_state", _RestoreCall(self), [])
        else:
            _restore_states(self._states)

    def get_saved(self, shared: dict[Any, Any]) -> States:
        """The states that a run of a program saved, else those saved outside programs."""
        states: States = shared.get(self, self._states)
        return states


class _RestoreCall:
    """A restoring of states that every run of a program repeats."""

    def __init__(self, states: SavedGeneratorStates) -> None:
        self._states = states

    def __call__(self, shared: dict[Any, Any]) -> list[Tensor]:
        _restore_states(self._states.get_saved(shared))
        return []

    def save_state(self) -> States:
        """The states of all generators."""
        return _get_all_states()

    def restore_state(self, held: States) -> None:
        """Restores the states."""
        _restore_states(held)


def _get_all_states() -> States:
    return [
        (weakref.ref(each), dict(each._numpy().bit_generator.state)) for each in _ALL_GENERATORS
    ]


def _restore_states(states: States) -> None:
    for generator, state in states:
        if (living := generator()) is not None:
            living._numpy().bit_generator.state = state
