"""What becomes of the tensors that operations save for the backward.

Owns: `saved_tensors_hooks`, `save_on_cpu` and the switch that forbids hooks. Never packs by itself:
the core calls the innermost pair of functions. Invariant: a block that ends, also by an exception,
leaves the hooks as it found them.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, Self

from ferrograd._core import (
    Tensor,
    _increment_version,
    _pop_saved_hooks,
    _push_saved_hooks,
)
from ferrograd.errors import GradientError

__all__ = [
    "disable_saved_tensors_hooks",
    "increment_version",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _Blocks(threading.local):
    #: Why hooks are forbidden, the innermost block last.
    forbidden: tuple[str, ...] = ()
    #: How many blocks with hooks are open.
    hooks: int = 0


_blocks = _Blocks()


class saved_tensors_hooks:  # noqa: N801
    """Packs what operations inside the block save, and unpacks it when the backward needs it.

    `pack(tensor)` is called with each tensor that is saved (without its history) and returns any
    object; `unpack(object)` must return a tensor or array of the same shape and dtype. Only the
    innermost block applies. What pack returned is kept instead of the tensor, so changing the
    tensor in place afterwards is no error.

    ```python
    import ferrograd as fg
    x = fg.ones(3, requires_grad=True)
    with fg.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().astype("float16"),
                                               lambda a: fg.tensor(a, dtype="float64")):
        y = x.exp()
    y.sum().backward()
    ```
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> Self:
        if _blocks.forbidden:
            raise GradientError(_blocks.forbidden[-1])
        _push_saved_hooks(self.pack_hook, self.unpack_hook)
        _blocks.hooks += 1
        return self

    def __exit__(self, *exception: object) -> None:
        if not _blocks.hooks:
            raise GradientError(
                "saved_tensors_hooks: a block ends on this thread, but none began; use it in a with"
                " statement"
            )
        _pop_saved_hooks()
        _blocks.hooks -= 1


class save_on_cpu:  # noqa: N801
    """Does nothing: every tensor is on the CPU. For code that also runs elsewhere."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        del pin_memory, device_type

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


class disable_saved_tensors_hooks:  # noqa: N801
    """Inside the block `saved_tensors_hooks` raises `GradientError(error_message)`.

    So does this block itself where hooks are in force already.
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> Self:
        if _blocks.hooks:
            raise GradientError(self.error_message)
        _blocks.forbidden += (self.error_message,)
        return self

    def __exit__(self, *exception: object) -> None:
        _blocks.forbidden = _blocks.forbidden[:-1]


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Notes that memory was changed behind the engine's back: what was saved of it is now invalid.

    For those who write through an adopted array or a foreign library. Takes a tensor or several.
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _increment_version(one)
