"""Differentiable NumPy on a Rust engine.

`import ferrograd as fg`: tensors that record what is done to them, and gradients of any order. This
file only re-exports, and loads nearly everything when its name is first used: `_names/package.py`
says from where. Type checkers read `__init__.pyi`.
"""

from ferrograd import _core  # first: a sub-interpreter that it refuses must not import NumPy

# isort: split
import builtins as _builtins

import numpy as _numpy

from ferrograd._core import Tensor, __version__, tensor


def __getattr__(name):
    """Loads a module, or a name in one."""
    from ferrograd._names.package import HOMES

    if name == "__all__":  # no builtin of Python's is hidden by `import *`
        names = {*__dir__()}.difference(vars(_builtins), HOMES.hidden)
        return sorted(public for public in names if public[0] != "_")
    if name in _core.__all__:
        value = getattr(_core, name)
    elif name in HOMES.rows:
        value = HOMES.load(name)
    else:
        from ferrograd._inspect.missing_names import missing

        missing("", name)
    globals()[name] = value
    return value


def __dir__():
    """Every public name, loaded or not."""
    from ferrograd._names.package import HOMES

    special = ("__doc__", "__file__", "__name__", "__path__", "__version__")
    own = (name for name in globals() if name[0] != "_")
    return sorted({*own, *HOMES.rows, *_core.__all__, *special})
