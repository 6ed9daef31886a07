"""Neural networks: modules, parameters, losses, and the functions behind them.

`_names/nn.py` lists the names with their modules; type checkers read `__init__.pyi`.
"""

from ferrograd._inspect import lazy_attributes as _lazy_attributes
from ferrograd._names import nn as _nn_names

__getattr__, __dir__ = _lazy_attributes.make_lazy_attributes(__name__, _nn_names.NN)
__all__ = [name for name in __dir__() if name[0] != "_"]
