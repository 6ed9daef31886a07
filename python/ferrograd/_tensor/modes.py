"""Grad modes: context managers and decorators over the core's thread-local switch.

Invariant: the mode is restored when a `with` block, a decorated call or one step of a decorated
generator or coroutine ends, also by an exception.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, ClassVar, Self, TypeVar, cast

from ferrograd._core import (
    _restore_mode,
    _switch_grad,
    _switch_inference,
    _switch_multithreading,
)

__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])


class _GradMode:
    """A context manager of a mode: reusable, re-entrant, usable from several threads in turn."""

    __slots__ = ("_before",)

    #: The mode to return to, and the same of the block around this one.
    _before: Any

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """A mode that is not entered yet."""
        self = object.__new__(cls)
        self._before = None
        return self

    def _switch(self) -> int:
        raise NotImplementedError

    def _make_new(self) -> _GradMode:
        return type(self)()

    def __enter__(self) -> Self:
        self._before = self._switch(), self._before
        return self

    def __exit__(self, *exception: object) -> None:
        mode, self._before = self._before
        _restore_mode(mode)

    def __call__(self, function: F) -> F:
        """Decorates a function, generator function, coroutine function or async generator."""
        return _decorate(function, self._make_new)


def _decorate(function: F, mode: Callable[[], _GradMode]) -> F:
    if inspect.isclass(function):
        warnings.warn(
            f"Decorating classes is deprecated: the mode holds while {function.__name__} is"
            " instantiated, not in its methods; decorate the methods",
            FutureWarning,
            stacklevel=3,
        )
    if inspect.isasyncgenfunction(function):
        return cast(F, _decorate_async_generator(function, mode))
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _await_in_mode(function(*args, **kwargs), mode)

        return cast(F, coroutine)
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            return (yield from _run_steps_in_mode(function(*args, **kwargs), mode))

        return cast(F, generator)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with mode():
            return function(*args, **kwargs)

    return cast(F, wrapper)


def _run_steps_in_mode(inner: Any, mode: Callable[[], _GradMode]) -> Generator[Any, Any, Any]:
    """Runs each step of a generator or coroutine in the mode; the consumer runs outside of it."""
    try:
        with mode():
            out = inner.send(None)
        while True:
            try:
                sent = yield out
            except GeneratorExit:
                with mode():
                    inner.close()
                raise
            except BaseException as error:
                with mode():
                    out = inner.throw(error)
            else:
                with mode():
                    out = inner.send(sent)
    except StopIteration as end:
        return end.value


@types.coroutine
def _await_in_mode(awaitable: Any, mode: Callable[[], _GradMode]) -> Generator[Any, Any, Any]:
    return (yield from _run_steps_in_mode(awaitable, mode))


def _decorate_async_generator(
    function: Callable[..., Any], mode: Callable[[], _GradMode]
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        step = inner.__anext__()
        try:
            while True:
                try:
                    out = await _await_in_mode(step, mode)
                except StopAsyncIteration:
                    return
                try:
                    sent = yield out
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)
        finally:
            await _await_in_mode(inner.aclose(), mode)

    return async_generator


class _DecoratorMode(_GradMode):
    """A mode that is also a decorator without parentheses: `@no_grad`."""

    __slots__ = ()

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """`no_grad()` is a mode; `no_grad(f)` is `f` decorated."""
        if function is not None:
            return _decorate(function, cls)
        self = object.__new__(cls)
        self._before = None
        return self


class no_grad(_DecoratorMode):  # noqa: N801
    """Operations inside are not recorded."""

    __slots__ = ()

    def __enter__(self) -> Self:
        self._before = _switch_grad(False), self._before
        return self


class enable_grad(_DecoratorMode):  # noqa: N801
    """Operations inside are recorded, also within `no_grad`."""

    __slots__ = ()

    def __enter__(self) -> Self:
        self._before = _switch_grad(True), self._before
        return self


class _ImmediateMode(_GradMode):
    """A mode that acts when it is made; as a context manager it switches back at the end."""

    __slots__ = ()

    def _make_new(self) -> _GradMode:
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self._before is None:
            self._before = self._switch(), None
        return self

    def __call__(self, function: F) -> F:
        """Decorates; the immediate switch is undone."""
        if self._before is not None:
            self.__exit__()
        return _decorate(function, self._make_new)


class _SwitchMode(_GradMode):
    """A mode that sets a switch of the core when it is entered."""

    __slots__ = ("_mode", "_set_switch")

    def __init__(self, put: Callable[[bool], int], mode: bool) -> None:
        self._set_switch, self._mode = put, mode

    def _switch(self) -> int:
        return self._set_switch(self._mode)


class _SettingMode(_ImmediateMode):
    """A mode that sets a switch of the core by `_set_switch`; it is set to the argument."""

    __slots__ = ("_mode",)

    _set_switch: ClassVar[staticmethod[[bool], int]]

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._before = self._set_switch(self._mode), None

    def _switch(self) -> int:
        return type(self)._set_switch(self._mode)

    def _make_new(self) -> _GradMode:
        return _SwitchMode(type(self)._set_switch, self._mode)


class set_grad_enabled(_SettingMode):  # noqa: N801
    """Switches recording at once; as a context manager it switches back at the end."""

    __slots__ = ()

    _set_switch = staticmethod(_switch_grad)


class set_multithreading_enabled(_SettingMode):  # noqa: N801
    """Whether backward passes that this thread begins may run branches on other threads.

    Acts at once; as a context manager or decorator it switches back at the end. With False, every
    node runs on the calling thread, one after the other; a large operation may still use threads
    (`set_num_threads` limits those). Gradients have the same bits either way.

    >>> import ferrograd as fg
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> with fg.autograd.set_multithreading_enabled(False):
    ...     (x * x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """

    __slots__ = ()

    _set_switch = staticmethod(_switch_multithreading)


class inference_mode(_GradMode):  # noqa: N801
    """`no_grad` for code whose results are never used in a recorded operation."""

    __slots__ = ("_mode",)

    _mode: bool

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        """`inference_mode()` is a mode; `inference_mode(f)` is `f` decorated."""
        if callable(mode):
            return _decorate(mode, cls)
        self = object.__new__(cls)
        self._mode, self._before = bool(mode), None
        return self

    def _make_new(self) -> _GradMode:
        return cast(_GradMode, type(self)(self._mode))

    def __enter__(self) -> Self:
        self._before = _switch_inference(self._mode), self._before
        return self
