"""`fg.distributed` on 2 and 4 ranks of this machine; needs the extra `mpi`."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ferrograd as fg

ROOT = Path(__file__).resolve().parents[2]
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")


def job(
    ranks: int, *arguments: str, program: str = "tests/distributed/mpi_checks.py"
) -> tuple[int, str]:
    """Status and output of a program on several ranks."""
    pytest.importorskip("mpi4py")
    begun = start(ranks, program, *arguments)
    try:
        output, _ = begun.communicate(timeout=300)
    finally:
        if begun.poll() is None:
            os.killpg(begun.pid, signal.SIGKILL)
    return begun.returncode, output


def start(ranks: int, program: str, *arguments: str) -> "subprocess.Popen[str]":
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec")
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    ranked = [MPIEXEC, *root, "--oversubscribe", "-n", str(ranks)]
    return subprocess.Popen(
        [*ranked, sys.executable, str(ROOT / program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _paths()))},
    )


def _paths() -> list[Path]:
    return [Path(fg.__file__).resolve().parent.parent]


CHECKS = [
    *("collectives", "messages", "constants_and_dtypes", "mismatches", "data_parallel"),
    *("clipping", "sync_batch_norm"),
]


PARALLEL_CHECKS = [
    *("several_calls", "uneven_use", "higher_orders", "odd_graphs", "dtypes", "changes"),
    *("accumulation", "compiled", "outputs"),
]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("check", CHECKS)
def test_ranks(check: str, ranks: int) -> None:
    status, output = job(ranks, check)
    assert status == 0, output


@pytest.mark.slow
@pytest.mark.parametrize("check", PARALLEL_CHECKS)
def test_data_parallel(check: str) -> None:
    status, output = job(3, check, program="tests/distributed/mpi_parallel_checks.py")
    assert status == 0, output


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("check", ["sharded", "sharded_kinds"])
def test_sharded_optimisers(check: str, ranks: int) -> None:
    status, output = job(ranks, check, program="tests/distributed/mpi_sharded_checks.py")
    assert status == 0, output


def losses(output: str) -> np.ndarray:
    line = next(line for line in output.splitlines() if line.startswith("losses"))
    return np.array([float(word) for word in line.split()[1:]])


@pytest.mark.slow
def test_training_is_the_same_on_any_number_of_ranks(tmp_path: Path) -> None:
    curves = []
    for ranks in (1, 2, 4):
        status, output = job(ranks, "training")
        assert status == 0, output
        curves.append(losses(output))
    assert len(curves[0]) == 21
    for curve in curves[1:]:
        np.testing.assert_allclose(curve, curves[0], 1e-10, 0)
    # Saved by four ranks in the middle of an epoch, resumed by two.
    state = str(tmp_path / "state")
    assert job(4, "training", state, "10")[0] == 0
    status, output = job(2, "training", state, "-1")
    assert status == 0, output
    np.testing.assert_allclose(losses(output), curves[0], 1e-10, 0)


@pytest.mark.slow
def test_the_heat_equation_has_the_gradient_of_one_rank(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["--steps", "8", "--rows", "30", "--out", str(tmp_path)]
    status, output = job(4, *arguments, program="examples/heat_mpi.py")
    assert status == 0, output
    assert "largest difference" in output
    assert (tmp_path / "heat_mpi.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_digits_have_the_same_losses_on_one_and_two_ranks(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    outputs = []
    for ranks in (1, 2):
        own = tmp_path / str(ranks)
        arguments = ["--epochs", "3", "--out", str(own), "--state", str(own / "state")]
        own.mkdir()
        status, output = job(ranks, *arguments, program="examples/digits_mpi.py")
        assert status == 0, output
        lines = [line.split() for line in output.splitlines() if line.startswith("epoch")]
        outputs.append([float(line[-1]) for line in lines])
        assert (own / "digits_mpi.png").read_bytes().startswith(b"\x89PNG")
    assert len(outputs[0]) == 3
    np.testing.assert_allclose(outputs[1], outputs[0], 1e-10, 0)


@pytest.mark.slow
def test_digits_that_are_killed_go_on_with_other_ranks(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    pytest.importorskip("sklearn")
    program, state = "examples/digits_mpi.py", tmp_path / "state"
    arguments = ["--epochs", "4", "--out", str(tmp_path), "--state"]
    assert job(1, *arguments, str(tmp_path / "whole"), program=program)[0] == 0
    begun = start(3, program, *arguments, str(state))
    while begun.poll() is None and not state.exists():
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(begun.pid, signal.SIGKILL)
    begun.communicate()
    status, output = job(2, *arguments, str(state), program=program)
    assert status == 0, output
    whole, again = (fg.load(path)["values"]["losses"] for path in (tmp_path / "whole", state))
    assert len(whole) == 4
    np.testing.assert_allclose(again, whole, 1e-10, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "text"),
    [
        ("raises", "ZeroDivisionError: on purpose"),
        (
            "only_one_logs",
            "rank 0 calls allreduce sum of float64 (), rank 1 calls DataParallel.back",
        ),
        ("killed", ""),
    ],
)
def test_a_rank_that_fails_ends_the_job(check: str, text: str) -> None:
    began = time.monotonic()
    status, output = job(2, check, program="tests/distributed/mpi_ends.py")
    assert status != 0
    assert text in output
    # The ranks that are left would wait for a minute, or for ever.
    assert time.monotonic() - began < 60
    if check == "raises":
        assert output.index("rank 1 of 2 failed") < output.index(text)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["coll_libnbc_iallreduce_algorithm", "mpi_yield_when_idle"])
def test_the_environment_chooses_how_messages_are_sent(setting: str) -> None:
    code = "from ferrograd import distributed as d; import os; d.get_rank(); print(os.environ[N])"
    name = f"OMPI_MCA_{setting}"
    pytest.importorskip("mpi4py")
    base = {**os.environ, "PYTHONPATH": str(_paths()[0])}
    base.pop(name, None)
    for given, want in (({}, "1"), ({name: "3"}, "3")):
        done = subprocess.run(
            [sys.executable, "-c", f"N = {name!r}; {code}"],
            capture_output=True,
            text=True,
            check=True,
            env={**base, **given},
        )
        assert done.stdout.strip() == want


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "status", "text"),
    [
        (["exits"], 3, "left by SystemExit(3)"),
        *((["exits_by", how], 3, "left by SystemExit(3)") for how in ("raise", "shell", "thread")),
        (["exits_by", "imported"], 3, "left by SystemExit(3)"),
        (["exits_by", "words"], 1, "left by SystemExit('on purpose')"),
    ],
)
def test_the_exit_of_one_rank_ends_the_job(check: list[str], status: int, text: str) -> None:
    began = time.monotonic()
    found, output = job(2, *check, program="tests/distributed/mpi_ends.py")
    assert found == status, output
    assert f"rank 1 of 2 {text}" in output
    assert time.monotonic() - began < 60


@pytest.mark.slow
def test_leaving_without_a_status_ends_nobody_else() -> None:
    assert job(2, "leaves", program="tests/distributed/mpi_ends.py") == (0, "")


def test_without_mpi_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import ferrograd as fg\n"
        "try: fg.distributed.get_rank()\n"
        "except ImportError as error: print(error)"
    )
    env = {**os.environ, "PYTHONPATH": str(_paths()[0])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert 'pip install "ferrograd[mpi]"' in done.stdout
