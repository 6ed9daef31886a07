"""Every public name is there, with the signature that the snapshot has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_public_is_what_the_snapshot_says() -> None:
    command = [sys.executable, str(ROOT / "tools" / "public_names.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
