"""What the modules show: `dir`, `import *`, and names that PyTorch has and this package has not.

That public names are documented: `test_public_names.py`.
"""

import builtins
import importlib
import re
import types
from typing import Any

import pytest

import ferrograd as fg
from ferrograd._names.missing import MISSING, get_hints

MODULES = sorted({group.namespace for group in MISSING} - {"Tensor"})


def module(name: str) -> Any:
    return importlib.import_module(f"ferrograd.{name}" if name else "ferrograd")


def test_import_star_hides_no_builtin_and_no_other_package() -> None:
    bound: dict[str, Any] = {}
    exec("from ferrograd import *", bound)
    bound.pop("__builtins__")
    assert {"Tensor", "tensor", "grad", "sin", "nn", "optim", "no_grad", "Graph"} <= set(bound)
    assert not [name for name in bound if hasattr(builtins, name)]
    assert not {"numpy", "scipy", "builtins", "util", "core", "Any"} & set(bound)
    assert not [name for name in bound if name.startswith("_")]


@pytest.mark.parametrize("name", ["", "nn", "nn.functional", "optim", "autograd", "errors", "func"])
def test_dir_shows_public_names_only(name: str) -> None:
    home = module(name)
    for shown in dir(home):
        value = getattr(home, shown)
        if shown.startswith("_") or isinstance(value, type | types.ModuleType):
            continue
        assert getattr(value, "__module__", "") != "typing", shown
    if name in ("", "autograd"):
        assert not [n for n in dir(home) if n.startswith("_") and not n.startswith("__")]
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(dir(home))


@pytest.mark.parametrize("name", MODULES)
def test_hints_stand_for_names_that_do_not_exist(name: str) -> None:
    home = module(name)
    for missing, (library, hint) in get_hints(name).items():
        assert not hasattr(home, missing), missing
        with pytest.raises(
            AttributeError, match=f"{missing!r}; {library} has it, here use"
        ) as info:
            getattr(home, missing)
        assert str(info.value).endswith(hint)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        _ = home.nonsense


@pytest.mark.parametrize("name", MODULES)
def test_imports_give_the_hint_as_well(name: str) -> None:
    path = ".".join(filter(None, ["ferrograd", name]))
    missing, (_, hint) = next(iter(get_hints(name).items()))
    with pytest.raises(ImportError, match=f"cannot import name {missing!r} from {path!r}") as info:
        exec(f"from {path} import {missing}")
    assert str(info.value).endswith(hint)


def test_what_a_hint_names_exists() -> None:
    named = re.compile(r"\b(?:fg|nn|optim|ferrograd|Module)(?:\.[A-Za-z_]\w*)+")
    for namespace in MODULES:
        for _, hint in get_hints(namespace).values():
            for reference in named.findall(hint):
                parts = reference.replace("Module.", "nn.Module.").split(".")
                found: Any = fg
                path = "ferrograd"
                for part in parts[parts[0] in ("fg", "ferrograd") :]:
                    path += f".{part}"
                    found = getattr(found, part, None) or importlib.import_module(path)
