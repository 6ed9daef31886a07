"""What the cases share: modules by name, and one way to make a tensor in each library."""

import importlib
from types import ModuleType
from typing import Any

import numpy as np


def import_library(library: str) -> ModuleType:
    """The library itself."""
    return importlib.import_module(library)


def make_tensor(library: str, data: Any, grad: bool = False, dtype: str = "float64") -> Any:
    """A tensor of a library that has tensors with `requires_grad` or the like."""
    array = np.asarray(data, dtype=dtype)
    if library == "ferrograd":
        return import_library(library).tensor(array, requires_grad=grad)
    if library == "torch":
        return import_library(library).tensor(array, requires_grad=grad)
    if library == "mygrad":
        return import_library(library).tensor(array, constant=not grad)
    raise ValueError(f"no tensors in {library}")
