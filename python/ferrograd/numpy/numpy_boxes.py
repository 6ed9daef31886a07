"""The classes of traced values under the names that programs ask for: `isinstance(x, ArrayBox)`."""

from ferrograd._core import Tensor
from ferrograd.hips.builtins import SequenceBox as SequenceBox

ArrayBox = Tensor
