"""Every transform under one name, `ferrograd.differential_operators`."""

from ferrograd import transforms as _transforms
from ferrograd._tensor.checkpoint import checkpoint as checkpoint
from ferrograd.transforms._by_name import make_jvp_reversemode as make_jvp_reversemode

globals().update(
    {name: value for name, value in vars(_transforms).items() if not name.startswith("_")}
)
