"""The functions of SciPy that people differentiate: `ferrograd.scipy.{special, stats, linalg}`.

Arrays give arrays and tensors give tensors; SciPy itself is not needed.
"""

from ferrograd.scipy import linalg as linalg, special as special, stats as stats
