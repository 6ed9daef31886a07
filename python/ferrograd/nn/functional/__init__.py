"""Functions of neural networks, under PyTorch's names.

Functions with their own kernel are operations of the core; the files of this directory compose the
others, and `_names/nn.py` lists them. Type checkers read `__init__.pyi`. Invariant: weights
of `linear` are [in, out], and a loss multiplies by the incoming gradient.
"""

from ferrograd._inspect import missing_name_errors as _missing_name_errors
from ferrograd._names import name_table as _name_table, nn as _nn_names
from ferrograd.nn._operations import *

# `load_all` imports all files first: then a function can replace the file of the same name.
globals().update(_name_table.NameTable(_nn_names.FUNCTIONAL).load_all())

__getattr__ = _missing_name_errors.make_module_getattr("nn.functional")
