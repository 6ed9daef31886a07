"""Programs in processes of their own, on the library that is tested here.

A program that hangs in native code under the interpreter's lock can be ended from outside only.
"""

import os
import subprocess
import sys

PRELUDE = """
import faulthandler, threading, gc, sys, weakref, atexit
import numpy as np
import ferrograd as fg
"""


def run(
    body: str, timeout: float = 60.0, prelude: str = PRELUDE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program; one that does not end in time writes the stacks of its threads and fails."""
    path = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "PYTHONPATH": path, **environment}
    watchdog = f"import faulthandler; faulthandler.dump_traceback_later({timeout}, exit=True)\n"
    command = [sys.executable, "-X", "faulthandler", "-c", watchdog + prelude + body]
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * timeout, env=env)
