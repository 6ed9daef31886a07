"""What mypy makes of a program: `typed_program.py` says it in comments.

The types of the package itself are checked by mypy, not here.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "typed_program.py"
PACKAGE = Path(__file__).parents[2] / "python"
SAID = re.compile(
    r"typed_program\.py:(\d+): (?:note: Revealed type is \"(.*)\"|error: .*\[(.*)\])$"
)


@pytest.mark.slow
def test_mypy_says_what_the_comments_say(tmp_path: Path) -> None:
    expected = {
        k: line.split("  # ")[1].removeprefix("error: ")
        for k, line in enumerate(PROGRAM.read_text().splitlines(), 1)
        if line.startswith(("reveal", "    reveal", "fg.", "_ =", "Scale()")) and "  # " in line
    }
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, env={"MYPYPATH": str(PACKAGE)})
    matches = (SAID.search(line) for line in done.stdout.splitlines())
    found = {int(m[1]): m[2] or m[3] for m in matches if m}
    assert found == expected, done.stdout + done.stderr
