"""The cases of `make bench`, one file per concern."""

from . import (
    blocks,
    branches,
    chain,
    compiled,
    complexes,
    elementwise,
    fft,
    folds,
    function,
    loops,
    matrices,
    mlp,
    optim,
    programs,
    small,
    transforms,
)

ALL = {
    "small": small.CASES,
    "function": function.CASES,
    "elementwise": elementwise.CASES,
    "complex": complexes.CASES,
    "folds": folds.CASES,
    "fft": fft.CASES,
    "chain": chain.CASES,
    "blocks": blocks.CASES,
    "branches": branches.CASES,
    "mlp": mlp.CASES,
    "optim": optim.CASES,
    "programs": programs.CASES,
    "transforms": transforms.CASES,
    "matrices": matrices.CASES,
    "compiled": compiled.CASES,
    "loops": loops.CASES,
}
