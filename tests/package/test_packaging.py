"""What is shipped: the wheel, the crate, the generated files, the shape of the Python package.

These tests run on the wheel that `make` built into `dist/` and installed.
"""

import ast
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dependencies
import ferrograd as fg
import stubs

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "ferrograd"
MEGABYTE = 1_000_000

# What `cargo package` may hold: the sources, what a reader needs, and what cargo adds.
CRATE_FILES = {
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
}
CRATE_FOLDERS = ("src/", "examples/")


def wheel() -> Path:
    found = sorted((ROOT / "dist").glob("ferrograd-*.whl"))
    assert len(found) == 1, "dist/ must hold one wheel; run `make wheel`"
    return found[0]


def test_the_tests_run_on_the_installed_wheel():
    assert Path(fg.__file__).parent != PACKAGE
    assert "site-packages" in Path(fg.__file__).parts


def test_the_wheel_is_small_and_needs_numpy_only():
    assert wheel().stat().st_size <= 6.3 * MEGABYTE
    requires = importlib.metadata.requires("ferrograd") or []
    assert [r for r in requires if "extra ==" not in r] == ["numpy>=2.0"]


def test_the_wheel_holds_the_package_and_nothing_else():
    names = zipfile.ZipFile(wheel()).namelist()
    outside = [n for n in names if not n.startswith("ferrograd/") and ".dist-info/" not in n]
    assert outside == []
    shipped = {n for n in names if n.startswith("ferrograd/") and not n.endswith(".so")}
    sources = {f"ferrograd/{p.relative_to(PACKAGE)}" for p in PACKAGE.rglob("*.py*")}
    sources = {n for n in sources if n.endswith((".py", ".pyi"))} | {"ferrograd/py.typed"}
    assert shipped == sources
    assert sum(n.endswith(".so") for n in names) == 1


def isolated(code: str, site: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python that sees the standard library and one folder of packages."""
    program = f"import sys; sys.path.append({str(site)!r})\n{code}"
    command = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def numpy_and_ferrograd(tmp_path):
    """A folder with exactly the two packages that a user gets."""
    import numpy

    site = Path(numpy.__file__).parent.parent
    for name in ("numpy", "numpy.libs", "ferrograd"):
        if (site / name).exists():
            (tmp_path / name).symlink_to(site / name)
    return tmp_path


def test_import_needs_nothing_but_numpy(numpy_and_ferrograd):
    code = "import ferrograd as fg; x = fg.tensor(3.0, requires_grad=True); (x * x).backward(); "
    result = isolated(code + "print(float(x.grad))", numpy_and_ferrograd)
    assert (result.stdout.strip(), result.stderr) == ("6.0", "")


def test_import_loads_little_beside_numpy(numpy_and_ferrograd):
    """What costs time is what is loaded: the milliseconds are in `benches/footprint.py`."""
    code = (
        "import sys, numpy; before = set(sys.modules); import ferrograd; "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = isolated(code, numpy_and_ferrograd).stdout.split()
    ours = [name for name in loaded if name.split(".")[0] == "ferrograd"]
    assert ours == ["ferrograd", "ferrograd._core"]
    assert set(loaded) - set(ours) <= {"gc"}


def test_the_version_is_the_crates():
    assert fg.__version__ == importlib.metadata.version("ferrograd")
    assert f'version = "{fg.__version__}"' in (ROOT / "Cargo.toml").read_text()


def test_the_crate_holds_what_a_rust_user_needs():
    if shutil.which("cargo") is None:
        pytest.fail("cargo is not on PATH")
    command = ["cargo", "package", "--list", "--allow-dirty", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.splitlines()
    surplus = [n for n in names if n not in CRATE_FILES and not n.startswith(CRATE_FOLDERS)]
    assert surplus == []
    kinds = {Path(n).suffix for n in names if n.startswith(CRATE_FOLDERS)}
    assert kinds <= {".rs", ".md"}
    missing = CRATE_FILES - {".cargo_vcs_info.json"} - set(names)
    assert missing == set()


def test_no_cargo_dependency_is_dead(monkeypatch):
    dependencies.main()
    with pytest.raises(AssertionError):
        assert dependencies.find_unused({"dependencies": {"no-such-crate": "1"}}) == []


def test_generated_files_are_fresh():
    assert stubs.find_stale() == [], "run `make stubs`"


def test_the_package_is_typed():
    assert (Path(fg.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("__init__.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_init_files_only_re_export(path):
    for node in ast.parse(path.read_text()).body:
        assert re_exports(node), f"{path.name}:{node.lineno}: move it to a module of its own"


def re_exports(node: ast.stmt) -> bool:
    """Whether a statement only passes names on, at once or when they are first used."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # the docstring
            return True
        case ast.Assign(
            value=ast.Attribute() | ast.Name() | ast.List() | ast.Dict() | ast.Tuple() | ast.Set()
        ):
            return True
        case ast.If(test=test, body=body, orelse=[]):
            # What only type checkers see, and what only they do not: `if not TYPE_CHECKING`.
            which = ast.unparse(test).removeprefix("not ").removeprefix("_typing.")
            return which == "TYPE_CHECKING" and all(re_exports(inner) for inner in body)
        case ast.Assign(targets=[ast.Name(id="__getattr__" | "__dir__")], value=ast.Call()):
            return True
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id="__getattr__"), ast.Name(id="__dir__")])],
            value=ast.Call(),
        ):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):  # which names: a list or its rule
            return True
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update"))):  # names of the table
            return ast.unparse(node).startswith("globals().update(_name_table.NameTable(")
    return False


def test_every_public_name_can_be_had():
    names = [name for name in dir(fg) if not name.startswith("_")]
    assert {"Tensor", "tensor", "Function", "no_grad"} <= set(names)
    assert [name for name in names if not hasattr(fg, name)] == []


def tracked_text() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in done.stdout.splitlines()]
    return [p for p in paths if p.is_file() and p.suffix not in {".png", ".npz", ".npy"}]


def test_no_file_names_a_folder_of_one_machine():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    home = str(Path.home())
    marks = [m for m in {str(ROOT), home + os.sep} if len(m) > 3]
    guilty = [str(p.relative_to(ROOT)) for p in tracked_text() if has_any(p, marks)]
    assert guilty == []


def has_any(path: Path, marks: list[str]) -> bool:
    text = path.read_text(errors="replace")
    return any(mark in text for mark in marks)


def test_the_registry_is_plain_data():
    from ferrograd import _core

    rows = _core._registry()
    assert json.loads(json.dumps(rows)) == json.loads(json.dumps(rows))
    names = [
        (space, name)
        for row in rows
        for space in row["namespaces"] or [""]
        for name in (row["name"], *row["aliases"])
    ]
    assert len(names) == len(set(names)), "an operation or alias is declared twice"
    assert all(row["doc"] for row in rows), "an operation has no documentation"
