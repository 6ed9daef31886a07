"""Samplers: the order of samples.

Invariant: a random sampler draws one number from its generator when an iteration begins, and all
others from its own generator with that seed. So other draws do not change the order, and a loader
can repeat it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from importlib import import_module
from typing import Any, Generic, TypeVar

import numpy as np

from ferrograd._tensor.generator import Generator, _get_numpy_generator
from ferrograd.errors import ArgumentError, ArgumentTypeError

T_co = TypeVar("T_co", covariant=True)
AnyGenerator = Generator | np.random.Generator | None


def draw_seed(generator: AnyGenerator) -> int:
    """A seed from a generator, the default one for None."""
    return int(_get_numpy_generator(generator).integers(2**63))


class Sampler(Generic[T_co]):
    """An order of samples: subclass it with `__iter__()`, which yields indices.

    One of your own that draws should draw from `self.generator`, or from the default generator,
    before its first index; then a loader resumes it in the middle of an epoch.

    >>> from ferrograd.utils import data
    >>> class Backwards(data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> [x.tolist() for x in data.DataLoader([5, 6, 7], batch_size=3, sampler=Backwards())]
    [[7, 6, 5]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__; define one")


class SequentialSampler(Sampler[int]):
    """The indices in their order.

    >>> from ferrograd.utils import data
    >>> list(data.SequentialSampler([5, 6, 7]))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Random indices, each once, or with `replacement` drawn independently.

    `num_samples` indices are drawn; without replacement, more than the length come from several
    shuffles.

    >>> from ferrograd.utils import data
    >>> sorted(data.RandomSampler([5, 6, 7]))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: AnyGenerator = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if num_samples is not None:
            _check_positive("RandomSampler", "num_samples", num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices of an iteration."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng(draw_seed(self.generator))
        size, left = len(self.data_source), self.num_samples
        if left and not size:
            raise ArgumentError(f"RandomSampler: {left} of 0 samples; pass data that is not empty")
        while left > 0:
            count = min(left, 4096 if self.replacement else size)
            drawn = rng.integers(size, size=count) if self.replacement else rng.permutation(size)
            yield from drawn[:count].tolist()
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, each once, in a random order.

    >>> from ferrograd.utils import data
    >>> sorted(data.SubsetRandomSampler([4, 2]))
    [2, 4]
    """

    def __init__(self, indices: Sequence[int], generator: AnyGenerator = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng(draw_seed(self.generator))
        for i in rng.permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices, drawn with probabilities in proportion to `weights`.

    >>> from ferrograd.utils import data
    >>> list(data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: AnyGenerator = None,
    ) -> None:
        _check_positive("WeightedRandomSampler", "num_samples", num_samples)
        given = np.asarray(weights, np.float64)
        if given.ndim != 1 or not np.all(np.isfinite(given) & (given >= 0)) or not given.sum() > 0:
            raise ArgumentError(
                f"WeightedRandomSampler: weights of shape {given.shape} are not all finite and at"
                " least 0, with one above; pass a sequence of such numbers"
            )
        possible = int(np.count_nonzero(given))
        if not replacement and num_samples > possible:
            raise ArgumentError(
                f"WeightedRandomSampler: {num_samples} of {possible} samples with a weight above 0"
                " cannot be drawn without replacement; draw fewer"
            )
        self.weights = given
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng(draw_seed(self.generator))
        p = self.weights / self.weights.sum()
        yield from rng.choice(len(p), self.num_samples, self.replacement, p).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter, or is dropped.

    >>> list(fg.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive("BatchSampler", "batch_size", batch_size)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler[int]):
    """Every rank's part of the indices, of equal length on all of them.

    `shuffle` draws the order from `seed` and the epoch, the same on every rank: call `set_epoch`
    before each. What does not divide by `num_replicas` is filled up with indices from the begin,
    or left out with `drop_last`. Without `num_replicas` and `rank`, they are those of MPI.

    >>> from ferrograd.utils import data
    >>> list(data.DistributedSampler([5, 6, 7], num_replicas=2, rank=1, shuffle=False))
    [1, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            size, own = _get_world_size_and_rank()
            num_replicas = size if num_replicas is None else num_replicas
            rank = own if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ArgumentError(
                f"DistributedSampler: rank {rank} of {num_replicas}; give 0 to {num_replicas - 1}"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            indices = np.random.default_rng([self.seed, self.epoch]).permutation(size)
        else:
            indices = np.arange(size)
        return iter(np.resize(indices, self.total_size)[self.rank :: self.num_replicas].tolist())

    @property
    def num_samples(self) -> int:
        """The number of indices of each rank."""
        size = len(self.dataset)
        if self.drop_last:
            return size // self.num_replicas
        return math.ceil(size / self.num_replicas)

    @property
    def total_size(self) -> int:
        """The number of indices of all ranks together."""
        return self.num_samples * self.num_replicas

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of this epoch."""
        self.epoch = epoch


def _get_world_size_and_rank() -> tuple[int, int]:
    try:
        world = import_module("mpi4py.MPI").COMM_WORLD
    except ImportError:
        raise ArgumentError(
            "DistributedSampler: mpi4py is not installed; pass num_replicas= and rank=, or"
            ' install it by pip install "ferrograd[mpi]"'
        ) from None
    return world.Get_size(), world.Get_rank()


def _check_positive(op: str, name: str, value: Any) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(f"{op}: {name} is {value!r}; give a whole number of at least 1")
    if value < 1:
        raise ArgumentError(f"{op}: {name} is {value}; give at least 1")
