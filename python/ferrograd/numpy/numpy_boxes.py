"""The class of traced arrays under the name that programs ask for: `isinstance(x, ArrayBox)`."""

from ferrograd._core import Tensor

ArrayBox = Tensor
