"""Hostile data: numbers, words, arrays and tensors of every kind.

Invariant: the same generator state makes an equal value, whatever was made before.
"""

import decimal
import fractions
from math import prod
from random import Random
from typing import Any

import numpy as np

import ferrograd as fg

INTEGERS = (0, 1, 2, 3, 4, -1, -2, -5, 7, 63, 64, 65)
ENDS = (2**31 - 1, 2**31, -(2**31) - 1, 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 2**70)
FLOATS = (0.0, -0.0, 0.5, 1.0, -2.5, 1e-320, 1e308, 1e19, float("nan"), float("inf"))
WORDS = (
    "",
    "sum",
    "mean",
    "none",
    "fro",
    "nuc",
    "same",
    "full",
    "float32",
    "float16",
    "complex128",
    "ij,jk->ik",
    "i,i",
    "...ij->...ji",
    "i" * 200,
    "a b -> b a",
    "x\0y",
    "\ud800",
    "é" * 99,
    "numpy",
    "C",
    "F",
)
DTYPES = (
    "f8",
    "f8",
    "f8",
    "f4",
    "i8",
    "i4",
    "i2",
    "u1",
    "u8",
    "?",
    "f2",
    ">f8",
    "c16",
    "O",
    "U3",
    "M8[s]",
    "V5",
)
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5)


def number(rng: Random) -> Any:
    """A number of some kind."""
    kind = rng.randrange(12)
    if kind < 5:
        return rng.choice(INTEGERS)
    if kind < 7:
        return rng.choice(ENDS)
    if kind < 9:
        return rng.choice(FLOATS)
    return rng.choice(
        (
            True,
            False,
            1j,
            decimal.Decimal("1.5"),
            fractions.Fraction(1, 3),
            np.float64(2.5),
            np.float32(-1),
            np.int64(3),
            np.uint64(2**63),
            np.float16(1),
            np.bool_(True),
            np.complex128(1j),
            np.datetime64("2000-01-01"),
            np.str_("x"),
        )
    )


def shape(rng: Random) -> tuple[int, ...]:
    """A small shape."""
    return tuple(rng.choice(SIZES) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 4))))


def array(rng: Random) -> Any:
    """An array: any dtype, any layout."""
    kind = np.dtype(rng.choice(DTYPES))
    dims = shape(rng)
    made = np.arange(np.prod(dims, dtype=int)).reshape(dims) - 2
    with np.errstate(all="ignore"):
        made = np.zeros(dims, kind) if kind.kind in "VM" else made.astype(kind)
    if made.dtype == object and made.size and rng.randrange(2):
        made.flat[0] = object()
    match rng.randrange(9):
        case 0:
            return made.T
        case 1:
            return made[..., ::-1] if made.ndim else made
        case 2:
            return np.broadcast_to(made, (3, *made.shape))
        case 3:
            made.flags.writeable = False
        case 4 if made.dtype.itemsize > 1 and made.dtype != object:
            room = np.zeros(made.nbytes + 1, np.uint8)[1:].view(made.dtype)
            return room.reshape(made.shape)
        case 5 if made.dtype != object:
            return np.ma.masked_array(made)
    return made


def huge(rng: Random) -> Any:
    """Axes longer than memory: of an array without elements, or of an expanded tensor."""
    if rng.randrange(2):
        return fg.tensor(1.5).expand(*rng.choice(((2**59,), (2**30, 2**29), (1, 2**59))))
    return np.broadcast_to(np.float64(1), rng.choice(((2**59, 0), (0, 2**59), (2**30, 2**29, 0))))


def plain(rng: Random) -> np.ndarray:
    """An ordinary array of floats."""
    dims = shape(rng)
    return np.array([rng.randrange(-99, 99) / 32 for _ in range(prod(dims))]).reshape(dims)


def tensor(rng: Random) -> Any:
    """A tensor: leaf or not, recorded or not, view, inference, with history that is used up."""
    made = fg.tensor(plain(rng), requires_grad=bool(rng.randrange(2)))
    match rng.randrange(14):
        case 0:
            return made * 2.0
        case 1:
            return made.T
        case 2 if made.requires_grad:
            used = made.exp()
            used.sum().backward()
            return used
        case 3:
            with fg.inference_mode():
                return made + 1.0
        case 4:
            return made.reshape(-1)[::2]
        case 5:
            return fg.tensor(np.arange(made.size).reshape(made.shape))
        case 6:
            return made > 0
        case 7:
            return made.expand(3, *made.shape) if made.ndim else made.expand(3)
        case 8:
            return fg.tensor(1.0).expand(2**59)[:: 2**57]
        case 9:
            return made.astype(fg.float32)
        case 11:
            return fg.asarray(np.broadcast_to(1.0, (2**59, 0)))
        case 10:
            return fg.tensor(1.5, requires_grad=bool(rng.randrange(2)))
    return made


def word(rng: Random) -> Any:
    """A string."""
    return rng.choice(WORDS)


def nothing(rng: Random) -> Any:
    """A value that is no number."""
    odd = (None, None, ..., slice(None), slice(2**62, None, -1), slice(2**70, -(2**70), 2))
    more = (NotImplemented, slice("a"), b"\x00\xff", object(), int, np.dtype("f4"), fg.float32)
    return rng.choice((*odd, *more))


def numbers(rng: Random) -> Any:
    """A tuple or list of numbers: axes, shapes, sections."""
    kind = rng.choice((tuple, list))
    return kind(number(rng) for _ in range(rng.choice((0, 1, 2, 2, 3, 4, 70))))


def simple(rng: Random) -> Any:
    """A value without anything inside."""
    kinds: tuple[Any, ...] = (number, tensor, array, plain, word, nothing)
    return rng.choice(kinds)(rng)
