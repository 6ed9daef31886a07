"""The pages for contributors name files, types and functions that exist.

A backticked path is one from the root of the repository, from the page's own folder, or the end of
a file's path. A word in backticks stands somewhere in the sources.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "docs", "benches", "python", "examples", "tools")
FILES = sorted(
    path.relative_to(ROOT)
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".rs", ".py", ".pyi", ".md", ".toml"}
)
DIRECTORIES = ROOT / "tests/layers/directories.rs"
GUIDES = [Path("CONTRIBUTING.md"), Path("docs/architecture.md")]
GUIDES += [path for path in FILES if path.parts[0] == "src" and path.suffix == ".md"]
PAGES = sorted({Path("README.md"), *GUIDES, *(p for p in FILES if p.parent == Path("docs"))})
#: What a program writes, and patterns for names.
NO_FILES = {"examples/out"}
CODE = re.compile(r"```.*?```", re.DOTALL)
PATH = re.compile(rf"[\w./<>*-]+\.(?:rs|py|pyi|md|toml)\b|\b(?:{'|'.join(FOLDERS)})/[\w./<>*-]*\w")


def quoted(page: Path) -> list[str]:
    """What stands in backticks on a page, its blocks left out."""
    return re.findall(r"`([^`\n]+)`", CODE.sub("", (ROOT / page).read_text()))


def exists(name: str, page: Path) -> bool:
    if name in NO_FILES or "<" in name or "*" in name:
        return True
    if (ROOT / name).exists() or (ROOT / page).parent.joinpath(name).exists():
        return True
    return any(f"/{path.as_posix()}".endswith(f"/{name}") for path in FILES)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_file_that_a_page_names_exists(page: Path) -> None:
    named = {name for text in quoted(page) for name in PATH.findall(text)}
    assert {name for name in named if not exists(name, page)} == set()


def test_what_the_examples_of_contributing_call_exists() -> None:
    blocks = "".join(CODE.findall((ROOT / "CONTRIBUTING.md").read_text()))
    called = set(re.findall(r"\b([a-z]\w+)\(", blocks)) | set(
        re.findall(r"\b([A-Z]\w+)(?: \{|::)", blocks)
    )
    sources = "".join((ROOT / path).read_text() for path in FILES if path.parts[0] != "docs")
    defined = set(re.findall(r"\b(?:fn|def|struct|enum|trait|type|class) (\w+)", sources))
    # Words of declarations, and methods of the standard library.
    known = {"numpy", "chain", "collect", "rev", "SOFTSIGN"}
    assert called - defined - known - set(re.findall(r"fn (\w+)", blocks)) == set()


@pytest.mark.parametrize("layer", ["src/ops", "src/compile", "src/bindings", "python/ferrograd"])
def test_the_directories_of_a_layer_stand_in_the_order_that_is_tested(layer: str) -> None:
    name = layer.rpartition("/")[2].upper().replace("FERROGRAD", "PYTHON")
    (listed,) = re.findall(
        rf"^const {name}: .*?= &\[(.*?)\];", DIRECTORIES.read_text(), re.DOTALL | re.MULTILINE
    )
    page = (ROOT / "docs/architecture.md").read_text()
    (table,) = re.findall(
        rf"^\| directory of `{layer}` .*?\n\|.*?\n(.*?)\n\n", page, re.DOTALL | re.M
    )
    cells = [row.split("|")[1] for row in table.splitlines()]
    directories = [directory for cell in cells for directory in re.findall(r"`(\w+)`", cell)]
    assert directories == [directory for directory in re.findall(r'"(\w*)"', listed) if directory]


@pytest.mark.parametrize("layer", ["kernels", "graph", "tensor"])
def test_every_other_directory_has_a_row(layer: str) -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    folders = {f"{layer}/{path.name}" for path in (ROOT / "src" / layer).iterdir() if path.is_dir()}
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    assert (
        set(re.findall(rf"`({layer}/[a-z]+)`", "\n".join(r.split("|")[1] for r in rows))) == folders
    )


def test_the_words_of_the_guides_stand_in_the_sources() -> None:
    sources = [p for p in FILES if p.suffix in {".rs", ".py", ".pyi"} and p.parts[0] != "docs"]
    texts = [(ROOT / path).read_text() for path in sources]
    texts += [(ROOT / name).read_text() for name in ("Makefile", "Cargo.toml", "pyproject.toml")]
    known = {word for text in texts for word in re.findall(r"\w+", text)}
    known |= {path.stem for path in FILES} | {part for path in FILES for part in path.parts}
    for page in GUIDES:
        text = (ROOT / page).read_text()
        if page.name == "architecture.md":
            # The last column of the glossary has the words of other projects.
            text = re.sub(r"^(\|.*\|.*\|.*\|).*\|$", r"\1", text, flags=re.MULTILINE)
        words = {
            word
            for quote in re.findall(r"`([^`\n]+)`", CODE.sub("", text))
            for word in re.findall(r"[A-Za-z_]\w+", quote)
        }
        assert words - known == set(), page
