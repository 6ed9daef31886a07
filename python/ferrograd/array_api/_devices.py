"""The device that arrays are asked to be on."""

from __future__ import annotations

from typing import Any

from ferrograd.errors import ArgumentError


def check_device(function: str, device: Any) -> None:
    """Refuses every other device than None and the CPU."""
    if device is not None and device != "cpu":
        raise ArgumentError(
            f"{function}: there is no device {device!r}; tensors live in main memory; pass"
            ' device="cpu", or leave it out'
        )
