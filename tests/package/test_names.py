"""The table of names, `python/ferrograd/_names`: what it says about a name is true."""

import importlib
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import _core
from ferrograd._names.array_api import ARRAY_API
from ferrograd._names.linalg import LINALG, OF_NUMPY
from ferrograd._names.missing import MISSING, MissingNames, get_hints
from ferrograd._names.name_table import NameGroup, NameTable, iter_names
from ferrograd._names.nn import FUNCTIONAL, NN
from ferrograd._names.package import PACKAGE
from ferrograd._names.pytorch_differences import PYTORCH_DIFFERENCES
from ferrograd._names.tensor import TENSOR

TABLES = {
    "": PACKAGE,
    "nn": NN,
    "nn.functional": FUNCTIONAL,
    "linalg": LINALG,
    "array_api": ARRAY_API,
}


def member(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part)
    return root


@pytest.mark.parametrize("namespace", TABLES)
def test_a_name_is_what_its_module_has(namespace: str) -> None:
    module = importlib.import_module(f"ferrograd.{namespace}" if namespace else "ferrograd")
    table = NameTable(TABLES[namespace])
    for name in table.groups:
        found = getattr(module, name)
        assert found is table.load(name) or found == table.load(name), name
        assert name in dir(module), name


def test_a_method_is_what_its_module_has() -> None:
    for name, group in iter_names(TENSOR):
        module = importlib.import_module(f"ferrograd.{group.module}")
        assert vars(fg.Tensor)[name] is not None
        assert getattr(fg.Tensor, name) is getattr(module, name), name


@pytest.mark.parametrize("groups", [*TABLES.values(), TENSOR, MISSING])
def test_a_name_is_in_one_group(groups: tuple[NameGroup | MissingNames, ...]) -> None:
    keys = Counter(
        (getattr(group, "namespace", ""), getattr(group, "library", ""), name)
        for group in groups
        for name in group.names.split()
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_a_name_of_the_table_is_none_of_the_core() -> None:
    """Of a name that both had, one would come first by the order of imports."""
    core = {*_core.__all__}
    assert {name for name, _ in iter_names(PACKAGE)} & core == set()
    operations = {*_core._namespaces["nn.functional"]}
    own = {name for name, group in iter_names(FUNCTIONAL) if group.module != "_core"}
    assert own & operations == set()


def test_a_method_of_the_table_is_no_operation() -> None:
    methods = set()
    for row in _core._registry():
        names = [row["name"], *row["aliases"]]
        methods |= {*names} if row["method"] else set()
        methods |= {f"{name}_" for name in names} if row["in_place"] else set()
        methods |= {*row["in_place_aliases"]}
    assert {name for name, _ in iter_names(TENSOR)} & methods == set()


def test_the_core_has_no_other_function_under_a_name_of_the_package() -> None:
    for name in dir(_core):
        if not name.startswith("_") and name in dir(fg):
            assert getattr(fg, name) is getattr(_core, name), name


def test_what_is_numpys_is_there() -> None:
    tables = [*TABLES.values(), TENSOR, (OF_NUMPY,)]
    for name, group in (pair for groups in tables for pair in iter_names(groups)):
        if group.numpy:
            member(np, group.numpy.replace("*", name))


def test_translations_name_functions_and_parameters_of_ours() -> None:
    rows = {name: row for row in _core._registry() for name in (row["name"], *row["aliases"])}
    for difference in PYTORCH_DIFFERENCES:
        for path in difference.equivalents.split():
            assert callable(member(fg, path)), path
            operation = rows.get(path.rpartition(".")[2], {"params": ()})
            known = {param["name"] for param in operation["params"]}
            known |= {"correction", "dim", "keepdim"}
            for pair in difference.keywords.split():
                assert pair.partition(":")[2] in known, (path, pair)


def test_a_tensor_says_what_to_use_for_a_method_that_it_has_not() -> None:
    x = fg.ones(2)
    for name, (library, hint) in get_hints("Tensor").items():
        assert not hasattr(x, name)
        with pytest.raises(AttributeError) as info:
            getattr(x, name)
        assert str(info.value).endswith(f"{name!r}; {library} has it, here {hint}")


def fresh(program: str) -> str:
    """What a new interpreter prints for this program."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["ferrograd.core", "ferrograd.hips.core"])
def test_a_module_has_two_names_and_is_one_object(first: str) -> None:
    program = f"""if True:
        import sys, importlib, importlib.util, pickle
        import {first}
        import ferrograd, ferrograd.core, ferrograd.hips.core
        assert ferrograd.core is ferrograd.hips.core is sys.modules["ferrograd.core"]
        assert ferrograd.core.__name__ == ferrograd.core.__spec__.name == "ferrograd.hips.core"
        assert importlib.util.find_spec("ferrograd.wrap_util").name == "ferrograd.wrap_util"
        from ferrograd.core import make_vjp
        assert pickle.loads(pickle.dumps(make_vjp)) is make_vjp
        importlib.reload(ferrograd.core)
    """
    assert fresh(program) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "from ferrograd.misc import flatten; assert callable(flatten)",
        "from ferrograd.misc.flatten import flatten; assert callable(flatten)",
        "import ferrograd.misc.optimizers as o; assert callable(o.adam)",
        "from ferrograd import util; assert callable(util.subvals)",
        "import ferrograd as fg; assert callable(fg.misc.flatten)",
        "import ferrograd as fg; assert fg.isinstance is fg.builtins.isinstance",
        "import ferrograd.builtins, builtins; assert ferrograd.builtins.list is builtins.list",
    ],
)
def test_modules_of_hips_autograd_are_found(statement: str) -> None:
    same = "from ferrograd import hips, misc; import ferrograd.hips.misc; assert misc is hips.misc"
    assert fresh(f"{statement}; {same}") == ""
