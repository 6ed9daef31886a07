"""`save_state` and `load_state`: the whole state of a training run in one file.

Invariant: a run that loads its last state continues with the same bits as a run that was not
stopped. A load that fails leaves every part unchanged.
"""

from __future__ import annotations

import os
from typing import Any

from ferrograd._core import Tensor
from ferrograd._saving.files import load, save
from ferrograd._tensor.generator import (
    get_rng_state,
    get_source_state,
    is_generator,
    set_rng_state,
    set_source_state,
)
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentTypeError, StateDictError


def save_state(path: str | os.PathLike[str], /, **parts: Any) -> None:
    """Writes the state of a training run to a file, which is replaced whole or not at all.

    A part is anything with `state_dict()` (module, optimiser, scheduler, data loader), a generator,
    or a value that `fg.save` takes. The default generator's state is always there.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.safetensors")
    >>> model = fg.nn.Linear(2, 1)
    >>> optimizer = fg.optim.Adam(model.parameters())
    >>> fg.save_state(path, model=model, optimizer=optimizer, epoch=3)
    >>> fg.load_state(path, model=model, optimizer=optimizer)
    {'epoch': 3}
    """
    states, values = {}, {}
    for name, part in parts.items():
        if _has_state(part):
            states[name] = get_source_state(part)
        else:
            values[name] = part
    save({"states": states, "values": values, "default_generator": get_rng_state()}, path)


def load_state(
    path: str | os.PathLike[str], /, *, strict: bool = True, **parts: Any
) -> dict[str, Any]:
    """Restores the state of every part from a file of `save_state`, and returns the other values.

    The state of the default generator is restored, too. With `strict`, the parts and the states in
    the file must have the same names. If a part refuses its state, all parts are restored to their
    previous state.
    """
    saved = load(path)
    if not isinstance(saved, dict) or set(saved) != {"states", "values", "default_generator"}:
        raise StateDictError(f"load_state: {os.fsdecode(path)!r} was not written by save_state")
    for name, part in parts.items():
        if not _has_state(part):
            raise ArgumentTypeError(
                f"load_state: {name} is a {type(part).__name__}, which has no load_state_dict;"
                " values come back in the result"
            )
    states = saved["states"]
    if missing := sorted(set(parts) - set(states)):
        raise StateDictError(
            f"load_state: the file has no states for {missing}; nothing was loaded"
        )
    if strict and (more := sorted(set(states) - set(parts))):
        raise StateDictError(
            f"load_state: the file has states of {more} too; pass these parts, or strict=False;"
            " nothing was loaded"
        )
    before = [(part, _copy_state(get_source_state(part))) for part in parts.values()]
    generator = get_rng_state()
    try:
        for name, part in parts.items():
            set_source_state(part, states[name])
        # Last: a part may draw while it loads.
        set_rng_state(saved["default_generator"])
    except BaseException:
        for part, state in before:
            set_source_state(part, state)
        set_rng_state(generator)
        raise
    values: dict[str, Any] = saved["values"]
    return values


def _has_state(part: Any) -> bool:
    return is_generator(part) or (hasattr(part, "state_dict") and hasattr(part, "load_state_dict"))


def _copy_state(state: Any) -> Any:
    """A copy of the state, which loading does not change."""
    leaves, tree = flatten(state)
    return tree.unflatten(x.clone() if isinstance(x, Tensor) else x for x in leaves)
