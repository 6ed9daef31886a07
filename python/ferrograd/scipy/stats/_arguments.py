"""The parameters of a call of a distribution, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd.errors import ArgumentTypeError


def parse_parameters(
    call: str,
    names: Sequence[str],
    others: dict[str, float],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> list[Any]:
    """The values of the names and then of the others, which may be left out.

    Errors: `ArgumentTypeError` for unknown, missing and doubled parameters.
    """
    every = [*names, *others]
    found = {**others, **dict(zip(every, args, strict=False)), **kwargs}
    wrong = [key for key in kwargs if key not in every or key in every[: len(args)]]
    lost = [key for key in names if key not in found]
    if wrong or lost or len(args) > len(every):
        raise ArgumentTypeError(
            f"{call}: got {len(args)} parameters and {sorted(kwargs)}; give"
            f" {', '.join(every)}, of which {' and '.join(others)} may be left out"
        )
    return [found[key] for key in every]
