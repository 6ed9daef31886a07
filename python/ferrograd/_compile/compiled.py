"""`Compiled`: a function with the programs that were recorded of it.

Owns: the cache of programs by signature, recording, and when the function runs eagerly instead.
Never computes. Invariant: a call gives what the function itself would give, bit for bit, or raises
what it would raise.
"""

from __future__ import annotations

import functools
import operator
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._compile.signature import Call, Static, sort
from ferrograd._core import Tensor
from ferrograd._tensor.tree import LEAF, Tree, flatten
from ferrograd.errors import ArgumentTypeError, CompileError

#: More programs of one function than this are worth a warning; at twice as many, the one that was
#: used longest ago goes.
MANY = 8


class Recorded(NamedTuple):
    """A program and the way from its results to those of the function."""

    program: Any
    tree: Tree
    #: What is no tensor among the results, at its place; `Tensor` stands for one that is.
    leaves: list[Any]

    def form(self) -> int:
        """0 for one tensor, 1 for a tuple of tensors, 2 for anything else."""
        if self.tree is LEAF:
            return 0 if self.leaves == [Tensor] else 2
        flat = self.tree.kind is tuple and all(child is LEAF for child in self.tree.children)
        return 1 if flat and all(leaf is Tensor for leaf in self.leaves) else 2

    def results(self, found: list[Any]) -> Any:
        """The results of the function."""
        rest = iter(found)
        return self.tree.build(iter([next(rest) if x is Tensor else x for x in self.leaves]))


class Eager(NamedTuple):
    """Why calls of a signature run the function itself."""

    reason: str


class Compiled(_core._Replayed):
    """A function that is recorded at its first call and replayed at later ones: see `compile`."""

    __wrapped__: Callable[..., Any]

    def __init__(self, f: Callable[..., Any], static: Static, check: int, name: str | None) -> None:
        functools.update_wrapper(self, f, updated=())
        self._static = static
        self._check = check
        self._calls = 0
        self.name = name or getattr(f, "__name__", type(f).__name__)
        self._programs: OrderedDict[Any, Recorded | Eager] = OrderedDict()
        #: Whether floats are taken anew by each call; otherwise they belong to the program.
        self._floats = True

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function, or replays what it did with such arguments."""
        if not (_core._may_replay() and enabled()):
            return self.__wrapped__(*args, **kwargs)
        call = sort(args, kwargs, self._static, self._floats)
        known = self._programs.get(call.key)
        if isinstance(known, Eager) or not call.contiguous:
            return self.__wrapped__(*args, **kwargs)
        # None: what the function read or decided while it was recorded is different now.
        found = known and known.program.run(call.values, call.tensors)
        if known is None or found is None:
            return self._record(call, args, kwargs)
        self._shorten(known, call, args)
        results = known.results(found)
        self._calls += 1
        if self._check and self._calls % self._check == 0:
            self._compare(results, args, kwargs)
        return results

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method is compiled as one function of the instance."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        """Programs are not pickled: they are recorded again."""
        return Compiled, (self.__wrapped__, self._static, self._check, self.name)

    @property
    def programs(self) -> tuple[Any, ...]:
        """The programs recorded so far."""
        return tuple(r.program for r in self._programs.values() if isinstance(r, Recorded))

    def clear(self) -> None:
        """Forgets every program."""
        self._forget()
        self._programs.clear()
        self._floats = True

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What a call with these arguments replays, as a text; it is recorded if need be.

        One line per step: the kernel, what it reads and what it writes, `%n` being buffer n.
        """
        call = sort(args, kwargs, self._static, self._floats)
        if call.key not in self._programs:
            self(*args, **kwargs)
            call = sort(args, kwargs, self._static, self._floats)
        known = self._programs.get(call.key)
        if not isinstance(known, Recorded):
            reason = known.reason if known else "compiling is switched off"
            return f"{self.name}: runs eagerly, because {reason}"
        steps = known.program.steps()
        head = (
            f"{self.name}: {len(steps)} steps, {known.program.temporary_bytes} bytes of temporaries"
        )
        lines = [
            f"  {', '.join(writes) or '-'} = {name}({', '.join(reads)})"
            for name, reads, writes in steps
        ]
        return "\n".join([head, *lines])

    def _record(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(value, Tensor) and value.requires_grad for value in call.values):
            return self._eagerly(call, "an argument requires grad", args, kwargs)
        try:
            recorded, results = self._run_once(call, args, kwargs)
        except (CompileError, ArgumentTypeError):
            if not self._floats or not any(type(v) is float for v in call.values):
                raise
            # Python computes with a float argument: from now on floats belong to the program.
            self._floats = False
            return self(*args, **kwargs)
        if recorded is None:
            return self._eagerly(call, "the result requires grad", args, kwargs)
        self._keep(call.key, recorded)
        self._shorten(recorded, call, args)
        return results

    def _shorten(self, recorded: Recorded, call: Call, args: tuple[Any, ...]) -> None:
        """Makes calls like this one run the program without coming here."""
        plain = len(call.leaves) == len(call.values) == len(args) and not self._check
        if plain and all(map(operator.is_, call.leaves, args)):
            self._remember(recorded.program, call.values, recorded.form(), recorded.results)
        else:
            self._forget()

    def _eagerly(
        self, call: Call, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._keep(call.key, Eager(reason))
        return self.__wrapped__(*args, **kwargs)

    def _keep(self, key: Any, entry: Recorded | Eager) -> None:
        new = key not in self._programs
        self._programs[key] = entry
        count = len(self._programs)
        if new and count == MANY + 1:
            warnings.warn(
                f"compile: {self.name} has been recorded for {count} signatures; pass arrays of"
                " fewer shapes, or floats instead of other values that change",
                RuntimeWarning,
                stacklevel=5,
            )
        if count > 2 * MANY:
            self._programs.popitem(last=False)

    def _run_once(
        self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Recorded | None, Any]:
        """Records the call; None for a program of a function whose results have a history."""
        outcome: dict[str, Any] = {}

        def traced(*tensors: Tensor) -> list[Tensor]:
            leaves = list(call.leaves)
            for place, tensor in zip(call.places, tensors, strict=True):
                leaves[place] = tensor
            whole, named = call.tree.build(iter(leaves))
            whole, named = self._static.join(whole, named, args, kwargs)
            found: list[Any] = []
            outcome["tree"] = flatten(self.__wrapped__(*whole, **named), found)
            outcome["leaves"] = found
            results = [leaf for leaf in found if isinstance(leaf, Tensor)]
            if any(result.requires_grad for result in results):
                raise _HistoryError
            return results

        values = [_as_tensor(value) for value in call.values]
        weak = any(type(value) is float for value in call.values)
        try:
            program, results = _core._record(traced, values, weak)
        except _HistoryError:
            return None, None
        leaves = [Tensor if isinstance(leaf, Tensor) else leaf for leaf in outcome["leaves"]]
        recorded = Recorded(program, outcome["tree"], leaves)
        plain = results if call.tensors else [np.array(r.numpy())[()] for r in results]
        return recorded, recorded.results(plain)

    def _compare(self, results: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises where a replay differs from the function in any bit."""
        got: list[Any] = []
        want: list[Any] = []
        flatten(results, got)
        flatten(self.__wrapped__(*args, **kwargs), want)
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            if _bits(a) != _bits(b):
                raise CompileError(
                    f"compile: result {i} of {self.name} is {a} replayed and {b} computed anew;"
                    " the function depends on something besides its arguments; pass it as one"
                )


class _HistoryError(Exception):
    """The results have a history: the capture ends, and what it changed is given back."""


def _bits(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    numeric = isinstance(value, np.ndarray | np.generic | float)
    return np.asarray(value).tobytes() if numeric else value


def _as_tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach()
    return _core.tensor(value, dtype="float64") if type(value) is float else _core.tensor(value)


def enabled() -> bool:
    """Whether functions are compiled at all: `FERROGRAD_COMPILE=0` switches it off."""
    return os.environ.get("FERROGRAD_COMPILE", "1") != "0"
