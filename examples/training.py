"""What the programs that train share: a run that can be stopped and goes on, and a race.

It owns the loop around the steps (progress bar, JSON lines, saved state) and the timing of a step
beside PyTorch's. It knows nothing of models.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

import ferrograd as fg
import support

Record = dict[str, float]


def parse_options(description: str, **settings: int) -> argparse.Namespace:
    """The options of `support.parse_options`, `--compile`, and those of runs and races.

    `every` must be among the settings: how many records there are between two saved states.
    """
    return support.parse_options(description, compiles=True, extend=_add_options, **settings)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", type=Path, help="file to save to, and to resume from")
    parser.add_argument("--stop", type=int, help="end here, as a run that is killed would")
    parser.add_argument("--compare", action="store_true", help="time a step beside PyTorch's")


def run_training(
    given: argparse.Namespace,
    name: str,
    advances: Iterator[Record],
    count: int,
    *,
    unit: str,
    **parts: Any,
) -> list[Record]:
    """Takes records from `advances` until there are `count`; each is a line of `name.jsonl`.

    With `--state`, everything is saved after each `--every` records, and a run that finds the file
    goes on from there: `advances` is asked only for what is missing. Its parts (model, optimiser,
    schedule, loader) are put back before.
    """
    records: list[Record] = []
    if given.state and given.state.exists():
        records = fg.load_state(given.state, **parts)["records"]
    given.out.mkdir(parents=True, exist_ok=True)
    progress = tqdm(desc="training", unit=unit, total=count, initial=len(records))
    with open(given.out / f"{name}.jsonl", "w") as lines, progress:
        lines.writelines(json.dumps(record) + "\n" for record in records)
        while len(records) < count:
            record = next(advances)
            records.append(record)
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            progress.update()
            progress.set_postfix({key: f"{value:.4f}" for key, value in record.items()})
            if given.state and (len(records) % given.every == 0 or len(records) == count):
                fg.save_state(given.state, records=records, **parts)
            if len(records) == given.stop:
                raise SystemExit(f"stopped after {given.stop}")
    return records


def compare_speed(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int = 60) -> None:
    """Times two steps in turns, on one thread; prints the best times and the median of ratios.

    PyTorch must be set to one thread by whoever made `theirs`, before its first step.
    """
    before = fg.get_num_threads()
    fg.set_num_threads(1)
    times: list[tuple[float, float]] = []
    for i in range(rounds + 5):
        pair = []
        for step in (ours, theirs):
            begin = time.perf_counter()
            step()
            pair.append(time.perf_counter() - begin)
        if i >= 5:  # the first are records, caches and pools
            times.append((pair[0], pair[1]))
    fg.set_num_threads(before)
    mine, other = (1e3 * min(column) for column in zip(*times, strict=True))
    ratio = statistics.median(a / b for a, b in times)
    print(f"a step: {mine:.2f} ms, PyTorch's {other:.2f} ms, ratio: {ratio:.2f}")


def import_torch() -> Any:
    """PyTorch on one thread; None, with a word on what to do, where it is not installed."""
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: pip install torch, for --compare")
        return None
    torch.set_num_threads(1)
    return torch


def make_torch_state(torch: Any, model: fg.nn.Module) -> dict[str, Any]:
    """The state of a model for PyTorch's counterpart: weights of linear layers turned."""
    turned = {
        f"{name}.weight"
        for name, module in model.named_modules()
        if isinstance(module, fg.nn.Linear)
    }
    return {
        key: torch.tensor(value.numpy().T.copy() if key in turned else value.numpy().copy())
        for key, value in model.state_dict().items()
    }
