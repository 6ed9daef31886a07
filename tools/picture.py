"""Draws the picture at the top of the README: derivatives of NumPy code, and the measured ratios.

`make picture` runs it after the table has changed.
"""

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np

import ferrograd as fg

mpl.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "overview.svg"
INK, SHADE = "#1f2d3d", "#8a94a0"
LINE_COLOURS = ("#b7410e", "#2f6f9f", "#5b8c5a")
RATIO_PATTERN = re.compile(r"\d+(?:\.\d+)?")


def read_ratios() -> list[tuple[str, float]]:
    """The rows of the README's table that have a ratio: what was timed, how many times faster."""
    text = (ROOT / "README.md").read_text()
    table = text.split("## Measured", 1)[1].split("\n\n| ", 1)[1].split("\n\n", 1)[0]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]
    found = []
    for row in rows[2:]:
        number = RATIO_PATTERN.search(row[3]) if len(row) > 3 else None
        if number is not None:
            found.append((row[0].replace("`", ""), float(number.group())))
    return found


def bump(x: np.ndarray) -> np.ndarray:
    """The function of the left panel."""
    return np.sin(3 * x) * np.exp(-(x**2) / 2)


def draw_curves(axes: plt.Axes) -> None:
    """A function written in NumPy, and its first two derivatives."""
    x = np.linspace(-3, 3, 200)
    f, labels = bump, ("f", "fg.elementwise_grad(f)", "… of that again")
    for color, label in zip(LINE_COLOURS, labels, strict=True):
        axes.plot(x, f(x) / np.abs(f(x)).max(), color=color, label=label, linewidth=1.8)
        f = fg.elementwise_grad(f)
    axes.set_title("f(x) = np.sin(3 * x) * np.exp(-(x**2) / 2)", fontsize=9, color=INK)
    axes.legend(frameon=False, fontsize=7, loc="lower center", ncols=3)
    axes.set_ylim(-1.35, 1.08)
    axes.set_yticks([])
    axes.set_xlabel("x  (each curve scaled to 1)", fontsize=8)


def draw_bars(axes: plt.Axes) -> None:
    """How many times PyTorch's time is ours, by row of the table."""
    names, values = zip(*reversed(read_ratios()), strict=True)
    short = [name.split(":")[0] if len(name) > 44 else name for name in names]
    axes.barh(range(len(values)), values, color=LINE_COLOURS[0], height=0.62)
    for i, value in enumerate(values):
        axes.text(value * 1.05, i, f"{value:g}", va="center", fontsize=7, color=INK)
    axes.axvline(1, color=SHADE, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(values)), short, fontsize=7)
    axes.set_xscale("log")
    axes.set_xlim(0.7, max(values) * 2)
    axes.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"], fontsize=7)
    axes.minorticks_off()
    axes.set_title("times as fast as PyTorch (CPU, one process)", fontsize=9, color=INK)


def main() -> None:
    """Writes the picture."""
    mpl.rcParams.update({"svg.hashsalt": "ferrograd", "axes.edgecolor": SHADE, "text.color": INK})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.1), width_ratios=(1, 1.05))
    draw_curves(left)
    draw_bars(right)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(OUT, metadata={"Date": None, "Creator": None})
    print(f"wrote {OUT.relative_to(ROOT)}, {OUT.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
