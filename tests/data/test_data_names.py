"""`fg.utils.data` beside `torch.utils.data`: every name is there, or left out with a reason."""

import inspect
import json
import re
from pathlib import Path

import pytest

from ferrograd.utils import data

ROOT = Path(__file__).resolve().parents[2]
THEIRS = json.loads((ROOT / "tests/golden/names/torch_utils_data.json").read_text())["names"]
PAGE = (ROOT / "docs/data.md").read_text()


def names(table: str) -> set[str]:
    """What stands in backticks in the first column."""
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


HERE, LEFT_OUT = map(names, PAGE.split("| here and there |")[1].split("| left out |"))


def test_the_page_has_every_name_once() -> None:
    assert set() == HERE & LEFT_OUT
    assert set(THEIRS) == HERE | LEFT_OUT


def test_names_are_there_or_left_out_as_the_page_says() -> None:
    assert {name for name in THEIRS if hasattr(data, name)} == HERE


@pytest.mark.parametrize("name", sorted(HERE))
def test_parameters_have_the_names_of_pytorch(name: str) -> None:
    ours = list(inspect.signature(getattr(data, name)).parameters)
    assert ours[: len(THEIRS[name])] == THEIRS[name]
