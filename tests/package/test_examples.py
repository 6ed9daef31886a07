"""The examples do what the README says of them."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def example(name: str, out: Path, *more: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--out", str(out), *more]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def digits(out: Path, threads: int, *more: str) -> str:
    return example("digits", out, "--threads", str(threads), *more)


def number(name: str, output: str) -> str:
    found = re.search(rf"{name}: (-?[\d.]+(?:e-?\d+)?)", output)
    assert found, output
    return found[1]


def cpu_of_children() -> float:
    """The seconds that finished processes computed: what runs beside them does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_digits_reach_97_percent_in_20_seconds(tmp_path):
    begin = cpu_of_children()
    output = digits(tmp_path, 2)
    assert cpu_of_children() - begin < 20
    assert float(number("test accuracy", output)) >= 97
    for name in ("loss.png", "confusion.png", "predictions.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_digits_give_the_same_numbers_at_any_thread_count(tmp_path):
    outputs = [digits(tmp_path, threads, "--epochs", "2") for threads in (1, 2, 4, 8)]
    assert len({number("final loss", output) for output in outputs}) == 1
    assert len({number("test accuracy", output) for output in outputs}) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "measure", "low", "high"),
    [
        ("logistic_regression", [], "Newton-CG accuracy", 95, 100),
        ("gaussian_process", ["--count", "120"], "inside the 95 % band", 90, 99),
        ("vae", ["--epochs", "6"], "test bound", 20, 30),
        ("ode", ["--every", "5"], "mean squared residual", 0.3, 1.5),
        ("hmc", ["--samples", "500"], "largest error of a mean", 0, 0.6),
        ("variational", ["--steps", "800"], "test accuracy", 95, 100),
        ("physics", [], "misses by", 0, 1e-5),
        ("fixed_point", [], "accuracy", 95, 100),
        ("lstm", ["--steps", "25"], "loss at last", 2, 3.6),
        ("lbfgs", ["--compile", "--gradients", "90"], "L-BFGS stress", 0.06, 0.08),
    ],
)
def test_examples_reach_what_they_print(tmp_path, name, options, measure, low, high):
    output = example(name, tmp_path, *options)
    assert low <= float(number(measure, output)) <= high
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("logistic_regression", []),
        ("gaussian_process", ["--count", "60"]),
        ("ode", []),
        ("hmc", ["--samples", "40"]),
        ("variational", ["--steps", "60"]),
        ("fixed_point", ["--steps", "10"]),
    ],
)
def test_compiled_examples_print_the_same(tmp_path, name, options):
    assert example(name, tmp_path, *options, "--compile") == example(name, tmp_path, *options)


NETWORKS = {
    "digits_conv": ("--epochs", "final loss", 0.03, 0.5),
    "char_transformer": ("--steps", "loss at last", 2, 5.5),
    "lstm_forecast": ("--steps", "final loss", 0.1, 0.4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_stopped_training_goes_on_with_the_same_numbers(tmp_path, name):
    """Saved after two, stopped after three, resumed to four: the bits of one run through."""
    count, measure, low, high = NETWORKS[name]
    through, parts = tmp_path / "through", tmp_path / "parts"
    output = example(name, through, count, "4")
    assert low <= float(number(measure, output)) <= high
    again = (count, "4", "--every", "2", "--state", str(tmp_path / "state"), "--compile")
    with pytest.raises(AssertionError, match="stopped after 3"):
        example(name, parts, *again, "--stop", "3")
    resumed = example(name, parts, *again)
    assert number(measure, resumed) == number(measure, output)
    lines = (through / f"{name}.jsonl").read_text()
    assert len(lines.splitlines()) == 4
    assert (parts / f"{name}.jsonl").read_text() == lines
    assert (parts / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_convolutions_reach_98_5_percent(tmp_path):
    output = example("digits_conv", tmp_path, "--compile")
    assert float(number("test accuracy", output)) >= 98.5


@pytest.mark.slow
def test_the_forecast_is_better_than_the_last_row(tmp_path):
    output = example("lstm_forecast", tmp_path, "--compile")
    assert float(number("squared error beside that of the last row", output)) <= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_is_timed_beside_pytorch(tmp_path, name):
    pytest.importorskip("torch")
    assert float(number("ratio", example(name, tmp_path, "--compile", "--compare"))) > 0


def test_modules_have_the_losses_of_operators(tmp_path):
    output = example("modules", tmp_path)
    assert (tmp_path / "modules.png").read_bytes().startswith(b"\x89PNG")
    assert "LinearManual" in output
    assert float(number("test accuracy", output)) >= 90
    assert float(number("largest difference from operators", output)) <= 1e-12


def test_spilled_tensors_leave_memory_and_give_the_same_gradients(tmp_path):
    output = example("spill_to_disk", tmp_path, "--layers", "5", "--width", "2000")
    assert "spilled: 0 KiB and 5 files; the gradients are equal" in output
    assert (tmp_path / "spill_to_disk.png").read_bytes().startswith(b"\x89PNG")
