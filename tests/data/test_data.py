"""`fg.utils.data`: datasets, samplers, collation, and the batches of a loader."""

import dataclasses
from collections import Counter, namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexOutOfRangeError,
    ShapeError,
)
from ferrograd.utils import data
from ferrograd.utils.data import DataLoader


class Count(data.IterableDataset[Any]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[float]:
        assert data.get_worker_info() is None
        return iter(map(float, range(self.size)))

    def __len__(self) -> int:
        return self.size


class TestDatasets:
    def test_rows_of_tensors_and_arrays(self) -> None:
        x, y = fg.tensor(np.arange(6.0).reshape(3, 2)), np.arange(3)
        pairs = data.TensorDataset(x, y)
        assert len(pairs) == 3
        assert [each.tolist() for each in pairs[-1]] == [[4.0, 5.0], 2]
        with pytest.raises(IndexOutOfRangeError, match="index 3 is outside of 3"):
            pairs[3]
        with pytest.raises(ShapeError, match=r"\[3, 2\]"):
            data.TensorDataset(x, y[:2])
        with pytest.raises(ArgumentTypeError, match="argument 1 is a list"):
            data.TensorDataset(x, [1, 2, 3])

    def test_gradients_go_through_a_batch(self) -> None:
        x = fg.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
        for (batch,) in DataLoader(data.TensorDataset(x), batch_size=2):
            (batch**2).sum().backward()
        assert np.array_equal(x.grad, 2 * x.detach())

    def test_datasets_of_others(self) -> None:
        both = data.ConcatDataset([range(3), range(10, 12)])
        assert [both[i] for i in range(-5, 5)] == [0, 1, 2, 10, 11] * 2
        assert list((Count(2) + Count(1)).__iter__()) == [0.0, 1.0, 0.0]
        assert len(data.TensorDataset(np.ones(2)) + data.TensorDataset(np.ones(3))) == 5
        assert data.StackDataset(a=range(3), b="xyz")[1] == {"a": 1, "b": "y"}
        assert data.StackDataset(range(3), "xyz")[2] == (2, "z")
        nested = data.Subset(data.Subset(range(10), [9, 7, 5]), [2, 0])
        assert [nested[0], nested[1], nested[-1]] == [5, 9, 9]
        with pytest.raises(ArgumentTypeError, match="ChainDataset"):
            data.ConcatDataset([Count(2)])
        with pytest.raises(ShapeError, match=r"\[3, 2\]"):
            data.StackDataset(range(3), range(2))

    def test_random_split_shares_out_every_sample(self) -> None:
        parts = data.random_split(range(10), [0.5, 0.25, 0.25], fg.Generator(1))
        assert [len(part) for part in parts] == [6, 2, 2] or sum(map(len, parts)) == 10
        assert sorted(x for part in parts for x in (part[i] for i in range(len(part)))) == [
            *range(10)
        ]
        again = data.random_split(range(10), [5, 5], fg.Generator(1))
        assert [again[0][i] for i in range(5)] == [
            data.random_split(range(10), [5, 5], fg.Generator(1))[0][i] for i in range(5)
        ]
        with pytest.raises(ArgumentError, match=r"\[4, 5\] do not share out 10"):
            data.random_split(range(10), [4, 5])

    def test_rows_of_a_file_larger_than_what_is_read(self, tmp_path: Path) -> None:
        whole = np.arange(4000.0).reshape(1000, 4)
        np.save(tmp_path / "x.npy", whole)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        loader = DataLoader(
            data.Subset(data.TensorDataset(mapped), range(500, 1000)), 64, num_workers=2
        )
        got = [batch for (batch,) in loader]
        assert np.array_equal(np.concatenate([np.asarray(each) for each in got]), whole[500:])
        got[0] += 1.0
        assert np.array_equal(mapped, whole)


class TestSamplers:
    def test_without_replacement_every_index_comes_once(self) -> None:
        order = list(data.RandomSampler(range(100), generator=fg.Generator(0)))
        assert sorted(order) == [*range(100)] != order
        assert order == list(data.RandomSampler(range(100), generator=fg.Generator(0)))
        many = list(data.RandomSampler(range(4), num_samples=10))
        assert len(many) == 10
        assert sorted(many[:4]) == sorted(many[4:8]) == [0, 1, 2, 3]

    def test_with_replacement(self) -> None:
        drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=9000))
        assert len(drawn) == 9000
        assert all(2600 < count < 3400 for count in Counter(drawn).values())

    def test_weights(self) -> None:
        fg.manual_seed(0)
        count = Counter(data.WeightedRandomSampler([1, 0, 3], 4000))
        assert set(count) == {0, 2}
        assert 0.7 < count[2] / 4000 < 0.8
        alone = list(data.WeightedRandomSampler([1, 0, 3], 2, replacement=False))
        assert sorted(alone) == [0, 2]
        with pytest.raises(ArgumentError, match="3 of 2 samples"):
            data.WeightedRandomSampler([1, 0, 3], 3, replacement=False)
        with pytest.raises(ArgumentError, match="weights"):
            data.WeightedRandomSampler([1, float("nan")], 3)

    def test_subsets_and_batches(self) -> None:
        chosen = list(data.SubsetRandomSampler([5, 6, 7], generator=fg.Generator(0)))
        assert sorted(chosen) == [5, 6, 7]
        batches = data.BatchSampler(data.SequentialSampler(range(5)), 2, drop_last=True)
        assert list(batches) == [[0, 1], [2, 3]]
        assert len(batches) == 2
        with pytest.raises(ArgumentError, match="batch_size is 0"):
            data.BatchSampler(range(5), 0, False)

    @pytest.mark.parametrize("shuffle", [False, True])
    @pytest.mark.parametrize("drop", [False, True])
    def test_ranks_share_out_the_indices(self, shuffle: bool, drop: bool) -> None:
        parts = [
            data.DistributedSampler(range(11), 4, rank, shuffle, drop_last=drop)
            for rank in range(4)
        ]
        orders = [list(part) for part in parts]
        assert {len(order) for order in orders} == {2 if drop else 3}
        together = [i for group in zip(*orders, strict=True) for i in group]
        assert len(set(together)) == (8 if drop else 11)
        parts[0].set_epoch(1)
        assert (list(parts[0]) != orders[0]) is shuffle
        with pytest.raises(ArgumentError, match="rank 4 of 4"):
            data.DistributedSampler(range(11), 4, 4)


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Record:
    x: Any
    name: str


class TestCollate:
    def test_trees(self) -> None:
        samples = [{"p": Point(1, np.ones(2)), "l": [True, None], "t": (2.5, "a")}] * 2
        made = data.default_collate(samples)
        assert isinstance(made["p"], Point)
        assert made["p"].x.tolist() == [1, 1]
        assert made["p"].y.shape == (2, 2)
        assert made["l"][0].dtype == np.bool_
        assert made["l"][1] is None
        assert isinstance(made["t"], list)
        assert made["t"][0].dtype == np.float64
        assert made["t"][1] == ["a", "a"]
        record = data.default_collate([Record(1, "a"), Record(2, "b")])
        assert record.x.tolist() == [1, 2]
        assert record.name == ["a", "b"]

    @pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bool", "float16"])
    def test_dtypes_stay(self, dtype: str) -> None:
        made = data.default_collate([np.ones(3, dtype), np.zeros(3, dtype)])
        assert made.dtype == np.dtype(dtype)
        assert data.default_collate([np.ones((), dtype)[()]]).dtype == np.dtype(dtype)

    @pytest.mark.parametrize(
        ("samples", "error", "text"),
        [
            ([np.ones(2), np.ones(3)], ShapeError, "sample 0 has shape .2,., sample 1"),
            ([{"a": 1}, {"b": 1}], ShapeError, "sample 1 .*'b'"),
            ([[1], [1, 2]], ShapeError, "1 parts"),
            ([object()], ArgumentTypeError, "is a object"),
            ([1, "a"], ArgumentTypeError, "sample 1 is 'a'"),
            ([], ArgumentError, "no samples"),
            ([np.array(["a"])], ArgumentTypeError, "pass collate_fn"),
        ],
    )
    def test_samples_that_do_not_fit(self, samples: Any, error: Any, text: str) -> None:
        with pytest.raises(error, match=text):
            data.default_collate(samples)

    def test_a_list_that_holds_itself(self) -> None:
        sample: list[Any] = []
        sample.append(sample)
        with pytest.raises(ShapeError, match="nested more than"):
            data.default_collate([sample])

    def test_convert(self) -> None:
        made = data.default_convert({"a": np.ones(2), "b": (np.float32(1), "s")})
        assert isinstance(made["a"], fg.Tensor)
        assert made["b"][0].dtype == np.float32
        assert made["b"][1] == "s"


def test_states_of_generators() -> None:
    g = fg.Generator(0)
    state = g.get_state()
    first = g.numpy.random()
    assert g.set_state(state).numpy.random() == first
    with pytest.raises(ArgumentError, match="no state of a PCG64"):
        g.set_state({"bit_generator": "MT19937"})
