"""What the example programs share: where pictures go and how one is written.

It owns the command line they have in common and nothing of their mathematics.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # pictures go to files: no display is needed

import matplotlib.pyplot as plt

import ferrograd as fg

DEFAULT_FOLDER = Path(__file__).resolve().parent / "out"


def parse_options(
    description: str,
    *,
    compiles: bool = False,
    extend: Callable[[argparse.ArgumentParser], None] | None = None,
    **settings: int,
) -> argparse.Namespace:
    """`--seed`, `--out` and one integer option for each keyword, which gives its default.

    With `compiles`, there is `--compile`, and the option `compiled` is `fg.compile` or nothing.
    `extend` adds options that are no integers.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=0, help="seed of every random number")
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER, help="folder for the pictures")
    if compiles:
        parser.add_argument("--compile", action="store_true", help="record and replay gradients")
    for name, default in settings.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    if extend is not None:
        extend(parser)
    found = parser.parse_args()
    found.compiled = fg.compile if compiles and found.compile else _identity
    return found


def _identity(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def save_figure(figure: plt.Figure, folder: Path, name: str) -> None:
    """Writes the figure as `folder/name` and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name, dpi=120, bbox_inches="tight")
    plt.close(figure)
    print(f"picture: {name} in {folder}")
