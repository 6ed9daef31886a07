"""SciPy's own tests of the array API, with our namespace for a backend.

`python tools/scientific/scipy_suite.py signal ndimage` runs the tests of these modules that take a
namespace, without names those of all modules, and prints a line for each.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

MODULES = (
    "cluster constants differentiate fft integrate interpolate linalg ndimage optimize signal"
    " spatial special stats _lib"
)
INSERTION_POINT = "xp_skip_cpu_only_backends = set()"
FERROGRAD_BACKEND = """
import ferrograd.array_api
xp_known_backends |= {"ferrograd", "ferrograd.array_api"}
xp_available_backends.append(
    pytest.param(ferrograd.array_api, id="ferrograd", marks=pytest.mark.array_api_backends)
)
"""


def patch_scipy() -> None:
    """Puts SciPy's conftest with one backend more where pytest looks for it."""
    spec = importlib.util.find_spec("scipy.conftest")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    assert source.count(INSERTION_POINT) == 1, "another SciPy: its conftest.py has no such line"
    module = ModuleType("scipy.conftest")
    module.__file__, module.__spec__ = spec.origin, spec
    exec(
        compile(
            source.replace(INSERTION_POINT, FERROGRAD_BACKEND + INSERTION_POINT),
            spec.origin,
            "exec",
        ),
        vars(module),
    )
    sys.modules["scipy.conftest"] = module


def main(modules: list[str]) -> int:
    """Runs the modules one by one; the number of those in which a test failed."""
    here = Path(__file__)
    path = os.pathsep.join([str(here.parent), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"SCIPY_ARRAY_API": '["ferrograd"]', "PYTHONPATH": path}
    options = ["-q", "-p", here.stem, "-p", "no:cacheprovider", "-m", "array_api_backends"]
    failed = 0
    for module in modules or MODULES.split():
        command = [sys.executable, "-m", "pytest", *options, "-W", "ignore", "--tb=line"]
        command += ["-rfE", "--pyargs", f"scipy.{module}"]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        lines = done.stdout.strip().splitlines() or [done.stderr]
        print(f"{module}: {lines[-1]}")
        print(*(f"    {line}" for line in lines if line.startswith(("FAILED", "ERROR"))), sep="\n")
        failed += bool(done.returncode)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
patch_scipy()
