"""`scipy.special` as far as ferrograd has derivatives."""

from typing import Any

import ferrograd.numpy as np
from ferrograd import _core
from ferrograd.scipy._face import face as _face

digamma = psi = _face(_core.digamma, "digamma")
erf = _face(_core.erf, "erf")
erfc = _face(_core.erfc, "erfc")
erfinv = _face(_core.erfinv, "erfinv")
expit = _face(_core.sigmoid, "expit")
gammaln = _face(_core.lgamma, "gammaln")
logit = _face(_core.logit, "logit")
polygamma = _face(_core.polygamma, "polygamma")
xlogy = _face(_core.xlogy, "xlogy")
_every = _face(_core.logsumexp, "logsumexp")


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """log Σ b eᵃ over axes, without overflow."""
    if b is not None:
        a = a + np.log(b)
    if axis is None:
        axis = tuple(range(np.ndim(a)))
    return _every(a, axis, keepdims=keepdims)


def softmax(x: Any, axis: Any = None) -> Any:
    """eˣ over its sum along axes, by default over all elements."""
    return np.exp(log_softmax(x, axis))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow."""
    return x - logsumexp(x, axis, keepdims=True)


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal."""
    return erfc(-x / 2**0.5) / 2
