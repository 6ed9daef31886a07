"""The programs of a compiled function, by signature and by the state of modules and optimisers.

Threads share a cache: lists are replaced and never changed, and loops iterate over copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ferrograd._compile.signature import Call
from ferrograd._compile.specializations import Eager, Entry, ProgramEntry, WarmUp
from ferrograd._core import Tensor, _CallSignature

#: More signatures of one function than this give a warning. There are at most twice as many
#: programs: the least recently used one is dropped.
MANY_SIGNATURES = 8
#: The most programs of one signature.
MAX_VARIANTS = 4
#: The most signatures without a program.
MAX_WITHOUT_PROGRAM = 64
#: A trace costs up to ten calls, so it saves time if its program runs this often.
MIN_RUNS_TO_PAY = 16
#: After this many traces that did not save time, calls run the function itself ...
MAX_UNPAID_TRACES = 8
#: ... this many of them, and twice as many after each further such trace.
MIN_PAUSE = 64
MAX_PAUSE = 1 << 20
#: In longer pauses than LONG_PAUSE calls, one call of PROBE_INTERVAL looks for a program.
LONG_PAUSE = 1 << 10
PROBE_INTERVAL = 16
PAUSED_REASON = (
    "recording does not pay, as its programs serve few calls, so that the function itself runs for"
    " a while, and longer each time"
)


class BackOff:
    """Pauses tracing while programs do not run often enough to save time."""

    def __init__(self) -> None:
        #: The number of traces in a row that did not save time.
        self.unpaid = 0
        #: The remaining calls of a pause, including the one that ends it.
        self.calls_left = 0
        #: Whether the log has a line about the pause.
        self.logged = False

    def record_trace(self, paid: bool) -> None:
        """Notes whether a trace has saved time; too many that did not start or extend a pause."""
        self.unpaid = 0 if paid else self.unpaid + 1
        self.logged = self.logged and not paid
        if self.unpaid >= MAX_UNPAID_TRACES:
            doublings = self.unpaid - MAX_UNPAID_TRACES
            self.calls_left = min(MIN_PAUSE << doublings, MAX_PAUSE)

    def consume_pause(self) -> bool:
        """Counts a call; returns whether it runs the function itself."""
        self.calls_left = max(self.calls_left - 1, 0)
        return self.calls_left > 0


class SignatureState:
    """The state of the calls of one signature.

    A signature is in one of four states::

                 state was made: up to WARM_UPS times
                            ┌──┐
        first call   ┌──────┴──▼┐  no state made   ┌──────────┐  no program serves  ┌────────┐
        ────────────►│ warm-up  ├─────────────────►│ compiled │────────────────────►│ traced │
              │      └──────────┘                  └────▲─────┘                     │ again  │
              │                                         └───────────────────────────┴───┬────┘
              │ cannot be traced   ┌───────┐                   traces do not pay:       │
              └───────────────────►│ eager │◄───── BackOff, for a number of calls ──────┘
                                   └───────┘

    `programs` is not empty in the state compiled; else `other` is a `WarmUp` or an `Eager`.
    """

    def __init__(self) -> None:
        #: Programs, the newest first.
        self.programs: list[ProgramEntry] = []
        #: The reason why there are no programs.
        self.other: Eager | WarmUp | None = None
        self.back_off = BackOff()

    def find_valid_program(self) -> ProgramEntry | None:
        """A program whose guards are not known to fail; found without running it."""
        return next((p for p in self.programs if not p.program._is_stale()), None)

    def should_run_eagerly(self) -> bool:
        """Whether a call without a program runs the function itself, without a trace."""
        if self.back_off.calls_left:
            return self.back_off.consume_pause()
        newest = next(iter(self.programs), None)
        self.back_off.record_trace(newest is None or newest.program._used[1] >= MIN_RUNS_TO_PAY)
        return self.back_off.calls_left > 0


class ProgramCache:
    """The state of each signature."""

    def __init__(self) -> None:
        self._states: dict[_CallSignature, SignatureState] = {}
        #: The signature that was traced last.
        self.newest: _CallSignature | None = None
        #: For new signatures: counts dropped programs.
        self.back_off = BackOff()

    def __len__(self) -> int:
        return len(self._states)

    def get(self, key: _CallSignature) -> SignatureState | None:
        """The state of a signature."""
        return self._states.get(key)

    def should_skip_lookup(self, args: tuple[Any, ...]) -> bool:
        """Whether to skip the check of a call: in a long pause most calls have new signatures."""
        left = self.back_off.calls_left
        if left < LONG_PAUSE or left % PROBE_INTERVAL == 1:
            return False
        if not any(isinstance(x, Tensor) for x in args):
            return False
        self.back_off.calls_left -= 1
        return True

    def programs(self) -> Iterator[ProgramEntry]:
        """All programs."""
        for state in list(self._states.values()):
            yield from state.programs

    def clear(self) -> None:
        """Deletes everything."""
        self._states.clear()
        self.newest, self.back_off = None, BackOff()

    def explain_trace(self, call: Call) -> str:
        """The reason why a call is traced."""
        state = self.get(call.key)
        if state is None:
            if self.newest is None:
                return "it was called for the first time"
            return call.key.difference(self.newest)
        if isinstance(state.other, WarmUp):
            did = "made state" if state.other.kept else "showed what arrays give"
            return f"the call before {did}"
        if state.find_valid_program() is not None:
            return "values took another way than those recorded before"
        changed = state.programs[0].watched.describe_change() if state.programs else ""
        what = "what the function looked at beside its arguments has changed"
        return f"{what}: {changed}" if changed else what

    def store(self, key: _CallSignature, entry: Entry) -> bool:
        """Stores the result for a signature; returns whether a program was dropped."""
        self.newest = key
        state = self._states.setdefault(key, SignatureState())
        if not isinstance(entry, ProgramEntry):
            state.other, dropped = entry, bool(state.programs)
            state.programs = []
            self._limit_without_program()
            return dropped
        state.other = None
        for other in state.programs:
            # Only programs in use need memory for their temporaries.
            other.program._trim()
        state.programs = [entry, *state.programs]
        gone = self._find_least_recent(state.programs, MAX_VARIANTS) + self._find_least_recent(
            self.programs(), 2 * MANY_SIGNATURES
        )
        for one in gone:
            self.back_off.record_trace(one.program._used[1] >= MIN_RUNS_TO_PAY)
            self._drop_program(one)
        return bool(gone)

    def _find_least_recent(self, programs: Iterable[ProgramEntry], most: int) -> list[ProgramEntry]:
        """The programs above the limit: the least recently used ones."""
        found = sorted(programs, key=lambda entry: entry.program._used[0])
        return found[: max(len(found) - most, 0)]

    def _drop_program(self, entry: ProgramEntry) -> None:
        for key, state in list(self._states.items()):
            state.programs = [own for own in state.programs if own is not entry]
            if not state.programs and state.other is None:
                self._states.pop(key, None)

    def _limit_without_program(self) -> None:
        items = list(self._states.items())
        others = [key for key, state in items if state.other is not None]
        for key in others[: max(len(others) - MAX_WITHOUT_PROGRAM, 0)]:
            self.back_off.record_trace(paid=False)
            self._states.pop(key, None)
