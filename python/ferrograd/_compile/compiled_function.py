"""`CompiledFunction`: a function and its programs.

Invariant: a call returns the same bits, or raises the same error, as the function itself.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.bound_methods import MethodTable
from ferrograd._compile.explanation import check_format, format_program
from ferrograd._compile.guards import GuardCollector, StateGuard
from ferrograd._compile.program_cache import (
    LONG_PAUSE,
    MANY_SIGNATURES,
    PAUSED_REASON,
    ProgramCache,
    SignatureState,
)
from ferrograd._compile.signature import (
    Call,
    StaticArguments,
    accepts_var_keyword,
    sort_keywords,
    split_call,
)
from ferrograd._compile.specializations import (
    CompiledForward,
    CompiledWithBackward,
    Eager,
    Entry,
    HistoryError,
    ProgramEntry,
    RunsEagerlyError,
    TracedFunction,
    WarmUp,
    eager_function,
    has_history,
    is_compile_enabled,
)
from ferrograd._compile.verify import EagerResult
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._inspect.warn import warn_user
from ferrograd._tensor.array_recording import call_with_recorded_arrays
from ferrograd._tensor.closures import snapshot_closure
from ferrograd._tensor.generator import collect_generators
from ferrograd.errors import ArgumentTypeError, CompileError, DTypeError

#: The most traces whose reasons are kept.
MAX_LOG_ENTRIES = 16

#: The most calls in a row that may create state: members of modules, tensors of an optimiser.
MAX_WARM_UPS = 4

#: A count of calls that is never reached.
UNLIMITED_CALLS = 1 << 63

#: The reason for calls that run eagerly because they may close over another tensor next time.
CLOSURE_REASON = "it closes over a tensor, and is called inside a transform"


def _may_close_over_others(program: Any) -> bool:
    """Whether the next call may have a new inner function that closes over other tensors."""
    return _core._is_in_transform() and bool(program.reads_outside)


class CompiledFunction(_core._CompiledCall):
    """A function that is traced at its first call and runs as a program later: see `compile`."""

    __wrapped__: Callable[..., Any]

    def __init__(
        self, f: Callable[..., Any], static: StaticArguments, check: int, name: str | None
    ) -> None:
        functools.update_wrapper(self, f, updated=())
        self._static = static
        self._check = check
        self._ordered = accepts_var_keyword(f)
        self._runs = 0
        self.name = name or getattr(f, "__name__", type(f).__name__)
        self._cache = ProgramCache()
        self._methods = MethodTable()
        #: The reasons of the last traces.
        self._log: deque[str] = deque(maxlen=MAX_LOG_ENTRIES)
        #: Whether floats and complex numbers are inputs; otherwise they are constants.
        self._floats = True

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a program for these arguments, or the function."""
        if not (_core._may_replay() and is_compile_enabled()):
            return call_with_recorded_arrays(self.__wrapped__, *args, **kwargs)
        if self._cache.should_skip_lookup(args):
            return call_with_recorded_arrays(self.__wrapped__, *args, **kwargs)
        kwargs = sort_keywords(kwargs, self._ordered)
        call = split_call(args, kwargs, self._static, self._floats, self._ordered)
        known = self._cache.get(call.key)
        if call.non_contiguous is not None:
            return self._run_non_contiguous(call, args, kwargs)
        if known is None and self._cache.back_off.consume_pause():
            if not self._cache.back_off.logged:
                self._cache.back_off.logged = True
                self._log.append(f"{self._cache.explain_trace(call)}: {PAUSED_REASON}")
            return eager_function(self.__wrapped__, call.has_tensors)(*args, **kwargs)
        if known is None or isinstance(known.other, WarmUp):
            return self._trace(call, args, kwargs)
        if known.other is not None:
            return self._run_eagerly(UNLIMITED_CALLS, call, args, kwargs)
        checked = self._run_eagerly_first(call, args, kwargs) if self._is_checked_next() else None
        for entry in known.programs:
            # None: a value or decision on which the trace depended has changed.
            found = entry.run(call)
            if found is not None:
                return self._finish_run(entry, found, call, checked)
        return self._trace_again(known, call, args, kwargs)

    def _run_non_contiguous(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function itself, because sums in another order have other bits."""
        if (reason := f"such calls run eagerly, because {call.explain_layout()}") not in self._log:
            self._log.append(reason)
        return self._run_eagerly(UNLIMITED_CALLS, call, args, kwargs)

    def _finish_run(
        self,
        entry: ProgramEntry,
        found: list[Any],
        call: Call,
        checked: EagerResult | None,
    ) -> Any:
        """Converts the results of a program to those of the function."""
        self._install_fast_path(entry, call)
        self._runs += 1
        if checked is not None:
            checked.compare(str(self.name), entry.form, found)
        return entry.form.build(found)

    def _is_checked_next(self) -> bool:
        """Whether to compare the next run with the function."""
        return bool(self._check) and (self._runs + 1) % self._check == 0

    def _run_eagerly_first(
        self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> EagerResult:
        """Calls the function before the program runs, because both change the same tensors."""
        return EagerResult(TracedFunction(self.__wrapped__, call, self._static, args, kwargs), call)

    def _trace_again(
        self, known: SignatureState, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Traces the function again, unless the last traces did not save time."""
        back_off = known.back_off
        if not known.should_run_eagerly():
            return self._trace(call, args, kwargs)
        if not back_off.logged:
            back_off.logged = True
            self._log.append(f"{self._cache.explain_trace(call)}, once more: {PAUSED_REASON}")
        if back_off.calls_left >= LONG_PAUSE or known.find_valid_program() is not None:
            # No program would serve this call.
            self._forget()
        return self._run_eagerly(back_off.calls_left, call, args, kwargs, known)

    def _run_eagerly(
        self,
        count: int,
        call: Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: SignatureState | None = None,
    ) -> Any:
        """Calls the function itself, now and for later calls like this one."""
        function = eager_function(self.__wrapped__, call.has_tensors)
        remembered = not self._needs_python() and self._remember_function(function, call.key, count)
        if remembered and known is not None:
            known.back_off.calls_left = 1
        return function(*args, **kwargs)

    def _needs_python(self) -> bool:
        """Whether every call must go through Python."""
        return bool(self._check or any(self._static))

    def __repr__(self) -> str:
        count = len(self.programs)
        return f"<compiled {self.name}: {count} program{'' if count == 1 else 's'}>"

    def __getattr__(self, name: str) -> Any:
        """Other attributes of a compiled module or optimiser: parameters, `state_dict`, `eval`."""
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.__wrapped__, name)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: every object has its own programs."""
        return self if instance is None else self._methods.get_method(instance, self)

    def _bound_to_object(self, function: Callable[..., Any]) -> CompiledFunction:
        """The same for a function that takes no `self`."""
        return CompiledFunction(function, self._static.without_first(), self._check, self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Programs are not pickled: they are traced again."""
        return CompiledFunction, (self.__wrapped__, self._static, self._check, self.name)

    @property
    def programs(self) -> tuple[Any, ...]:
        """All current programs."""
        methods = (one for method in self._methods.all() for one in method.programs)
        return (*(entry.program for entry in self._cache.programs()), *methods)

    def clear(self) -> None:
        """Deletes all programs."""
        for method in self._methods.all():
            method.clear()
        self._forget()
        self._cache.clear()
        self._log.clear()
        self._floats = True

    def bind(self, *args: Any, **kwargs: Any) -> Any:
        """The function bound to these arrays and tensors: `run = f.bind(x)`, then `run()`.

        `run()` reads the current values of the arguments, overwrites the same results and returns
        them. `run.address` is the address of a C function `int (*)(void *)` that does the same
        without Python; pass it `run.data`; it returns 0 on success. `run.results` has the results.
        Floats keep their values. If necessary, the function is traced, which runs it once.
        Errors: `CompileError` if calls run eagerly, and from `run()` if the function must be bound
        again; `ArgumentError` for an argument whose memory cannot be read directly.

        >>> import numpy as np
        >>> import ferrograd as fg
        >>> x = np.array([1.0, 2.0])
        >>> run = fg.compile(fg.grad(lambda x: (x * x).sum())).bind(x)
        >>> x[:] = 3.0, 4.0
        >>> run()
        array([6., 8.])
        """
        call, known = self._find_entry(args, kwargs)
        while isinstance(known, WarmUp):
            self(*args, **kwargs)
            call, known = self._find_entry(args, kwargs)
        if isinstance(known, CompiledWithBackward):
            raise CompileError(
                f"bind: calls of {self.name} are recorded, as something requires grad; detach the"
                " arguments, or bind it within fg.no_grad()"
            )
        if not isinstance(known, CompiledForward):
            raise CompileError(
                f"bind: {self.name} runs eagerly, because {known.reason}; call it instead"
            )
        for value, place in zip(call.values, call.places, strict=True):
            given = call.leaves[place]
            if value is not given and isinstance(given, np.ndarray):
                raise ArgumentTypeError(
                    f"bind: an argument is a {type(given).__name__}; pass a plain array"
                )
        return known.program.bind(call.values, call.has_tensors, known.form)

    def _find_entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, Any]:
        """A call and its program; the function is traced if necessary."""
        for again in (True, True, False):
            ordered = sort_keywords(kwargs, self._ordered)
            call = split_call(args, ordered, self._static, self._floats, self._ordered)
            known = self._cache.get(call.key)
            entry: Any = known and (known.other or known.find_valid_program())
            to_record = entry is None or (isinstance(entry, WarmUp) and not entry.kept)
            if not (again and to_record and is_compile_enabled() and call.non_contiguous is None):
                break
            self(*args, **kwargs)
        if call.non_contiguous is not None:
            return call, Eager(call.explain_layout())
        if entry is None:
            paused = known is not None or self._cache.back_off.calls_left
            return call, Eager(PAUSED_REASON if paused else "compiling is switched off here")
        return call, entry

    @property
    def log(self) -> tuple[str, ...]:
        """Why the function was traced: a line for each of the last traces."""
        return (*self._log, *(line for method in self._methods.all() for line in method.log))

    def explain(self, *args: Any, format: str = "text", **kwargs: Any) -> str:
        """The program for these arguments as text; the function is traced if necessary.

        One line per step: the kernel, the buffers that it reads and writes (`%n` is buffer n), and
        in brackets the expressions of element-wise loops. The lines before the steps describe
        memory, memory outside, and steps that call Python. The lines after them say why the
        function was traced. `format="mermaid"` returns a flowchart. Errors: `ArgumentError` for
        another format.

        >>> import ferrograd as fg
        >>> f = fg.compile(lambda x: fg.sum(x * 2.0), name="f")
        >>> print(f.explain(fg.ones(3), format="mermaid").splitlines()[0])
        flowchart TD
        """
        check_format(format)
        _, known = self._find_entry(args, kwargs)
        if isinstance(known, WarmUp):
            what = "the call before made state (members of modules, tensors of an optimiser)"
            return f"{self.name}: {what} and ran as it is; the next call is recorded"
        if isinstance(known, Eager):
            return f"{self.name}: runs eagerly, because {known.reason}"
        return format_program(str(self.name), known.program, self._log, format)

    def _trace(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._log.append(self._cache.explain_trace(call))
        of_tensors = TracedFunction(self.__wrapped__, call, self._static, args, kwargs)
        known = self._cache.get(call.key)
        warm = known.other if known and isinstance(known.other, WarmUp) else None
        try:
            entry, results = self._trace_call(call, of_tensors, warm)
        except RunsEagerlyError as raised:
            entry, results = Eager(str(raised)), []
        except BaseException as raised:
            self._log.pop()
            if not isinstance(raised, CompileError | ArgumentTypeError | DTypeError):
                raise
            if not (self._floats and call.has_numbers):
                raise
            # Python computes with a float argument: from now on floats are constants.
            self._floats = False
            self._forget()
            return self(*args, **kwargs)
        if isinstance(entry, CompiledForward) and _may_close_over_others(entry.program):
            # The traced call counts as a call, with its changes.
            form, entry = entry.form, Eager(CLOSURE_REASON)
            self._store_eager(call, entry)
            return form.build(results)
        if isinstance(entry, Eager):
            self._store_eager(call, entry)
        else:
            self._store(call.key, entry)
        if isinstance(entry, Eager) or entry.form is None:
            results = eager_function(self.__wrapped__, call.has_tensors)(*args, **kwargs)
            if isinstance(entry, WarmUp) and not entry.kept:
                self._store(call.key, entry._replace(detach=not has_history(results)))
            return results
        self._install_fast_path(entry, call)
        return entry.form.build(results)

    def _store_eager(self, call: Call, entry: Eager) -> None:
        self._log[-1] += f"; such calls run eagerly, because {entry.reason}"
        self._store(call.key, entry)

    def _trace_call(
        self, call: Call, of_tensors: TracedFunction, warm: WarmUp | None
    ) -> tuple[Entry, list[Any]]:
        """The program of a call and the results, or the reason why there is no program."""
        kept_before = 0 if warm is None else warm.kept
        may_keep = kept_before < MAX_WARM_UPS
        weak = call.has_numbers
        values = call.as_tensors()
        recording = is_grad_enabled()
        detach = warm is not None and warm.detach
        if not (recording and any(value.requires_grad for value in values)):
            try:
                return self._trace_forward(call, of_tensors, values, weak, kept_before, detach)
            except HistoryError:
                if not recording:
                    return Eager("it records although gradients are off"), []
                if warm is None and not call.has_tensors:
                    # Only a call with arrays shows whether its results have a history.
                    return WarmUp(None, kept_before), []
        # A program and its derivatives use the names as they were bound during the trace.
        later = snapshot_closure(of_tensors.function, arrays=False)
        with (
            of_tensors.defer_backward_errors(),
            GuardCollector(may_keep) as watch,
            collect_generators() as check,
        ):
            function = of_tensors.make_checked_function(lambda _: check(), watch, kept_before > 0)
            program, kept, reason = _core._record_joint(function, values, weak, may_keep, watch)
            kept = kept or (program is not None and watch.changed_members())
            if program is not None and _may_close_over_others(program):
                reason = CLOSURE_REASON
            if program is None or kept or reason is not None:
                watch.restore()
        if kept:
            return WarmUp(None, kept_before + 1, detach), []
        if reason is not None:
            return Eager(reason), []
        if program is None:
            return self._trace_forward(call, of_tensors, values, weak, kept_before)
        entry = CompiledWithBackward(
            program,
            of_tensors.result_structure(),
            StateGuard(watch),
            of_tensors.with_function(later),
        )
        # The program runs for the first time and sets the switches itself.
        watch.restore_switches()
        found = entry.run(call)
        return (entry, found) if found is not None else (Eager("it decides anew"), [])

    def _trace_forward(
        self,
        call: Call,
        of_tensors: TracedFunction,
        values: list[Tensor],
        weak: bool,
        kept_before: int,
        detach: bool = False,
    ) -> tuple[CompiledForward | WarmUp, list[Any]]:
        def detach_results(results: list[Tensor]) -> None:
            if detach:
                results[:] = [result.detach() for result in results]
            if any(result.requires_grad for result in results):
                raise HistoryError
            check()

        may_keep = kept_before < MAX_WARM_UPS
        with GuardCollector(may_keep) as watch, collect_generators() as check:
            program, results = _core._record(
                of_tensors.make_checked_function(detach_results, watch, kept_before > 0),
                values,
                weak,
                may_keep,
                watch,
            )
        found = list(results) if call.has_tensors else _core._as_arrays(results)
        form = of_tensors.result_structure()
        if program is None or watch.changed_members():
            return WarmUp(form, kept_before + 1, detach), found
        return CompiledForward(program, form, StateGuard(watch)), found

    def _install_fast_path(self, entry: Entry, call: Call) -> None:
        """Makes calls like this one run the program without Python."""
        if self._needs_python():
            return
        if isinstance(entry, ProgramEntry):
            original = entry.original if isinstance(entry, CompiledWithBackward) else None
            self._remember(entry.program, call.key, entry.form, original)

    def _store(self, key: Any, entry: Entry) -> None:
        before = len(self._cache)
        if self._cache.store(key, entry):
            self._forget()
        count = len(self._cache)
        if before < count == MANY_SIGNATURES + 1:
            warn_user(
                f"compile: {self.name} has been recorded for {count} signatures, the last time as"
                f" {self._log[-1]}; pass arrays of fewer shapes, and fg.tensor(value) for a number"
                " that changes",
                RuntimeWarning,
            )
