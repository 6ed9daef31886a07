"""Programs that rewrite NumPy arrays between operations, compiled and in bodies.

A longer one: `python -m hostile.scratch --programs 20000 --seed 7`.
"""

from hostile.scratch import faults

PROGRAMS = 60


def test_programs_that_rewrite_arrays_are_right() -> None:
    wrong = [said for seed in range(PROGRAMS) for said in faults(seed)]
    assert not wrong, "\n\n".join(wrong[:3])
