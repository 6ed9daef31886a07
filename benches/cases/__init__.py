"""The cases of `make bench`, one file per concern."""

from . import branches, chain, function, mlp, small

ALL = {
    "small": small.CASES,
    "function": function.CASES,
    "chain": chain.CASES,
    "branches": branches.CASES,
    "mlp": mlp.CASES,
}
