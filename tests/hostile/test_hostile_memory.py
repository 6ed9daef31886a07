"""Operations that have next to no memory left: none ends the process.

Owns: a part of the sweep, with small operands and little room. The whole: `python -m
hostile.memory`, which `make fuzz` runs.
"""

import pytest

from hostile import memory

#: Operations whose loops convert their operands as a whole, search, sort or collect.
NAMES = """
sum prod max min amax amin argmax argmin any all power ptp nansum nanmax nanmin isin dot matmul
inner vdot tensordot convolve sort argsort cumsum cummax logcumsumexp nextafter searchsorted
quantile unique nonzero sliding_window_view binary_cross_entropy
"""


@pytest.mark.parametrize("dtype", ["int8", "bool", "float16"])
@pytest.mark.parametrize("form", ["row", "columns"])
def test_no_operation_aborts_without_memory(dtype: str, form: str) -> None:
    counts: dict[str, int] = {}
    faults = memory.swept(
        (dtype,), (form,), NAMES.split(), elements=3 << 20, room=10 << 20, counts=counts
    )
    assert not faults, "\n".join(faults)
    assert counts["out of memory"] > 10


def test_the_sweep_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "make", lambda *_: memory.os.abort())
    (fault,) = memory.swept(("int8",), ("row",), ["sum"], elements=1 << 10)
    assert "sum int8 row: SIGABRT" in fault
