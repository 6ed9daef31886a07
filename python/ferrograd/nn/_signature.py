"""The signature of a class whose options are a table of defaults.

Invariant: what `help` and editors show is what the class takes.
"""

from __future__ import annotations

import inspect
from typing import Any


def signature(defaults: dict[str, Any]) -> inspect.Signature:
    """The options in their order, then `name`; an option whose default is `...` must be given."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows = [
        inspect.Parameter(key, kind, default=inspect.Parameter.empty if value is ... else value)
        for key, value in defaults.items()
    ]
    last = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None)
    return inspect.Signature([*rows, last])
