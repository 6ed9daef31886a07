"""Programs whose graph does not change: `const_graph`.

Recording is cheap enough to be done at every call, so the function is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """The function with these arguments bound."""
    return partial(fun, *args, **kwargs) if args or kwargs else fun
