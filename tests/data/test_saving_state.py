"""`fg.save_state` and `fg.load_state`: a run that is killed and resumed ends with the same bits."""

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn, optim
from ferrograd.errors import ArgumentError, ArgumentTypeError, FileFormatError, StateDictError
from ferrograd.utils import data

#: A training program as a user writes one; it saves after every step.
PROGRAM = """
    import os, sys
    import numpy as np
    import ferrograd as fg
    from ferrograd import nn, optim
    from ferrograd.nn import functional as F
    from ferrograd.utils import data

    folder, epochs = sys.argv[1], 3
    fg.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(60, 20))
    model = nn.Sequential(nn.Linear(20, 300), nn.Tanh(), nn.Linear(300, 20))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    noise = fg.Generator(5)
    loader = data.DataLoader(data.TensorDataset(x), 7, shuffle=True, num_workers=2)
    parts = dict(model=model, optimizer=optimizer, loader=loader, noise=noise)
    path = os.path.join(folder, "run")
    losses = fg.load_state(path, **parts)["losses"] if os.path.exists(path) else []
    for epoch in range(loader.epoch, epochs):
        for (batch,) in loader:
            optimizer.zero_grad()
            given = F.dropout(batch, 0.2) + 0.1 * fg.randn(*batch.shape, generator=noise)
            loss = F.mse_loss(model(given), batch)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            fg.save_state(path, losses=losses, **parts)
    fg.save({"model": model.state_dict(), "losses": losses}, os.path.join(folder, "result"))
"""


def run(folder: Path, limit: float | None = None) -> bool:
    """Runs the program, or kills it after so many seconds; whether it came to its end."""
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    process = subprocess.Popen([sys.executable, str(program), str(folder)])
    try:
        return process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments_ends_with_the_same_bits(tmp_path: Path) -> None:
    through, killed = tmp_path / "through", tmp_path / "killed"
    through.mkdir()
    killed.mkdir()
    began = time.monotonic()
    assert run(through)
    whole = time.monotonic() - began
    rng = random.Random(1)
    kills = 0
    while kills < 6 and not (killed / "result").exists():
        kills += not run(killed, whole * rng.uniform(0.3, 0.9))
    if not (killed / "result").exists():
        assert run(killed)
    assert kills > 0
    assert (killed / "result").read_bytes() == (through / "result").read_bytes()
    assert (killed / "run").read_bytes() == (through / "run").read_bytes()


class Parts:
    """What a run has."""

    def __init__(self, seed: int) -> None:
        fg.manual_seed(seed)
        self.model = nn.Linear(4, 2)
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.1)
        self.loader = data.DataLoader(range(20), 3, shuffle=True, generator=fg.Generator(seed))
        self.rng = np.random.default_rng(seed)

    def all(self) -> dict[str, Any]:
        return vars(self)

    def step(self) -> None:
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(fg.randn(3, 4)), fg.zeros(3, 2)).backward()
        self.optimizer.step()

    def bits(self) -> Any:
        weights = [p.detach().numpy().tobytes() for p in self.model.parameters()]
        moments = [
            value.numpy().tobytes() if isinstance(value, fg.Tensor) else value
            for entry in self.optimizer.state_dict()["state"].values()
            for value in entry.values()
        ]
        state = self.rng.bit_generator.state
        return weights, moments, state, self.loader.state_dict(), fg.get_rng_state()


def test_everything_comes_back(tmp_path: Path) -> None:
    first = Parts(0)
    for _ in zip(first.loader, range(3), strict=False):
        first.step()
    fg.save_state(tmp_path / "a", **first.all(), epoch=2, note="x")
    saved = first.bits()
    second = Parts(1)
    assert fg.load_state(tmp_path / "a", **second.all()) == {"epoch": 2, "note": "x"}
    assert second.bits() == saved
    first_next, second_next = [], []
    for parts, seen in ((first, first_next), (second, second_next)):
        fg.set_rng_state(saved[-1])
        parts.step()
        seen.append(parts.bits()[:3])
    assert first_next == second_next


def test_parts_that_are_missing_or_too_many(tmp_path: Path) -> None:
    parts = Parts(0)
    fg.save_state(tmp_path / "a", model=parts.model, rng=parts.rng)
    with pytest.raises(StateDictError, match=r"no states for \['loader', 'optimizer'\]"):
        fg.load_state(tmp_path / "a", **parts.all())
    with pytest.raises(StateDictError, match=r"states of \['rng'\] too"):
        fg.load_state(tmp_path / "a", model=parts.model)
    assert fg.load_state(tmp_path / "a", strict=False, model=parts.model) == {}
    with pytest.raises(ArgumentTypeError, match="epoch is a int"):
        fg.load_state(tmp_path / "a", model=parts.model, epoch=3)
    fg.save({"x": 1}, tmp_path / "b")
    with pytest.raises(StateDictError, match="was not written by save_state"):
        fg.load_state(tmp_path / "b", model=parts.model)


def test_a_part_that_refuses_leaves_all_as_they_were(tmp_path: Path) -> None:
    first, second = Parts(0), Parts(1)
    first.step()
    fg.save_state(tmp_path / "a", **first.all())
    second.step()
    other = {**second.all(), "rng": np.random.Generator(np.random.MT19937(0))}
    before = second.bits()
    with pytest.raises(ArgumentError, match="no state of a MT19937"):
        fg.load_state(tmp_path / "a", **other)
    assert second.bits() == before
    raw = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(raw[:-1])
    with pytest.raises(FileFormatError):
        fg.load_state(tmp_path / "a", **second.all())
    assert second.bits() == before


def test_a_save_that_fails_leaves_the_last_state(tmp_path: Path) -> None:
    parts = Parts(0)
    fg.save_state(tmp_path / "a", model=parts.model)
    raw = (tmp_path / "a").read_bytes()
    with pytest.raises(ArgumentTypeError, match=r"save: \['values'\]\['bad'\] is a object"):
        fg.save_state(tmp_path / "a", model=parts.model, bad=object())
    assert (tmp_path / "a").read_bytes() == raw
