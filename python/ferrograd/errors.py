"""Every exception and warning of ferrograd.

Each inherits `FerrogradError` and the builtin a user would catch. The core defines them; only those
that pure Python raises are defined here.
"""

from ferrograd._core import (
    ArgumentError as ArgumentError,
    ArgumentTypeError as ArgumentTypeError,
    AxisError as AxisError,
    CompileError as CompileError,
    ContractError as ContractError,
    CycleError as CycleError,
    DTypeError as DTypeError,
    ExchangeError as ExchangeError,
    FerrogradError as FerrogradError,
    GradientError as GradientError,
    GraphCutError as GraphCutError,
    GraphCutWarning as GraphCutWarning,
    GraphFreedError as GraphFreedError,
    IndexOutOfRangeError as IndexOutOfRangeError,
    InferenceError as InferenceError,
    InPlaceError as InPlaceError,
    IntegerRangeError as IntegerRangeError,
    InternalError as InternalError,
    MatrixError as MatrixError,
    NotDifferentiableError as NotDifferentiableError,
    OutOfMemoryError as OutOfMemoryError,
    ShapeError as ShapeError,
)


class ArgumentChangedError(InPlaceError, TypeError):
    """A function under differentiation that writes to its argument."""


class GradcheckError(FerrogradError, RuntimeError):
    """An analytic derivative that the numerical one contradicts."""


class FileFormatError(FerrogradError, ValueError):
    """A file that is damaged, cut off, or not of the format it should have."""


class StateDictError(FerrogradError, ValueError):
    """The keys, shapes or dtypes of a state do not fit the module."""
