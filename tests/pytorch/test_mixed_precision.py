"""`fg.amp`: programs that switch mixed precision off, or ask for it where there is none."""

import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError


def test_mixed_precision_changes_nothing_without_an_accelerator() -> None:
    w = fg.nn.Parameter([2.0])
    optimizer = fg.optim.SGD([w], lr=0.25)
    scaler = fg.cuda.amp.GradScaler(enabled=False)
    with fg.autocast("cuda", dtype=fg.float16, enabled=False):
        loss = (w * w).sum()
    assert loss.dtype == w.dtype
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (w.tolist(), scaler.get_scale(), scaler.is_enabled()) == ([1.0], 1.0, False)
    assert fg.amp.autocast("cpu", enabled=False)(abs)(-1) == 1
    with pytest.warns(UserWarning, match="there is no cuda"):
        fg.autocast("cuda:0")
    with pytest.warns(UserWarning, match="no accelerator"):
        scaler.load_state_dict(fg.amp.GradScaler().state_dict())
    with pytest.raises(ArgumentError, match="one precision at a time"):
        fg.autocast("cpu")


def test_the_older_autocast_begins_with_its_switch() -> None:
    with fg.cuda.amp.autocast(False):
        assert (fg.ones(2, dtype=fg.float32) * 2).dtype == fg.float32
    with pytest.warns(UserWarning, match="there is no cuda"):
        fg.cuda.amp.autocast(True, fg.float16)
