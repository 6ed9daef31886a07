"""`Compiled`: a function with the programs that were recorded of it.

Owns: the cache of programs by signature, recording, and when the function runs eagerly instead.
Never computes. Invariant: a call gives what the function itself would give, bit for bit, or raises
what it would raise.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.explanation import check_format, explained
from ferrograd._compile.recorded import Eager, Joint, OfTensors, Recorded, WarmUp, as_tensor
from ferrograd._compile.signature import Call, Static, difference, sort
from ferrograd._compile.watching import Watch
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._tensor.generator import recorded_generators
from ferrograd._tensor.tree import flatten
from ferrograd.errors import ArgumentTypeError, CompileError, DTypeError

#: More programs of one function than this are worth a warning; at twice as many, the one that was
#: used longest ago goes.
MANY = 8
#: The most recordings whose reasons are kept.
LOGGED = 16

Entry = Recorded | Joint | Eager | WarmUp


class Compiled(_core._Replayed):
    """A function that is recorded at its first call and replayed at later ones: see `compile`."""

    __wrapped__: Callable[..., Any]

    def __init__(self, f: Callable[..., Any], static: Static, check: int, name: str | None) -> None:
        functools.update_wrapper(self, f, updated=())
        self._static = static
        self._check = check
        self._calls = 0
        self.name = name or getattr(f, "__name__", type(f).__name__)
        self._programs: OrderedDict[Any, Entry] = OrderedDict()
        #: Why it was recorded, the last times.
        self._log: deque[str] = deque(maxlen=LOGGED)
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
        if known is None or isinstance(known, WarmUp):
            return self._record(call, args, kwargs)
        # None: what the function read or decided while it was recorded is different now.
        found = known.run(call)
        if found is None:
            return self._record(call, args, kwargs)
        self._shorten(known, call, args, kwargs)
        self._calls += 1
        if self._check and self._calls % self._check == 0:
            self._compare(known, found, call, args, kwargs)
        return known.form.build(found)

    def __repr__(self) -> str:
        count = len(self.programs)
        return f"<compiled {self.name}: {count} program{'' if count == 1 else 's'}>"

    def __getattr__(self, name: str) -> Any:
        """What a compiled module or optimiser has besides: parameters, `state_dict`, `eval`."""
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.__wrapped__, name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method is compiled as one function of the instance."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        """Programs are not pickled: they are recorded again."""
        return Compiled, (self.__wrapped__, self._static, self._check, self.name)

    @property
    def programs(self) -> tuple[Any, ...]:
        """The programs recorded so far."""
        kept = self._programs.values()
        return tuple(entry.program for entry in kept if isinstance(entry, Recorded | Joint))

    def clear(self) -> None:
        """Forgets every program."""
        self._forget()
        self._programs.clear()
        self._log.clear()
        self._floats = True

    def bind(self, *args: Any, **kwargs: Any) -> Any:
        """The function bound to these arrays and tensors: `run = f.bind(x)`, then `run()`.

        `run()` reads the arguments where they lie, overwrites the same results and returns them.
        `run.address` is the address of a C function `int (*)(void *)` that does the same without
        Python, `run.data` what to pass to it: 0 means done. `run.results` is what calls return.
        Floats keep their values. The function is recorded if need be, which runs it once.
        Errors: `CompileError` when calls run eagerly, and from `run()` when the function must be
        bound again; `ArgumentError` for an argument that cannot be read where it lies.

        >>> import numpy as np
        >>> import ferrograd as fg
        >>> x = np.array([1.0, 2.0])
        >>> run = fg.compile(fg.grad(lambda x: (x * x).sum())).bind(x)
        >>> x[:] = 3.0, 4.0
        >>> run()
        array([6., 8.])
        """
        call, known = self._known(args, kwargs)
        if isinstance(known, WarmUp):
            self(*args, **kwargs)
            call, known = self._known(args, kwargs)
        if isinstance(known, Joint):
            raise CompileError(
                f"bind: calls of {self.name} are recorded, as something requires grad; detach the"
                " arguments, or bind it within fg.no_grad()"
            )
        if not isinstance(known, Recorded):
            raise CompileError(
                f"bind: {self.name} runs eagerly, because {self._reason(known)}; call it instead"
            )
        for value, place in zip(call.values, call.places, strict=True):
            given = call.leaves[place]
            if value is not given and isinstance(given, np.ndarray):
                raise ArgumentTypeError(
                    f"bind: an argument is a {type(given).__name__}; pass a plain array"
                )
        return known.program.bind(call.values, call.tensors, known.form.build)

    def _known(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, Any]:
        """A call, and what there is for it; it is recorded if need be."""
        call = sort(args, kwargs, self._static, self._floats)
        for _ in range(2):
            known = self._programs.get(call.key)
            if known is None or (isinstance(known, WarmUp) and not known.kept):
                self(*args, **kwargs)
                call = sort(args, kwargs, self._static, self._floats)
        return call, self._programs.get(call.key)

    def _reason(self, known: Eager | None) -> str:
        return (
            known.reason if known else "compiling is switched off, or an argument is not in C order"
        )

    @property
    def log(self) -> tuple[str, ...]:
        """Why the function was recorded: a line for each of the last recordings."""
        return tuple(self._log)

    def explain(self, *args: Any, format: str = "text", **kwargs: Any) -> str:
        """What a call with these arguments replays, as a text; it is recorded if need be.

        One line per step: the kernel, what it reads and what it writes, `%n` being buffer n, and in
        brackets what element-wise loops compute. Before them: memory, what is read and written
        outside, and which steps call Python; after them, why the function was recorded.
        `format="mermaid"` gives a flowchart.
        Errors: `ArgumentError` for another format.

        >>> import ferrograd as fg
        >>> f = fg.compile(lambda x: fg.sum(x * 2.0), name="f")
        >>> print(f.explain(fg.ones(3), format="mermaid").splitlines()[0])
        flowchart TD
        """
        check_format(format)
        _, known = self._known(args, kwargs)
        if isinstance(known, WarmUp):
            return (
                f"{self.name}: the first call kept tensors that it computed, such as an optimiser's"
                " state, and ran as it is; the next call is recorded"
            )
        if known is None or isinstance(known, Eager):
            return f"{self.name}: runs eagerly, because {self._reason(known)}"
        return explained(str(self.name), known.program, self._log, format)

    def _why(self, call: Call) -> str:
        """Why a call is recorded."""
        known = self._programs.get(call.key)
        if isinstance(known, WarmUp):
            did = "kept tensors that it computed" if known.kept else "showed what arrays give"
            return f"the call before {did}"
        if isinstance(known, Recorded | Joint):
            stale = known.program._is_stale()
            return (
                "what the function looked at beside its arguments has changed"
                if stale
                else "values took another way than those recorded before"
            )
        if not self._programs:
            return "it was called for the first time"
        return difference(next(reversed(self._programs)), call)

    def _record(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._log.append(self._why(call))
        if call.key in self._programs:
            self._forget()
        of_tensors = OfTensors(self.__wrapped__, call, self._static, args, kwargs)
        known = self._programs.get(call.key)
        try:
            warm = known if isinstance(known, WarmUp) else None
            entry, results = self._recorded(call, of_tensors, warm)
        except BaseException as raised:
            self._log.pop()
            if not isinstance(raised, CompileError | ArgumentTypeError | DTypeError):
                raise
            if not self._floats or not any(type(v) is float for v in call.values):
                raise
            # Python computes with a float argument: from now on floats belong to the program.
            self._floats = False
            self._forget()
            return self(*args, **kwargs)
        if (
            _core._is_in_transform()
            and isinstance(entry, Recorded | Joint)
            and entry.program.reads_outside
        ):
            entry = Eager("it closes over a tensor, and is called inside a transform")
        self._keep(call.key, entry)
        if isinstance(entry, Eager) or entry.form is None:
            results = self.__wrapped__(*args, **kwargs)
            if isinstance(entry, WarmUp) and not entry.kept:
                self._keep(call.key, entry._replace(detach=not _has_history(results)))
            return results
        self._shorten(entry, call, args, kwargs)
        return entry.form.build(results)

    def _recorded(
        self, call: Call, of_tensors: OfTensors, warm: WarmUp | None
    ) -> tuple[Entry, list[Any]]:
        """The program of a call, and the results; or why there is none."""
        may_keep = warm is None or not warm.kept
        weak = any(type(value) is float for value in call.values)
        values = [as_tensor(value) for value in call.values]
        recording = is_grad_enabled()
        detach = warm is not None and warm.detach
        if not (recording and any(value.requires_grad for value in values)):
            try:
                return self._recorded_plain(call, of_tensors, values, weak, may_keep, detach)
            except _HistoryError:
                if not recording:
                    return Eager("it records although gradients are off"), []
                if warm is None and not call.tensors:
                    # Whether a call with arrays gives a history, only such a call can tell.
                    return WarmUp(None, kept=False), []
        with Watch() as watch, recorded_generators() as check:
            program, kept, reason = _core._record_joint(
                of_tensors.then(check), values, weak, may_keep, watch.containers
            )
            if program is None:
                watch.restore()
        if kept:
            return WarmUp(None), []
        if reason is not None:
            return Eager(reason), []
        if program is None:
            return self._recorded_plain(call, of_tensors, values, weak, may_keep)
        entry = Joint(program, of_tensors.taken_form(), of_tensors)
        found = entry.run(call)
        return (entry, found) if found is not None else (Eager("it decides anew"), [])

    def _recorded_plain(
        self,
        call: Call,
        of_tensors: OfTensors,
        values: list[Tensor],
        weak: bool,
        may_keep: bool,
        detach: bool = False,
    ) -> tuple[Recorded | WarmUp, list[Any]]:
        def traced(*tensors: Tensor) -> list[Tensor]:
            results = of_tensors(*tensors)
            if detach:
                results = [result.detach() for result in results]
            if any(result.requires_grad for result in results):
                raise _HistoryError
            check()
            return results

        with Watch() as watch, recorded_generators() as check:
            program, results = _core._record(traced, values, weak, may_keep, watch.containers)
        found = list(results) if call.tensors else [np.array(r.numpy())[()] for r in results]
        form = of_tensors.taken_form()
        return WarmUp(form) if program is None else Recorded(program, form), found

    def _shorten(
        self, entry: Entry, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Makes calls like this one run the program without coming here."""
        if self._check or self._static.names or self._static.nums:
            return
        if isinstance(entry, Recorded | Joint):
            original = entry.original if isinstance(entry, Joint) else None
            form, program = entry.form, entry.program
            build = form.build
            self._remember(program, (args, kwargs), call.values, form.kind(), build, original)

    def _keep(self, key: Any, entry: Entry) -> None:
        new = key not in self._programs
        self._programs[key] = entry
        count = len(self._programs)
        if new and count == MANY + 1:
            warnings.warn(
                f"compile: {self.name} has been recorded for {count} signatures, the last time as"
                f" {self._log[-1]}; pass arrays of fewer shapes, or floats instead of other values"
                " that change",
                RuntimeWarning,
                stacklevel=5,
            )
        if count > 2 * MANY:
            self._programs.popitem(last=False)
            self._forget()

    def _compare(
        self,
        known: Recorded | Joint,
        found: list[Any],
        call: Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Raises where a replay differs from the function, on tensors, in any bit."""
        function = OfTensors(self.__wrapped__, call, self._static, args, kwargs)
        tensors = iter(function(*(as_tensor(value) for value in call.values)))
        results = iter(found)
        new, old = function.taken_form(), known.form
        if not new.tree.same(old.tree):
            raise CompileError(
                f"compile: {self.name} returned {old.tree} when it was recorded and returns"
                f" {new.tree} now; {_ANEW}"
            )
        for i, (a, b) in enumerate(zip(old.leaves, new.leaves, strict=True)):
            got = next(results) if a is Tensor else a
            want = next(tensors) if b is Tensor else b
            if _bits(got) != _bits(want):
                raise CompileError(
                    f"compile: result {i} of {self.name} is {got} replayed and {want} computed"
                    f" anew; {_ANEW}"
                )


#: Why a replay may differ.
_ANEW = "the function depends on something besides its arguments; pass it as one"


def _has_history(results: Any) -> bool:
    found: list[Any] = []
    flatten(results, found)
    return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in found)


class _HistoryError(Exception):
    """The results have a history: the capture ends, and what it changed is given back."""


def _bits(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    numeric = isinstance(value, np.ndarray | np.generic | float)
    return np.asarray(value).tobytes() if numeric else value


def enabled() -> bool:
    """Whether functions are compiled at all: `FERROGRAD_COMPILE=0` switches it off."""
    return os.environ.get("FERROGRAD_COMPILE", "1") != "0"
