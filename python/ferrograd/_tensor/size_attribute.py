"""The value of `Tensor.size`: NumPy's number that also answers PyTorch's call."""

from typing import overload


class Size(int):
    """The number of elements; called, the shape or the size of one axis."""

    _shape: tuple[int, ...]

    def __new__(cls, count: int, shape: tuple[int, ...]) -> "Size":
        """A number that also keeps the shape."""
        self = super().__new__(cls, count)
        self._shape = shape
        return self

    @overload
    def __call__(self) -> tuple[int, ...]: ...
    @overload
    def __call__(self, dim: int) -> int: ...
    def __call__(self, dim: int | None = None) -> tuple[int, ...] | int:
        """`x.size()` is the shape, `x.size(0)` the size of one axis."""
        return self._shape if dim is None else self._shape[dim]

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Pickles as the plain number."""
        return int, (int(self),)
