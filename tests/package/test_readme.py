"""Every Python block of the documentation runs, in order, and every docstring example holds.

A block that must not run is marked ```python no-run. The Rust block of the README is a part of
`examples/quickstart.rs`, which `make test` runs.
"""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import ferrograd as fg

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "src").rglob("*.md")),
    ]
    if page.exists()
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """(line, code) of each runnable block."""
    text = page.read_text()
    return [
        (text.count("\n", 0, m.start(3)) + 1, m[3])
        for m in BLOCK.finditer(text)
        if m[1] == language and "no-run" not in m[2]
    ]


def run(page: Path, names: dict[str, object]) -> None:
    """Runs the blocks of a page one after another in one namespace."""
    for line, code in blocks(page, "python"):
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
            failures: list[str] = []
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            doctest.DocTestRunner(optionflags=flags).run(
                test, out=failures.append, clear_globs=False
            )
            assert failures == [], "".join(failures)
            names = test.globs
        else:
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, {"__name__": "__main__"})


def test_the_readme_has_a_tour():
    assert blocks(ROOT / "README.md", "python")


def test_the_operation_of_contributing_is_the_one_of_the_source():
    entry, row, *_ = [
        body
        for kind, _, body in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())
        if kind == "text"
    ]
    source = (ROOT / "src" / "ops" / "elementwise" / "functions" / "activation.rs").read_text()
    assert "".join(f"    {line}\n" for line in entry.splitlines()) in source
    assert row.strip() in (ROOT / "tests" / "cases" / "cases.py").read_text()


def test_the_rust_of_the_readme_is_the_quickstart():
    example = (ROOT / "examples" / "quickstart.rs").read_text()
    code = [block for _, block in blocks(ROOT / "README.md", "rust")]
    assert code
    for block in code:
        for part in re.split(r"^\s*// …\n", block, flags=re.MULTILINE):
            assert flat(part) in flat(example), f"not in quickstart.rs:\n{part}"


def flat(code: str) -> str:
    """The code without indentation and empty lines."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


MODULES = ["ferrograd", *(m.name for m in pkgutil.walk_packages(fg.__path__, "ferrograd."))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags, extraglobs={"fg": fg}).failed == 0
    for function, home in left_out(module):
        for test in doctest.DocTestFinder().find(function, None, False, {**home, "fg": fg}):
            assert doctest.DocTestRunner(optionflags=flags).run(test).failed == 0


def left_out(module):
    """The functions that `testmod` does not look at: closures made them, for another module too.

    Each comes with the names of the module that it says it is of. Texts of NumPy's are not ours.
    """
    for function in filter(inspect.isfunction, vars(module).values()):
        ours = re.search(r"\bfg\.|ferrograd", function.__doc__ or "")
        if ours and function.__module__.startswith("ferrograd"):
            home = vars(importlib.import_module(function.__module__))
            held = home.get(function.__name__) is function
            if not held or function.__globals__ is not home:
                yield function, home


LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()]
    assert broken == []


OWN = re.compile(r"https://github\.com/ferrograd/ferrograd/(?:blob|raw)/main/([^)#\s]+)")


def test_links_that_work_outside_the_repository_name_files_of_it():
    named = OWN.findall((ROOT / "README.md").read_text())
    assert len(named) > 10
    assert [to for to in named if not (ROOT / to).exists()] == []
    assert LINK.findall((ROOT / "README.md").read_text()) == []
