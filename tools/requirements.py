"""Prints the requirements of the extras named on the command line, one a line.

Used by the Makefile before the wheel exists, when `pip install ferrograd[dev]` is not yet possible.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def get_requirements(extras: list[str]) -> list[str]:
    """The requirements of these extras, in the order of the file."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        known = tomllib.load(file)["project"]["optional-dependencies"]
    if unknown := set(extras) - set(known):
        sys.exit(f"requirements: no extra named {sorted(unknown)}; there are {sorted(known)}")
    return [line for extra in extras for line in known[extra]]


if __name__ == "__main__":
    print("\n".join(get_requirements(sys.argv[1:])))
