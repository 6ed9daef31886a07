"""`compile`: a function is recorded once and replayed without Python."""

from ferrograd._compile.callback import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    pure_callback as pure_callback,
)
from ferrograd._compile.compiled import Compiled as Compiled
from ferrograd._compile.entry import compile as compile
