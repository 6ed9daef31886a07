"""Information about this build and process."""

import platform

import numpy as np

from ferrograd._core import _config


def show_config() -> None:
    """Prints versions, SIMD level and threads."""
    facts = _config()
    rows = {
        "ferrograd": facts["version"],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "simd": facts["simd"],
        "threads": facts["threads"],
        "operations": facts["operations"],
    }
    print("\n".join(f"{name:<12}{value}" for name, value in rows.items()))
