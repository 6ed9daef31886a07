"""`compile`: a function is recorded once and replayed without Python; loops and branches for it."""

from ferrograd._compile.branches import cond as cond, switch as switch
from ferrograd._compile.callback import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    pure_callback as pure_callback,
)
from ferrograd._compile.compiled import Compiled as Compiled
from ferrograd._compile.entry import compile as compile
from ferrograd._compile.loops import (
    fori_loop as fori_loop,
    scan as scan,
    while_loop as while_loop,
)
