"""Sequences of different lengths: padded, and packed as a padded tensor with its lengths.

Invariant: a packed sequence is always (T, N, …).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor, asarray
from ferrograd._tensor import creation
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._operations import pad


@dataclass(frozen=True)
class PackedSequence:
    """Sequences (T, N, …) of which the first `lengths[n]` steps count.

    Recurrent layers take it and give one back: states stop at each sequence's end.
    """

    data: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """Truth (T, N) where a step counts."""
        return creation.arange(int(self.data.shape[0])).unsqueeze(1) < self.lengths


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences (T, N, …), or (N, T, …) with `batch_first`, and their lengths.

    The order of the lengths does not matter here, so `enforce_sorted` changes nothing.
    Errors: `ShapeError` unless there is a length for each sequence.

    >>> import ferrograd as fg
    >>> rnn = fg.nn.utils.rnn
    >>> packed = rnn.pack_padded_sequence(fg.ones(2, 3, 4), [3, 1], batch_first=True)
    >>> packed.mask.astype(int).tolist()
    [[1, 1], [1, 0], [1, 0]]
    """
    data, counts = asarray(input), asarray(lengths)
    if batch_first:
        data = data.swapaxes(0, 1)
    if data.ndim < 2 or tuple(counts.shape) != (data.shape[1],):
        raise ShapeError(
            f"pack_padded_sequence: an input of shape {tuple(asarray(input).shape)} and lengths of"
            f" shape {tuple(counts.shape)}; give a length for each sequence"
        )
    return PackedSequence(data, counts)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded sequences and their lengths; `padding_value` fills up each sequence.

    The result is as long as the longest sequence, or `total_length`. A compiled function needs
    `total_length`, because shapes must not depend on values.

    >>> import ferrograd as fg
    >>> rnn = fg.nn.utils.rnn
    >>> packed = rnn.pack_sequence([fg.ones(1), fg.ones(2)])
    >>> rnn.pad_packed_sequence(packed, batch_first=True)[0].tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    data, mask = sequence.data, sequence.mask
    steps = int(data.shape[0])
    mask = mask.reshape((*mask.shape, *(1,) * (data.ndim - 2)))
    out = _core.where(mask, data, padding_value)
    longest = int(sequence.lengths.max().item()) if total_length is None else total_length
    if longest <= steps:
        out = out[:longest]
    else:
        widths = [0, 0] * (data.ndim - 1) + [0, longest - steps]
        out = pad(out, widths, value=padding_value)
    return (out.swapaxes(0, 1) if batch_first else out), sequence.lengths


def pad_sequence(
    sequences: Sequence[Any],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, …) of several lengths joined as (T, N, …), or (N, T, …) with `batch_first`.

    >>> import ferrograd as fg
    >>> fg.nn.utils.rnn.pad_sequence([fg.ones(1), fg.ones(2)], batch_first=True).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    if padding_side not in ("right", "left"):
        raise ArgumentError(f'pad_sequence: padding_side={padding_side!r}; use "right" or "left"')
    given = [asarray(s) for s in sequences]
    if not given:
        raise ArgumentError("pad_sequence: no sequences; give at least one")
    longest = max(int(s.shape[0]) for s in given)
    rows = []
    for s in given:
        missing = longest - int(s.shape[0])
        ends = [0, missing] if padding_side == "right" else [missing, 0]
        rows.append(pad(s, [0, 0] * (s.ndim - 1) + ends, value=padding_value))
    return _core.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each with its own length.

    >>> import ferrograd as fg
    >>> [len(s) for s in fg.nn.utils.rnn.unpad_sequence(fg.ones(3, 2), [3, 1])]
    [3, 1]
    """
    data = asarray(padded_sequences)
    if not batch_first:
        data = data.swapaxes(0, 1)
    counts = asarray(lengths).tolist()
    return [data[row, : int(count)] for row, count in enumerate(counts)]


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (L, …) of several lengths.

    >>> import ferrograd as fg
    >>> fg.nn.utils.rnn.pack_sequence([fg.ones(1), fg.ones(2)]).lengths.tolist()
    [1, 2]
    """
    lengths = [int(asarray(s).shape[0]) for s in sequences]
    return PackedSequence(pad_sequence(sequences), asarray(lengths))


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one.

    >>> import ferrograd as fg
    >>> rnn = fg.nn.utils.rnn
    >>> [s.tolist() for s in rnn.unpack_sequence(rnn.pack_sequence([fg.ones(1), fg.ones(2)]))]
    [[1.0], [1.0, 1.0]]
    """
    return unpad_sequence(packed_sequences.data, packed_sequences.lengths)
