"""Programs of robotics as they are written for NumPy run on tensors with their import lines alone.

The few lines that some need beside are in `MORE`.
Each program in `programs` computes one number, `cost(p)`, in the style of such code: buffers that
are filled element by element, states whose attributes are updated in place, lists, copies, `math`.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

PROGRAMS = sorted(path.stem for path in (Path(__file__).parent / "programs").glob("*.py"))
IMPORTS = {
    r"^import numpy as np$": "import ferrograd.numpy as np",
    r"^import math$": "import ferrograd.numpy as math",
}
#: What a program needs beside its import lines.
MORE = {
    "cubic_spline": ("bisect.bisect(self.x, t)", "bisect.bisect(list(self.x), t)"),
}


@cache
def loaded(name: str, differentiable: bool) -> dict[str, Any]:
    """The names of a program, with the imports of NumPy and `math` replaced or not."""
    path = Path(__file__).parent / "programs" / f"{name}.py"
    source = path.read_text()
    if differentiable:
        for line, ours in IMPORTS.items():
            source = re.sub(line, ours, source, flags=re.MULTILINE)
        if name in MORE:
            assert MORE[name][0] in source
            source = source.replace(*MORE[name])
    # Dataclasses look their module up.
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, str(path), "exec"), names)
    return names


def differences(f: Any, x: Any) -> Any:
    """Central differences of the program on arrays, with a step that is right for each element."""
    slope = np.zeros_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = 1e-6 * max(1.0, abs(x[i]))
        slope[i] = (f(x + step) - f(x - step)) / (2 * step[i])
    return slope


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient_are_those_of_the_program_on_arrays(name: str) -> None:
    plain, ours = loaded(name, False), loaded(name, True)
    start = plain["START"]
    expected = plain["cost"](start.copy())
    value, slope = fg.value_and_grad(ours["cost"])(start.copy())
    assert np.isclose(value, expected, rtol=1e-12, atol=0)
    numeric = differences(plain["cost"], start)
    assert np.any(numeric != 0)
    assert np.allclose(slope, numeric, rtol=2e-5, atol=2e-6 * max(1.0, np.abs(numeric).max()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_outside_a_transform_a_program_computes_with_arrays(name: str) -> None:
    plain, ours = loaded(name, False), loaded(name, True)
    found = ours["cost"](plain["START"].copy())
    assert isinstance(found, float)
    assert np.isclose(found, plain["cost"](plain["START"].copy()), rtol=1e-12, atol=0)
