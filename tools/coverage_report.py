"""Lines of the Python package, and of the Rust trampoline below it, that the tests run.

Invariant: fails when a test fails or when either share is below the floor.

    make coverage
    python tools/coverage_report.py tests/functions/test_function.py   # a part of the tests
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from instrumented import ROOT, build_core, find_llvm_tools, install_core, run_command

MEASURED_FOLDER = "src/bindings/custom_op"
MIN_COVERAGE = 90.0
# What the tests of the shipped wheel check is not this core; slow ones time release code.
PYTEST_ARGUMENTS = ["-m", "not slow", "--ignore", "tests/package/test_packaging.py"]


def run_tests(folder: Path, tests: list[str]) -> bool:
    """Whether the tests pass; both measurements are left in the folder and in `.coverage`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "LLVM_PROFILE_FILE": str(folder / "%p-%m.profraw"),
    }
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", *tests]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode == 0


def count_line_runs(
    core: Path, folder: Path, cov: Path, profdata: Path
) -> dict[str, dict[int, int]]:
    """How often each line of the measured files ran."""
    profile = folder / "merged.profdata"
    raw = [str(file) for file in folder.glob("*.profraw")]
    run_command(profdata, "merge", "-sparse", *raw, "-o", profile)
    text = run_command(
        *(cov, "export", "-format=lcov", f"-instr-profile={profile}"),
        *(core, ROOT / MEASURED_FOLDER),
    )
    files: dict[str, dict[int, int]] = {}
    for line in text.splitlines():
        if line.startswith("SF:"):
            lines = files.setdefault(str(Path(line[3:]).relative_to(ROOT)), {})
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            lines[int(number)] = int(count)
    return files


def print_coverage(files: dict[str, dict[int, int]]) -> bool:
    """Prints the share of each file with the lines that never ran; whether the floor is held."""
    run = sum(count > 0 for lines in files.values() for count in lines.values())
    total = sum(map(len, files.values()))
    for name, lines in sorted(files.items()):
        missed = [number for number, count in sorted(lines.items()) if count == 0]
        share = 100 * (1 - len(missed) / len(lines))
        print(f"{name:44} {len(lines):5} {share:6.1f} %  {', '.join(map(str, missed))}")
    share = 100 * run / total
    print(f"{MEASURED_FOLDER:44} {total:5} {share:6.1f} %  (at least {MIN_COVERAGE:.0f} %)")
    return share >= MIN_COVERAGE


def main(tests: list[str]) -> None:
    """Builds, tests, reports."""
    cov, profdata = find_llvm_tools("llvm-cov", "llvm-profdata")
    core = build_core([], ["-C", "instrument-coverage"])
    folder = core.parent / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    core = Path(shutil.copy(core, folder))
    with install_core(core):
        passed = run_tests(folder, tests or PYTEST_ARGUMENTS)
    python = subprocess.run([sys.executable, "-m", "coverage", "report"], cwd=ROOT, check=False)
    rust = print_coverage(count_line_runs(core, folder, cov, profdata))
    sys.exit(0 if passed and rust and python.returncode == 0 else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
