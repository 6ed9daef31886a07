"""`scipy.linalg` as far as ferrograd has derivatives."""

from ferrograd import _core
from ferrograd.scipy._face import face as _face

_space = _core._namespaces["linalg"]
_NAMES = ("cholesky", "det", "eigh", "inv", "lstsq", "pinv", "qr", "solve_triangular", "svd")

globals().update({name: _face(_space[name], name) for name in _NAMES if name in _space})
__all__ = [name for name in _NAMES if name in _space]
