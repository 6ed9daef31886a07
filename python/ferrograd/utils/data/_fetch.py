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


class _Current(threading.local):
    info: WorkerInfo | None = None


_CURRENT = _Current()


def get_worker_info() -> WorkerInfo | None:
    """The current batch of this thread; None outside of a loader over indices.

    Unlike in PyTorch, it also works with `num_workers=0`. It is None for an `IterableDataset`,
    which one thread reads completely.

    >>> from ferrograd.utils import data
    >>> data.get_worker_info() is None
    True
    """
    return _CURRENT.info


class Stopped(Exception):  # noqa: N818
    """The loop over the batches has ended."""


class Fetch:
    """Makes batches of a dataset with indices; single samples where `single`."""

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
        _CURRENT.info = WorkerInfo(worker, self.workers, self.seed, self.dataset, number)
        try:
            if self.single:
                samples = self._sample(indices, number)
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
                samples = self._samples(indices, number, stopped)
            return collated(self.collate, samples, number, indices)
        finally:
            _CURRENT.info = None

    def _sample(self, index: Any, number: int) -> Any:
        try:
            return self.dataset[index]
        except Exception as error:
            name = type(self.dataset).__name__
            error.add_note(f"DataLoader: {name}[{index!r}] failed, for batch {number}")
            raise

    def _samples(self, indices: Sequence[Any], number: int, stopped: Callable[[], bool]) -> Any:
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
                raise Stopped
            samples.append(self._sample(index, number))
        return samples


class FetchStream:
    """Makes batches of the next samples of an iterable dataset."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.samples = iter(dataset)
        self.collate = collate
        self.drop_last = drop_last
        self.read = 0

    def __call__(self, number: int, size: Any, worker: int, stopped: Callable[[], bool]) -> Any:
        """The next batch of `size` samples, or a sample where it is None; `END` after the last."""
        samples: list[Any] = []
        while len(samples) < (1 if size is None else size):
            if stopped():
                raise Stopped
            try:
                samples.append(next(self.samples))
            except StopIteration:
                break
            except Exception as error:
                error.add_note(f"DataLoader: sample {self.read} of the stream, for batch {number}")
                raise
            self.read += 1
        if not samples or (size is not None and self.drop_last and len(samples) < size):
            return END
        return collated(self.collate, samples[0] if size is None else samples, number, None)


#: Marks the end of the stream.
END = object()


def collated(collate: Callable[[Any], Any], samples: Any, number: int, indices: Any) -> Any:
    """The batch of samples; an error names their indices."""
    try:
        return collate(samples)
    except Exception as error:
        of = "" if indices is None else f", of the indices {indices!r:.200}"
        error.add_note(f"DataLoader: collate_fn failed for batch {number}{of}")
        raise


Work = Callable[[int, Any, int, Callable[[], bool]], Any]


class Workers:
    """Threads that make batches ahead of the loop that takes them."""

    def __init__(self, count: int, work: Work, begin: Callable[[int], Any] | None) -> None:
        self._work = work
        self._begin = begin
        self._changed = threading.Condition()
        self._tasks: deque[tuple[int, Any]] = deque()
        self._done: dict[int, tuple[Any, BaseException | None]] = {}
        self._closed = False
        self._failed: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._run, args=(i,), name=f"DataLoader-{i}", daemon=True)
            for i in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, number: int, task: Any) -> None:
        """Asks for batch `number`."""
        with self._changed:
            self._tasks.append((number, task))
            self._changed.notify_all()

    def take(self, number: int, timeout: float) -> Any:
        """Waits for batch `number`."""
        with self._changed:

            def there() -> bool:
                return number in self._done or self._failed is not None

            if not self._changed.wait_for(there, timeout or None):
                raise TimeoutError(
                    f"DataLoader: batch {number} was not there after {timeout} s; raise timeout="
                )
            if number not in self._done and self._failed is not None:
                raise self._failed
            value, error = self._done.pop(number)
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Ends the threads; waits for the samples that they are reading."""
        with self._changed:
            self._closed = True
            self._tasks.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._done.clear()

    def _run(self, worker: int) -> None:
        if self._begin is not None:
            try:
                self._begin(worker)
            except BaseException as error:
                error.add_note(f"DataLoader: worker_init_fn({worker}) failed")
                with self._changed:
                    self._failed = error
                    self._changed.notify_all()
                return
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._closed)
                if self._closed:
                    return
                number, task = self._tasks.popleft()
            value, failed = None, None
            try:
                value = self._work(number, task, worker, lambda: self._closed)
            except Stopped:
                return
            except BaseException as error:
                failed = error
            with self._changed:
                self._done[number] = value, failed
                self._changed.notify_all()
            del value, failed
