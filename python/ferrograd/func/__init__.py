"""Derivatives of functions and calls of modules with other parameters: `torch.func`."""

import typing as _typing

from ferrograd._inspect import missing_name_errors as _missing_name_errors
from ferrograd.func._functional_call import (
    functional_call as functional_call,
    grad_and_value as grad_and_value,
)
from ferrograd.transforms import (
    grad as grad,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name_errors.make_module_getattr("func")
