"""Differentiable NumPy on a Rust engine.

`import ferrograd as fg`: tensors that record what is done to them, and gradients of any order. This
file only re-exports, and loads nearly everything when its name is first used: `_names/package.py`
lists the names with their modules. Type checkers read `__init__.pyi`.
"""

from ferrograd import _core  # first: a sub-interpreter that it refuses must not import NumPy

# isort: split
import builtins as _builtins

import numpy as _numpy

from ferrograd._core import Tensor, __version__, tensor


def __getattr__(name):
    """Loads a module, or a name in one."""
    from ferrograd._names.package import NAME_TABLE

    if name == "__all__":  # no builtin of Python's is hidden by `import *`
        names = {*__dir__()}.difference(vars(_builtins), NAME_TABLE.hidden)
        return sorted(public for public in names if public[0] != "_")
    if name in _core.__all__:
        value = getattr(_core, name)
    elif name in NAME_TABLE.groups:
        value = NAME_TABLE.load(name)
    else:
        from ferrograd._inspect.missing_name_errors import raise_missing_name

        raise_missing_name("", name)
    globals()[name] = value
    return value


def __dir__():
    """Every public name, loaded or not."""
    from ferrograd._names.package import NAME_TABLE

    special = ("__doc__", "__file__", "__name__", "__path__", "__version__")
    own = (name for name in globals() if name[0] != "_")
    return sorted({*own, *NAME_TABLE.groups, *_core.__all__, *special})
