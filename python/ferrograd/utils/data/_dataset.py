"""Datasets, and datasets composed of others.

Invariant: `dataset[i]` is one sample for `i` below `len(dataset)`; an index outside raises
`IndexOutOfRangeError`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.generator import Generator, _get_numpy_generator
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexOutOfRangeError,
    ShapeError,
)

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A collection of samples: subclass it with `__getitem__(index)` and `__len__()`.

    `__getitems__(indices)`, if defined, returns the samples of a whole batch at once.

    >>> class Squares(fg.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> list(fg.utils.data.DataLoader(Squares(), batch_size=2))[1]
    tensor([4, 9])
    """

    def __getitem__(self, index: Any) -> T_co:
        """The sample with this index."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__; define one")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A stream of samples, without indices: subclass it with `__iter__()`.

    >>> from ferrograd.utils import data
    >>> class Numbers(data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2, 3])
    >>> [batch.tolist() for batch in data.DataLoader(Numbers(), batch_size=2)]
    [[1, 2], [3]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__; define one")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors or NumPy arrays: sample `i` is the tuple of their rows `i`.

    The first axes have equal lengths. Arrays are not converted, also memory-mapped ones
    (`np.load(path, mmap_mode="r")`): only the requested rows are read. A loader copies the rows of
    a batch at once, without the GIL.

    >>> x, y = fg.arange(6.0).reshape(3, 2), fg.arange(3)
    >>> fg.utils.data.TensorDataset(x, y)[1]
    (tensor([2., 3.]), tensor(1))
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise ArgumentError("TensorDataset: there are no tensors; pass one or more")
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor | np.ndarray):
                raise ArgumentTypeError(
                    f"TensorDataset: argument {i} is a {type(tensor).__name__}; pass tensors or"
                    " NumPy arrays"
                )
        lengths = [tensor.shape[0] if tensor.ndim else None for tensor in tensors]
        if None in lengths or len(set(lengths)) > 1:
            raise ShapeError(
                f"TensorDataset: the first axes have the lengths {lengths}; they must be equal"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        if hasattr(index, "__index__"):
            index = _check_index("TensorDataset", index, len(self))
        return tuple(asarray(tensor[index]) for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Datasets of equal length side by side: a sample is the tuple, or dict, of their samples.

    >>> from ferrograd.utils import data
    >>> data.StackDataset([1, 2], [3, 4])[1]
    (2, 4)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ArgumentError("StackDataset: pass datasets by position or by name, not both")
        self.datasets: Any = kwargs or args
        parts = list(kwargs.values()) if kwargs else list(args)
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            raise ShapeError(f"StackDataset: the lengths are {lengths}; they must be equal")
        self._length = lengths[0]

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    >>> from ferrograd.utils import data
    >>> both = data.ConcatDataset([[1, 2], [3]])
    >>> (len(both), both[2])
    (3, 3)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset: there are no datasets; pass one or more")
        for part in self.datasets:
            if isinstance(part, IterableDataset):
                raise ArgumentTypeError(
                    "ConcatDataset: an IterableDataset has no indices; use ChainDataset"
                )
        self.cumulative_sizes: list[int] = []
        for part in self.datasets:
            self.cumulative_sizes.append(len(part) + (self.cumulative_sizes or [0])[-1])

    def __getitem__(self, index: int) -> Any:
        index = _check_index("ConcatDataset", index, len(self))
        place = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    >>> from ferrograd.utils import data
    >>> class Numbers(data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(data.ChainDataset([Numbers(), Numbers()]))
    [1, 2, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for part in self.datasets:
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self.datasets)


class Subset(Dataset[T_co]):
    """The samples of a dataset with chosen indices.

    >>> from ferrograd.utils import data
    >>> list(data.Subset([5, 6, 7], [2, 0]))
    [7, 5]
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if hasattr(index, "__index__"):
            return self.dataset[self.indices[_check_index("Subset", index, len(self))]]
        return self.dataset[[self.indices[i] for i in index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any,
    lengths: Sequence[float],
    generator: Generator | np.random.Generator | None = None,
) -> list[Subset[Any]]:
    """Splits a dataset into random subsets: by lengths, or by fractions that sum to 1.

    Lengths from fractions are rounded down; the remaining samples go to the first subsets, one
    each.

    >>> parts = fg.utils.data.random_split(range(10), [0.7, 0.3], fg.Generator(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    size = len(dataset)
    if all(0 <= each <= 1 for each in lengths) and math.isclose(sum(lengths), 1):
        counts = [math.floor(size * each) for each in lengths]
        for i in range(size - sum(counts)):
            counts[i % len(counts)] += 1
    else:
        counts = [int(each) for each in lengths]
        if sum(counts) != size or min(counts) < 0 or counts != list(lengths):
            raise ArgumentError(
                f"random_split: lengths {list(lengths)} do not share out {size} samples; pass"
                " whole numbers that add up to that, or fractions that add up to 1"
            )
    order = _get_numpy_generator(generator).permutation(size).tolist()
    ends = np.cumsum(counts).tolist()
    begins = [0, *ends[:-1]]
    return [Subset(dataset, order[begin:end]) for begin, end in zip(begins, ends, strict=True)]


def gather(dataset: Any, indices: Sequence[int]) -> list[Tensor] | None:
    """The batch of samples as tensors, copied at once; None if samples must be read one by one."""
    while type(dataset) is Subset:
        indices = [dataset.indices[_check_index("Subset", i, len(dataset))] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset:
        return None
    length = len(dataset)
    rows = np.array([_check_index("TensorDataset", i, length) for i in indices], np.int64)
    return [_take_rows(tensor, rows) for tensor in dataset.tensors]


def _take_rows(tensor: Any, rows: np.ndarray) -> Tensor:
    if isinstance(tensor, Tensor):
        if tensor.requires_grad:
            return tensor[rows]
        tensor = tensor.numpy()
    return asarray(np.take(tensor, rows, axis=0).view(np.ndarray))


def _check_index(op: str, index: Any, length: int) -> int:
    number = index.__index__()
    if not -length <= number < length:
        raise IndexOutOfRangeError(
            f"{op}: index {number} is outside of {length} samples; use 0 to {length - 1}"
        )
    return int(number) % length if length else 0
