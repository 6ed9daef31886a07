"""Filters in second-order sections: `sosfilt`.

Each section is an `lfilter`.
"""

from __future__ import annotations

from typing import Any

import ferrograd.numpy as np
from ferrograd.errors import ShapeError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats
from ferrograd.scipy._scipy_primitives import get_scipy_function
from ferrograd.scipy.signal._lfilter import lfilter, lfilter_zi


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The sections of `sos`, of shape `(sections, 6)` with rows `b, a`, one after the other.

    `zi` has the shape `(sections, ...)`; the other axes are those of `x`, with 2 elements along the
    axis. With it the result is `(y, zf)`. Differentiable to any order by all of them.

    >>> from ferrograd.scipy import signal
    >>> sos = [[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]]
    >>> fg.grad(lambda x: signal.sosfilt(sos, x)[2])(np.zeros(3)).tolist()
    [0.125, 0.25, 0.5]
    """
    if not holds_tensor([sos, x, zi]):
        return get_scipy_function("signal.sosfilt")(sos, x, axis, zi)
    sos, x = _check_sos("sosfilt", sos), as_floats(x)
    if zi is None:
        for row in range(np.shape(sos)[0]):
            x = lfilter(sos[row, :3], sos[row, 3:], x, axis)
        return x
    zi, states = as_floats(zi), []
    if np.shape(zi)[0] != np.shape(sos)[0]:
        raise ShapeError(
            f"sosfilt: zi has shape {np.shape(zi)} for {np.shape(sos)[0]} sections; give a state"
            " for each"
        )
    for row in range(np.shape(sos)[0]):
        x, state = lfilter(sos[row, :3], sos[row, 3:], x, axis, zi[row])
        states.append(state)
    return x, np.stack(states)


def sosfilt_zi(sos: Any) -> Any:
    """The states of `sosfilt` for a step that has lasted forever, of shape `(sections, 2)`.

    >>> from ferrograd.scipy import signal
    >>> signal.sosfilt_zi([[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]]).tolist()
    [[0.5, 0.0]]
    """
    sos = _check_sos("sosfilt_zi", sos)
    states, scale = [], 1.0
    for row in range(np.shape(sos)[0]):
        b, a = sos[row, :3], sos[row, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * np.sum(b) / np.sum(a)
    return np.stack(states)


def _check_sos(name: str, sos: Any) -> Any:
    sos = as_floats(sos)
    if np.ndim(sos) != 2 or np.shape(sos)[1] != 6 or not np.shape(sos)[0]:
        raise ShapeError(f"{name}: sos has shape {np.shape(sos)}; give rows of six coefficients")
    return sos
