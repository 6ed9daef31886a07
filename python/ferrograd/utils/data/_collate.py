"""From samples to batches.

Invariant: a batch has the containers of its samples. Numbers and arrays become tensors with an
additional first axis. An error about samples that do not fit names both of them.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray, stack
from ferrograd._tensor.pytree import check_depth
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError


def default_collate(batch: Sequence[Any]) -> Any:
    """Makes a batch of samples.

    Tensors, arrays and numbers are stacked along a new first axis, strings are listed, containers
    (dicts, named tuples, dataclasses, lists) hold the batches of their parts; plain tuples become
    lists, as in PyTorch. None stays None if every sample has it. Floats give float64, integers
    int64.

    >>> fg.utils.data.default_collate([{"x": 1.0, "y": [1, "a"]}, {"x": 2.0, "y": [2, "b"]}])
    {'x': tensor([1., 2.]), 'y': [tensor([1, 2]), ['a', 'b']]}
    """
    if not isinstance(batch, Sequence) or not batch:
        raise ArgumentError(f"default_collate: {batch!r:.60} has no samples; pass a list of them")
    return _collate_samples(batch, "", 0)


def _collate_samples(batch: Sequence[Any], place: str, depth: int) -> Any:
    first = batch[0]
    if isinstance(first, Tensor | np.ndarray | np.generic):
        return _stack_arrays(batch, place)
    if isinstance(first, bool | int | float | complex):
        return _collate_numbers(batch, place)
    if isinstance(first, str | bytes):
        return list(batch)
    if first is None and all(each is None for each in batch):
        return None
    check_depth(first, depth)
    return _collate_containers(batch, place, depth + 1)


def _collate_containers(batch: Sequence[Any], place: str, depth: int) -> Any:
    first = batch[0]
    if isinstance(first, Mapping):
        for i, each in enumerate(batch):
            if not isinstance(each, Mapping) or set(each) != set(first):
                has = sorted(map(repr, each)) if isinstance(each, Mapping) else repr(each)
                raise ShapeError(
                    f"default_collate: sample 0{place} has the keys {sorted(map(repr, first))},"
                    f" sample {i}{place} {has}; all samples need the same"
                )
        made = {k: _collate_samples([b[k] for b in batch], f"{place}[{k!r}]", depth) for k in first}
        if type(first) is dict:
            return made
        own: Any = copy.copy(first)
        for key, value in made.items():
            own[key] = value
        return own
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        own = copy.copy(first)
        for field in dataclasses.fields(first):
            parts = [getattr(each, field.name) for each in batch]
            object.__setattr__(
                own, field.name, _collate_samples(parts, f"{place}.{field.name}", depth)
            )
        return own
    if isinstance(first, Sequence):
        for i, each in enumerate(batch):
            if not isinstance(each, Sequence) or len(each) != len(first):
                raise ShapeError(
                    f"default_collate: sample 0{place} has {len(first)} parts, sample {i}{place}"
                    f" is {each!r:.60}; all samples need the same number"
                )
        parts = [
            _collate_samples(p, f"{place}[{i}]", depth)
            for i, p in enumerate(zip(*batch, strict=True))
        ]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise ArgumentTypeError(
        f"default_collate: sample 0{place} is a {type(first).__name__}; give tensors, arrays,"
        " numbers, strings or containers of them, or pass collate_fn"
    )


def _stack_arrays(batch: Sequence[Any], place: str) -> Tensor:
    first = batch[0]
    for i, each in enumerate(batch):
        if getattr(each, "shape", None) != first.shape:
            has = f"shape {tuple(each.shape)}" if hasattr(each, "shape") else f"{each!r:.60}"
            raise ShapeError(
                f"default_collate: sample 0{place} has shape {tuple(first.shape)}, sample"
                f" {i}{place} {has}; pad them, or pass collate_fn"
            )
    if any(isinstance(each, Tensor) and each.requires_grad for each in batch):
        return stack(list(batch))
    arrays = [each.numpy() if isinstance(each, Tensor) else np.asarray(each) for each in batch]
    if arrays[0].dtype.kind in "SUO":
        raise ArgumentTypeError(
            f"default_collate: sample 0{place} has dtype {arrays[0].dtype}; tensors hold numbers:"
            " pass collate_fn"
        )
    return asarray(np.stack(arrays))


def _collate_numbers(batch: Sequence[Any], place: str) -> Tensor:
    for i, each in enumerate(batch):
        if not isinstance(each, bool | int | float | complex | np.generic):
            raise ArgumentTypeError(
                f"default_collate: sample 0{place} is the number {batch[0]!r}, sample {i}{place}"
                f" is {each!r:.60}; all samples need numbers there"
            )
    return asarray(np.asarray(batch))


def default_convert(data: Any) -> Any:
    """Converts the arrays in a sample to tensors; other objects are unchanged.

    >>> from ferrograd.utils import data
    >>> data.default_convert({"x": np.ones(2)})["x"].tolist()
    [1.0, 1.0]
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return asarray(data)
    if isinstance(data, Mapping):
        made = {key: default_convert(value) for key, value in data.items()}
        return made if type(data) is dict else type(data)(made)  # type: ignore[call-arg]
    if isinstance(data, tuple):
        parts = [default_convert(each) for each in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, list):
        return [default_convert(each) for each in data]
    return data
