"""The signature of a class whose options are a table of defaults.

Invariant: `help` and editors show the options of the class.
"""

from __future__ import annotations

import inspect
from typing import Any


def make_signature(defaults: dict[str, Any]) -> inspect.Signature:
    """The options in order, then `name`; options with the default `...` are required."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows = [
        inspect.Parameter(key, kind, default=inspect.Parameter.empty if value is ... else value)
        for key, value in defaults.items()
    ]
    last = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None)
    return inspect.Signature([*rows, last])
