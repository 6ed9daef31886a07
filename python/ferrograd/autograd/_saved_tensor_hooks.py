"""Hooks for the tensors that operations save for the backward.

Invariant: a block that ends, also by an exception, restores the hooks.
"""

from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any, Self

from ferrograd._core import (
    Tensor,
    _disallow_saved_mutation,
    _end_saved_hooks,
    _forbid_saved_hooks,
    _increment_version,
    _push_saved_hooks,
    _restore_mode,
)
from ferrograd.errors import GradientError

__all__ = [
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "disallow_mutation_on_saved_tensors",
    "increment_version",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _HookBlock:
    """A block of this thread: reusable, re-entrant, usable from several threads.

    One that a hook or another callback of a backward enters ends with that callback, and leaving it
    later changes nothing.
    """

    def __init__(self) -> None:
        self._open: list[int] = []
        #: The state at the begin of each of them.
        self._threads: dict[int, int] = {}

    def _begin(self) -> int:
        raise NotImplementedError

    def __enter__(self) -> Self:
        key = self._begin()
        self._open.append(key)
        self._threads[key] = get_ident()
        return self

    def __exit__(self, *exception: object) -> None:
        key = _end_saved_hooks(self._open)
        if key is None:
            here = [key for key in self._open if self._threads.get(key) == get_ident()]
            key = here[-1] if here else None
        if key is None:
            raise GradientError(
                f"{type(self).__name__}: a block ends on this thread, but none began; use it in a"
                " with statement"
            )
        self._open.remove(key)
        self._threads.pop(key, None)


class saved_tensors_hooks(_HookBlock):  # noqa: N801
    """Packs tensors that operations inside the block save; the backward unpacks them.

    `pack(tensor)` is called with each saved tensor (without its history) and returns any object.
    `unpack(object)` must return a tensor or array of the same shape and dtype. Only the innermost
    block applies. The packed object is kept instead of the tensor, so a later in-place change of
    the tensor is not an error.

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
        super().__init__()
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _begin(self) -> int:
        key = _push_saved_hooks(self.pack_hook, self.unpack_hook)
        if isinstance(key, str):
            raise GradientError(key)
        return key


class _MutationMode:
    """A block in which a write to saved elements is an error of the backward, or not."""

    _refused: bool

    def __init__(self) -> None:
        self._before: list[int] = []

    def __enter__(self) -> Self:
        self._before.append(_disallow_saved_mutation(self._refused))
        return self

    def __exit__(self, *exception: object) -> None:
        _restore_mode(self._before.pop())


class allow_mutation_on_saved_tensors(_MutationMode):  # noqa: N801
    """Lets programs write to tensors that operations have saved, which is the default.

    Saved elements are copied right before the first write to them; a write to other elements
    copies nothing. For programs that were written for PyTorch, and inside
    `disallow_mutation_on_saved_tensors`.

    ```python
    import ferrograd as fg
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = (y**2).sum()
    y += 10
    z.backward()
    x.grad.tolist()  # [2.0, 4.0]
    ```
    """

    _refused = False


class disallow_mutation_on_saved_tensors(_MutationMode):  # noqa: N801
    """Makes a backward raise where it needs a tensor that was written to inside the block.

    As in PyTorch, the write itself raises nothing, and it counts for the whole memory, whichever
    elements it changes. The error names the operation that saved the tensor and the one that wrote
    to it, and the lines of both under `fg.record_call_sites()`.

    ```python
    import ferrograd as fg
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = (y**2).sum()
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        y += 10
    z.backward()  # raises InPlaceError
    ```
    """

    _refused = True


class save_on_cpu:  # noqa: N801
    """Does nothing: every tensor is on the CPU. For code that also runs elsewhere."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        del pin_memory, device_type

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


class disable_saved_tensors_hooks(_HookBlock):  # noqa: N801
    """Inside the block `saved_tensors_hooks` raises `GradientError(error_message)`.

    So does this block itself where hooks are in force already.
    """

    def __init__(self, error_message: str) -> None:
        super().__init__()
        self.error_message = error_message

    def _begin(self) -> int:
        key = _forbid_saved_hooks(self.error_message)
        if key is None:
            raise GradientError(self.error_message)
        return key


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Declares that other code changed the memory: saved values of it are now invalid.

    Use it after writes through an adopted array or by a foreign library. Takes one or several
    tensors.
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _increment_version(one)
