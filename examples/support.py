"""What the example programs share: where pictures go and how one is written.

It owns the command line they have in common and nothing of their mathematics.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # pictures go to files: no display is needed

import matplotlib.pyplot as plt

OUT = Path(__file__).resolve().parent / "out"


def options(description: str, **settings: int) -> argparse.Namespace:
    """`--seed`, `--out` and one integer option for each keyword, which gives its default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=0, help="seed of every random number")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the pictures")
    for name, default in settings.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    return parser.parse_args()


def save(figure: plt.Figure, folder: Path, name: str) -> None:
    """Writes the figure as `folder/name` and says so."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name, dpi=120, bbox_inches="tight")
    plt.close(figure)
    print(f"picture: {name} in {folder}")
