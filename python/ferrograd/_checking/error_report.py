"""The results of a check of derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Index = tuple[int, ...]
#: One matrix for each output (outer) and checked input (inner).
Jacobians = list[list[np.ndarray]]


@dataclass(frozen=True)
class Mismatch:
    """One entry of a Jacobian in which the two derivatives differ.

    In fast mode the indices are empty: the values are those of a random projection.
    """

    output: int
    output_index: Index
    input: int
    input_index: Index
    numeric: float
    analytic: float

    def __str__(self) -> str:
        return (
            f"d output {self.output}{list(self.output_index)}"
            f" / d input {self.input}{list(self.input_index)}:"
            f" numeric {self.numeric:.9g}, analytic {self.analytic:.9g}"
        )


@dataclass(frozen=True)
class GradcheckReport:
    """The result of a check; true if it passed."""

    passed: bool
    max_abs_error: float
    max_rel_error: float
    entries: int
    failures: list[Mismatch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.summary()

    def summary(self, limit: int = 5) -> str:
        """A few readable lines."""
        if self.passed:
            verdict = "passed"
        elif self.failures:
            verdict = f"FAILED in {len(self.failures)} entries"
        else:
            verdict = "FAILED"
        lines = [
            f"gradcheck {verdict}: {self.entries} entries,"
            f" largest error {self.max_abs_error:.3g} absolute, {self.max_rel_error:.3g} relative"
        ]
        lines += [f"  {failure}" for failure in self.failures[:limit]]
        if len(self.failures) > limit:
            lines.append(f"  … and {len(self.failures) - limit} more")
        notes = list(self.notes)
        if any(np.isnan(failure.analytic) for failure in self.failures):
            notes.append(
                "an analytic derivative is NaN: call the function and its backward inside"
                " fg.detect_anomaly(), which names the operation that made it"
            )
        return "\n".join(lines + [f"  note: {note}" for note in notes])


@dataclass
class Comparison:
    """A comparison of two Jacobians: the entries that differ, and the largest difference."""

    failures: list[Mismatch] = field(default_factory=list)
    worst_abs: float = 0.0
    worst_rel: float = 0.0
    entries: int = 0

    def add(
        self,
        place: tuple[int, int],
        shapes: tuple[Index | None, Index | None],
        values: tuple[np.ndarray, np.ndarray],
        tolerance: tuple[float, float],
    ) -> None:
        """Compares the numeric and the analytic matrix of (output, input).

        `shapes` are those of the output and the input; None: no element.
        """
        n, a = values
        atol, rtol = tolerance
        if a.size == 0:
            return
        same = (n == a) | (np.isnan(n) & np.isnan(a))
        with np.errstate(all="ignore"):
            error = np.where(same, 0.0, np.abs(n - a))
            relative = np.where(same, 0.0, error / np.maximum(np.abs(n), np.abs(a)))
        self.entries += a.size
        self.worst_abs = max(self.worst_abs, float(np.max(error)))
        self.worst_rel = max(self.worst_rel, float(np.max(relative)))
        bad = ~same & ~(error <= atol + rtol * np.abs(n))
        for row, column in np.argwhere(bad):
            at = get_index(row, shapes[0]), get_index(column, shapes[1])
            found = float(n[row, column]), float(a[row, column])
            self.failures.append(Mismatch(place[0], at[0], place[1], at[1], *found))

    def report(self, notes: list[str], faults: list[str]) -> GradcheckReport:
        """The report of the check, with the other errors."""
        passed = not self.failures and not faults
        worst = self.worst_abs, self.worst_rel
        return GradcheckReport(passed, *worst, self.entries, self.failures, notes + faults)


def get_index(flat: int, shape: Index | None) -> Index:
    """The index of an element by its number in C order."""
    return tuple(int(x) for x in np.unravel_index(flat, shape)) if shape else ()


def get_max_difference(one: Jacobians, other: Jacobians) -> float:
    """By how much two computations of the same Jacobians differ."""
    pairs: Sequence[tuple[np.ndarray, np.ndarray]] = [
        pair
        for rows, others in zip(one, other, strict=True)
        for pair in zip(rows, others, strict=True)
    ]
    worst = 0.0
    for a, b in pairs:
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            difference = np.where(same, 0.0, np.abs(a - b))
        difference = np.where(np.isnan(difference), np.inf, difference)
        worst = max(worst, float(np.max(difference, initial=0.0)))
    return worst
