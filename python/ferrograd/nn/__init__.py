"""Neural networks: modules, parameters, losses, and the functions behind them.

`_names/networks.py` says where they are; type checkers read `__init__.pyi`.
"""

from ferrograd._inspect import lazy_names as _lazy_names
from ferrograd._names import networks as _networks

__getattr__, __dir__ = _lazy_names.lazy(__name__, _networks.NN)
__all__ = [name for name in __dir__() if name[0] != "_"]
