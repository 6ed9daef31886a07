"""Base of the losses: a module that has options and calls one function.

Invariant: the constructor refuses a wrong reduction.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn._constructor_signature import make_signature
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_flags, check_reduction


class Loss(Module):
    """A module that compares; `defaults` are its options in their order.

    `reduction` is "mean", "sum" or "none", the losses themselves. A weight among the options is a
    buffer, which `state_dict` has.
    """

    function: ClassVar[str]
    defaults: ClassVar[dict[str, Any]] = {"reduction": "mean"}
    #: Options that are tensors.
    tensors: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__signature__ = make_signature(cls.defaults)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, name: str | None = None, **options: Any) -> None:
        super().__init__(name)
        op = type(self).__name__
        if len(args) > len(self.defaults) or not set(options) <= set(self.defaults):
            raise ArgumentError(
                f"{op}: the options are {list(self.defaults)}; got {args} {options}"
            )
        given = {**self.defaults, **dict(zip(self.defaults, args, strict=False)), **options}
        self._check_reduction(op, given["reduction"])
        truths = [key for key, value in self.defaults.items() if isinstance(value, bool)]
        check_flags(op, **{key: given[key] for key in truths})
        for key, value in given.items():
            if key in self.tensors and isinstance(value, Tensor):
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def _check_reduction(self, op: str, reduction: str) -> None:
        check_reduction(op, reduction)

    def forward(self, *inputs: Any) -> Tensor:
        """The loss of the function's inputs, in its order."""
        options = {key: getattr(self, key) for key in self.defaults}
        out: Tensor = getattr(F, self.function)(*inputs, **options)
        return out

    def extra_repr(self) -> str:
        """The reduction, and the options that are not the default."""
        parts = [
            f"{key}={getattr(self, key)!r}"
            for key, default in self.defaults.items()
            if key == "reduction" or (key not in self.tensors and getattr(self, key) != default)
        ]
        return ", ".join(parts)
