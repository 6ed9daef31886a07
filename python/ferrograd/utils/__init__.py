"""Helpers for training: data, checkpoints. Loaded when its name is first used."""

import typing as _typing
from importlib import import_module as _import_module

if _typing.TYPE_CHECKING:
    from ferrograd.utils import checkpoint as checkpoint, data as data

_LAZY_MODULES = ("checkpoint", "data")

if not _typing.TYPE_CHECKING:

    def __getattr__(name):
        """Loads a module of this folder."""
        if name not in _LAZY_MODULES:
            _import_module("ferrograd._inspect.missing_name_errors").raise_missing_name(
                "utils", name
            )
        return _import_module(f"ferrograd.utils.{name}")


def __dir__() -> list[str]:
    """The modules of this folder, loaded or not."""
    return sorted(_LAZY_MODULES)
