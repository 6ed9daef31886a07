"""Every public name that can be called, and what it is called with when nothing is hostile.

Invariant: the list is sorted, so that a seed means the same calls everywhere.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np

import ferrograd as fg
from hostile import values

#: Names that are left out, and why.
LEFT_OUT = {
    "breakpoint": "waits for a person",
    "pull": "no public name: modules share it, and hand it sequences of their own",
    "ranked": "no public name: modules share it, and hand it numbers of their own",
}
#: Classes whose objects are made by the library; what makes one.
MADE: dict[str, Callable[[Random], Any]] = {
    "Tensor": values.tensor,
    "Node": lambda rng: (fg.tensor([1.0, 2.0], requires_grad=True) * 2.0).grad_fn,
    "Generator": lambda rng: fg.Generator(),
    "Parameter": lambda rng: fg.nn.Parameter(np.ones(2)),
    "Linear": lambda rng: fg.nn.Linear(3, 2),
    "Sequential": lambda rng: fg.nn.Sequential(fg.nn.Linear(3, 2), fg.nn.ReLU()),
    "ModuleList": lambda rng: fg.nn.ModuleList([fg.nn.ReLU()]),
    "ModuleDict": lambda rng: fg.nn.ModuleDict({"a": fg.nn.ReLU()}),
    "SGD": lambda rng: fg.optim.SGD([fg.nn.Parameter(np.ones(2))], lr=0.1),
    "Adam": lambda rng: fg.optim.Adam([fg.nn.Parameter(np.ones(2))], lr=0.1),
    "Graph": lambda rng: fg.Graph(),
}
#: Methods of every object, which say nothing of the library.
OF_OBJECT = {*dir(object)} - {"__init__", "__eq__", "__hash__", "__repr__", "__reduce__"}


def modules() -> Iterator[Any]:
    """The public modules."""
    yield fg
    for found in pkgutil.walk_packages(fg.__path__, "ferrograd."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def ours(value: Any) -> bool:
    """Whether a value was made here, and not NumPy's or the standard library's."""
    home = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
    return str(home).startswith("ferrograd")


@cache
def targets() -> dict[str, Any]:
    """What is called, by name: functions, classes, methods of the classes in `MADE`."""
    found: dict[str, Any] = {}
    for module in modules():
        for name in dir(module):
            value = getattr(module, name)
            hidden = name.startswith("_") or name in LEFT_OUT or inspect.ismodule(value)
            if not hidden and callable(value) and ours(value):
                found[f"{module.__name__}.{name}"] = value
    for name in numpy_names():
        found[f"numpy.{name}"] = attribute(np, name)
    for kind, make in MADE.items():
        sample = make(Random(0))
        for name in dir(type(sample)):
            if name not in OF_OBJECT and (not name.startswith("_") or name.endswith("__")):
                found[f"{kind}().{name}"] = (kind, name)
    return dict(sorted(found.items()))


def attribute(home: Any, path: str) -> Any:
    """What a dotted path names."""
    for part in path.split("."):
        home = getattr(home, part)
    return home


def numpy_names() -> list[str]:
    """NumPy's functions that take tensors."""
    homes = {"": np, "linalg.": np.linalg, "fft.": np.fft}
    return [
        prefix + name
        for prefix, home in homes.items()
        for name, value in vars(home).items()
        if (isinstance(value, np.ufunc) or hasattr(value, "__wrapped__"))
        and not name.startswith(("_", "save", "load", "genfrom", "fromfile", "from"))
    ]


@cache
def entries() -> list[tuple[str, Any]]:
    """The items of `targets`, to choose from."""
    return list(targets().items())


@cache
def parameters(value: Any) -> list[tuple[str, bool]]:
    """The parameters that can be given, and whether each must be."""
    try:
        known = inspect.signature(value).parameters.values()
    except (ValueError, TypeError):
        return [("x", True), ("y", False), ("z", False)]
    positional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        (p.name, p.default is inspect.Parameter.empty and p.kind not in positional) for p in known
    ]


AXES = (0, 1, -1, 2, None, (0,), (0, 1), -2)
#: Arguments that parameters of these names usually get.
USUAL: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("axis", "dim"), AXES),
    **dict.fromkeys(("argnum", "argnums"), (0, 1, (0, 1), -1)),
    **dict.fromkeys(("index", "indices"), (0, [0], (0, 1))),
    "axes": ((0, 1), (1, 0), None, (2, 0, 1)),
    "shape": ((2, 3), (-1,), (3,), 6, (1, 2, 3)),
    "size": ((2, 3), (3,), 4),
    "dtype": (np.float64, np.float32, None, "int64"),
    "keepdims": (True, False),
    "requires_grad": (True, False),
    "equation": ("ij,jk->ik", "i,i", "ij->ji"),
    "sections": (2, [1, 2], 1),
    "name": ("a", None),
    "mode": ("constant", "edge", "all", "same", "full"),
    "n": (1, 2, 3),
    "k": (0, 1, -1),
    "num": (5, 1),
    "lr": (0.1,),
}
FUNCTIONS = {"f", "fun", "fn", "function", "func", "hook"}
SEVERAL = {"arrays", "tensors", "inputs", "outputs"}


def ordinary(name: str, rng: Random) -> Any:
    """An argument that such a parameter usually gets."""
    if name in USUAL:
        return rng.choice(USUAL[name])
    if name in FUNCTIONS:
        return values.function(rng)
    if name in SEVERAL:
        return [values.tensor(rng) for _ in range(rng.randrange(3))]
    return rng.choice((values.tensor, values.tensor, values.plain, values.number))(rng)
