"""NumPy's namespace for code to be differentiated: `import ferrograd.numpy as np`.

Arrays give arrays, as in NumPy; tensors, which a transform passes in, give tensors.
"""

from typing import Any

from ferrograd.numpy import fft as fft, linalg as linalg, random as random
from ferrograd.numpy._names import *


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    import numpy

    return getattr(numpy, name)
