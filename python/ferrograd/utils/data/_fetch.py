"""Making batches, on this thread or on others.

Invariant: results are returned in the order of their numbers. An error is raised when its batch is
due, with its own traceback. After `close` no thread of a loader runs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._tensor.generator import Generator
from ferrograd.errors import ArgumentTypeError
from ferrograd.utils.data._collate import default_collate
from ferrograd.utils.data._dataset import gather


class WorkerInfo:
    """The result of `get_worker_info`: the batch for which a dataset is read.

    `id` is the number of the thread, `num_workers` that of the loader, `seed` that of the epoch,
    `dataset` the dataset, and `batch` the number of the batch in the epoch.
    """

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any, batch: int) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset
        self.batch = batch
        self._generator: Generator | None = None

    @property
    def generator(self) -> Generator:
        """A generator of this batch, the same for any number of workers.

        Datasets draw random numbers for augmentation from it.
        """
        if self._generator is None:
            self._generator = Generator(np.random.default_rng([self.seed, self.batch]))
        return self._generator


class _WorkerLocal(threading.local):
    info: WorkerInfo | None = None


_worker_local = _WorkerLocal()


def get_worker_info() -> WorkerInfo | None:
    """The current batch of this thread; None outside of a loader over indices.

    Unlike in PyTorch, it also works with `num_workers=0`. It is None for an `IterableDataset`,
    which one thread reads completely.

    >>> from ferrograd.utils import data
    >>> data.get_worker_info() is None
    True
    """
    return _worker_local.info


class LoopStopped(Exception):  # noqa: N818
    """The loop over the batches has ended."""


class MapFetcher:
    """Loads batches from a map-style dataset; single samples if `single`."""

    def __init__(
        self, dataset: Any, collate: Callable[[Any], Any], single: bool, workers: int, seed: int
    ) -> None:
        self.dataset = dataset
        self.collate = collate
        self.single = single
        self.workers = workers
        self.seed = seed

    def __call__(self, number: int, indices: Any, worker: int, stopped: Callable[[], bool]) -> Any:
        """Batch `number`, of a list of indices, or the one sample of an index."""
        _worker_local.info = WorkerInfo(worker, self.workers, self.seed, self.dataset, number)
        try:
            if self.single:
                samples = self._get_sample(indices, number)
            else:
                if not hasattr(indices, "__iter__"):
                    raise ArgumentTypeError(
                        f"DataLoader: the batch_sampler gave {indices!r} as batch {number}; let it"
                        " give lists of indices"
                    )
                usual = self.collate is default_collate
                batch = gather(self.dataset, indices) if usual else None
                if batch is not None:
                    return batch
                samples = self._get_samples(indices, number, stopped)
            return collate_batch(self.collate, samples, number, indices)
        finally:
            _worker_local.info = None

    def _get_sample(self, index: Any, number: int) -> Any:
        try:
            return self.dataset[index]
        except Exception as error:
            name = type(self.dataset).__name__
            error.add_note(f"DataLoader: {name}[{index!r}] failed, for batch {number}")
            raise

    def _get_samples(self, indices: Sequence[Any], number: int, stopped: Callable[[], bool]) -> Any:
        if hasattr(self.dataset, "__getitems__"):
            try:
                return self.dataset.__getitems__(indices)
            except Exception as error:
                name = type(self.dataset).__name__
                error.add_note(f"DataLoader: {name}[{indices}] failed, for batch {number}")
                raise
        samples = []
        for index in indices:
            if stopped():
                raise LoopStopped
            samples.append(self._get_sample(index, number))
        return samples


class IterableFetcher:
    """Loads batches of consecutive samples from an iterable dataset."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.samples = iter(dataset)
        self.collate = collate
        self.drop_last = drop_last
        self.read = 0

    def __call__(self, number: int, size: Any, worker: int, stopped: Callable[[], bool]) -> Any:
        """The next `size` samples as a batch; one sample if None; `END_OF_STREAM` at the end."""
        samples: list[Any] = []
        while len(samples) < (1 if size is None else size):
            if stopped():
                raise LoopStopped
            try:
                samples.append(next(self.samples))
            except StopIteration:
                break
            except Exception as error:
                error.add_note(f"DataLoader: sample {self.read} of the stream, for batch {number}")
                raise
            self.read += 1
        if not samples or (size is not None and self.drop_last and len(samples) < size):
            return END_OF_STREAM
        return collate_batch(self.collate, samples[0] if size is None else samples, number, None)


#: Marks the end of the stream.
END_OF_STREAM = object()


def collate_batch(collate: Callable[[Any], Any], samples: Any, number: int, indices: Any) -> Any:
    """Calls `collate` with the samples; an error gets a note with their indices."""
    try:
        return collate(samples)
    except Exception as error:
        of = "" if indices is None else f", of the indices {indices!r:.200}"
        error.add_note(f"DataLoader: collate_fn failed for batch {number}{of}")
        raise


FetchFunction = Callable[[int, Any, int, Callable[[], bool]], Any]


class WorkerPool:
    """Threads that load batches before the loop asks for them."""

    def __init__(self, count: int, work: FetchFunction, begin: Callable[[int], Any] | None) -> None:
        self._fetch = work
        self._init_fn = begin
        self._condition = threading.Condition()
        self._tasks: deque[tuple[int, Any]] = deque()
        self._results: dict[int, tuple[Any, BaseException | None]] = {}
        self._closed = False
        self._init_error: BaseException | None = None
        self._threads = [
            threading.Thread(
                target=self._run_worker, args=(i,), name=f"DataLoader-{i}", daemon=True
            )
            for i in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, number: int, task: Any) -> None:
        """Puts the task of batch `number` into the queue."""
        with self._condition:
            self._tasks.append((number, task))
            self._condition.notify_all()

    def take(self, number: int, timeout: float) -> Any:
        """Waits for batch `number` and returns it."""
        with self._condition:

            def is_ready() -> bool:
                return number in self._results or self._init_error is not None

            if not self._condition.wait_for(is_ready, timeout or None):
                raise TimeoutError(
                    f"DataLoader: batch {number} was not there after {timeout} s; raise timeout="
                )
            if number not in self._results and self._init_error is not None:
                raise self._init_error
            value, error = self._results.pop(number)
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Ends the threads; waits for the samples that they are reading."""
        with self._condition:
            self._closed = True
            self._tasks.clear()
            self._condition.notify_all()
        for thread in self._threads:
            thread.join()
        self._results.clear()

    def _run_worker(self, worker: int) -> None:
        if self._init_fn is not None:
            try:
                self._init_fn(worker)
            except BaseException as error:
                error.add_note(f"DataLoader: worker_init_fn({worker}) failed")
                with self._condition:
                    self._init_error = error
                    self._condition.notify_all()
                return
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._tasks or self._closed)
                if self._closed:
                    return
                number, task = self._tasks.popleft()
            value, failed = None, None
            try:
                value = self._fetch(number, task, worker, lambda: self._closed)
            except LoopStopped:
                return
            except BaseException as error:
                failed = error
            with self._condition:
                self._results[number] = value, failed
                self._condition.notify_all()
            del value, failed
