"""Base classes: `FunctionModule` calls one function, `ResettableModule` initialises parameters.

Invariant: an option that is changed as an attribute counts from the next call on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from ferrograd._core import Tensor
from ferrograd.nn import functional as F, init  # noqa: N812
from ferrograd.nn._module import Module
from ferrograd.nn.functional._arguments import check_flags

if TYPE_CHECKING:
    from ferrograd.nn._parameter import Parameter


#: Options that are truth values.
_BOOLEAN_OPTIONS = frozenset({"ceil_mode", "count_include_pad", "return_indices"})


class FunctionModule(Module):
    """A module that calls one function with its options, which are attributes."""

    function: ClassVar[str]

    def _set_options(self, **options: Any) -> None:
        check_flags(
            type(self).__name__, **{key: options[key] for key in _BOOLEAN_OPTIONS & options.keys()}
        )
        self._options = tuple(options)
        for key, value in options.items():
            setattr(self, key, value)

    def forward(self, input: Tensor) -> Any:
        """The function of the input."""
        return getattr(F, self.function)(input, **self._get_options())

    def _get_options(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self._options}

    def extra_repr(self) -> str:
        """The options."""
        return ", ".join(f"{key}={value!r}" for key, value in self._get_options().items())


class ResettableModule(Module):
    """A module that can initialise its parameters again."""

    def reset_parameters(self) -> None:
        """Initialises the parameters as in the constructor, and resets running averages.

        Errors: `ArgumentError` for a parameter that was passed to the constructor.
        """
        for parameter in self._parameters.values():
            init.restart(cast("Parameter", parameter))
        if (forget := getattr(self, "reset_running_stats", None)) is not None:
            forget()
