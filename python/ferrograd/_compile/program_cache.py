"""The programs of a compiled function, by signature and by what the function looked at besides.

Owns: which of them are kept, which goes when there are too many, when recording pays, and why there
is another recording.
Never records or runs anything. Invariant: of one signature there are several programs at most where
each was recorded because the others did not serve. Threads share a cache: lists are replaced and
never changed, and what is walked over is a copy.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from ferrograd._compile.entries import Eager, Entry, Joint, Recorded, WarmUp
from ferrograd._compile.signature import Call, difference
from ferrograd._core import Tensor

#: More signatures of one function than this are worth a warning. There are at most twice as many
#: programs: the one that was used longest ago goes.
MANY = 8
#: The most programs of one signature.
VARIANTS = 4
#: The most signatures that have no program.
WITHOUT = 64
#: A recording costs up to ten calls: it pays when its program runs so often.
PAYS = 16
#: After so many recordings that did not pay, calls run the function itself ...
TRIES = 8
#: ... so many of them, and twice as many after each further recording that did not pay.
PAUSE = 64
LONGEST = 1 << 20
#: A pause from which on no program is tried meanwhile, but at one of so many calls.
LONG = 1 << 10
LOOKS = 16
PAUSED = (
    "recording does not pay, as its programs serve few calls, so that the function itself runs for"
    " a while, and longer each time"
)


class Known:
    """What there is for one signature."""

    def __init__(self) -> None:
        #: Programs, the newest first.
        self.programs: list[Recorded | Joint] = []
        #: Why there are none.
        self.other: Eager | WarmUp | None = None
        #: How many recordings in a row did not pay.
        self.unpaid = 0
        #: How many calls run the function itself before it is recorded again.
        self.pause = 0
        #: Whether the log says so.
        self.told = False

    def fresh(self) -> Recorded | Joint | None:
        """A program that serves as far as can be told without running it."""
        return next((p for p in self.programs if not p.program._is_stale()), None)

    def rests(self) -> bool:
        """Whether a call that no program serves runs the function itself, without recording it."""
        if self.pause:
            self.pause -= 1
            return self.pause > 0
        newest = next(iter(self.programs), None)
        if newest is not None and newest.program._used[1] < PAYS:
            self.unpaid += 1
        else:
            self.unpaid, self.told = 0, False
        if self.unpaid >= TRIES:
            self.pause = min(PAUSE << (self.unpaid - TRIES), LONGEST)
        return self.pause > 0


class Cache:
    """What there is for each signature."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Known] = {}
        #: The signature that was recorded last.
        self.newest: Hashable = None
        #: How many recordings in a row had to go before they paid, over all signatures.
        self.unpaid = 0
        #: How many calls of new signatures run the function itself.
        self.pause = 0
        #: Whether the log says so.
        self.told = False

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Hashable) -> Known | None:
        """What there is for a signature."""
        return self._known.get(key)

    def skips(self, args: tuple[Any, ...]) -> bool:
        """Whether a call of tensors is not looked at: in a long pause most have new signatures."""
        if self.pause < LONG or self.pause % LOOKS == 1:
            return False
        if not any(isinstance(x, Tensor) for x in args):
            return False
        self.pause -= 1
        return True

    def rests(self) -> bool:
        """Whether a call of a new signature runs the function itself, without recording it."""
        self.pause = max(self.pause - 1, 0)
        return self.pause > 0

    def programs(self) -> Iterator[Recorded | Joint]:
        """All programs."""
        for known in list(self._known.values()):
            yield from known.programs

    def clear(self) -> None:
        """Forgets everything."""
        self._known.clear()
        self.newest, self.unpaid, self.pause, self.told = None, 0, 0, False

    def why(self, call: Call) -> str:
        """Why a call is recorded."""
        known = self.get(call.key)
        if known is None:
            first = self.newest is None
            return "it was called for the first time" if first else difference(self.newest, call)
        if isinstance(known.other, WarmUp):
            did = "made state" if known.other.kept else "showed what arrays give"
            return f"the call before {did}"
        if known.fresh() is not None:
            return "values took another way than those recorded before"
        told = known.programs[0].watched.changed() if known.programs else ""
        what = "what the function looked at beside its arguments has changed"
        return f"{what}: {told}" if told else what

    def keep(self, key: Hashable, entry: Entry) -> bool:
        """Adds what was found out about a signature; whether a program had to go."""
        self.newest = key
        known = self._known.setdefault(key, Known())
        if not isinstance(entry, Recorded | Joint):
            known.other, dropped = entry, bool(known.programs)
            known.programs = []
            self._limit_others()
            return dropped
        known.other = None
        for other in known.programs:
            # Only programs that are used in turn need memory for their temporaries at once.
            other.program._trim()
        known.programs = [entry, *known.programs]
        gone = self._oldest(known.programs, VARIANTS) + self._oldest(self.programs(), 2 * MANY)
        for one in gone:
            self._count(one.program._used[1] >= PAYS)
            self._drop(one)
        return bool(gone)

    def _count(self, paid: bool) -> None:
        """Notes whether a recording that goes has paid, and what follows for new signatures."""
        self.unpaid = 0 if paid else self.unpaid + 1
        self.told = self.told and not paid
        if self.unpaid >= TRIES:
            self.pause = min(PAUSE << (self.unpaid - TRIES), LONGEST)

    def _oldest(self, programs: Iterable[Recorded | Joint], most: int) -> list[Recorded | Joint]:
        """The programs that are too many: those that were used longest ago."""
        found = sorted(programs, key=lambda entry: entry.program._used[0])
        return found[: max(len(found) - most, 0)]

    def _drop(self, entry: Recorded | Joint) -> None:
        for key, known in list(self._known.items()):
            known.programs = [own for own in known.programs if own is not entry]
            if not known.programs and known.other is None:
                self._known.pop(key, None)

    def _limit_others(self) -> None:
        items = list(self._known.items())
        others = [key for key, known in items if known.other is not None]
        for key in others[: max(len(others) - WITHOUT, 0)]:
            self._count(paid=False)
            self._known.pop(key, None)
