"""Functions of neural networks, under PyTorch's names.

Functions with their own kernel are operations of the core; the files of this directory compose the
others, and `_names/networks.py` lists them. Type checkers read `__init__.pyi`. Invariant: weights
of `linear` are [in, out], and a loss multiplies by the incoming gradient.
"""

from ferrograd._inspect import missing_names as _missing_names
from ferrograd._names import networks as _networks, rows as _rows
from ferrograd.nn._operations import *

# All at once: of a function and a file of one name the function has to come last.
globals().update(_rows.Homes(_networks.FUNCTIONAL).load_all())

__getattr__ = _missing_names.getter("nn.functional")
