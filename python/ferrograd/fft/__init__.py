"""Discrete Fourier, cosine and sine transforms of tensors, with NumPy's and SciPy's names.

Transforms are operations of the core, and their derivatives are transforms, too.

>>> import ferrograd as fg
>>> x = fg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> fg.fft.irfft(fg.fft.rfft(x)).sum().backward()
>>> x.grad.tolist()
[1.0, 1.0, 1.0, 1.0]
"""

from ferrograd.fft._frequencies import (
    fftfreq as fftfreq,
    next_fast_len as next_fast_len,
    rfftfreq as rfftfreq,
)
from ferrograd.fft._operations import *
