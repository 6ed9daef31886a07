"""The names and arguments of `torch.nn` beside ours, as docs/nn.md lists them.

Names of PyTorch: `golden/names/nn_names.py`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_lists_every_name_of_pytorch() -> None:
    command = [sys.executable, str(ROOT / "tools" / "nn_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
