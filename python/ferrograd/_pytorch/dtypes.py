"""PyTorch's names of dtypes."""

import numpy as np

half = np.dtype("float16")
float = np.dtype("float32")
double = np.dtype("float64")
short = np.dtype("int16")
int = np.dtype("int32")
long = np.dtype("int64")
cfloat = np.dtype("complex64")
cdouble = np.dtype("complex128")
