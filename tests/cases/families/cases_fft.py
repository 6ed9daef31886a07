"""The operation table's rows of `fg.fft`.

Complex results are compared by a real line of which they are half the spectrum; their own values
are those of `test_fft.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from case_model import A, Case, call, op

NOTE = "sums of many terms: the error is relative to the largest, and one NaN is in all of them"


def lines(f: Callable[..., Any]) -> Callable[..., Any]:
    """The transform, followed by one with real values."""

    def seen(*args: Any, **kwargs: Any) -> Any:
        return np.fft.irfft(f(*args, **kwargs), 12)

    return seen


def row(name: str, *calls: Any, real: bool = False, scipy_only: bool = False, **over: Any) -> Case:
    home = scipy.fft if scipy_only else np.fft
    over = {"rtol": 1e-12, "f32": 1e-5, "ints": "float", "finite": True, "note": NOTE, **over}
    through = None if real else lines
    return op(name, getattr(home, name), *calls, path=f"fft.{name}", through=through, **over)


LINE = (call(A(3, 6)), call(A(4), 7), call(A(2, 3, 2), 3, 1, "ortho"), call(A(5, 2), axis=0))
AREA = (call(A(3, 4)), call(A(2, 3, 4), (3, 2), (0, 2)), call(A(3, 5), norm="forward"))
MANY = (*AREA, call(A(2, 3, 4), axes=(2, 1, 0), norm="ortho"))
WAVE = (call(A(3, 6)), call(A(5), 1), call(A(2, 5), 3, 4, 0), call(A(4), 4, norm="ortho"))
WAVES = (call(A(3, 4)), call(A(2, 3, 3), 3, (4, 2), (0, 1)), call(A(3, 3), 1, norm="ortho"))
SHIFT = (call(A(5)), call(A(2, 3)), call(A(4, 3, 2), (0, 2)), call(A(3, 4), 1))

CASES = (
    *(row(name, *LINE, real=name in ("irfft", "hfft")) for name in ("fft", "ifft", "rfft")),
    *(row(name, *LINE, real=name != "ihfft") for name in ("irfft", "hfft", "ihfft")),
    *(row(name, *AREA, real=name == "irfft2") for name in ("fft2", "ifft2", "rfft2", "irfft2")),
    *(row(name, *MANY, real=name == "irfftn") for name in ("fftn", "ifftn", "rfftn", "irfftn")),
    *(row(n, *AREA, real=n == "hfft2", scipy_only=True) for n in ("hfft2", "ihfft2")),
    *(row(n, *MANY, real=n == "hfftn", scipy_only=True) for n in ("hfftn", "ihfftn")),
    *(row(n, *WAVE, real=True, scipy_only=True) for n in ("dct", "idct", "dst", "idst")),
    *(row(n, *WAVES, real=True, scipy_only=True) for n in ("dctn", "idctn", "dstn", "idstn")),
    *(
        row(name, *SHIFT, real=True, ints="numpy", finite=False)
        for name in ("fftshift", "ifftshift")
    ),
)
