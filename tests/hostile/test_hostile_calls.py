"""Every public name with hostile arguments: no call may crash, panic, hang or blame itself.

A longer one: `make fuzz ARGS="--calls 1000000 --seed 7"`.
"""

import os

import ferrograd as fg
from hostile import sweep
from hostile.names import targets

#: Calls of the sweep that every run of the tests makes.
CALLS = int(os.environ.get("FERROGRAD_HOSTILE", "2500"))


def test_the_sweep_reaches_every_room() -> None:
    names = set(targets())
    assert len(names) > 1000
    for prefix in ("ferrograd.linalg.", "ferrograd.nn.", "ferrograd.scipy.", "numpy.", "Tensor()."):
        assert any(name.startswith(prefix) for name in names), prefix
    missing = {row["name"] for row in fg._core._registry()}
    missing -= {name.rpartition(".")[2] for name in names}
    assert not {name for name in missing if not name.startswith("_")}


def test_hostile_calls_end_as_results_or_errors() -> None:
    faults = sweep.swept(seed=20, begin=0, end=CALLS)
    assert not faults, "\n".join(faults)


def test_the_sweep_survives_and_reports_what_it_looks_for() -> None:
    (crashed,) = sweep.swept(seed=20, begin=0, end=6, trap="crash:3")
    assert "3 ends the process with SIGSEGV" in crashed
    (hung,) = sweep.swept(seed=20, begin=0, end=6, patience=5.0, trap="hang:3")
    assert "3 takes more than 5 s" in hung
