"""Seeds of generators: what NumPy refuses is refused where it is given.

A generator that could not be seeded would fail later, in a checkpoint or a check of derivatives
that saves the states of all.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

WRONG: dict[str, tuple[Any, type[Exception]]] = {
    "negative": (-1, fg.errors.ArgumentError),
    "a float": (1.5, fg.errors.ArgumentTypeError),
    "a word": ("seed", fg.errors.ArgumentTypeError),
    "endless": (itertools.count(), fg.errors.ArgumentTypeError),
    "long": (range(10**12), fg.errors.ArgumentTypeError),
    "very long": (np.broadcast_to(1, 10**9), fg.errors.ArgumentTypeError),
    "numbers": ([1, -2], fg.errors.ArgumentError),
}
FACES: dict[str, Callable[[Any], Any]] = {
    "Generator": fg.Generator,
    "Generator.manual_seed": lambda seed: fg.Generator(3).manual_seed(seed),
    "manual_seed": fg.manual_seed,
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_seed_raises_at_once_and_changes_nothing(face: str, name: str) -> None:
    seed, error = WRONG[name]
    fg.manual_seed(5)
    with pytest.raises(error) as caught:
        FACES[face](seed)
    kept = caught.value.__traceback__  # With what the call made.
    fg.check_grads(np.sin, order=1)(np.array([0.5, 1.0]))
    drawn = fg.rand(3).tolist()
    fg.manual_seed(5)
    assert fg.rand(3).tolist() == drawn
    assert kept is not None


@pytest.mark.parametrize(
    "seed",
    [
        0,
        7,
        True,
        np.int32(7),
        2**70,
        [1, 2],
        np.array([3, 4]),
        np.array(3),
        fg.tensor([1, 2]),
        None,
    ],
    ids=str,
)
def test_seeds_of_numpy(seed: Any) -> None:
    drawn = fg.rand(3, generator=fg.Generator(seed))
    if seed is not None:
        given = seed.numpy() if isinstance(seed, fg.Tensor) else seed
        given = given.item() if isinstance(given, np.ndarray) and given.ndim == 0 else given
        assert drawn.tolist() == np.random.default_rng(given).random(3).tolist()
    sequence = np.random.SeedSequence(4)
    numbers = fg.rand(3, generator=fg.Generator(sequence)).tolist()
    assert numbers == np.random.default_rng(np.random.SeedSequence(4)).random(3).tolist()


@pytest.mark.parametrize("generator", [3, "a", fg.Generator])
def test_a_generator_is_one(generator: Any) -> None:
    with pytest.raises(fg.errors.ArgumentTypeError, match=r"generator is .* pass a ferrograd.Gen"):
        fg.rand(1, generator=generator)
