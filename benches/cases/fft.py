"""Fourier transforms of a line, a batch, a plane and a cube beside SciPy and PyTorch."""

from functools import partial
from typing import Any

import numpy as np

from harness import Case

from .common import module

#: The shape, the function without its kind, and the axis of batches.
SIZES: dict[str, tuple[tuple[int, ...], str, int | None]] = {
    "a line of 2^16": ((1 << 16,), "", -1),
    "a line of 10007": ((10007,), "", -1),
    "256 lines of 1024": ((256, 1024), "", -1),
    "1024 lines of 256, across": ((256, 1024), "", 0),
    "a plane of 512²": ((512, 512), "n", None),
    "a cube of 64³": ((64, 64, 64), "n", None),
}
#: PyTorch's name of the argument; the others say `axis`.
AXIS = {"torch": "dim"}


def setup(
    shape: tuple[int, ...], name: str, axis: int | None, threads: int, library: str
) -> dict[str, Any]:
    """`f` transforms `x`, SciPy's with as many workers."""
    rng = np.random.default_rng(0)
    values: Any = rng.standard_normal(shape)
    if not name.startswith("rfft"):
        values = values + 1j * rng.standard_normal(shape)
    options: dict[str, Any] = {} if axis is None else {AXIS.get(library, "axis"): axis}
    if library == "scipy":
        home, options = module("scipy.fft"), {**options, "workers": threads}
    else:
        home, values = module(library).fft, module(library).tensor(values)
    return {"f": partial(getattr(home, name), **options), "x": values}


CASES = [
    Case(
        f"{kind}{many}, {what}",
        "f(x)",
        partial(setup, shape, kind + many, axis, threads),
        unit="µs",
        threads=threads,
        goal=1.0,
        peers=("scipy", "torch"),
    )
    for what, (shape, many, axis) in SIZES.items()
    for kind in ("fft", "rfft", "irfft")
    for threads in (1, 2)
]
