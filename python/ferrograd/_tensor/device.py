"""The device of tensors: main memory, under PyTorch's name.

Invariant: there is one device, the CPU.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError, ArgumentTypeError


class device(str):  # noqa: N801
    """The device of a tensor: `"cpu"`. It equals the `device` of every tensor.

    >>> import ferrograd as fg
    >>> fg.device("cpu") == fg.ones(2).device, fg.device("cpu:0").index
    (True, 0)
    """

    __slots__ = ("index",)

    index: int | None  # type: ignore[assignment]

    def __new__(cls, kind: str = "cpu", index: int | None = None) -> device:
        """A device by its name, as `"cpu"` or `"cpu:0"`."""
        name, _, number = str(kind).partition(":")
        if name != "cpu":
            raise ArgumentError(
                f'device: there is no device "{kind}"; tensors live in main memory; use "cpu"'
            )
        self = super().__new__(cls, name)
        self.index = int(number) if number else index
        return self

    @property
    def type(self) -> str:
        """The kind of device."""
        return str(self)

    def __repr__(self) -> str:
        return f"device(type={str(self)!r})"

    def __enter__(self) -> device:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


_CPU = device()

Tensor.device = property(  # type: ignore[method-assign, assignment]
    lambda _: _CPU, doc='Where the elements are: always `device("cpu")`, which equals `"cpu"`.'
)


def check_device(where: Any) -> None:
    """Raises if a device is given that is not the CPU."""
    if where is not None:
        device(where)


def is_inference(tensor: Tensor) -> bool:
    """Whether a tensor was made in inference mode: it is never part of a graph."""
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"is_inference: the argument is a {type(tensor).__name__}; pass a tensor"
        )
    return tensor.is_inference()
