"""Names of the package, of the core and of the class of tensors that are made when first asked for.

What a module shows: `test_public_faces.py`.
"""

import ast
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ferrograd as fg
from ferrograd import _core

STUB = Path(fg.__file__).parent / "__init__.pyi"


def fresh(code: str) -> str:
    """What a new interpreter prints for this program."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def declared() -> Iterator[str]:
    """The names that type checkers see in the package, those of `_core` aside."""
    for node in ast.parse(STUB.read_text()).body:
        match node:
            case ast.ImportFrom(names=names):
                yield from (alias.asname for alias in names if alias.asname)
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name


def test_type_checkers_see_the_names_that_there_are() -> None:
    special = {"__doc__", "__file__", "__name__", "__path__"}
    known = {*declared(), *_core.__all__}
    program = "import ferrograd; print(*(n for n in dir(ferrograd)))"
    assert {*fresh(program).split()} - special == known
    assert {*dir(fg)} >= known


def test_an_import_makes_few_objects_that_the_collector_walks() -> None:
    """Each 700 of them cost a collection, and those of NumPy's import are walked with them."""
    program = """if True:
        import gc, numpy
        gc.collect()
        gc.disable()
        before = gc.get_count()[0]
        import ferrograd
        print(gc.get_count()[0] - before)
    """
    assert int(fresh(program)) < 400


@pytest.mark.parametrize("name", [n for n in dir(_core) if not n.startswith("__")])
def test_a_member_of_the_core_is_made_once_and_has_its_name(name: str) -> None:
    member = getattr(_core, name)
    assert getattr(_core, name) is member
    assert vars(_core)[name] is member
    if not name.startswith("_namespaces") and name not in fg._core.__dict__.get("_aliases", ()):
        assert member.__name__ == name


def test_a_name_that_the_core_does_not_have() -> None:
    with pytest.raises(AttributeError, match=r"^module 'ferrograd\._core' has no attribute 'nil'$"):
        _ = _core.nil  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="nil"):
        exec("from ferrograd._core import nil")


def test_the_core_is_exported_whole() -> None:
    bound: dict[str, Any] = {}
    exec("from ferrograd._core import *", bound)
    bound.pop("__builtins__")
    assert {"Tensor", "tensor", "exp", "einsum", "live_nodes"} <= set(bound)
    assert set(bound) == set(_core.__all__)


def test_functions_and_methods_are_pickled_by_name() -> None:
    program = (
        "import pickle, sys, ferrograd as fg;"
        "made = pickle.loads(bytes.fromhex(sys.argv[1]));"
        "print(made is fg.expm1, pickle.loads(bytes.fromhex(sys.argv[2])) is fg.Tensor.cumsum)"
    )
    parts = [pickle.dumps(fg.expm1).hex(), pickle.dumps(fg.Tensor.cumsum).hex()]
    done = subprocess.run([sys.executable, "-c", program, *parts], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_a_method_is_a_method_from_the_first_look() -> None:
    program = """if True:
        import inspect, ferrograd as fg
        late = type(vars(fg.Tensor)["sinh"])
        assert inspect.ismethoddescriptor(fg.Tensor.sinh)
        assert type(vars(fg.Tensor)["sinh"]) is not late
        x = fg.tensor([0.5])
        assert type(vars(fg.Tensor)["cosh"]) is late
        assert inspect.isbuiltin(x.cosh) and x.cosh.__self__ is x
        assert x.cosh().tolist() == fg.cosh(x).tolist()
        assert str(inspect.signature(fg.Tensor.tanh_)) == "(self, /)"
        assert all(callable(getattr(fg.Tensor, n)) for n in dir(fg.Tensor) if n.endswith("_like"))
        print(sum(type(each) is late for each in vars(fg.Tensor).values()) > 300)
    """
    assert fresh(program) == "True"


def test_help_shows_methods_that_nobody_has_used() -> None:
    program = "import ferrograd as fg; help(fg.Tensor)"
    text = fresh(program)
    assert "logaddexp2(self, /, b, *" in text
    assert "index_put_(self" in text
    assert "_Late" not in text


def test_what_a_program_puts_under_a_name_stays() -> None:
    program = """if True:
        import ferrograd as fg
        late = vars(fg.Tensor)["arctan"]
        fg.Tensor.arctan = lambda self: "mine"
        x = fg.tensor(1.0)
        print(x.arctan(), late.__get__(x, fg.Tensor)().item() == fg.arctan(x).item(), x.arctan())
    """
    assert fresh(program) == "mine True mine"


def test_subclasses_inherit_and_override() -> None:
    program = """if True:
        import ferrograd as fg
        class Mine(fg.Tensor):
            def tan(self):
                return "mine", super().tan()
        class Plain(fg.Tensor):
            pass
        x = Mine([1.0])
        word, value = x.tan()
        print(word, value.tolist() == fg.tan(x).tolist(), Plain.sin is fg.Tensor.sin)
        print(Plain([1.0]).baddbmm.__name__, "sin" in vars(Plain))
    """
    assert fresh(program).split() == ["mine", "True", "True", "baddbmm", "False"]


def test_a_name_with_a_hint_is_no_attribute_at_first_either() -> None:
    program = """if True:
        import ferrograd as fg
        x = fg.tensor([1.0])
        print(hasattr(x, "resize_"), hasattr(x, "values"), x.is_cuda, x.is_cpu)
    """
    assert fresh(program) == "False False False True"


def test_threads_that_ask_at_once_get_one_object() -> None:
    program = """if True:
        import threading, ferrograd as fg
        names = [n for n in fg._core.__all__ if n not in vars(fg._core)]
        found, start = [[] for _ in range(4)], threading.Barrier(4)
        def ask(mine):
            start.wait()
            mine.extend(getattr(fg._core, n) for n in names)
            mine.extend(getattr(fg.Tensor, n) for n in names if hasattr(fg.Tensor, n))
        threads = [threading.Thread(target=ask, args=(mine,)) for mine in found]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(len(names) > 300, all(a is b for each in found for a, b in zip(each, found[0])))
    """
    assert fresh(program) == "True True"


def test_errors_are_classes_before_anything_failed() -> None:
    program = """if True:
        import ferrograd as fg
        try:
            fg.tensor([1.0]) + fg.tensor([1.0, 2.0])
            fg.matmul(fg.ones(2, 3), fg.ones(2, 3))
        except fg.errors.ShapeError as error:
            print(type(error) is fg._core.ShapeError, isinstance(error, ValueError))
    """
    assert fresh(program) == "True True"
