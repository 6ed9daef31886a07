"""`DataLoader`: batches, workers, errors, and going on in the middle of an epoch."""

import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import (
    ArgumentError,
    ShapeError,
)
from ferrograd.utils import data
from ferrograd.utils.data import DataLoader


class Noisy(data.Dataset[Any]):
    """Samples that draw at random; one may fail."""

    def __init__(self, size: int = 11, failing: int | None = None) -> None:
        self.size = size
        self.failing = failing

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> Any:
        if i == self.failing:
            raise ZeroDivisionError("no such picture")
        info = data.get_worker_info()
        assert info is not None
        return {"x": float(i), "noise": info.generator.numpy.random()}


class Count(data.IterableDataset[Any]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[float]:
        assert data.get_worker_info() is None
        return iter(map(float, range(self.size)))

    def __len__(self) -> int:
        return self.size


def rows(loader: DataLoader, epochs: int = 1) -> list[Any]:
    return [flat(batch) for _ in range(epochs) for batch in loader]


def flat(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {key: flat(value) for key, value in batch.items()}
    if isinstance(batch, list):
        return [flat(each) for each in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


def no_thread_left() -> bool:
    return not any(thread.name.startswith("DataLoader") for thread in threading.enumerate())


class TestLoader:
    def test_batches_and_lengths(self) -> None:
        loader = DataLoader(range(5), batch_size=2)
        assert rows(loader) == [[0, 1], [2, 3], [4]]
        assert len(loader) == 3
        assert rows(DataLoader(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
        assert rows(DataLoader(np.arange(3.0), batch_size=None)) == [0.0, 1.0, 2.0]
        assert rows(DataLoader(range(5), sampler=[4, 2])) == [[4], [2]]
        assert rows(DataLoader(range(5), batch_sampler=[[4, 2], (0,)])) == [[4, 2], [0]]
        assert rows(DataLoader(range(4), 2, collate_fn=np.array)) == [[0, 1], [2, 3]]

    @pytest.mark.parametrize("workers", [1, 2, 5])
    def test_any_number_of_workers_gives_the_same(self, workers: int) -> None:
        fg.manual_seed(3)
        here = rows(DataLoader(Noisy(), 2, shuffle=True), 3)
        fg.manual_seed(3)
        there = rows(DataLoader(Noisy(), 2, shuffle=True, num_workers=workers), 3)
        assert here == there
        assert here[:6] != here[6:12]
        assert no_thread_left()

    def test_a_seed_decides_the_order(self) -> None:
        def order(generator: Any) -> Any:
            return rows(DataLoader(range(20), 4, shuffle=True, generator=generator), 2)

        assert order(fg.Generator(5)) == order(fg.Generator(5)) != order(fg.Generator(6))
        assert order(np.random.default_rng(5)) == order(fg.Generator(5))

    @pytest.mark.parametrize("workers", [0, 1, 3])
    def test_streams(self, workers: int) -> None:
        loader = DataLoader(Count(5), 2, num_workers=workers)
        assert rows(loader, 2) == [[0.0, 1.0], [2.0, 3.0], [4.0]] * 2
        assert len(loader) == 3
        short = DataLoader(Count(5), 2, drop_last=True, num_workers=workers)
        assert rows(short) == [[0.0, 1.0], [2.0, 3.0]]
        assert rows(DataLoader(Count(2), None, num_workers=workers, collate_fn=np.array)) == [0, 1]

    def test_a_batch_of_no_samples_has_its_shapes(self) -> None:
        rows_of = data.TensorDataset(np.ones((4, 3)), np.arange(4))
        ((x, y),) = DataLoader(rows_of, batch_sampler=[[]])
        assert (x.shape, y.shape, y.dtype) == ((0, 3), (0,), np.int64)

    def test_a_whole_batch_may_be_asked_for(self) -> None:
        class Whole(data.Dataset[Any]):
            def __len__(self) -> int:
                return 4

            def __getitems__(self, indices: list[int]) -> list[int]:
                return [10 * i for i in indices]

        assert rows(DataLoader(Whole(), 3)) == [[0, 10, 20], [30]]

    @pytest.mark.parametrize("workers", [0, 2])
    def test_an_error_keeps_its_traceback_and_names_the_index(self, workers: int) -> None:
        loader = DataLoader(Noisy(failing=5), 2, num_workers=workers)
        seen = []

        def read() -> None:
            for batch in loader:
                seen.append(batch["x"].tolist())

        with pytest.raises(ZeroDivisionError, match="no such picture") as caught:
            read()
        assert seen == [[0.0, 1.0], [2.0, 3.0]]
        assert caught.value.__notes__ == ["DataLoader: Noisy[5] failed, for batch 2"]
        text = "".join(traceback.format_exception(caught.value))
        assert 'raise ZeroDivisionError("no such picture")' in text
        assert no_thread_left()

    @pytest.mark.parametrize("workers", [0, 2])
    def test_an_error_of_collation_names_the_batch(self, workers: int) -> None:
        ragged = [np.ones(1 + i // 3) for i in range(6)]
        with pytest.raises(ShapeError) as caught:
            rows(DataLoader(ragged, 2, num_workers=workers))
        assert "batch 1, of the indices [2, 3]" in caught.value.__notes__[0]

    def test_a_loop_that_is_left_early_leaves_no_thread(self) -> None:
        loader = DataLoader(Noisy(1000), 2, num_workers=4)
        for batch in loader:
            assert batch["x"].tolist() == [0.0, 1.0]
            break
        deadline = time.monotonic() + 30
        while not no_thread_left() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert no_thread_left()

    def test_threads_read_ahead_no_more_than_asked(self) -> None:
        read: list[int] = []

        class Seen(data.Dataset[Any]):
            def __len__(self) -> int:
                return 100

            def __getitem__(self, i: int) -> int:
                read.append(i)
                return i

        batches = iter(DataLoader(Seen(), 1, num_workers=2, prefetch_factor=3))
        next(batches)
        batches.close()  # type: ignore[attr-defined]
        assert len(read) <= 6

    def test_time_limits_and_beginnings_of_workers(self) -> None:
        begun: list[int] = []
        rows(DataLoader(range(4), num_workers=2, worker_init_fn=begun.append))
        assert sorted(begun) == [0, 1]

        def fail(worker: int) -> None:
            raise RuntimeError("not today")

        with pytest.raises(RuntimeError, match="not today") as caught:
            rows(DataLoader(range(4), num_workers=1, worker_init_fn=fail))
        assert caught.value.__notes__ == ["DataLoader: worker_init_fn(0) failed"]
        free = threading.Event()

        def wait(samples: Any) -> Any:
            free.wait(60)
            return samples

        batches = iter(DataLoader(range(4), num_workers=1, collate_fn=wait, timeout=0.05))
        threading.Timer(0.5, free.set).start()
        with pytest.raises(TimeoutError, match=r"batch 0 was not there after 0\.05 s"):
            next(batches)
        assert no_thread_left()

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"multiprocessing_context": "fork"}, "workers are threads"),
            ({"persistent_workers": True}, "persistent_workers"),
            ({"in_order": False}, "in_order"),
            ({"prefetch_factor": 2}, "without workers"),
            ({"batch_size": 0}, "batch_size is 0"),
            ({"num_workers": -1}, "num_workers is -1"),
            ({"timeout": -1}, "timeout is -1"),
            ({"sampler": [0], "shuffle": True}, "excludes shuffle"),
            ({"batch_sampler": [[0]], "batch_size": 2}, "it excludes batch_size"),
            ({"batch_size": None, "drop_last": True}, "needs a batch_size"),
        ],
    )
    def test_what_is_refused(self, arguments: dict[str, Any], text: str) -> None:
        with pytest.raises(ArgumentError, match=text):
            DataLoader(range(4), **arguments)

    def test_what_speaks_of_processes_and_accelerators_changes_nothing(self) -> None:
        options = {"pin_memory": True, "persistent_workers": True, "num_workers": 1}
        batches = [batch.tolist() for batch in DataLoader(range(4), batch_size=2, **options)]
        assert batches == [[0, 1], [2, 3]]

    def test_a_stream_has_no_order(self) -> None:
        with pytest.raises(ArgumentError, match="shuffle is not supported"):
            DataLoader(Count(3), shuffle=True)


def cases() -> list[Any]:
    weights = np.arange(11.0)
    return [
        ("default", lambda w: DataLoader(Noisy(), 2, shuffle=True, num_workers=w)),
        (
            "own generator",
            lambda w: DataLoader(
                Noisy(), 2, shuffle=True, num_workers=w, generator=fg.Generator(9)
            ),
        ),
        (
            "generator of a sampler",
            lambda w: DataLoader(
                Noisy(),
                3,
                sampler=data.WeightedRandomSampler(weights, 10, generator=fg.Generator(2)),
                num_workers=w,
            ),
        ),
        ("stream", lambda w: DataLoader(Count(11), 3, num_workers=w)),
        ("samples", lambda w: DataLoader(Noisy(7), None, shuffle=True, num_workers=w)),
    ]


class TestResuming:
    @pytest.mark.parametrize("stop", [0, 1, 3, 6, 7, 11])
    @pytest.mark.parametrize("workers", [0, 3])
    @pytest.mark.parametrize("make", [case[1] for case in cases()], ids=[c[0] for c in cases()])
    def test_a_loop_goes_on_where_it_was(self, make: Any, workers: int, stop: int) -> None:
        fg.manual_seed(4)
        through = rows(make(workers), 3)
        fg.manual_seed(4)
        first = make(workers)
        seen, state, rng = [], first.state_dict(), fg.get_rng_state()
        while len(seen) < stop:
            for batch in first:
                seen.append(flat(batch))
                state, rng = first.state_dict(), fg.get_rng_state()
                if len(seen) == stop:
                    break
        fg.manual_seed(77)
        again = make(workers)
        again.load_state_dict(state)
        fg.set_rng_state(rng)
        for _ in range(again.epoch, 3):
            seen += rows(again)
        assert seen == through

    def test_what_is_drawn_in_the_loop_changes_nothing(self) -> None:
        def run(stop: int | None) -> tuple[list[Any], Any]:
            fg.manual_seed(1)
            loader = DataLoader(range(8), 2, shuffle=True)
            seen: list[Any] = []
            for _ in range(2):
                for batch in loader:
                    seen.append((flat(batch), fg.rand(1).item()))
                    if len(seen) == stop:
                        return seen, (loader.state_dict(), fg.get_rng_state())
            return seen, None

        through, _ = run(None)
        seen, (state, rng) = run(3)
        fg.manual_seed(5)
        loader = DataLoader(range(8), 2, shuffle=True)
        loader.load_state_dict(state)
        fg.set_rng_state(rng)
        for _ in range(loader.epoch, 2):
            seen += [(flat(batch), fg.rand(1).item()) for batch in loader]
        assert seen == through

    def test_a_state_stays_what_it_was(self) -> None:
        loader = DataLoader(range(4), 2, shuffle=True, generator=fg.Generator(0))
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rows(loader, 3)
        again = DataLoader(range(4), 2, shuffle=True, generator=fg.Generator(1))
        again.load_state_dict(state)
        assert again.state_dict() == state
        assert rows(again) == [flat(next(batches))]

    def test_states_that_do_not_fit(self) -> None:
        loader = DataLoader(range(6), 2, shuffle=True, generator=fg.Generator(0))
        next(iter(loader))
        state = loader.state_dict()
        with pytest.raises(ArgumentError, match="3 batches, and this loader has 6"):
            DataLoader(range(6), shuffle=True, generator=fg.Generator(0)).load_state_dict(state)
        with pytest.raises(
            ArgumentError, match="1 generators or samplers of its own, this loader 0"
        ):
            DataLoader(range(6), 2).load_state_dict(state)
        with pytest.raises(ArgumentError, match="the state has"):
            loader.load_state_dict({})
        kind = np.random.Generator(np.random.MT19937(0))
        other = DataLoader(range(6), 2, shuffle=True, generator=kind)
        with pytest.raises(ArgumentError, match="no state of a MT19937"):
            other.load_state_dict(state)
        assert loader.state_dict() == state
