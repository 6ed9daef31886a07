"""Every transform under one name, `ferrograd.differential_operators`."""

from ferrograd import transforms as _transforms
from ferrograd._checkpoint import checkpoint as checkpoint

globals().update(
    {name: value for name, value in vars(_transforms).items() if not name.startswith("_")}
)
