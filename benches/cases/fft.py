"""Fourier and cosine transforms of lines, planes and a cube beside NumPy, SciPy and PyTorch."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from harness import Case

from .common import import_library

#: The real shape, the function without its kind, and the axis of batches.
SIZES: dict[str, tuple[tuple[int, ...], str, int | None]] = {
    "a line of 2^10": ((1 << 10,), "", -1),
    "a line of 2^16": ((1 << 16,), "", -1),
    "a line of 10007": ((10007,), "", -1),
    "256 lines of 1024": ((256, 1024), "", -1),
    "256 lines of 2046": ((256, 2046), "", -1),
    "1024 lines of 256, across": ((256, 1024), "", 0),
    "a plane of 512²": ((512, 512), "n", None),
    "a plane of 1000²": ((1000, 1000), "n", None),
    "a cube of 64³": ((64, 64, 64), "n", None),
}
#: PyTorch's name of the argument; the others say `axis`.
AXIS = {"torch": "dim"}


def make_values(shape: tuple[int, ...], kind: str, axis: int | None, dtype: str) -> Any:
    """What a kind of transform takes: real or complex values, or half a spectrum."""
    rng = np.random.default_rng(0)
    if kind in ("rfft", "dct"):
        return rng.standard_normal(shape).astype(dtype)
    if kind == "irfft":
        dims = list(shape)
        dims[-1 if axis is None else axis] = dims[-1 if axis is None else axis] // 2 + 1
        shape = tuple(dims)
    drawn = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return drawn.astype("complex64" if dtype == "float32" else "complex128")


def set_up(
    case: tuple[tuple[int, ...], str, int | None], kind: str, dtype: str, threads: int, library: str
) -> dict[str, Any] | None:
    """`f` transforms `x`, SciPy's with as many workers; PyTorch has no cosine transforms."""
    shape, many, axis = case
    if kind == "dct" and library not in ("ferrograd", "scipy"):
        return None
    if library == "numpy" and threads > 1:
        return None
    x = make_values(shape, kind, axis, dtype)
    options: dict[str, Any] = {} if axis is None else {AXIS.get(library, "axis"): axis}
    if kind == "irfft":
        if axis is not None:
            options["n"] = shape[axis]
        else:
            options["s"] = shape
            options[AXIS.get(library, "axes")] = tuple(range(len(shape)))
    if library == "scipy":
        home, options = import_library("scipy.fft"), {**options, "workers": threads}
    else:
        home = import_library(library).fft
        x = x if library == "numpy" else import_library(library).tensor(x)
    return {"f": partial(getattr(home, kind + many), **options), "x": x}


def make_cases() -> Iterator[Case]:
    """Every kind of transform at every size; in single precision the forward ones."""
    for kind in ("fft", "rfft", "irfft", "dct"):
        for what, case in SIZES.items():
            for dtype in ("float64", "float32"):
                if dtype == "float32" and kind not in ("fft", "rfft"):
                    continue
                for threads in (1, 2):
                    name = f"{kind}{case[1]} {dtype}, {what}"
                    yield Case(
                        name,
                        "f(x)",
                        partial(set_up, case, kind, dtype, threads),
                        unit="µs",
                        threads=threads,
                        goal=1.0,
                        peers=("numpy", "scipy", "torch"),
                    )


CASES = list(make_cases())
