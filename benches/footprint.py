"""Cost of a library before it computes anything: import time on top of NumPy, and installed size.

Each import runs in a new process; the libraries take turns and the best round counts.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

PROGRAM = (
    "import numpy, time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"
)


def measure_import_seconds(library: str) -> float:
    """Seconds that importing the library takes when NumPy is there already."""
    command = [sys.executable, "-c", PROGRAM.format(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def get_installed_bytes(library: str) -> int:
    """Bytes of the library's own folder."""
    spec = importlib.util.find_spec(library)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc")


def format_table(libraries: list[str], rounds: int) -> str:
    """One line per library."""
    best = dict.fromkeys(libraries, float("inf"))
    for _ in range(rounds):
        for library in libraries:
            best[library] = min(best[library], measure_import_seconds(library))
    lines = ["| library | import on top of NumPy | installed |", "|---|---|---|"]
    for library in libraries:
        megabytes = get_installed_bytes(library) / 1e6
        lines.append(f"| {library} | {best[library] * 1e3:,.1f} ms | {megabytes:,.1f} MB |")
    return "\n".join(lines)
