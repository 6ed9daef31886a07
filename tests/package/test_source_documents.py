"""`docs/source-documents.md` names tests that exist, and every example function and functor."""

import re
from pathlib import Path

import pytest

import ferrograd as fg

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "source-documents.md"
ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
NAMED = sorted(set(re.findall(r"`(test_\w+): (test_\w+)`", PAGE.read_text())))


@pytest.mark.parametrize(("file", "test"), NAMED, ids=lambda v: v)
def test_a_test_that_the_map_names_exists(file: str, test: str) -> None:
    (path,) = TESTS.rglob(f"{file}.py")
    text = path.read_text()
    assert re.search(rf"^ *def {test}\(", text, re.MULTILINE)


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`(\w+\.(?:py|rs))`", PAGE.read_text()))))
def test_a_file_that_the_map_names_exists(file: str) -> None:
    assert list(TESTS.rglob(file))


def test_every_row_says_what_delivers_it_and_how_it_is_tested() -> None:
    for row in ROWS:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 3, row
        assert cells[0], row
        assert cells[2] or "—" in cells[1], row


def test_the_map_names_everything_public_that_comes_from_the_documents() -> None:
    text = PAGE.read_text()
    for module in (fg.functors, fg.functions):
        for name in vars(module):
            if name[0].isupper() and name != "Op":
                assert name in text, name
