"""Finding the cause of an error: anomaly mode and recorded call sites.

Invariant: both cost nothing while they are off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ferrograd._core import _switch_anomaly, _switch_sites
from ferrograd._tensor.modes import _decorate, _GradMode, _ImmediateMode, _SettingMode, _SwitchMode

__all__ = ["detect_anomaly", "record_call_sites", "set_detect_anomaly"]


class _Anomaly(_GradMode):
    __slots__ = ("_check", "_mode")

    def _set(self, mode: bool, check_nan: bool) -> None:
        self._mode = bool(mode)
        self._check = bool(check_nan)

    def _switch(self) -> int:
        return _switch_anomaly(self._mode, self._check)


class detect_anomaly(_Anomaly):  # noqa: N801
    """Anomaly mode: an error of backward names the forward call that it comes from.

    Operations remember the lines of the program that called them; an exception of their backward
    has these lines as a note. With `check_nan`, backward raises `GradientError` at the first
    operation that turns gradients without NaN into NaN. It also names the operation with the first
    NaN of the forward, if there was one. Passes are serial and everything is slower, so use it only
    to find an error. For this thread only; also a decorator, with and without parentheses.

    >>> import ferrograd as fg
    >>> x = fg.tensor([0.0], requires_grad=True)
    >>> with fg.detect_anomaly():
    ...     y = (fg.sqrt(x) * 0.0).sum()
    ...     try:
    ...         y.backward()
    ...     except fg.errors.GradientError as error:
    ...         print(str(error).split(";")[0])
    backward: "sqrt" made NaN of gradients without NaN, for its input 0
    """

    __slots__ = ()

    def __new__(cls, check_nan: bool | Callable[..., Any] = True) -> Any:
        """`detect_anomaly()` is a mode; `detect_anomaly(f)` is `f` decorated."""
        if callable(check_nan):
            return _decorate(check_nan, cls)
        return super().__new__(cls)

    def __init__(self, check_nan: bool | Callable[..., Any] = True) -> None:
        super().__init__()
        self._set(True, bool(check_nan))

    def _make_new(self) -> _GradMode:
        return cast(_GradMode, type(self)(self._check))


class set_detect_anomaly(_Anomaly, _ImmediateMode):  # noqa: N801
    """Switches anomaly mode at once; as a context manager it switches back at the end."""

    __slots__ = ()

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        self._set(mode, check_nan)
        self.__enter__()

    def _make_new(self) -> _GradMode:
        again = _Anomaly()
        again._set(self._mode, self._check)
        return again


class record_call_sites(_SettingMode):  # noqa: N801
    """Makes messages name the lines of the program that called the operations.

    It takes effect at once; as a context manager it restores the previous mode; it is also a
    decorator. The error about a saved value that was changed in place then names both lines,
    `explain_no_grad` names the line that cut the graph, and errors of backward have the forward
    call as a note. It costs about a microsecond for each operation. Anomaly mode includes it.
    """

    __slots__ = ()

    _set_switch = staticmethod(_switch_sites)

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        """`record_call_sites()` acts; `record_call_sites(f)` is `f` decorated."""
        if callable(mode):
            return _decorate(mode, lambda: _SwitchMode(_switch_sites, True))
        return super().__new__(cls)

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        super().__init__(bool(mode))
