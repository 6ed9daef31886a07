"""Calls of modules with other parameters, and gradients together with values.

Invariant: after a call, also one that raises, a module has its previous tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ferrograd._compile import guards
from ferrograd._core import Tensor
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.transforms import value_and_grad

if TYPE_CHECKING:
    from ferrograd.nn import Module


def grad_and_value(func: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """Returns a function that gives (gradient, value); with `has_aux`, (gradient, (value, aux)).

    >>> import ferrograd as fg
    >>> slope, value = fg.func.grad_and_value(lambda x: (x * x).sum())(fg.tensor([3.0]))
    >>> slope.tolist(), value.item()
    ([6.0], 9.0)
    """
    both = value_and_grad(func, argnums, has_aux)

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        value, slope = both(*args, **kwargs)
        return slope, value

    return gradient_and_value


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors in place of its parameters and buffers.

    Names are those of `named_parameters()` and `named_buffers()`; other tensors of the module are
    not replaced. The new tensors may have a history, and gradients flow through it, so a step of
    gradient descent can be differentiated. `args` is a tuple, or one argument. With `tie_weights`,
    a tensor with several names in the module is replaced under all of them. `strict` requires all
    names. A buffer that the module replaces during the call is not written to the module.
    Errors: `ArgumentError` for a name that the module does not have, `ArgumentTypeError` for a
    value that is not a tensor.

    >>> import ferrograd as fg
    >>> layer = fg.nn.Linear(2, 1)
    >>> zeros = {name: fg.zeros_like(p) for name, p in layer.named_parameters()}
    >>> fg.func.functional_call(layer, zeros, fg.ones(3, 2)).tolist()
    [[0.0], [0.0], [0.0]]
    """
    given = _merge_dicts(parameter_and_buffer_dicts)
    places = _find_tensor_entries(module)
    _check_names(given, places, strict)
    named = {id(places[name][0][places[name][1]]): name for name in given} if tie_weights else {}
    held = []
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        for name, (table, key) in places.items():
            source = name if name in given else named.get(id(table[key]))
            if source is not None:
                if guards.active_traces:
                    guards.note(table)
                held.append((table, key, table[key]))
                table[key] = given[source]
        return module(*args, **(kwargs or {}))
    finally:
        for table, key, own in held:
            table[key] = own


def _merge_dicts(given: Any) -> dict[str, Any]:
    parts = (
        [given]
        if isinstance(given, Mapping)
        else convert_to_list("functional_call", "parameter_and_buffer_dicts", given)
    )
    merged: dict[str, Any] = {}
    for part in parts:
        twice = merged.keys() & part.keys()
        if twice:
            raise ArgumentError(
                f"functional_call: {sorted(twice)[0]!r} is in two of the dicts; give each name once"
            )
        merged.update(part)
    return merged


def _find_tensor_entries(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """The table and the key of every name; a shared module has an entry for each of its names."""
    from ferrograd.nn._compiled_members import join_names, unwrap_module

    found: dict[str, tuple[dict[str, Any], str]] = {}
    pending = [("", module)]
    while pending:
        path, owner = pending.pop()
        for table in (owner._parameters, owner._buffers):
            found.update({join_names(path, key): (table, key) for key in table})
        pending.extend(
            (join_names(path, key), unwrap_module(c)) for key, c in owner._modules.items()
        )
    return found


def _check_names(given: dict[str, Any], places: dict[str, Any], strict: bool) -> None:
    for name, value in given.items():
        if name not in places:
            raise ArgumentError(
                f"functional_call: the module has no tensor {name!r}; it has"
                f" {', '.join(sorted(places)) or 'none'}"
            )
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"functional_call: {name!r} is a {type(value).__name__}; give a tensor"
            )
    lacking = sorted(places.keys() - given.keys())
    if strict and lacking:
        raise ArgumentError(
            f"functional_call: {lacking[0]!r} is not given; give all names, or strict=False"
        )
