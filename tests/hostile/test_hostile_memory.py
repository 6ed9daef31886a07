"""Operations that have next to no memory left: none ends the process.

The whole: `python -m hostile.memory`, which `make fuzz` runs.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hostile import memory

#: Operations whose loops convert their operands as a whole, search, sort or collect.
NAMES = """
sum prod max min amax amin argmax argmin any all power ptp nansum nanmax nanmin isin dot matmul
inner vdot tensordot convolve sort argsort cumsum cummax logcumsumexp nextafter searchsorted
quantile unique nonzero sliding_window_view binary_cross_entropy
"""


#: Operations that work on matrices, on rows, or make a tensor of each row.
OF_ROWS = """
matmul bmm outer kron inv det slogdet cholesky qr svd svdvals eigh eigvalsh eig eigvals solve lstsq
lu_factor matrix_power matrix_rank pinv expm logm sqrtm norm vector_norm matrix_norm sort argsort
partition topk median quantile nanquantile unique cumsum cumprod logcumsumexp logsumexp softmax
unbind unstack split chunk cov corrcoef fft ifft trace multi_dot solve_triangular
"""


def ended(dtype: str, form: str, names: str) -> dict[str, int]:
    """How the calls of operations with next to no memory ended."""
    # In a process of its own: children of this one would find memory that was freed.
    program = (
        "import json, sys\nfrom hostile import memory\ncounts = {}\n"
        "faults = memory.swept((sys.argv[1],), (sys.argv[2],), sys.argv[3:], elements=3 << 20,"
        " room=10 << 20, counts=counts)\nprint(json.dumps([faults, counts]))"
    )
    command = [sys.executable, "-c", program, dtype, form, *names.split()]
    where = Path(memory.__file__).resolve().parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=where, check=True)
    faults, counts = json.loads(done.stdout.splitlines()[-1])
    assert not faults, "\n".join(faults)
    return dict(counts)


@pytest.mark.parametrize("dtype", ["int8", "bool", "float16"])
@pytest.mark.parametrize("form", ["row", "columns"])
def test_no_operation_aborts_without_memory(dtype: str, form: str) -> None:
    assert ended(dtype, form, NAMES)["out of memory"] > 10


@pytest.mark.parametrize("dtype", ["complex64", "float16", "float32"])
@pytest.mark.parametrize("form", ["rows", "squares"])
def test_no_operation_on_rows_and_matrices_aborts(dtype: str, form: str) -> None:
    assert ended(dtype, form, OF_ROWS)["out of memory"] > 10


def test_no_operation_aborts_on_rows_without_elements() -> None:
    assert ended("float32", "empty", NAMES + OF_ROWS)["out of memory"] > 10


def test_the_sweep_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "make", lambda *_: memory.os.abort())
    (fault,) = memory.swept(("int8",), ("row",), ["sum"], elements=1 << 10)
    assert "sum int8 row: SIGABRT" in fault
