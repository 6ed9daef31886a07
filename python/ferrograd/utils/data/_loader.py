"""`DataLoader`: batches of a dataset, in an order, made ahead of time, resumed anywhere.

Invariant: the same seeds give the same batches in the same order, for any number of workers, also
if the epoch was resumed in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np

from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.utils.data._collate import default_collate, default_convert
from ferrograd.utils.data._dataset import IterableDataset
from ferrograd.utils.data._fetch import (
    END_OF_STREAM,
    FetchFunction,
    IterableFetcher,
    MapFetcher,
    WorkerPool,
)
from ferrograd.utils.data._resume import GeneratorStates, LoaderPosition
from ferrograd.utils.data._sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    draw_seed,
)


class EpochPlan(NamedTuple):
    """What an epoch loads: its tasks, numbered from `first`, and the function that runs one."""

    tasks: Iterator[Any]
    first: int
    work: FetchFunction
    workers: int


class DataLoader:
    """Batches of a dataset; every `for` loop over it is an epoch.

    `dataset` has `__getitem__` and `__len__`, or is an `IterableDataset`. `batch_size=None` returns
    single samples. `shuffle` draws an order for each epoch, from `generator` or the default one.
    `num_workers` threads make up to `prefetch_factor` batches each in advance. They are threads of
    this process: arrays are read and copied without the GIL, Python code of a dataset holds the
    GIL.

    `state_dict()` returns the position of the loop; a loader with the same arguments continues from
    there after `load_state_dict(state)`. `epoch` counts the loops.

    >>> data = fg.utils.data.TensorDataset(fg.arange(5))
    >>> loader = fg.utils.data.DataLoader(data, batch_size=2)
    >>> for (x,) in loader:
    ...     print(x, loader.state_dict()["batches"])
    [0 1] 1
    [2 3] 2
    [4] 3
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | np.random.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_unsupported(
            "multiprocessing_context", multiprocessing_context, "workers are threads"
        )
        _check_unsupported(
            "persistent_workers", persistent_workers and not num_workers, "num_workers is 0"
        )
        _check_unsupported("in_order=False", not in_order, "batches come in their order")
        self._is_iterable = isinstance(dataset, IterableDataset)
        self._check_samplers(shuffle, sampler, batch_sampler, batch_size, drop_last)
        _check_count("num_workers", num_workers, 0)
        if prefetch_factor is not None:
            _check_count("prefetch_factor", prefetch_factor, 1)
            _check_unsupported(
                "prefetch_factor", not num_workers, "without workers nothing is fetched ahead"
            )
        if not timeout >= 0:
            raise ArgumentError(f"DataLoader: timeout is {timeout}; give at least 0 seconds")
        self.dataset = dataset
        self.batch_size = None if batch_sampler is not None else batch_size
        self.num_workers = num_workers
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self._init_samplers(shuffle, sampler, batch_sampler)
        default = default_convert if self._is_unbatched() else default_collate
        self.collate_fn = default if collate_fn is None else collate_fn
        self._generators = GeneratorStates(self)
        self._position = LoaderPosition(0)
        self._resumed: LoaderPosition | None = None

    def _check_samplers(
        self, shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: Any, drop_last: bool
    ) -> None:
        given = {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}
        if self._is_iterable:
            for name, value in given.items():
                _check_unsupported(name, value, "an IterableDataset gives its own order")
        if batch_sampler is not None:
            alone = batch_size == 1 and not drop_last and not shuffle and sampler is None
            _check_unsupported(
                "batch_sampler",
                not alone,
                "it excludes batch_size, shuffle, sampler and drop_last",
            )
        if sampler is not None:
            _check_unsupported("sampler", shuffle, "it excludes shuffle")
        if batch_size is None:
            _check_unsupported("drop_last", drop_last, "it needs a batch_size")
        else:
            _check_count("batch_size", batch_size, 1)

    def _init_samplers(self, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        if sampler is None and not self._is_iterable and batch_sampler is None:
            data = self.dataset
            sampler = RandomSampler(data, generator=self.generator) if shuffle else None
            sampler = SequentialSampler(data) if sampler is None else sampler
        if batch_sampler is None and self.batch_size is not None and not self._is_iterable:
            batch_sampler = BatchSampler(sampler, self.batch_size, self.drop_last)
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def _is_unbatched(self) -> bool:
        return self.batch_size is None and self.batch_sampler is None

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        if not self._is_iterable:
            order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(order)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    @property
    def epoch(self) -> int:
        """The epoch that runs, or the next one if none does: how many have ended."""
        return (self._resumed or self._position).epoch

    def __iter__(self) -> Iterator[Any]:
        resumed, self._resumed = self._resumed, None
        now = self._generators.get_states()
        within = resumed is not None and resumed.before is not None
        if resumed is not None:
            self._position = resumed
        if within:
            self._generators.set_states(self._position.before)
        else:
            self._position = self._position.start_next_epoch(now)
        try:
            order = self._plan_epoch(self._position)
        finally:
            if within:
                self._generators.set_states(now)
        return self._iterate(self._position, order)

    def _plan_epoch(self, position: LoaderPosition) -> EpochPlan:
        """Draws the sample order of the epoch; batches that were already returned are skipped."""
        seed = draw_seed(self.generator)
        if self._is_iterable:
            stream = IterableFetcher(self.dataset, self.collate_fn, self.drop_last)
            skipped = position.batches * (1 if self.batch_size is None else self.batch_size)
            for _ in islice(stream.samples, skipped):
                stream.read += 1
            return EpochPlan(
                repeat(self.batch_size), position.batches, stream, min(self.num_workers, 1)
            )
        given: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        fetch = MapFetcher(
            self.dataset, self.collate_fn, self._is_unbatched(), self.num_workers, seed
        )
        # Reads the first index, so that the sampler draws now.
        tasks = islice(given, position.batches, None)
        first = list(islice(tasks, 1))
        return EpochPlan(_chain(first, tasks), position.batches, fetch, self.num_workers)

    def _iterate(self, position: LoaderPosition, order: EpochPlan) -> Iterator[Any]:
        batches = self._prefetch(order) if order.workers else self._load_serially(order)
        try:
            for batch in batches:
                position.batches += 1
                yield batch
                del batch
        finally:
            batches.close()
        position.end()

    def _load_serially(self, order: EpochPlan) -> Any:
        for number, task in enumerate(order.tasks, order.first):
            batch = order.work(number, task, 0, _is_never_stopped)
            if batch is END_OF_STREAM:
                return
            yield batch
            del batch

    def _prefetch(self, order: EpochPlan) -> Any:
        tasks = enumerate(order.tasks, order.first)
        workers = WorkerPool(order.workers, order.work, self.worker_init_fn)
        try:
            asked = number = order.first
            depth = order.workers * (self.prefetch_factor or 2)
            while True:
                for new, task in islice(tasks, max(0, number + depth - asked)):
                    workers.submit(new, task)
                    asked = new + 1
                if number == asked:
                    return
                batch = workers.take(number, self.timeout)
                if batch is END_OF_STREAM:
                    return
                number += 1
                yield batch
                del batch
        finally:
            workers.close()

    def state_dict(self) -> dict[str, Any]:
        """The position of the loop: numbers, strings and lists, for `fg.save` or `json`.

        In the middle of a loop, the current batch counts as done.
        """
        position = self._resumed or self._position
        length = None if self._is_iterable else len(self)
        return {
            **position.to_state(),
            "length": length,
            "generators": self._generators.get_own_states(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Makes the next loop continue from a state.

        The loader must have the arguments of the saved one.
        """
        op = "DataLoader.load_state_dict"
        position = LoaderPosition.from_state(op, state_dict)
        if position.batches and not self._is_iterable and state_dict["length"] != len(self):
            raise ArgumentError(
                f"{op}: the state is in the middle of an epoch of {state_dict['length']} batches,"
                f" and this loader has {len(self)}; make it alike, or save between epochs"
            )
        self._generators.check_own_states(op, state_dict["generators"], position.before)
        self._generators.set_own_states(state_dict["generators"])
        self._resumed = position


def _chain(first: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    yield from first
    yield from rest


def _is_never_stopped() -> bool:
    return False


def _check_unsupported(name: str, given: Any, why: str) -> None:
    if given:
        raise ArgumentError(f"DataLoader: {name} is not supported here: {why}; leave it out")


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(
            f"DataLoader: {name} is {value!r}; give a whole number of at least {least}"
        )
    if value < least:
        raise ArgumentError(f"DataLoader: {name} is {value}; give at least {least}")
