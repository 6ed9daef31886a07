"""Filters that run forwards and backwards: `filtfilt`.

The runs are `lfilter` and `sosfilt`.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ArgumentError, NotDifferentiableError, ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, to_float_array
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.signal._lfilter import lfilter, lfilter_zi
from ferrograd.scipy.signal._sosfilt import sosfilt, sosfilt_zi


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """`lfilter` forwards and backwards, without delay; keeps the shape of `x`.

    Args:
        padtype: how `x` is extended at its ends: "odd", "even", "constant" or None.
        padlen: the number of added samples; by default three times the number of coefficients.

    Differentiable to any order by `b`, `a` and `x`. Errors: `ShapeError` for fewer samples than
    `padlen`; `NotDifferentiableError` for `method="gust"` on tensors.

    >>> from ferrograd.scipy import signal
    >>> x = fg.tensor([0.0, 1.0, 0.0, 2.0, 0.0])
    >>> signal.filtfilt([0.5, 0.5], [1.0], x, padlen=1).tolist()
    [0.0, 0.5, 0.75, 1.0, 0.0]
    """
    if not holds_tensor([b, a, x]):
        return get_scipy_function("signal.filtfilt")(b, a, x, axis, padtype, padlen, method, irlen)
    if method != "pad":
        raise NotDifferentiableError(
            f"filtfilt: method {method!r} has no derivative here; use method='pad'"
        )
    b, a, x = (
        np.reshape(as_floats(b), -1),
        np.reshape(as_floats(a), -1),
        np.moveaxis(as_floats(x), axis, -1),
    )
    taps = max(np.shape(a)[0], np.shape(b)[0])
    edge, x = _extend_signal("filtfilt", x, padtype, padlen, taps)
    state = lfilter_zi(b, a)
    y = x
    for _ in range(2):
        y = np.flip(lfilter(b, a, y, zi=state * y[..., :1])[0], -1)
    return np.moveaxis(y[..., edge : np.shape(y)[-1] - edge], -1, axis)


def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """`sosfilt` forwards and backwards; the arguments are those of `filtfilt`.

    >>> from ferrograd.scipy import signal
    >>> sos = [[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]
    >>> signal.sosfiltfilt(sos, fg.tensor([0.0, 1.0, 0.0, 2.0, 0.0]), padlen=1).tolist()
    [0.0, 0.5, 0.75, 1.0, 0.0]
    """
    if not holds_tensor([sos, x]):
        return get_scipy_function("signal.sosfiltfilt")(sos, x, axis, padtype, padlen)
    sos, x = as_floats(sos), np.moveaxis(as_floats(x), axis, -1)
    state = sosfilt_zi(sos)
    known = to_float_array(sos)
    taps = 2 * len(known) + 1 - int(min((known[:, 2] == 0).sum(), (known[:, 5] == 0).sum()))
    edge, y = _extend_signal("sosfiltfilt", x, padtype, padlen, taps)
    state = np.reshape(state, (len(known), *(1,) * (np.ndim(y) - 1), 2))
    for _ in range(2):
        y = np.flip(sosfilt(sos, y, zi=state * y[..., :1])[0], -1)
    return np.moveaxis(y[..., edge : np.shape(y)[-1] - edge], -1, axis)


def _extend_signal(
    name: str, x: Any, padtype: str | None, padlen: int | None, taps: int
) -> tuple[int, Any]:
    """The length of the padding, and the signal padded at both ends."""
    if padtype not in ("odd", "even", "constant", None):
        raise ArgumentError(
            f"{name}: padtype is {padtype!r}; give 'odd', 'even', 'constant' or None"
        )
    edge = 0 if padtype is None else 3 * taps if padlen is None else padlen
    if np.shape(x)[-1] <= edge:
        raise ShapeError(
            f"{name}: x has {np.shape(x)[-1]} samples along the axis and padlen is {edge}; give"
            " more samples or a smaller padlen"
        )
    if not edge:
        return 0, x
    first, last = x[..., :1], x[..., -1:]
    if padtype == "constant":
        wide = [(0, 0)] * (np.ndim(x) - 1) + [(edge, edge)]
        return edge, np.pad(x, wide, mode="edge")
    before = np.flip(x[..., 1 : edge + 1], -1)
    after = np.flip(x[..., -edge - 1 : -1], -1)
    if padtype == "odd":
        before, after = 2 * first - before, 2 * last - after
    return edge, np.concatenate([before, x, after], -1)
